"""Workers that are processes of this machine."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from threading import Thread
from typing import cast

from surepath.run.executors import SLICE
from surepath.run.fleet import Fleet, Worker, WorkerDiedError
from surepath.run.keeper import Keeper, end_with, kill_group
from surepath.run.work import FAILURES, Unit, UnitReport, error_text, perform
from surepath.system import System


class Processes(Fleet):
    """Runs units in so many processes of this machine.

    Each process starts afresh, shares nothing with this one, and has a copy of the system.
    time_limit: seconds that one episode may take before its worker is replaced and it is run again.
    start_limit: seconds in which one of them has to be ready.

    They end with this process, however it ends, and with them what they have started.
    """

    _keeper: Keeper | None = None  # as long as there are workers
    _starter: ThreadPoolExecutor  # likewise

    def _start(self, payload: bytes) -> Worker:
        if self._keeper is None:
            self._keeper = Keeper()
            # All start from this one thread: on Linux they are killed when the thread that started
            # them ends, and the thread that asks for a run may do so before the next run.
            self._starter = ThreadPoolExecutor(1, "surepath starts processes")
        return self._starter.submit(_Process, payload, self._keeper).result()

    def _dismiss(self) -> None:
        super()._dismiss()
        if self._keeper is not None:
            self._starter.shutdown()
            self._keeper.close()
            self._keeper = None

    def _ready(self, workers: Sequence[Worker], seconds: float) -> Sequence[Worker]:
        by_pipe = {cast(_Process, worker).pipe: worker for worker in workers}
        timeout = None if seconds == float("inf") else seconds
        ready = connection.wait(list(by_pipe), timeout)
        return [by_pipe[cast("Connection", pipe)] for pipe in ready]


class _Process(Worker):
    def __init__(self, payload: bytes, keeper: Keeper) -> None:
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=worker_process, args=(theirs, os.getpid()), daemon=True
        )
        self._process.start()
        theirs.close()
        assert self._process.pid is not None  # it was started
        self.pid = self._process.pid
        self._keeper: Keeper | None = keeper
        keeper.watch(self.pid)
        # The system is sent through the pipe and not as an argument of the process: if a process
        # dies before it has taken all of its arguments, the one that starts it waits for ever. It
        # is sent by a thread because the process takes it late, and others are to start meanwhile.
        self._sending = Thread(target=self._deliver, args=(payload,), daemon=True)
        self._sending.start()

    def _deliver(self, payload: bytes) -> None:
        # That the worker has died is found out when the pipe is read.
        with contextlib.suppress(OSError):
            self.pipe.send_bytes(payload)

    def send(self, unit: Unit) -> None:
        with contextlib.suppress(OSError):
            self.pipe.send(unit)

    def receive(self) -> UnitReport:
        try:
            answer: UnitReport | str = self.pipe.recv()
        except (EOFError, OSError) as error:
            self._process.join()  # before it is killed: it died of something else
            self._end()
            raise WorkerDiedError(f"exit code {self._process.exitcode}") from error
        if isinstance(answer, str):
            raise WorkerDiedError(answer)
        return answer

    def stop(self) -> None:
        self._end()
        self._sending.join()
        self.pipe.close()

    def _end(self) -> None:
        """Kill the process and what it has started, once: later its number may be another's."""
        if self._keeper is not None:
            self._process.kill()
            kill_group(self.pid)
            self._process.join()
            self._keeper.forget(self.pid)
            self._keeper = None


def worker_process(pipe: Connection, parent: int) -> None:
    """What a process does: build the system, then run units until the pipe is closed."""
    end_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one stops it
    with contextlib.suppress(EOFError, OSError):  # that process has closed the pipe, or is gone
        try:
            system = cast(System, pickle.loads(pipe.recv_bytes()))
        except FAILURES as error:  # the user's own code runs here
            pipe.send(f"the system cannot be built here: {error_text(error)}")
            return
        pipe.send(UnitReport())
        while True:
            unit: Unit = pipe.recv()
            pipe.send(perform(system, unit, SLICE))
