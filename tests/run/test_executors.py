"""What fails is run again, within bounds; and how one process runs everything."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surepath
from flaky import Faulty, Gauge, Walk, breaks
from surepath.errors import EpisodeError, InputError
from surepath.journal.database import Journal
from surepath.run import executors
from surepath.run.executors import Executor, Retries, Serial
from surepath.run.processes import Processes
from surepath.run.work import Failure
from surepath.system import Actions, Episodes, Play
from workers import numbers, unit, until_it_stops


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
