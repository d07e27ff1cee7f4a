"""What executors with workers share: handing out units, and replacing workers that are lost.

A worker is lost when it dies, or when an episode takes longer than the time limit. `Processes` and
`RayCluster` say how a worker is started and spoken to.
"""

from __future__ import annotations

import heapq
import math
import os
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
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

MOST_PER_CORE = 32
"""Workers for each core: systems that mostly wait can share one, but each takes its memory."""

START_LIMIT = 600.0
"""Seconds in which a worker is ready, where nothing else is said: large imports take a minute."""


class WorkerDiedError(Exception):
    """A worker has died, or cannot build its system; the message says how."""


class Worker(ABC):
    """Somebody elsewhere who has a copy of the system and runs one unit at a time."""

    @abstractmethod
    def send(self, unit: Unit) -> None:
        """Hand over a unit to run; a worker that has died is not noticed yet."""

    @abstractmethod
    def receive(self) -> UnitReport:
        """Wait for the report of the unit; WorkerDiedError when it will never come.

        The first report of a new worker is empty, belongs to no unit, and says that the worker has
        built its system.
        """

    @abstractmethod
    def stop(self) -> None:
        """End the worker, whatever it is doing."""


@dataclass(slots=True)
class _Queue:
    """Units that wait to be handed out: some at once, some only after a pause."""

    ready: deque[Unit]
    later: list[tuple[float, int, Unit]] = field(default_factory=list[tuple[float, int, Unit]])
    _numbers: Iterator[int] = field(default_factory=count)  # so that the heap compares no units

    def __bool__(self) -> bool:
        return bool(self.ready or self.later)

    def postpone(self, unit: Unit, seconds: float) -> None:
        """Have the unit wait so many seconds."""
        heapq.heappush(self.later, (time.monotonic() + seconds, next(self._numbers), unit))

    def wake(self) -> None:
        """Make those units ready whose pause is over."""
        while self.later and self.later[0][0] <= time.monotonic():
            self.ready.append(heapq.heappop(self.later)[-1])

    def take(self, workers: int, most: int) -> Unit:
        """The next unit, or only some of its episodes, so that all workers get something."""
        unit = self.ready.popleft()
        left = unit.count + sum(other.count for other in self.ready)
        size = min(most, max(1, math.ceil(left / (2 * workers))))
        if unit.single and unit.count > size:
            self.ready.appendleft(unit.part(size, unit.count))
            return unit.part(0, size)
        return unit


@dataclass(frozen=True, slots=True)
class _Assignment:
    """What a worker is busy with."""

    unit: Unit
    deadline: float  # by the monotonic clock; the worker is replaced when it has not answered then


class Fleet(ABC):
    """An executor with several workers, which are ended when it is closed."""

    def __init__(
        self,
        workers: int,
        *,
        cores: int | None = None,
        time_limit: float | None = None,
        start_limit: float = START_LIMIT,
        retries: int = 4,
        pause: float = 0.05,
    ) -> None:
        self.size = _sane(workers, cores or os.cpu_count() or 1)
        if time_limit is not None:
            between("time_limit", time_limit, 0, math.inf)
        self.time_limit = time_limit  # seconds an episode may take
        # Seconds in which one worker has to be ready; the others may come later.
        self.start_limit = between("start_limit", start_limit, 0, math.inf, closed=(False, True))
        self.retries = Retries(retries, pause)
        self.replaced = 0
        self._system: System | None = None
        self._payload = b""
        self._workers: list[Worker] = []
        self._starting: dict[Worker, float] = {}  # those that build their system, and since when
        self._stillborn = 0  # how many in a row have died of that

    @abstractmethod
    def _start(self, payload: bytes) -> Worker:
        """Start a worker that builds the system from the payload; does not wait until it has."""

    @abstractmethod
    def _ready(self, workers: Sequence[Worker], seconds: float) -> Sequence[Worker]:
        """Wait until some of the workers have a report or have died; none when the time is up."""

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
        busy: dict[Worker, _Assignment] = {}
        try:
            while queue or busy:
                queue.wake()
                self._hand_out(queue, busy)
                answering = self._listen(busy, self._patience(queue, busy))
                for report in chain(self._hear(answering, queue, busy), self._end_late(busy)):
                    yield report
                    for failure in report.failed:
                        queue.postpone(*self.retries.again(failure))
                self._check_start()
        finally:
            # When the run is cut short, nobody waits for what is still under way.
            for worker in busy:
                worker.stop()
                self._workers.remove(worker)

    def _hire(self, system: System) -> None:
        """Have as many workers as there should be, all of them for this system."""
        if self._system is not system:
            self._dismiss()
            self._payload = packed(system)
            self._system = system
        self._stillborn = 0
        while len(self._workers) < self.size:
            self._workers.append(self._new())

    def _new(self) -> Worker:
        """Start a worker; it gets no unit before it was welcomed."""
        worker = self._start(self._payload)
        self._starting[worker] = time.monotonic()
        return worker

    def _welcome(self, worker: Worker) -> None:
        """Hear whether a new worker has built its system, and start another where it has not."""
        del self._starting[worker]
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

    def _start_deadline(self) -> float:
        """When one worker has to be ready; while others are, nobody waits for one that is not."""
        if len(self._starting) < len(self._workers):
            return math.inf
        return max(self._starting.values()) + self.start_limit

    def _check_start(self) -> None:
        """End the run when nobody got ready in time: the next ones would hang as well."""
        if time.monotonic() < self._start_deadline():
            return
        waiting = len(self._starting)
        self._dismiss()
        raise EpisodeError(
            f"no worker was ready after {self.start_limit:g} s",
            got=f"{waiting} that were still starting or building the system",
            remedy="What was recorded before is kept. See whether the system can be built without "
            "workers, and whether a cluster has room for them; if they need longer, raise "
            "start_limit (--start-limit on the command line).",
        )

    def _hand_out(self, queue: _Queue, busy: dict[Worker, _Assignment]) -> None:
        """Give units to the workers that have none."""
        most = 1 if self.time_limit is not None else LARGEST_UNIT
        for worker in [w for w in self._workers if w not in busy and w not in self._starting]:
            if not queue.ready:
                return
            unit = queue.take(self.size, most)
            limit = math.inf if self.time_limit is None else self.time_limit * unit.count
            busy[worker] = _Assignment(unit, time.monotonic() + limit)
            worker.send(unit)

    def _listen(self, busy: dict[Worker, _Assignment], seconds: float) -> Sequence[Worker]:
        """Those workers that have a report or have died, after so many seconds at most."""
        awaited = [*busy, *self._starting]
        if awaited:
            return self._ready(awaited, seconds)
        time.sleep(seconds)  # every unit that is left has failed, and waits for its next attempt
        return ()

    def _patience(self, queue: _Queue, busy: dict[Worker, _Assignment]) -> float:
        """Seconds until something has to be done even if no worker answers."""
        moments = [given.deadline for given in busy.values()]
        moments.append(self._start_deadline())
        if queue.later and len(busy) + len(self._starting) < len(self._workers):
            moments.append(queue.later[0][0])
        return max(0.0, min(moments) - time.monotonic())

    def _hear(
        self, answering: Sequence[Worker], queue: _Queue, busy: dict[Worker, _Assignment]
    ) -> Iterator[UnitReport]:
        """The reports of these workers; the unit of one that has died is handed out again."""
        for worker in answering:
            if worker in self._starting:
                self._welcome(worker)
                continue
            unit = busy.pop(worker).unit
            try:
                report = worker.receive()
            except WorkerDiedError as death:
                self._replace(worker)
                queue.ready.appendleft(self._after_death(unit, death))
                continue
            if report.rest is not None:
                queue.ready.appendleft(report.rest)
            yield report

    def _after_death(self, unit: Unit, death: WorkerDiedError) -> Unit:
        """The unit as it is to be run again; an error when it has cost too many workers."""
        if unit.deaths >= self.retries.most:
            raise EpisodeError(
                f"workers died {unit.deaths + 1} times of the same episodes",
                got=f"{death} ({unit}, actions {shorten(unit.request.actions)})",
                remedy="What was recorded before is kept. Try the actions in one process.",
            ) from death
        return replace(unit, deaths=unit.deaths + 1)

    def _end_late(self, busy: dict[Worker, _Assignment]) -> Iterator[UnitReport]:
        """Replace the workers whose time is up; their episodes have failed."""
        now = time.monotonic()
        for worker in [worker for worker, given in busy.items() if given.deadline <= now]:
            unit = busy.pop(worker).unit
            self._replace(worker)
            late = f"it took longer than {self.time_limit:g} s"
            yield UnitReport(failed=[Failure(unit, late)])

    def _replace(self, worker: Worker) -> None:
        """End the worker and start another in its place."""
        worker.stop()
        self.replaced += 1
        self._workers[self._workers.index(worker)] = self._new()


def _sane(workers: int, cores: int) -> int:
    """The number of workers, if so many cores can run them."""
    if whole("workers", workers, least=1) > MOST_PER_CORE * cores:
        raise InputError(
            f"workers may be {MOST_PER_CORE * cores} here, {MOST_PER_CORE} for each core",
            got=f"{workers} workers, {cores} cores",
            remedy="Ask for fewer: about one for each core, more where episodes mostly wait; or "
            'spread them over several machines with "ray".',
        )
    return workers


def packed(system: System) -> bytes:
    """The system as bytes that another process can build it from."""
    try:
        return cloudpickle.dumps(system)  # pyright: ignore[reportUnknownMemberType]
    except Exception as error:  # whatever the parts of a user's system raise
        raise InputError(
            "the system cannot be sent to other processes",
            got=error_text(error),
            remedy="Pass a function that makes the environment instead of the environment, or run "
            "without workers.",
        ) from error
