"""The clock of the suite of workers counts episodes, and its runs are those of `learn`."""

from __future__ import annotations

import pytest

from clocks import Clock
from surepath.api import learn
from surepath.bench import run_suite
from surepath.bench.harness.runs import Crew, Instance
from surepath.bench.suites import workers
from surepath.run.executors import Serial

SMALL = Instance("tabular", {"horizon": 3, "states": 3, "observations": 4, "gap": 0.2})


def test_a_round_lasts_until_its_last_episode_is_done() -> None:
    run = workers.Clocked((8, 9, 1), steps=18, exact=True, certified=True)
    assert [run.time(slots) for slots in (1, 8, 9, 64)] == [18, 4, 3, 3]
    assert run.busy(1) == 1
    assert run.busy(8) == 18 / 32


def test_batches_are_those_of_the_run() -> None:
    found = workers.clocked(workers.Shared(SMALL, 8, 1))
    problem = SMALL.numbered(1).build()
    same = learn(problem, seed=1, at_once=8)
    assert sum(found.batches) == same.episodes
    assert found.steps == same.steps
    assert found.exact == problem.is_optimal(same.actions)


def test_a_row_for_every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "LEARNED", {"small": SMALL})
    monkeypatch.setattr(workers, "FULL", workers.Scale({"small": 2}, sizes=(1, 16)))
    (section,) = run_suite("workers", Crew(), ["rounds"]).sections
    one, many = section.rows
    assert one[1:3] + one[8:9] == (1, one[2], "1.00")
    assert many[1] == 16
    assert many[-1] == one[-1] == many[-2] == "2/2 [0.34, 1.00]"


def test_a_system_that_only_has_rollout_sleeps_for_every_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    monkeypatch.setattr(workers, "time", clock)
    system = workers.Sleepy(SMALL.numbered(1).build())
    seconds, found = workers._timed(system, Serial(), 4)
    assert seconds == pytest.approx(workers.SLEEP * found.steps)
