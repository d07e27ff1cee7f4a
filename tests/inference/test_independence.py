"""Steps of an episode: independent while the hidden path is fixed, dependent when it is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import surepath
from machines import Raw
from surepath.features import Linear, OneHot
from surepath.inference.independence import Dependence
from surepath.inference.tuning import TUNING
from surepath.system import Episodes

SURE = 1e-6  # probability with which a statistical threshold may be missed by a sound law
RARE = 1e-3  # of false alarms at one pair of steps

Draw = Callable[[np.random.Generator, int], Episodes]
SMALL, GROWING, LARGE = [8] * 12, [8, 8, 11, 16, 22, 31, 43, 60], [2000]


def symbols(*law: float, pays: float = 0.5) -> Draw:
    def draw(rng: np.random.Generator, n: int) -> Episodes:
        rewards = (rng.random((n, 3)) < pays).astype(float)
        return Episodes((0, 0, 0), rng.choice(len(law), size=(n, 3), p=law), rewards)

    return draw


def vectors(dimension: int, scale: float = 1.0) -> Draw:
    def draw(rng: np.random.Generator, n: int) -> Episodes:
        readings = scale * rng.normal(size=(n, 3, dimension)) + 5
        return Episodes((0, 0, 0), readings, rng.random((n, 3)))

    return draw


def after(features: Any, draw: Draw, batches: list[int], seed: int) -> Dependence:
    dependence, rng = Dependence(features), np.random.default_rng([7, seed])
    for n in batches:
        dependence.add(draw(rng, n))
    return dependence


def alarms(features: Any, draw: Draw, batches: list[int], runs: int) -> int:
    return sum(bool(after(features, draw, batches, seed).doubt()) for seed in range(runs))


# ---------------------------------------------------------------- independence


@pytest.mark.parametrize("batches", [SMALL, GROWING, LARGE], ids=["small", "growing", "large"])
@pytest.mark.parametrize(
    ("features", "draw"),
    [
        (OneHot(4), symbols(0.25, 0.25, 0.25, 0.25)),
        (OneHot(6), symbols(0.5, 0.1, 0.1, 0.1, 0.1, 0.1, pays=0.1)),
        (Linear(5), vectors(5)),
        (Linear(5), vectors(5, scale=100.0)),
    ],
    ids=["even", "uneven", "vectors", "long vectors"],
)
def test_independent_steps_raise_no_alarm(features: Any, draw: Draw, batches: list[int]) -> None:
    runs = 150
    assert alarms(features, draw, batches, runs) <= stats.binom.isf(SURE, 2 * runs, RARE)


@pytest.mark.parametrize(
    ("features", "draw", "batches"),
    [
        (OneHot(2), symbols(0.97, 0.03, pays=0.0), GROWING),
        (OneHot(2), symbols(0.97, 0.03, pays=0.0), LARGE),
        (OneHot(3), symbols(0.9, 0.08, 0.02, pays=0.01), GROWING),
        (Linear(1), vectors(1, scale=10.0), LARGE),
    ],
    ids=["rare symbol", "rare symbol, large batch", "rare rewards", "one number"],
)
def test_few_directions_raise_no_alarm(features: Any, draw: Draw, batches: list[int]) -> None:
    runs = 600
    assert alarms(features, draw, batches, runs) <= stats.binom.isf(SURE, 2 * runs, RARE)


def test_scores_average_to_nothing_and_one() -> None:
    """Mean 0 and variance 1 under independence, for batches that are not tiny."""
    runs = 300
    scores = np.array(
        [
            list(after(OneHot(4), symbols(0.25, 0.25, 0.25, 0.25), [200] * 4, s).scores.values())
            for s in range(runs)
        ]
    ).ravel()
    assert abs(scores.mean()) < stats.norm.isf(SURE) / np.sqrt(len(scores))
    assert 0.8 < scores.std() < 1.2


def test_few_episodes_wait_for_more_of_the_same_actions() -> None:
    """Split into requests of any size, the same episodes say the same."""
    rng = np.random.default_rng(0)
    whole = symbols(0.5, 0.5)(rng, 2 * TUNING.dependence_batch)
    together, apart = Dependence(OneHot(2)), Dependence(OneHot(2))
    for start in range(0, whole.count, TUNING.dependence_batch):
        part = slice(start, start + TUNING.dependence_batch)
        together.add(Episodes(whole.actions, whole.observations[part], whole.rewards[part]))
    for start in range(0, whole.count, 2):
        part = slice(start, start + 2)
        apart.add(Episodes(whole.actions, whole.observations[part], whole.rewards[part]))
    assert apart.scores == together.scores != {}


def test_tiny_batches_and_constants_say_nothing() -> None:
    dependence = Dependence(OneHot(2))
    rng = np.random.default_rng(0)
    for action in range(20):
        few = symbols(0.5, 0.5)(rng, TUNING.dependence_batch - 1)
        dependence.add(Episodes((action, *few.actions[1:]), few.observations, few.rewards))
    assert dependence.scores == {}
    zeros = Episodes((0, 0), np.zeros((50, 2), dtype=np.int64), np.ones((50, 2)))
    dependence.add(zeros)
    assert dependence.scores == {}
    assert dependence.doubt() == ""


# ---------------------------------------------------------------- slips


class Slipping:
    """Two hidden paths; which one is taken is drawn anew in every episode, at step `slip`."""

    n_actions, n_observations = 2, 2

    def __init__(self, horizon: int, slip: int, often: float) -> None:
        self.horizon, self.slip, self.often = horizon, slip, often

    def rollout(self, actions: tuple[int, ...], n: int, rng: np.random.Generator) -> Episodes:
        steps = min(len(actions) + 1, self.horizon)
        slipped = rng.random(n) < self.often
        states = slipped[:, None] & (np.arange(steps) >= self.slip)
        observations = (rng.random((n, steps)) < np.where(states, 0.8, 0.2)).astype(np.int64)
        pays = np.where(states[:, : len(actions)], 0.7, 0.3)
        return Episodes(actions, observations, (rng.random((n, len(actions))) < pays).astype(float))


@pytest.mark.parametrize("batches", [[30] * 20, [600]])
@pytest.mark.parametrize("slip", [0, 1, 3])
def test_slips_raise_the_alarm_where_they_begin(slip: int, batches: list[int]) -> None:
    """What is read at the first random step says what is read at the next."""
    system = Slipping(6, slip, often=0.3)
    for seed in range(10):
        dependence, rng = Dependence(OneHot(2)), np.random.default_rng(seed)
        for n in batches:
            dependence.add(system.rollout((0,) * 6, n, rng))
        guilty = [
            step for step, score in dependence.scores.items() if score > TUNING.dependence_alarm
        ]
        assert guilty
        assert min(guilty) >= slip
        assert f"steps {min(guilty)} and {min(guilty) + 1}" in dependence.doubt()
        assert f"deterministically up to step {min(guilty)}" in dependence.doubt()
    dependence = Dependence(OneHot(2))
    dependence.add(system.rollout((0,) * 6, 20_000, np.random.default_rng(0)))
    assert (
        min(step for step, score in dependence.scores.items() if score > TUNING.dependence_alarm)
        == slip
    )


def test_the_alarm_grows_with_the_readings() -> None:
    """Dependence adds up, noise does not: in proportion to the root of the number of batches."""
    system = Slipping(4, 1, often=0.3)
    scores = list[float]()
    for batches in (25, 100, 400):
        dependence, rng = Dependence(OneHot(2)), np.random.default_rng(3)
        for _ in range(batches):
            dependence.add(system.rollout((0,) * 4, 30, rng))
        scores.append(dependence.scores[1])
    assert 1.5 < scores[1] / scores[0] < 3
    assert 1.5 < scores[2] / scores[1] < 3


def test_a_run_on_a_slipping_system_is_not_certified() -> None:
    for seed in range(3):
        result = surepath.learn(Slipping(4, 1, often=0.4), seed=seed, budget=5000)
        assert not result.certified
        assert "does not move deterministically" in result.certificate.reason
        assert result.certificate.doubts


def test_a_run_on_a_deterministic_system_raises_none() -> None:
    for seed in range(5):
        problem = surepath.make("tabular", horizon=3, states=3, observations=4, gap=0.2, seed=seed)
        result = surepath.learn(Raw(problem), seed=seed)
        assert result.certificate.doubts == ()


def test_constant_features_say_nothing_however_they_are_rounded() -> None:
    """Their mean differs from them in the last digit, which must not pass for a signal."""
    rng = np.random.default_rng(0)
    found = Dependence(Linear(6))
    for _ in range(40):
        rows = np.full((32, 2, 6), 2 / 3000)
        rows[:, :, 0] = rng.random((32, 2)) < 0.4
        found.add(Episodes((0,), rows, np.zeros((32, 1))))
    assert max(found.scores.values()) < 3.5
