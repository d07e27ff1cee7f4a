"""Who runs the episodes does not change what is found; what fails is run again, within bounds."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flaky
import surepath
from flaky import Faulty, Gauge, Walk, breaks, content, hangs, kills_its_worker
from places import TESTS
from surepath.errors import EpisodeError, InputError, MissingExtraError
from surepath.journal.database import Journal
from surepath.run import executors
from surepath.run.executors import Executor, Retries, Serial
from surepath.run.fleet import Fleet, Worker, WorkerDiedError, _Queue
from surepath.run.processes import Processes
from surepath.run.ray import RayCluster
from surepath.run.work import Failure, Unit, UnitReport, perform
from surepath.system import Actions, Episodes, Play, Request

cloudpickle.register_pickle_by_value(flaky)  # workers need not find this folder


def unit(count: int = 10, *, single: bool = True, attempt: int = 0, index: int = 0) -> Unit:
    asked = Request((1, 0), count, range(3), range(2))
    return Unit(asked, 0, index, 0, count, 0, single=single, attempt=attempt)


def numbers(reports: Sequence[UnitReport]) -> list[tuple[int, int]]:
    """Request and number of every episode that was reported done."""
    return [
        (part.index, part.first + i)
        for report in reports
        for part, readings in report.done
        for i in range(readings.count)
    ]


def until_it_stops(running: Iterator[UnitReport]) -> tuple[list[UnitReport], str]:
    """What came before the error, and the error."""
    reports = list[UnitReport]()
    try:
        reports.extend(running)
    except EpisodeError as error:
        return reports, str(error)
    raise AssertionError("there was no error")


# ---------------------------------------------------------------- retries


def test_pauses_double_and_attempts_are_bounded() -> None:
    retries = Retries(most=4, pause=0.1)
    again, pauses = unit(1), list[float]()
    for attempt in range(4):
        again, pause = retries.again(Failure(again, "error"))
        assert again.attempt == attempt + 1
        pauses.append(pause)
    assert pauses == pytest.approx([0.1, 0.2, 0.4, 0.8])
    with pytest.raises(EpisodeError, match=r"failed 5 times.*Got: boom \(episode 0 of request 0"):
        retries.again(Failure(again, "boom"))
    with pytest.raises(EpisodeError, match="failed 1 times"):
        Retries(most=0).again(Failure(unit(1), "boom"))


@pytest.mark.parametrize("bad", [{"retries": -1}, {"retries": 1.5}, {"pause": -1.0}])
def test_bad_retries_are_refused(bad: dict[str, Any]) -> None:
    for kind in (Serial, lambda **how: Processes(1, **how)):
        with pytest.raises(InputError):
            kind(**bad)


def test_serial_waits_twice_as_long_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    slept = list[float]()
    monkeypatch.setattr(executors.time, "sleep", slept.append)
    seeds = list[int]()

    class Recorded(Walk):
        def play(self, actions: Actions, seed: int) -> Play:
            seeds.append(seed)
            raise OSError("no")

    reports, message = until_it_stops(Serial(pause=0.25).run(Recorded(), [unit(1)]))
    assert re.search(r"failed 5 times.*OSError: no", message)
    assert slept == [0.25, 0.5, 1.0, 2.0]
    assert [f.unit.attempt for report in reports for f in report.failed] == [0, 1, 2, 3, 4]
    first, second, *others = seeds
    assert first == second  # most failures pass
    assert len({first, *others}) == 4  # others depend on the noise


def test_what_is_run_at_once_is_retried_in_the_same_way() -> None:
    drawn = list[float]()

    class Recorded(Gauge):
        def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
            drawn.append(float(rng.random()))
            raise OSError("no")

    with pytest.raises(EpisodeError, match="failed 4 times"):
        list(Serial(retries=3, pause=0).run(Recorded(), [unit(5, single=False)]))
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) == 3


def test_only_what_failed_is_run_again(tmp_path: Path) -> None:
    system = Faulty(fault=breaks, share=5, folder=tmp_path)
    reports = list(Serial(pause=0).run(system, [unit(50)]))
    failed = sum(len(report.failed) for report in reports)
    assert failed == sum(seed % 5 == 0 for seed in unit(50).episode_seeds()) > 3
    assert sorted(numbers(reports)) == [(0, i) for i in range(50)]


@pytest.mark.parametrize("how", ["serial", "processes"])
def test_refusals_are_never_retried(how: str) -> None:
    class Refusing(Walk):
        def play(self, actions: Actions, seed: int) -> Play:
            raise InputError("this cannot be", got="it", remedy="Do not.")

    executor: Executor = Serial() if how == "serial" else Processes(1)
    with executor:
        reports = list(executor.run(Refusing(), [unit(5)]))
    assert {report.refusal for report in reports} == {("this cannot be", "it", "Do not.")}
    assert all(not report.failed for report in reports)


def test_retries_are_counted_and_noted(tmp_path: Path) -> None:
    alone = surepath.learn(Walk())
    folder = tmp_path / "seen"
    folder.mkdir()
    system = Faulty(fault=breaks, folder=folder)
    result = surepath.learn(system, journal=tmp_path / "a.db", workers=Serial(pause=0))
    failed = len(list(folder.iterdir()))
    assert result.usage.retries == failed > 5
    assert result.episodes == alone.episodes
    assert result.certificate.to_dict() == alone.certificate.to_dict()
    assert result.record == alone.record
    with Journal(tmp_path / "a.db") as journal:
        assert journal.count() == (alone.episodes, failed)
    assert surepath.learn(Walk(), journal=tmp_path / "a.db") == result


# ---------------------------------------------------------------- handing out


@given(
    counts=st.lists(st.tuples(st.integers(1, 200), st.booleans()), max_size=6),
    workers=st.integers(1, 9),
    most=st.integers(1, 80),
)
@settings(max_examples=100, deadline=None)
def test_every_episode_is_handed_out_once(
    counts: list[tuple[int, bool]], workers: int, most: int
) -> None:
    units = [unit(n, single=single, index=i) for i, (n, single) in enumerate(counts)]
    queue, taken = _Queue(deque(units)), list[Unit]()
    while queue:
        taken.append(queue.take(workers, most))
    handed = [(u.index, u.first + i) for u in taken for i in range(u.count)]
    assert handed == [(u.index, i) for u in units for i in range(u.count)]
    assert all(u.count <= most for u in taken if u.single)
    assert all(u.count == u.request.count for u in taken if not u.single)


def test_all_workers_get_something() -> None:
    queue = _Queue(deque([unit(8)]))
    assert [queue.take(4, 64).count for _ in range(8)] == [1] * 8
    assert not queue


def test_what_was_postponed_wakes_in_its_order() -> None:
    queue = _Queue(deque())
    queue.postpone(unit(1, index=0), 0.02)
    queue.postpone(unit(1, index=1), 0.0)
    queue.postpone(unit(1, index=2), 60.0)
    queue.wake()
    assert [u.index for u in queue.ready] == [1]
    time.sleep(0.03)
    queue.wake()
    assert [u.index for u in queue.ready] == [1, 0]
    assert queue.later[0][-1].index == 2


class Local(Worker):
    """A worker of this process that dies when it is told to."""

    def __init__(self, system: Any, dies: Callable[[Unit], bool]) -> None:
        self.system, self.dies = system, dies
        self.given: Unit | None = None

    def send(self, unit: Unit) -> None:
        self.given = unit

    def receive(self) -> UnitReport:
        if self.given is None:
            return UnitReport()
        if self.dies(self.given):
            raise WorkerDiedError("gone")
        return perform(self.system, self.given)

    def stop(self) -> None:
        self.given = None


class Crew(Fleet):
    """A fleet of those."""

    def __init__(self, size: int, dies: Callable[[Unit], bool], **how: Any) -> None:
        super().__init__(size, **how)
        self.dies = dies
        self.pick = np.random.default_rng(0)

    def _start(self, payload: bytes) -> Worker:
        return Local(pickle.loads(payload), self.dies)

    def _answering(self, workers: Sequence[Worker], seconds: float) -> Sequence[Worker]:
        return [w for w in workers if self.pick.random() < 0.7]


@given(
    counts=st.lists(st.integers(1, 150), min_size=1, max_size=4),
    size=st.integers(1, 5),
    chance=st.floats(0, 0.5),
    seed=st.integers(0, 99),
)
@settings(max_examples=40, deadline=None)
def test_a_fleet_does_every_episode_once_whoever_dies(
    counts: list[int], size: int, chance: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    crew = Crew(size, lambda _: bool(rng.random() < chance), retries=1000, pause=0)
    units = [unit(n, index=i) for i, n in enumerate(counts)]
    reports = list(crew.run(Walk(), units))
    assert sorted(numbers(reports)) == [
        (i, n) for i, count in enumerate(counts) for n in range(count)
    ]
    assert len(crew._workers) == size
    crew.close()
    assert crew._workers == []


def test_deaths_of_the_same_episodes_are_bounded() -> None:
    crew = Crew(3, lambda given: given.first <= 7 < given.first + given.count, retries=2)
    reports, message = until_it_stops(crew.run(Walk(), [unit(40)]))
    assert "workers died 3 times of the same episodes" in message
    assert crew.replaced == 3
    assert (0, 7) not in numbers(reports)


# ---------------------------------------------------------------- processes


@pytest.fixture(scope="module")
def pair() -> Iterator[Processes]:
    with Processes(2) as processes:
        yield processes


def systems() -> dict[str, tuple[Any, dict[str, Any]]]:
    problem = surepath.make("tabular", horizon=3, states=3, observations=4, seed=1)
    return {
        "one by one": (Walk(), {}),
        "at once": (Gauge(), {"features": "linear"}),
        "summaries": (problem, {}),
    }


@pytest.fixture(scope="module")
def serially() -> dict[str, surepath.Result]:
    return {name: surepath.learn(system, **how) for name, (system, how) in systems().items()}


def check_same(executor: Executor, serially: dict[str, surepath.Result], folder: Path) -> None:
    for name, (system, how) in systems().items():
        path = folder / f"{name}.db"
        result = surepath.learn(system, workers=executor, journal=path, **how)
        assert result == serially[name], name
        assert result.record == serially[name].record, name
        surepath.learn(system, journal=folder / f"{name} alone.db", **how)
        assert content(path) == content(folder / f"{name} alone.db"), name
        assert surepath.learn(system, journal=path, **how) == result, name


def test_processes_find_the_same(
    pair: Processes, serially: dict[str, surepath.Result], tmp_path: Path
) -> None:
    check_same(pair, serially, tmp_path)


def test_a_number_of_workers_is_a_number_of_processes(
    serially: dict[str, surepath.Result],
) -> None:
    assert surepath.learn(Walk(), workers=1) == serially["one by one"]


@pytest.mark.parametrize("bad", [True, "two", 0, -1, 1.5])
def test_bad_workers_are_refused(bad: Any) -> None:
    with pytest.raises(InputError, match="workers"):
        surepath.learn(Walk(), workers=bad)


def test_a_killed_worker_is_replaced_and_changes_nothing(tmp_path: Path) -> None:
    alone = surepath.learn(Walk(), journal=tmp_path / "alone.db")
    with Processes(2) as pair:
        killed = list[int]()

        def kill() -> None:
            while len(killed) < 2:
                time.sleep(0.1)
                pids = [worker.pid for worker in pair._workers if worker not in pair._starting]  # pyright: ignore[reportAttributeAccessIssue]
                if pids and pids[0] not in killed:
                    killed.append(pids[0])
                    os.kill(pids[0], signal.SIGKILL)

        killer = threading.Thread(target=kill, daemon=True)
        killer.start()
        result = surepath.learn(Walk(pause=0.005), workers=pair, journal=tmp_path / "a.db")
        killer.join(10)
    assert 1 <= result.usage.replaced <= 2
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


def test_workers_have_as_long_as_they_need_to_start() -> None:
    """The time limit is for episodes: importing and building the system are not part of it."""

    class Heavy(Walk):
        def __setstate__(self, state: dict[str, Any]) -> None:
            time.sleep(0.6)
            self.__dict__.update(state)

    with Processes(1, time_limit=0.5) as processes:
        reports = list(processes.run(Heavy(), [unit(3)]))
        assert processes.replaced == 0
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
    deadline = time.monotonic() + 10
    while any(alive(pid) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


# ---------------------------------------------------------------- Ray


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    ray = pytest.importorskip("ray")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("RAY_AUTH_MODE", "disabled")
        environment.setenv("RAY_USAGE_STATS_ENABLED", "0")
        environment.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        with RayCluster(4, cpus=0.1) as cluster:
            yield cluster
        assert not ray.is_initialized()


def test_a_ray_cluster_finds_the_same(
    cluster: RayCluster, serially: dict[str, surepath.Result], tmp_path: Path
) -> None:
    began = cluster._ray.get_runtime_context().get_job_id()
    check_same(cluster, serially, tmp_path)
    assert cluster._ray.get_runtime_context().get_job_id() == began  # one cluster for all of it


def test_a_killed_ray_worker_is_replaced_and_changes_nothing(
    cluster: RayCluster, tmp_path: Path
) -> None:
    alone = surepath.learn(Walk(), journal=tmp_path / "alone.db")
    folder = tmp_path / "seen"
    folder.mkdir()
    system = Faulty(fault=kills_its_worker, share=150, folder=folder)
    with RayCluster(2, cpus=0.1) as two:  # of the cluster that is there
        result = surepath.learn(system, workers=two, journal=tmp_path / "a.db")
    assert cluster._ray.is_initialized()  # it belongs to the one who began it
    assert result.usage.replaced == len(list(folder.iterdir())) > 0
    assert result.certificate.to_dict() == alone.certificate.to_dict()
    assert (result.actions, result.record) == (alone.actions, alone.record)
    assert content(tmp_path / "a.db") == content(tmp_path / "alone.db")


def test_a_ray_worker_that_hangs_is_replaced(cluster: RayCluster, tmp_path: Path) -> None:
    with RayCluster(2, cpus=0.1, time_limit=0.3) as two:
        reports = list(two.run(Faulty(fault=hangs, share=8, folder=tmp_path), [unit(10)]))
    assert sum(len(r.failed) for r in reports) == len(list(tmp_path.iterdir())) > 0
    assert sorted(numbers(reports)) == [(0, i) for i in range(10)]


def test_more_ray_workers_than_there_is_room_for_do_not_block(cluster: RayCluster) -> None:
    room = int(cluster._ray.cluster_resources()["CPU"])
    crowd = RayCluster(room + 2, cpus=0.6)
    assert sorted(numbers(list(crowd.run(Walk(), [unit(9)])))) == [(0, i) for i in range(9)]
    crowd.close()


def test_ray_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"surepath\[ray\]"):
        surepath.learn(Walk(), workers="ray")
