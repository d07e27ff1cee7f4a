"""Episodes that resemble those before them are found, and what is independent is left alone."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import binom

import surepath
from surepath.bench.families.sick import Moods
from surepath.features import OneHot
from surepath.inference.independence import Dependence, normal_tail, standardised
from surepath.inference.succession import Succession, successive
from surepath.inference.tuning import TUNING
from surepath.system import Episodes, FloatArray

Draw = Callable[[np.random.Generator, int], FloatArray]


def autoregressive(correlation: float) -> Draw:
    def draw(rng: np.random.Generator, n: int) -> FloatArray:
        return np.asarray(lfilter([1.0], [1.0, -correlation], rng.standard_normal(n)))

    return draw


def succession_of(batches: list[FloatArray]) -> Succession:
    found = Succession()
    for rewards in batches:
        found.add(0, np.zeros((len(rewards), 0)), standardised(rewards[:, None]))
    return found


@pytest.mark.parametrize(("n", "columns"), [(4, 1), (5, 2), (6, 3)])
def test_mean_and_variance_are_those_of_all_orders(n: int, columns: int) -> None:
    rows = np.random.default_rng(n).standard_normal((n, columns))
    rows -= rows.mean(axis=0)
    found = [successive(rows[list(order)]).found for order in permutations(range(n))]
    said = successive(rows)
    assert said.expected == pytest.approx(np.mean(found))
    assert said.variance == pytest.approx(np.var(found))


@pytest.mark.parametrize("rows", [np.zeros((9, 2)), np.zeros((9, 0)), np.array([[1.0], [-1.0]])])
def test_what_does_not_scatter_or_is_too_little_says_nothing(rows: FloatArray) -> None:
    assert successive(rows).score == successive(rows).correlation == 0


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, n: rng.random(n),
        lambda rng, n: (rng.random(n) < 0.1).astype(float),
        lambda rng, n: (rng.random(n) < 0.03).astype(float),
        lambda rng, n: rng.standard_exponential(n),
        lambda rng, n: rng.standard_t(3, n),
    ],
    ids=["uniform", "rare", "very rare", "skewed", "heavy"],
)
def test_independent_episodes_are_alike_by_chance_only(draw: Draw) -> None:
    runs, rng = 2000, np.random.default_rng(0)
    limit = 2.5
    scores = [
        succession_of([draw(rng, n) for n in (8, 8, 12, 40, 400)]).rewards[0].score
        for _ in range(runs)
    ]
    above = sum(score > limit for score in scores)
    # Sums of few products are a little skewed; three times the tail is allowed, and no more.
    assert above <= binom.ppf(0.999, runs, 3 * normal_tail(limit))
    assert max(scores) < TUNING.dependence_alarm


def test_what_lasts_for_some_episodes_is_found() -> None:
    rng = np.random.default_rng(1)
    found = succession_of([autoregressive(0.4)(rng, 40) for _ in range(20)])
    assert "what is paid at step 0 resembles that of the episode before" in found.doubt()
    assert found.rewards[0].correlation == pytest.approx(0.4, abs=0.1)
    assert not found.warning()


def test_a_trace_of_it_is_left_alone_however_certain() -> None:
    rng = np.random.default_rng(2)
    found = succession_of([autoregressive(0.05)(rng, 1000) for _ in range(100)])
    assert found.rewards[0].score > TUNING.dependence_alarm
    assert not found.doubt()
    assert not found.warning()


def test_alternating_episodes_are_no_reason() -> None:
    """They make means surer than they seem."""
    rng = np.random.default_rng(3)
    assert not succession_of([autoregressive(-0.5)(rng, 100) for _ in range(20)]).doubt()


def test_readings_count_as_rewards_do() -> None:
    """A symbol that is read for a while, and then another, whatever is paid."""
    rng = np.random.default_rng(4)
    dependence = Dependence(OneHot(2))
    for _ in range(20):
        modes = (np.cumsum(rng.random(60) < 0.2) % 2).astype(np.int64)
        dependence.add(Episodes((0,), np.column_stack([modes, modes]), rng.random((60, 1))))
    assert "what is read at step" in dependence.succession.doubt()


def test_no_certificate_where_noise_lasts() -> None:
    """Where there are episodes enough to see it: a run of a few hundred may be done before.

    Neighbours resemble each other by 0.25 here, so five standard deviations take 400 of them, and
    not every episode has a neighbour of the same actions.
    """
    runs = [
        surepath.learn(Moods(0.7, 10.0), tolerance=0.02, seed=seed, budget=5000)
        for seed in range(24)
    ]
    long = [run for run in runs if run.episodes > 600]
    assert len(long) >= 5
    for run in long:
        assert not run.certified
        assert "what is paid at step 3 resembles that of the episode" in run.certificate.reason


def test_a_certificate_where_it_does_not() -> None:
    result = surepath.learn(Moods(0.7, 1.0), seed=0)
    assert result.certified
    assert not result.certificate.warnings
