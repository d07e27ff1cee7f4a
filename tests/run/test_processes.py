"""Processes find what one process finds; those that are lost are replaced."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import surepath
from clocks import Clock
from flaky import Faulty, Walk, content
from places import TESTS
from surepath.errors import EpisodeError, InputError
from surepath.run import fleet
from surepath.run.fleet import Worker, WorkerDiedError
from surepath.run.processes import Processes
from surepath.system import Actions, Play
from workers import check_same, numbers, run_serially, unit


@pytest.fixture(scope="module")
def pair() -> Iterator[Processes]:
    with Processes(2) as processes:
        yield processes


def test_processes_find_the_same(pair: Processes, tmp_path: Path) -> None:
    check_same(pair, tmp_path)


def test_a_number_of_workers_is_a_number_of_processes() -> None:
    assert surepath.learn(Walk(), workers=1) == run_serially()["one by one"]


@pytest.mark.parametrize("bad", [True, "two", 0, -1, 1.5])
def test_bad_workers_are_refused(bad: Any) -> None:
    with pytest.raises(InputError, match="workers"):
        surepath.learn(Walk(), workers=bad)


def test_a_killed_worker_is_replaced_and_changes_nothing(tmp_path: Path) -> None:
    alone = surepath.learn(Walk(), journal=tmp_path / "alone.db")
    seen, waiting = tmp_path / "seen", tmp_path / "waiting"
    seen.mkdir()
    waiting.mkdir()

    def waits_to_be_killed(system: Faulty, actions: Actions, played: Play) -> Play:
        (waiting / str(os.getpid())).touch()
        time.sleep(3600)
        return played

    killed, over = list[int](), threading.Event()

    def kill() -> None:
        while not over.wait(0.01):
            for path in waiting.iterdir():
                path.unlink()
                killed.append(int(path.name))
                os.kill(killed[-1], signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    system = Faulty(fault=waits_to_be_killed, share=100, folder=seen)
    with Processes(2) as pair:
        result = surepath.learn(system, workers=pair, journal=tmp_path / "a.db")
    over.set()
    killer.join()
    assert result.usage.replaced == len(killed) == len(list(seen.iterdir())) > 0
    assert result.certificate.to_dict() == alone.certificate.to_dict()
    assert (result.actions, result.episodes, result.record) == (
        alone.actions, alone.episodes, alone.record,
    )  # fmt: skip
    assert result.usage.retries == 0
    assert content(tmp_path / "a.db") == content(tmp_path / "alone.db")


def test_a_worker_that_is_killed_while_it_answers_is_replaced(pair: Processes) -> None:
    """A message that was cut is a death like any other."""
    pair._hire(Walk())
    pair._welcome(pair._workers[0])
    worker: Any = pair._workers[0]
    mine, theirs = multiprocessing.Pipe()
    worker.pipe.close()
    worker.pipe = mine
    os.write(theirs.fileno(), (1000).to_bytes(4, "big") + b"cut")
    theirs.close()
    os.kill(worker.pid, signal.SIGKILL)
    with pytest.raises(WorkerDiedError, match="exit code -9"):
        worker.receive()
    pair._replace(worker)
    assert sorted(numbers(list(pair.run(pair._system, [unit(9)])))) == [(0, i) for i in range(9)]  # pyright: ignore[reportArgumentType]


def test_processes_have_as_long_as_they_need_to_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time limit is for episodes: importing and building the system are not part of it."""
    clock = Clock()
    monkeypatch.setattr(fleet, "time", clock)

    class Late(Processes):
        def _welcome(self, worker: Worker) -> None:
            clock.sleep(100.0)
            super()._welcome(worker)

    with Late(1, time_limit=0.5) as processes:
        reports = list(processes.run(Walk(), [unit(3)]))
        assert processes.replaced == 0
    assert clock.now == 100.0
    assert sorted(numbers(reports)) == [(0, 0), (0, 1), (0, 2)]
    assert all(not report.failed for report in reports)


def test_a_system_that_no_worker_can_build_stops_the_run() -> None:
    class Unbuildable(Walk):
        def __setstate__(self, state: dict[str, Any]) -> None:
            raise OSError("the device is in use")

    with (
        Processes(1, retries=1) as processes,
        pytest.raises(
            EpisodeError, match=r"died 2 times while they were starting.*device is in use"
        ),
    ):
        list(processes.run(Unbuildable(), [unit(3)]))


def test_workers_end_with_the_one_who_asked(tmp_path: Path) -> None:
    """Also when that one is killed and cannot tell them."""
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\n"
        f"sys.path.insert(0, {str(TESTS)!r})\n"
        "import surepath\n"
        "from flaky import Walk\n"
        "from surepath.run.processes import Processes\n"
        "if __name__ == '__main__':\n"
        "    pair = Processes(2)\n"
        "    pair._hire(Walk())\n"
        "    print(*(worker.pid for worker in pair._workers), flush=True)\n"
        "    surepath.learn(Walk(pause=0.01), workers=pair)\n"
        "    surepath.learn(Walk(pause=1), workers=pair)\n"
    )
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as asking:
        assert asking.stdout is not None
        pids = [int(pid) for pid in asking.stdout.readline().split()]
        assert len(pids) == 2
        asking.kill()
    given_up = time.monotonic() + 600
    while any(alive(pid) for pid in pids):
        assert time.monotonic() < given_up, "the workers do not end"
        time.sleep(0.05)


def alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
