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

import cloudpickle
import pytest

import surepath
import survivors
from clocks import Clock
from flaky import Faulty, Walk, content
from places import TESTS
from surepath.errors import EpisodeError, InputError
from surepath.run import fleet
from surepath.run.fleet import Worker, WorkerDiedError
from surepath.run.processes import Processes
from surepath.system import Actions, Play
from survivors import Stuck, alive, check_end, descendants, wait_for
from workers import check_same, numbers, run_serially, unit

cloudpickle.register_pickle_by_value(survivors)  # workers need not find this folder


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


ASKING = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
from pathlib import Path
import cloudpickle, flaky, survivors
from surepath.run.processes import Processes
from workers import unit
for module in (flaky, survivors):
    cloudpickle.register_pickle_by_value(module)
if __name__ == "__main__":
    system = survivors.Stuck(folder=Path(sys.argv[1]))
    list(Processes(2).run(system, [unit(2, index=0), unit(2, index=1)]))
"""


@pytest.mark.parametrize("without", ["nothing", "the keeper", "the kernel"])
def test_workers_end_with_the_one_who_asked(without: str, tmp_path: Path) -> None:
    """Killed, it cannot tell them, and they cannot hear: they hang in C. Either guard will do."""
    script, folder = tmp_path / "script.py", tmp_path / "pids"
    folder.mkdir()
    blind = "import ctypes; ctypes.CDLL = lambda _: __import__('unittest.mock').mock.MagicMock()\n"
    script.write_text((blind if without == "the kernel" else "") + ASKING)
    with subprocess.Popen([sys.executable, script, folder]) as asking:
        pids = wait_for(folder, 4)
        if without == "the keeper":
            (keeper,) = (pid for pid in descendants(asking.pid) if "keeper.py" in command(pid))
            os.kill(keeper, signal.SIGKILL)
            pids = [pid for pid in pids if "sleep" not in command(pid)]  # these are out of reach
            assert len(pids) == 2
        asking.kill()
    check_end(pids)
    for pid in map(int, (path.name for path in folder.iterdir())):
        if alive(pid):
            os.kill(pid, signal.SIGKILL)


def command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()


def test_a_worker_takes_along_what_it_has_started(tmp_path: Path) -> None:
    """Also where it is only replaced, because an episode takes too long."""
    with (
        Processes(1, time_limit=0.5, retries=0) as one,
        pytest.raises(EpisodeError, match=r"longer than 0.5 s"),
    ):
        list(one.run(Stuck(folder=tmp_path), [unit(1)]))
    check_end(wait_for(tmp_path, 2))


def test_workers_outlive_the_thread_that_asked_for_them() -> None:
    """On Linux a process can be tied to the thread that started it."""
    with Processes(1) as one:
        system, seen = Walk(), list[int]()

        def ask() -> None:
            seen.append(len(numbers(list(one.run(system, [unit(3)])))))

        for _ in range(2):
            asking = threading.Thread(target=ask)
            asking.start()
            asking.join()
        assert seen == [3, 3]
        assert one.replaced == 0


def test_the_system_is_never_built() -> None:
    """The start limit ends it, and says how long was waited."""

    class Endless(Walk):
        def __setstate__(self, state: dict[str, Any]) -> None:
            time.sleep(3600)

    with (
        Processes(2, start_limit=0.5) as pair,
        pytest.raises(EpisodeError, match=r"no worker was ready after 0.5 s.*start_limit"),
    ):
        list(pair.run(Endless(), [unit(3)]))
    assert pair._workers == []
