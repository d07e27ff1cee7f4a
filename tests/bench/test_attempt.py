"""One run of any method: what is watched and what is counted."""

from __future__ import annotations

import pytest

import surepath
from surepath.bench.harness.attempt import OURS, Trial, attempt
from surepath.bench.harness.rivals import RIVALS, Settings, grid, settings_of
from surepath.bench.harness.runs import Instance
from traces import CONTINUOUS, SMALL, trace


def test_an_answer_stands_until_the_next() -> None:
    seen = trace((10, 0.5), (40, 0.0), (80, 0.2))
    assert [seen.exact_at(s) for s in (5, 10, 39, 40, 79, 80, 1e9)] == [
        False, False, False, True, True, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize("method", [OURS, *RIVALS])
def test_every_method_runs_within_its_steps(method: str) -> None:
    settings: Settings = () if method == OURS else settings_of(method, SMALL)[0]
    cap = 6000
    run = attempt(Trial(SMALL, method, settings, cap, 0))
    assert not run.refused
    assert 0 < run.total <= cap
    assert list(run.steps) == sorted(run.steps)
    assert len(run.steps) == len(run.losses) > 0
    assert all(loss >= -1e-9 for loss in run.losses)
    assert run == attempt(Trial(SMALL, method, settings, cap, 0))


def test_ours_is_what_learn_is() -> None:
    problem = SMALL.build()
    result = surepath.learn(problem, seed=3)
    run = attempt(Trial(SMALL, OURS, (), 10**9, 3))
    assert (run.total, run.certified, run.stopped) == (result.steps, result.certified, True)
    assert run.exact_at(run.total) == problem.is_optimal(result.actions)


def test_what_cannot_be_run_says_why() -> None:
    many = Instance("lock", {"horizon": 20, "actions": 4, "seed": 0})
    run = attempt(Trial(many, "LUCB", (), 1000, 0))
    assert "sequences" in run.refused
    assert not run.exact_at(1000)


def test_features_that_are_fitted_are_paid_for_by_all() -> None:
    """What a pilot costs is in the steps of every method that uses what it was for."""
    run = attempt(Trial(CONTINUOUS, "agnostic Q", grid(samples=(8,))[0], 10**5, 0))
    ours = attempt(Trial(CONTINUOUS, OURS, (), 10**5, 0))
    assert min(run.steps[0], ours.steps[0]) > 200
