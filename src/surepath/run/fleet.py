"""Workers elsewhere: units are handed out, and workers that die or hang are replaced."""

from __future__ import annotations

import heapq
import math
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Self

import cloudpickle  # pyright: ignore[reportMissingTypeStubs]

from surepath.errors import EpisodeError, InputError
from surepath.results.usage import shorten
from surepath.run.executors import Retries
from surepath.run.work import Failure, Unit, UnitReport, error_text
from surepath.system import System
from surepath.validate import between, whole

LARGEST_UNIT = 64
"""Most single episodes that are handed to a worker at a time."""


class WorkerDiedError(Exception):
    """A worker is gone; says how it went."""


class Worker(ABC):
    """Builds its system first, and says so with a report that nobody asked for."""

    @abstractmethod
    def send(self, unit: Unit) -> None: ...

    @abstractmethod
    def receive(self) -> UnitReport:
        """What came of the unit, once there is something; WorkerDiedError when there never will.

        The first one is empty: it says that the system is there.
        """

    @abstractmethod
    def stop(self) -> None:
        """End it, whatever it is doing."""


@dataclass(slots=True)
class _Queue:
    """Units to hand out: at once, or after a pause."""

    ready: deque[Unit]
    later: list[tuple[float, int, Unit]] = field(default_factory=list[tuple[float, int, Unit]])
    _numbers: Iterator[int] = field(default_factory=count)

    def __bool__(self) -> bool:
        return bool(self.ready or self.later)

    def postpone(self, unit: Unit, seconds: float) -> None:
        heapq.heappush(self.later, (time.monotonic() + seconds, next(self._numbers), unit))

    def wake(self) -> None:
        while self.later and self.later[0][0] <= time.monotonic():
            self.ready.append(heapq.heappop(self.later)[-1])

    def take(self, workers: int, most: int) -> Unit:
        """The next unit, small enough that all workers get something."""
        unit = self.ready.popleft()
        left = unit.count + sum(other.count for other in self.ready)
        size = min(most, max(1, math.ceil(left / (2 * workers))))
        if unit.single and unit.count > size:
            self.ready.appendleft(unit.part(size, unit.count))
            return unit.part(0, size)
        return unit


class Fleet(ABC):
    """Runs units on several workers; closes them with itself."""

    def __init__(
        self,
        workers: int,
        *,
        time_limit: float | None = None,
        retries: int = 4,
        pause: float = 0.05,
    ) -> None:
        self.size = whole("workers", workers, least=1)
        if time_limit is not None:
            between("time_limit", time_limit, 0, math.inf)
        self.time_limit = time_limit  # seconds an episode may take
        self.retries = Retries(retries, pause)
        self.replaced = 0
        self._system: System | None = None
        self._payload = b""
        self._workers: list[Worker] = []
        self._starting: set[Worker] = set()  # those that build their system
        self._stillborn = 0  # workers that died of that, one after the other

    @abstractmethod
    def _start(self, payload: bytes) -> Worker:
        """A new worker with the system that the payload holds."""

    @abstractmethod
    def _ready(self, workers: Sequence[Worker], seconds: float) -> Sequence[Worker]:
        """Those that have something to say, or died; none when the time is up."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        self._dismiss()

    def _dismiss(self) -> None:
        for worker in self._workers:
            worker.stop()
        self._workers, self._system = [], None
        self._starting.clear()

    def run(self, system: System, units: Iterable[Unit]) -> Iterator[UnitReport]:
        self._hire(system)
        queue = _Queue(deque(units))
        busy: dict[Worker, tuple[Unit, float]] = {}
        try:
            while queue or busy:
                queue.wake()
                self._hand_out(queue, busy)
                for worker in self._listen(busy, self._patience(queue, busy)):
                    if worker in self._starting:
                        self._welcome(worker)
                        continue
                    report = self._hear(worker, busy.pop(worker)[0], queue)
                    if report is not None:
                        yield report
                        self._retry(report.failed, queue)
                for worker in [w for w, (_, end) in busy.items() if end <= time.monotonic()]:
                    unit = busy.pop(worker)[0]
                    self._replace(worker)
                    late = Failure(unit, f"it took longer than {self.time_limit:g} s")
                    yield UnitReport(failed=[late])
                    self._retry([late], queue)
        finally:
            # When the run is cut short, nobody waits for what is still under way.
            for worker in busy:
                worker.stop()
                self._workers.remove(worker)

    def _hire(self, system: System) -> None:
        if self._system is not system:
            self._dismiss()
            self._payload = packed(system)
            self._system = system
        self._stillborn = 0
        while len(self._workers) < self.size:
            self._workers.append(self._new())

    def _new(self) -> Worker:
        worker = self._start(self._payload)
        self._starting.add(worker)
        return worker

    def _welcome(self, worker: Worker) -> None:
        """Hear whether a new worker has its system; another one is started where it has not."""
        self._starting.remove(worker)
        try:
            worker.receive()
        except WorkerDiedError as death:
            self._stillborn += 1
            if self._stillborn > self.retries.most:
                worker.stop()
                self._workers.remove(worker)
                raise EpisodeError(
                    f"workers died {self._stillborn} times while they were starting",
                    got=str(death),
                    remedy="What was recorded before is kept. A script that starts workers must do "
                    'so under if __name__ == "__main__", and every worker must be able to build '
                    "the system.",
                ) from death
            self._replace(worker)
        else:
            self._stillborn = 0

    def _hand_out(self, queue: _Queue, busy: dict[Worker, tuple[Unit, float]]) -> None:
        most = 1 if self.time_limit is not None else LARGEST_UNIT
        for worker in [w for w in self._workers if w not in busy and w not in self._starting]:
            if not queue.ready:
                return
            unit = queue.take(self.size, most)
            limit = math.inf if self.time_limit is None else self.time_limit * unit.count
            busy[worker] = (unit, time.monotonic() + limit)
            worker.send(unit)

    def _listen(self, busy: dict[Worker, tuple[Unit, float]], seconds: float) -> Sequence[Worker]:
        spoken_to = [*busy, *self._starting]
        if spoken_to:
            return self._ready(spoken_to, seconds)
        time.sleep(seconds)  # all that is left has failed, and waits for its next attempt
        return ()

    def _patience(self, queue: _Queue, busy: dict[Worker, tuple[Unit, float]]) -> float:
        """Seconds until something has to be done even if no worker speaks."""
        moments = [end for _, end in busy.values()]
        if queue.later and len(busy) + len(self._starting) < len(self._workers):
            moments.append(queue.later[0][0])
        return max(0.0, min(moments, default=math.inf) - time.monotonic())

    def _hear(self, worker: Worker, unit: Unit, queue: _Queue) -> UnitReport | None:
        try:
            report = worker.receive()
        except WorkerDiedError as death:
            self._replace(worker)
            if unit.deaths >= self.retries.most:
                raise EpisodeError(
                    f"workers died {unit.deaths + 1} times of the same episodes",
                    got=f"{death} ({unit}, actions {shorten(unit.request.actions)})",
                    remedy="What was recorded before is kept. Try the actions in one process.",
                ) from death
            queue.ready.appendleft(replace(unit, deaths=unit.deaths + 1))
            return None
        if report.rest is not None:
            queue.ready.appendleft(report.rest)
        return report

    def _retry(self, failed: list[Failure], queue: _Queue) -> None:
        for failure in failed:
            queue.postpone(*self.retries.again(failure))

    def _replace(self, worker: Worker) -> None:
        worker.stop()
        self.replaced += 1
        self._workers[self._workers.index(worker)] = self._new()


def packed(system: System) -> bytes:
    """The system, ready to be sent to another process."""
    try:
        return cloudpickle.dumps(system)  # pyright: ignore[reportUnknownMemberType]
    except Exception as error:  # whatever the parts of a user's system raise
        raise InputError(
            "the system cannot be sent to other processes",
            got=error_text(error),
            remedy="Pass a function that makes the environment instead of the environment, or run "
            "without workers.",
        ) from error
