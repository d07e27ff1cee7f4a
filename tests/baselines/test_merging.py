"""State merging: exact with the samples its theory asks for, and charged like everything else."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import surepath
from surepath.baselines.merging import Merging, theory_samples, true_separation
from surepath.builtin_problems.finite import FiniteProblem
from surepath.builtin_problems.tabular import Tabular
from surepath.errors import InputError
from surepath.features import Linear, OneHot
from surepath.run.driver import drive
from surepath.run.runner import Runner
from surepath.system import RewardMoments, Summary


def merging(problem: Tabular, samples: int, **options: Any) -> Merging:
    return Merging(
        problem.horizon,
        problem.n_actions,
        OneHot(problem.emissions.shape[2]),
        options.pop("separation", true_separation(problem)),
        samples,
        **options,
    )


def small(seed: int) -> Any:
    return surepath.make("tabular", horizon=4, states=3, actions=2, observations=4, seed=seed)


def needed(problem: FiniteProblem) -> int:
    return theory_samples(
        problem.horizon,
        problem.n_states,
        problem.n_actions,
        true_separation(problem),
        problem.gap,
        0.05,
    )


def test_with_the_samples_of_its_theory_it_is_exact_and_finds_every_state() -> None:
    exact = merged = 0
    for seed in range(20):
        problem = small(seed)
        learner = merging(problem, needed(problem))
        drive(learner, Runner(problem, seed))
        exact += problem.is_optimal(learner.incumbent)
        merged += learner.states == tuple(map(len, problem.reachable))
        assert not learner.crowded
    assert exact >= 19
    assert merged >= 19


def test_gaussian_readings_are_merged_too() -> None:
    problem: Any = surepath.make("gaussian", horizon=4, states=3, noise=0.1, seed=3)
    learner = Merging(
        problem.horizon,
        problem.n_actions,
        Linear(problem.dimension),
        true_separation(problem),
        needed(problem),
        reward_range=problem.reward_range,
    )
    drive(learner, Runner(problem, 0))
    assert problem.is_optimal(learner.incumbent)
    assert learner.states == tuple(map(len, problem.reachable))


@pytest.mark.parametrize("horizon", [1, 2, 5])
def test_every_episode_and_step_is_charged(horizon: int) -> None:
    problem: Any = surepath.make("tabular", horizon=horizon, states=3, actions=2, observations=4)
    samples = needed(problem)
    learner = merging(problem, samples)
    asks = 0
    while requests := learner.ask():
        assert {len(request.actions) for request in requests} == {asks + 1}
        assert {request.count for request in requests} == {samples}
        assert {request.rewards for request in requests} == {range(asks, asks + 1)}
        wanted = range(asks + 1, asks + 2) if asks + 1 < horizon else range(0)
        assert {request.observations for request in requests} == {wanted}
        rng = np.random.default_rng(asks)
        learner.tell([problem.summarise(request, rng) for request in requests])
        asks += 1
    assert asks == horizon  # one ask a level
    edges = [2 * len(states) for states in problem.reachable]
    assert learner.usage.episodes == samples * sum(edges)
    assert learner.usage.steps == samples * sum(
        n * min(h + 2, horizon) for h, n in enumerate(edges)
    )
    assert learner.usage.nodes == learner.usage.reward_batches == sum(edges)
    assert learner.usage.feature_batches == sum(edges[:-1])
    assert learner.usage.expansions == [len(states) for states in problem.reachable]


def test_the_plan_shows_its_estimates() -> None:
    problem = small(0)
    learner = merging(problem, 10**6)
    assert not learner.done
    assert learner.value is None
    assert learner.status() == {"level": "0/4", "states": "0", "episodes": "0"}
    drive(learner, Runner(problem, 0))
    assert learner.done
    assert learner.status()["level"] == "4/4"
    assert learner.ask() == ()
    assert learner.plan is not None
    states = problem.path(learner.incumbent)
    for decision, state in zip(learner.plan, states, strict=True):
        truth = problem.q_values(decision.level, state)
        assert decision.estimates == pytest.approx(truth, abs=0.01)
        assert decision.samples == 10**6
    assert [decision.action for decision in learner.plan] == list(learner.incumbent)
    assert learner.value == pytest.approx(problem.optimum[1], abs=0.01)


def test_a_full_level_takes_the_nearest_state_and_says_so() -> None:
    problem = small(1)
    learner = merging(problem, 2, separation=1e-6, most_states=3)
    drive(learner, Runner(problem, 0))
    assert learner.crowded
    assert max(learner.states) == 3
    assert len(learner.incumbent) == problem.horizon


def test_where_nothing_is_to_be_told_apart_all_ends_are_one_state() -> None:
    problem: Any = surepath.make("tabular", states=1, observations=2)
    assert true_separation(problem) == math.inf
    learner = merging(problem, 50)
    drive(learner, Runner(problem, 0))
    assert learner.states == (1,) * problem.horizon


def test_separation_is_the_smallest_distance_of_reachable_states() -> None:
    for seed in range(5):
        problem: Any = surepath.make("tabular", horizon=4, states=5, observations=6, seed=seed)
        distances = [
            math.dist(problem.emissions[h, s], problem.emissions[h, t])
            for h, states in enumerate(problem.reachable)
            for s, t in combinations(states.tolist(), 2)
        ]
        assert true_separation(problem) == pytest.approx(min(distances))


def test_samples_of_the_theory() -> None:
    log = math.log(4 * 4 * 3 * 2 / 0.05)
    readings = 16 * (1 + math.sqrt(log)) ** 2 / 0.1**2
    rewards = 2 * 16 * log / 0.01**2
    assert theory_samples(4, 3, 2, 0.1, 0.5, 0.05) == math.ceil(readings)
    assert theory_samples(4, 3, 2, 0.1, 0.01, 0.05) == math.ceil(rewards)
    assert theory_samples(4, 3, 2, math.inf, math.inf, 0.05) == 1


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"separation": 0.0}, "separation"),
        ({"separation": math.nan}, "separation"),
        ({"samples": 0}, "samples"),
        ({"most_states": 0}, "most_states"),
        ({"horizon": 0}, "horizon"),
    ],
)
def test_parameters_are_checked(change: dict[str, Any], named: str) -> None:
    given: dict[str, Any] = {"horizon": 2, "separation": 0.1, "samples": 5} | change
    with pytest.raises(InputError, match=named):
        Merging(n_actions=2, features=OneHot(3), **given)


@pytest.mark.parametrize(
    ("change", "named"),
    [({"states": 0}, "states"), ({"gap": 0.0}, "gap"), ({"delta": 1.0}, "delta")],
)
def test_theory_checks_its_parameters(change: dict[str, Any], named: str) -> None:
    given: dict[str, Any] = {"states": 2, "gap": 0.1, "delta": 0.05} | change
    with pytest.raises(InputError, match=named):
        theory_samples(3, n_actions=2, separation=0.1, **given)


def test_a_reward_outside_the_declared_range_is_refused_and_nothing_is_recorded() -> None:
    problem = small(0)
    learner = merging(problem, 5)
    requests = learner.ask()
    rng = np.random.default_rng(0)
    good = [problem.summarise(request, rng) for request in requests]
    bad = [
        Summary(reading.actions, reading.count, reading.observations, {0: RewardMoments(5, 1.5, 0)})
        for reading in good
    ]
    with pytest.raises(InputError, match="reward_range"):
        learner.tell(bad)
    assert learner.usage.episodes == 0
    assert learner.ask() == requests
    learner.tell(good)
    assert learner.usage.episodes == 10
