"""The claim itself: the fixed schedules return the optimum, within their own counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import surepath
from surepath.builtin_problems import Problem
from surepath.learners.recursion import Learner
from surepath.prepare.call import Call
from surepath.prepare.fixed_run import FixedRun
from surepath.prepare.task import plan_task
from surepath.readings.ridge import Ridge
from surepath.run.driver import drive
from surepath.run.runner import Runner
from surepath.theory.own_counts import stages
from surepath.theory.schedule import Bounds, Schedule, bounds, tight

CHUNK = 25


def random_problem(seed: int) -> Problem:
    """A tabular (even seed) or Gaussian (odd seed) instance of random size."""
    rng = np.random.default_rng([7, seed])
    states = int(rng.integers(2, 7))
    size = {
        "horizon": int(rng.integers(1, 11)),
        "states": states,
        "actions": int(rng.integers(2, 5)),
        "gap": float(rng.uniform(0.05, 0.2)),
        "singular_value": float(rng.uniform(0.1, 0.5)),
        "seed": seed,
    }
    wide = states + int(rng.integers(0, 5))
    if seed % 2 == 0:
        return surepath.make("tabular", observations=wide, **size)
    noise = float(rng.uniform(0.2, 2.0)) if rng.random() < 0.5 else None
    return surepath.make("gaussian", dimension=wide, reward_noise=noise, **size)


class ExcessError(Exception):
    """A count left its bound."""


def run(
    problem: Problem, change: Callable[[Schedule], Schedule] = lambda s: s, seed: int = 0
) -> tuple[Learner, Bounds]:
    """`tight` as proved beforehand; raises as soon as a level is expanded more often than N'."""
    run = FixedRun.of(plan_task(Call.of(problem, schedule="tight")))
    assert run.setting is not None
    schedule = tight(run.setting)
    proved = bounds(schedule, run.setting)
    learner = Learner(
        problem.horizon,
        problem.n_actions,
        run.task.features,
        change(schedule),
        reward_range=problem.reward_range,
    )

    def watch(learner: Learner) -> None:
        if max(learner.usage.expansions) > proved.expansions:
            raise ExcessError

    drive(learner, Runner(problem, seed), watch=watch)
    return learner, proved


def exact_and_within_bounds(
    problem: Problem, change: Callable[[Schedule], Schedule] = lambda s: s
) -> bool:
    try:
        learner, proved = run(problem, change)
    except ExcessError:
        return False
    usage = learner.usage
    return (
        problem.is_optimal(learner.incumbent)
        and max(usage.expansions) <= proved.expansions
        and usage.feature_batches <= proved.feature_batches
        and usage.reward_batches <= proved.reward_batches
        and usage.episodes <= proved.episodes
        and usage.steps <= proved.steps
    )


@pytest.mark.parametrize("first", range(0, 500, CHUNK))
def test_tight_is_exact_and_within_its_counts(first: int) -> None:
    failed = [
        seed
        for seed in range(first, first + CHUNK)
        if not exact_and_within_bounds(random_problem(seed))
    ]
    assert failed == []


def test_runs_held_to_their_own_counts_are_exact_and_cheaper() -> None:
    """Every one is certified, by what it took; what was proved beforehand costs far more."""
    ratios = list[float]()
    for seed in range(100):
        problem = random_problem(seed)
        result = surepath.learn(problem, schedule="tight", seed=seed)
        assert result.certified
        assert problem.is_optimal(result.actions)
        if seed < 20 and problem.horizon > 1:
            ratios.append(run(problem)[0].usage.steps / result.steps)
    assert np.exp(np.mean(np.log(ratios))) > 20


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_fresh_samples_are_exact_too(first: int) -> None:
    small = [random_problem(seed) for seed in range(first, first + 20)]
    failed = [
        seed
        for seed, problem in enumerate(small)
        if not exact_and_within_bounds(problem, lambda s: replace(s, pool=False))
    ]
    assert failed == []


def sabotaged_failures(change: Callable[[Schedule], Schedule] = lambda s: s) -> int:
    return sum(not exact_and_within_bounds(random_problem(seed), change) for seed in range(20))


def test_a_broken_coverage_test_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Covered means nothing, or nothing is ever covered: either shows in the same 20 instances."""
    whole = Ridge.coverage
    monkeypatch.setattr(Ridge, "_check", lambda self, x, before: None)
    monkeypatch.setattr(Ridge, "coverage", lambda self, x: 0.0 if self.count else whole(self, x))
    assert sabotaged_failures() >= 10
    monkeypatch.setattr(Ridge, "coverage", lambda self, x: np.inf)
    assert sabotaged_failures() >= 5


def test_a_broken_ridge_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too much shrinkage loses the answer, and so does leaving out the inverse."""
    assert sabotaged_failures(lambda s: replace(s, ridge=1e4 * s.ridge)) >= 5
    monkeypatch.setattr(Ridge, "predict", lambda self, x: x @ self._moments)
    assert sabotaged_failures() >= 5


@pytest.mark.parametrize("first", range(0, 50, 10))
def test_mixing_with_millions_of_states(first: int) -> None:
    """4^12 > 16 million action sequences, each with a hidden state of its own."""
    failed = [
        seed
        for seed in range(first, first + 10)
        if not exact_and_within_bounds(surepath.make("mixing", horizon=12, actions=4, seed=seed))
    ]
    assert failed == []


@pytest.mark.parametrize("horizon", [1, 2, 20])
def test_locks_of_any_length(horizon: int) -> None:
    problem = surepath.make("lock", horizon=horizon, seed=3)
    result = surepath.learn(problem, schedule="tight")
    assert result.certified
    assert result.actions == problem.optimum[0]
    assert result.interval[0] <= problem.optimum[1] <= result.interval[1]


def test_the_papers_constants_run_and_cost_what_they_cost() -> None:
    problem = surepath.make(
        "tabular", horizon=3, states=3, actions=2, observations=4, gap=0.28, seed=21
    )
    printed = surepath.learn(problem, schedule="paper")
    sharp = surepath.learn(problem, schedule="tight")
    assert printed.certified
    assert sharp.certified
    assert printed.actions == sharp.actions == problem.optimum[0]
    assert 1e14 < printed.steps < 1e16
    assert printed.steps / sharp.steps >= 1e5
    bound = printed.certificate.bounds
    assert bound is not None
    assert max(printed.usage.expansions) <= bound.expansions
    assert printed.usage.feature_batches <= bound.feature_batches
    assert printed.usage.reward_batches <= bound.reward_batches


def test_ties_are_legal_and_the_plan_is_still_optimal() -> None:
    rewards = np.full((4, 2, 3), 0.5)
    rewards[3, 1] = [0.9, 0.9, 0.2]
    problem = surepath.Tabular.from_arrays(
        transitions=[[0, 1, 1], [1, 1, 0]], emissions=[[0.8, 0.2], [0.1, 0.9]], rewards=rewards
    )
    assert not problem.oracle.unique
    result = surepath.learn(problem, schedule="tight")
    assert result.certified
    assert problem.is_optimal(result.actions)


def test_value_intervals_hold_the_optimum() -> None:
    """Each interval holds on the event that fails with probability delta at most."""
    for seed in range(60):
        problem = random_problem(seed)
        result = surepath.learn(problem, schedule="tight", seed=seed)
        assert result.certified
        low, high = result.interval
        assert low <= problem.optimum[1] <= high


def test_the_schedule_of_a_problem_is_the_one_the_theory_gives() -> None:
    problem = random_problem(4)
    run = FixedRun.of(plan_task(Call.of(problem, schedule="tight")))
    assert run.setting is not None
    assert run.stages == stages(run.setting)
    assert run.setting.gap == problem.gap
    assert run.setting.norm == problem.norm
