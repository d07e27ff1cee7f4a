"""Whole runs of the adaptive learner: small systems, ties and gaps, other rewards, futures."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

import surepath
from machines import Raw, fan
from playing import learner_for, play, small
from surepath.bench.families.sick import Single
from surepath.builtin_problems import Problem, Tabular
from surepath.inference.independence import Dependence
from surepath.inference.tuning import TUNING
from surepath.results.adaptive_claim import rounded_up
from surepath.system import Actions, Episodes

# ---------------------------------------------------------------- the smallest systems


@pytest.mark.parametrize("guarantee", ["calibrated", "proved"])
def test_a_single_action_needs_no_proof(guarantee: str) -> None:
    problem = small(1, actions=1)
    result = surepath.learn(problem, guarantee=guarantee)
    assert result.certified
    assert result.actions == (0, 0, 0)
    assert result.episodes <= 10 * TUNING.first_readings
    low, high = result.interval
    assert low <= problem.optimum[1] <= high


@pytest.mark.parametrize("guarantee", ["calibrated", "proved"])
@pytest.mark.parametrize("name", ["tabular", "gaussian"])
def test_a_single_level(name: str, guarantee: str) -> None:
    for seed in range(4):
        problem = surepath.make(name, horizon=1, actions=4, gap=0.2, seed=seed)
        result = surepath.learn(problem, seed=seed, guarantee=guarantee)
        assert result.certified
        assert problem.is_optimal(result.actions)
    one = surepath.make(name, horizon=1, actions=1)
    assert surepath.learn(one, guarantee=guarantee).actions == (0,)


def test_a_shorter_horizon_than_the_system_has() -> None:
    for seed in range(4):
        problem = small(seed, horizon=5)
        result = surepath.learn(problem, 2, seed=seed, gap=0.01, delta=1e-4)
        assert result.certified
        returns = {
            actions: sum(
                problem.reward_law(step, state, action).mean
                for step, (state, action) in enumerate(zip(problem.path(actions), actions))  # noqa: B905
            )
            for actions in product(range(2), repeat=2)
        }
        assert returns[result.actions] == max(returns.values())  # type: ignore[index]


# ---------------------------------------------------------------- ties and gaps


def tied_machine(lead: float = 0.0) -> Problem:
    """Two hidden states; at the last step both actions pay alike, up to the lead."""
    rewards = np.full((2, 2, 2), 0.4)
    rewards[0, 0] = [0.2, 0.6]
    rewards[1, :, 1] += lead
    return surepath.Tabular.from_arrays([[0, 1], [1, 1]], [[0.9, 0.1], [0.1, 0.9]], rewards)


def allowed_loss(result: surepath.Result) -> float:
    if result.proof is not None:
        return json.loads(result.proof[0])["tolerance"]
    allowed = re.search(r"within the tolerance of (\S+)$", result.certificate.reason)
    assert allowed
    return float(allowed[1])


@pytest.mark.parametrize("guarantee", ["calibrated", "proved"])
def test_equal_actions_end_within_the_tolerance(guarantee: str) -> None:
    """But for a few in which chance shows a lead, the claim says how much can be lost at most."""
    problem, within = tied_machine(), 0
    for seed in range(8):
        result = surepath.learn(problem, seed=seed, guarantee=guarantee, norm=2.0, budget=10**6)
        assert result.certified
        assert result.actions[0] == 1
        if said := re.search(r"within (\S+) of optimal", result.certificate.claim):
            within += 1
            assert result.certificate.tolerance == float(said[1])
            # An eighth of what a step pays: coins of 0.6 and 0.4 have a mean square of 0.5.
            assert 0 < float(said[1]) < 0.1
            assert float(said[1]) <= rounded_up(allowed := allowed_loss(result))
            assert allowed == pytest.approx(math.sqrt(0.5) / 8, abs=0.01)
    assert within >= 6


def test_with_a_gap_equal_actions_are_optimal() -> None:
    problem = tied_machine()
    result = surepath.learn(problem, gap=0.2)
    assert result.certified
    assert "are optimal" in result.certificate.claim
    assert problem.is_optimal(result.actions)


@pytest.mark.parametrize("name", ["tabular", "gaussian"])
def test_knowing_the_gap_costs_no_more(name: str) -> None:
    """Geometric mean over the same instances and noise."""
    ratios = list[float]()
    for seed in range(12):
        problem = surepath.make(name, horizon=3, states=3, gap=0.15, seed=seed)
        known = surepath.learn(problem, seed=seed, gap=problem.gap)
        blind = surepath.learn(problem, seed=seed)
        assert known.certified
        assert blind.certified
        ratios.append(math.log(known.episodes / blind.episodes))
    assert np.mean(ratios) < 0.05


# ---------------------------------------------------------------- other rewards, longer futures


@pytest.mark.parametrize("noise", [0.1, 1.0])
def test_gaussian_rewards(noise: float) -> None:
    for seed in range(4):
        problem = surepath.make(
            "gaussian", horizon=3, states=3, gap=0.3, reward_noise=noise, seed=seed
        )
        result = surepath.learn(problem, seed=seed)
        assert result.certified
        assert problem.is_optimal(result.actions)
        assert math.isfinite(result.value)
        assert math.isfinite(result.interval[0])
        assert math.isfinite(result.interval[1])


class Scaled(Raw):
    """The same system in other units of reward."""

    def __init__(self, problem: Problem, factor: float, offset: float) -> None:
        super().__init__(problem)
        self.factor, self.offset = factor, offset

    def rollout(self, actions: Any, n: int, rng: np.random.Generator) -> Episodes:
        episodes = super().rollout(actions, n, rng)
        return replace(episodes, rewards=self.factor * episodes.rewards + self.offset)


@pytest.mark.parametrize(
    ("factor", "offset", "tolerances"),
    [(2.0, 0.0, (None, None)), (2.0, 0.0, ("2%", "2%")), (2.0, 1.0, (0.1, 0.2))],
    ids=["as is paid", "a share", "given"],
)
def test_rewards_of_another_range_are_the_same_run(
    factor: float, offset: float, tolerances: tuple[Any, Any]
) -> None:
    """The same plan at the same cost, as far as the tolerance is the same."""
    for seed in range(4):
        problem = small(seed)
        ends = offset, factor + offset
        plain = surepath.learn(Raw(problem), seed=seed, tolerance=tolerances[0])
        scaled = surepath.learn(
            Scaled(problem, factor, offset), seed=seed, reward_range=ends, tolerance=tolerances[1]
        )
        assert scaled.actions == plain.actions
        assert scaled.episodes == plain.episodes
        assert scaled.value == pytest.approx(factor * plain.value + 3 * offset)


def test_two_looks_where_one_does_not_suffice() -> None:
    for seed in range(5):
        problem = surepath.make("overcomplete", horizon=4, seed=seed)
        result = surepath.learn(problem, future=2, seed=seed)
        assert result.certified
        assert problem.is_optimal(result.actions)


@pytest.mark.parametrize("future", [2, 3])
def test_futures_of_real_readings(future: int) -> None:
    for seed in range(3):
        problem = surepath.make("gaussian", horizon=3, states=3, gap=0.2, noise=0.5, seed=seed)
        result = surepath.learn(problem, future=future, seed=seed)
        assert result.certified
        assert problem.is_optimal(result.actions)


def test_a_future_beyond_the_horizon_tries_everything() -> None:
    problem = small(1)
    result = surepath.learn(problem, future=5)
    assert result.certified
    assert problem.is_optimal(result.actions)
    assert result.usage.expansions == [1, 2, 4]


def test_states_that_are_only_predicted_are_tried_where_it_matters() -> None:
    """Sixteen states, of which twelve are tried at first, and these are not the best ones."""
    problem = fan(16)
    result = surepath.learn(problem, gap=0.03, budget=10**5)
    assert result.certified
    assert problem.is_optimal(result.actions)
    assert result.usage.expansions[0] == 1
    assert 12 < result.usage.expansions[1] <= 16


def test_sensors_without_noise() -> None:
    """What is seen is certain, what is paid is not."""

    class Plain(Raw):
        def __init__(self, problem: Problem) -> None:
            super().__init__(problem)
            self.n_observations, self.dimension = None, 4

        def rollout(self, actions: Any, n: int, rng: np.random.Generator) -> Episodes:
            states = self._problem.path(actions)
            seen = np.eye(4)[states][None].repeat(n, axis=0)
            return replace(super().rollout(actions, n, rng), observations=seen)

    for seed in range(3):
        problem = small(seed)
        result = surepath.learn(Plain(problem), features="linear", seed=seed)
        assert result.certified
        assert problem.is_optimal(result.actions)


def test_a_blind_system() -> None:
    """One symbol and one hidden state: nothing to see, and everything to learn from rewards."""
    problem = surepath.Tabular.from_arrays([[0, 0]], [[1.0]], [[[0.2, 0.8]], [[0.7, 0.3]]])
    result = surepath.learn(problem)
    assert result.certified
    assert result.actions == (1, 0)


def test_status_tells_how_far_it_is() -> None:
    problem = small(1)
    learner = learner_for(problem)
    assert learner.status()["incumbent"] == "-"
    play(learner, problem, 0)
    status = learner.status()
    assert status["episodes"] != "0"
    assert float(status["gap"]) >= 0
    assert "level" in status["weakest"]


def test_a_proof_by_a_norm_of_real_readings() -> None:
    problem = surepath.make(
        "gaussian", horizon=3, actions=2, states=3, dimension=4, gap=0.2, seed=67
    )
    result = surepath.learn(
        problem, seed=67, guarantee="proved", norm=problem.norm, delta=0.1, budget=10**6
    )
    assert result.certified
    assert problem.is_optimal(result.actions)


class Slippery(Single):
    """Every third action is another one."""

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        inner, state = self.inner, np.zeros(n, dtype=np.int64)
        read, paid = list[Any](), list[Any]()
        for level in range(min(len(actions) + 1, inner.horizon)):
            below = inner.emissions[level][state].cumsum(axis=1)[:, :-1]
            read.append((rng.random((n, 1)) > below).sum(axis=1))
            if level < len(actions):
                slips = rng.random(n) < 1 / 3
                taken = np.where(slips, rng.integers(inner.n_actions, size=n), actions[level])
                means = inner.dynamics.rewards[level, state, taken]
                paid.append((rng.random(n) < means).astype(float))
                if level + 1 < inner.horizon:
                    state = inner.dynamics.transitions[level, state, taken]
        return Episodes(actions, np.stack(read, axis=1), np.stack(paid, axis=1))


def test_a_run_that_can_only_be_refused_ends_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    moves = surepath.make("tabular", horizon=6, states=6, actions=3, observations=6).dynamics
    sharp = Tabular(moves, np.tile(0.75 * np.eye(6) + 0.25 / 6, (6, 1, 1)))
    result = surepath.learn(Slippery(sharp), budget=20_000)
    monkeypatch.setattr(Dependence, "hopeless", False)
    stubborn = surepath.learn(Slippery(sharp), budget=20_000)
    assert result.episodes < stubborn.episodes
    for each in (result, stubborn):
        assert each.certificate.status == "refused"
        assert "depends on each other" in each.certificate.reason
