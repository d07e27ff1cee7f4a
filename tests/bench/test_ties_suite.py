"""Ties, and a slow system."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import surepath
from clocks import Clock
from surepath.bench.harness.runs import Crew, Instance, Job
from surepath.bench.suites import ties


def test_ties_leave_the_best_value_as_it_was() -> None:
    problem: Any = surepath.make("tabular", horizon=5, seed=4)
    tied = ties.tie(problem, 4)
    assert tied.optimum[1] == pytest.approx(problem.optimum[1])
    flat = (tied.dynamics.rewards == tied.dynamics.rewards[:, :, :1]).all(axis=2)
    assert flat.sum() == flat.size // 2


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    stopped = Clock()
    monkeypatch.setattr(ties, "time", stopped)
    return stopped


def test_a_slow_system_takes_its_time_for_every_step(clock: Clock) -> None:
    problem: Any = surepath.make("tabular", horizon=2)
    slow = ties.Slow(problem, 0.001)
    for _ in range(2):
        slow.rollout((0, 1), 5, np.random.default_rng(0))
    assert slow.busy == clock.now == pytest.approx(2 * 5 * 2 * 0.001)


def test_what_the_system_takes_is_told_from_the_rest(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever plans half a second before a run of 2 seconds spends a fifth of the time outside."""

    def plan_and_play(system: ties.Slow, seed: int) -> surepath.Result:
        clock.sleep(0.5)
        system.rollout((0, 1), 1000, np.random.default_rng(seed))
        return surepath.learn(system.machine, seed=seed)

    monkeypatch.setattr(ties, "learn", plan_and_play)
    one = Instance("tabular", {"horizon": 2})
    timed = ties.time_slow(Job(one.numbered(0), 0, {"seconds": 0.001}))
    assert (timed.seconds, timed.busy) == pytest.approx((2.5, 2.0))
    monkeypatch.setattr(ties, "SLOW", (one,))
    (row,) = ties.overhead(Crew(), 3, 0.001).rows
    assert row[1] == pytest.approx(2.5)
    assert row[3:5] == ("20.00%", "20.00%")
