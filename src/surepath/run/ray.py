"""Workers on a Ray cluster. The only module that imports ray."""

# Ray's decorators return objects without types:
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import os
import pickle
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any, cast

from surepath.errors import InputError, MissingExtraError
from surepath.run.executors import SLICE
from surepath.run.fleet import START_LIMIT, Fleet, Worker, WorkerDiedError
from surepath.run.keeper import Keeper, end_with, kill_group
from surepath.run.work import FAILURES, Unit, UnitReport, error_text, perform
from surepath.system import System

LOOK_SECONDS = 0.1
"""How often a cluster that is starting is asked which processes it has."""


class RayCluster(Fleet):
    """Runs units on a Ray cluster: the one at `address`, or a new one on this machine.

    workers: how many; by default as many as the cluster has cores. cpus: cores that each worker
    takes; for a system that mostly waits, less than one is enough.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        address: str | None = None,
        cpus: float = 1.0,
        time_limit: float | None = None,
        start_limit: float = START_LIMIT,
        retries: int = 4,
        pause: float = 0.05,
    ) -> None:
        try:
            import ray
        except ImportError as error:
            raise MissingExtraError("ray", "ray", 'workers="ray"') from error
        self._ray: Any = ray
        self._began = not ray.is_initialized()
        self._keeper: Keeper | None = None  # of a connection that was begun here
        if self._began:
            with self._entrusting():
                ray.init(
                    address, log_to_driver=False, include_dashboard=False, configure_logging=False
                )
        cores = int(ray.cluster_resources().get("CPU", 1))
        try:
            super().__init__(
                cores if workers is None else workers,
                cores=cores,
                time_limit=time_limit,
                start_limit=start_limit,
                retries=retries,
                pause=pause,
            )
        except InputError:
            self._leave()
            raise
        # Ray is not to restart actors or repeat calls: the fleet does, with the right seeds.
        self._actor = ray.remote(num_cpus=cpus, max_restarts=0, max_task_retries=0)(_Actor)

    @contextmanager
    def _entrusting(self) -> Generator[None]:
        """Have the processes of a new cluster end with this one; Ray leaves some to themselves.

        Where there is a cluster already, none are started.
        """
        self._keeper, seen, over = Keeper(), _descendants(), Event()

        def entrust(keeper: Keeper) -> None:
            last = False
            while not last:
                last = over.wait(LOOK_SECONDS)
                for process in _descendants() - seen:
                    keeper.watch(process)
                    seen.add(process)

        looking = Thread(target=entrust, args=(self._keeper,), daemon=True)
        looking.start()
        begun = False
        try:
            yield
            begun = True
        finally:
            over.set()
            looking.join()
            if not begun:
                self._keeper.close()  # which ends what was started by then

    def _start(self, payload: bytes) -> Worker:
        return _RayWorker(self._ray, self._actor.remote(payload), self._keeper)

    def _ready(self, workers: Sequence[Worker], seconds: float) -> Sequence[Worker]:
        by_answer = {cast(_RayWorker, worker).answer: worker for worker in workers}
        timeout = None if seconds == float("inf") else seconds
        ready, rest = self._ray.wait(list(by_answer), num_returns=1, timeout=timeout)
        if ready and rest:  # a wait for one ends with one, however many are there by then
            ready += self._ray.wait(rest, num_returns=len(rest), timeout=0)[0]
        return [by_answer[answer] for answer in ready]

    def close(self) -> None:
        super().close()
        self._leave()

    def _leave(self) -> None:
        """End a cluster that was started here, and the connection to another."""
        if self._began and self._ray.is_initialized():
            self._ray.shutdown()
            self._began = False
        if self._keeper is not None:
            self._keeper.close()
            self._keeper = None


def _descendants() -> set[int]:
    """The processes that this one has started, and those that they have."""
    import psutil  # pyright: ignore[reportMissingModuleSource]  # ray brings it along

    return {process.pid for process in psutil.Process().children(recursive=True)}


class _Actor:
    def __init__(self, payload: bytes) -> None:
        end_with(os.getppid())
        self._trouble = ""
        try:
            self._system: System = pickle.loads(payload)
        except FAILURES as error:  # the user's own code runs here
            self._trouble = f"the system cannot be built here: {error_text(error)}"

    def greet(self) -> int | str:
        """The number of its process, or why it cannot run units."""
        return self._trouble or os.getpid()

    def perform(self, unit: Unit) -> UnitReport:
        return perform(self._system, unit, SLICE)


class _RayWorker(Worker):
    def __init__(self, ray: Any, actor: Any, keeper: Keeper | None) -> None:
        self._ray, self._actor, self._keeper = ray, actor, keeper
        self._pid: int | None = None  # once it has greeted
        self.answer: Any = actor.greet.remote()

    def send(self, unit: Unit) -> None:
        self.answer = self._actor.perform.remote(unit)

    def receive(self) -> UnitReport:
        try:
            answer: UnitReport | int | str = self._ray.get(self.answer)
        except self._ray.exceptions.RayError as error:
            raise WorkerDiedError(
                f"{type(error).__name__}: {str(error).splitlines()[0]}"
            ) from error
        if isinstance(answer, str):
            raise WorkerDiedError(answer)
        if isinstance(answer, int):
            self._pid = answer
            if self._keeper is not None:
                self._keeper.watch(answer)
            return UnitReport()
        return answer

    def stop(self) -> None:
        self._ray.kill(self._actor)
        if self._keeper is not None and self._pid is not None:
            kill_group(self._pid)
            self._keeper.forget(self._pid)
