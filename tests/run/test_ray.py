"""A Ray cluster finds what one process finds; workers that are lost are replaced."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import surepath
from flaky import Faulty, Walk, content, hangs, kills_its_worker
from kills import QUIET_RAY, begun
from places import TESTS
from surepath.errors import InputError, MissingExtraError
from surepath.run import fleet
from surepath.run.ray import RayCluster
from survivors import check_end, descendants, wait_for
from workers import check_same, numbers, unit


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    ray = pytest.importorskip("ray")
    with pytest.MonkeyPatch.context() as environment:
        for name, value in QUIET_RAY.items():
            environment.setenv(name, value)
        with begun() as cluster:
            yield cluster
        assert not ray.is_initialized()


def test_a_ray_cluster_finds_the_same(cluster: RayCluster, tmp_path: Path) -> None:
    began = cluster._ray.get_runtime_context().get_job_id()
    check_same(cluster, tmp_path)
    assert cluster._ray.get_runtime_context().get_job_id() == began  # one cluster for all of it


def test_a_killed_ray_worker_is_replaced_and_changes_nothing(
    cluster: RayCluster, tmp_path: Path
) -> None:
    alone = surepath.learn(Walk(), journal=tmp_path / "alone.db")
    folder = tmp_path / "seen"
    folder.mkdir()
    system = Faulty(fault=kills_its_worker, share=40, folder=folder)
    with RayCluster(2, cpus=0.1) as two:  # of the cluster that is there
        result = surepath.learn(system, workers=two, journal=tmp_path / "a.db")
    assert cluster._ray.is_initialized()  # it belongs to the one who began it
    assert result.usage.replaced == len(list(folder.iterdir())) > 0
    assert result.certificate.to_dict() == alone.certificate.to_dict()
    assert (result.actions, result.record) == (alone.actions, alone.record)
    assert content(tmp_path / "a.db") == content(tmp_path / "alone.db")


def test_a_ray_worker_that_hangs_is_replaced(
    cluster: RayCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def monotonic() -> float:
        """Time passes when the worker hangs, and only then."""
        return 10.0 * len(list(tmp_path.iterdir()))

    monkeypatch.setattr(fleet, "time", SimpleNamespace(monotonic=monotonic, sleep=time.sleep))
    with RayCluster(1, cpus=0.1, time_limit=0.3, pause=0.0) as one:
        reports = list(one.run(Faulty(fault=hangs, share=8, folder=tmp_path), [unit(10)]))
    failed = [failure for report in reports for failure in report.failed]
    assert len(failed) == one.replaced == len(list(tmp_path.iterdir())) > 0
    assert {failure.error for failure in failed} == {"it took longer than 0.3 s"}
    assert sorted(numbers(reports)) == [(0, i) for i in range(10)]


def test_more_ray_workers_than_there_is_room_for_do_not_block(cluster: RayCluster) -> None:
    room = int(cluster._ray.cluster_resources()["CPU"])
    crowd = RayCluster(room + 2, cpus=0.6)
    assert sorted(numbers(list(crowd.run(Walk(), [unit(9)])))) == [(0, i) for i in range(9)]
    crowd.close()


def test_more_workers_than_the_cluster_can_carry_are_refused(cluster: RayCluster) -> None:
    with pytest.raises(InputError, match=r"100000 workers.*Ask for fewer"):
        RayCluster(100_000)
    assert cluster._ray.is_initialized()  # it belongs to the one who began it


ASKING = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
from pathlib import Path
import cloudpickle, flaky, survivors
from kills import QUIET_RAY, begun
from workers import unit
for module in (flaky, survivors):
    cloudpickle.register_pickle_by_value(module)
system = survivors.Stuck(folder=Path(sys.argv[1]))
units = [unit(2, index=index) for index in range(4)]
list(begun(address=sys.argv[2]).run(system, units))
"""


@pytest.mark.parametrize("whose", ["its own", "another's"])
def test_ray_workers_end_with_the_one_who_asked(
    whose: str, cluster: RayCluster, tmp_path: Path
) -> None:
    """And with them a cluster that it has started; one that was there goes on."""
    script, folder = tmp_path / "script.py", tmp_path / "pids"
    folder.mkdir()
    script.write_text(ASKING)
    address = cluster._ray.get_runtime_context().gcs_address
    given = ["local"] if whose == "its own" else [address]
    with subprocess.Popen([sys.executable, script, folder, *given]) as asking:
        pids = wait_for(folder, 8)
        started = descendants(asking.pid)
        assert any("raylet" in command(pid) for pid in started) == (whose == "its own")
        asking.kill()
    check_end([*pids, *started])
    assert sorted(numbers(list(cluster.run(Walk(), [unit(3)])))) == [(0, i) for i in range(3)]


def command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()


def test_ray_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"surepath\[ray\]"):
        surepath.learn(Walk(), workers="ray")
