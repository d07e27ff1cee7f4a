"""Widths: what they are, and that they hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from machines import random_machine
from surepath.inference.guarantee_widths import Calibrated
from surepath.inference.states import UNKNOWN, Automaton, Layer

SURE = 1e-6  # probability with which a statistical threshold may be missed by a sound law


def layer_of(states: int, n_actions: int, target: int) -> Layer:
    shape = (states, n_actions)
    zeros = np.zeros(shape)
    return Layer([()] * states, zeros, zeros, zeros, np.full(shape, target))


def calibrated(
    delta: float = 0.05,
    reward_range: tuple[float, float] = (0.0, 1.0),
    reward_noise: float = 0.5,
    ways: int = 1,
) -> Calibrated:
    return Calibrated(delta, reward_range, reward_noise, ways)


@pytest.mark.parametrize("ways", [1, 4, 30])
@pytest.mark.parametrize("delta", [0.01, 0.1])
@pytest.mark.parametrize("reward_range", [(0.0, 1.0), (-3.0, 2.0)])
def test_calibrated_spreads(delta: float, reward_range: tuple[float, float], ways: int) -> None:
    """z standard errors, and for few readings a term for what was not seen, in squares.

    With L = z^2 / 2 = ln(2 / delta) + ln(max(1, ways / 8)): 2 L variance / n + (L room / n)^2, the
    room being what a rare reward could add on the side that matters: up to the end of the range.
    """
    machine = random_machine(np.random.default_rng(0), 3, 2, 3, counts=(1, 8, 500))
    widths = calibrated(delta, reward_range, ways=ways)
    low, high = reward_range
    log = math.log(2 / delta) + math.log(max(1.0, ways / 8))
    sides = zip(widths.spreads(machine), widths.shortfalls(machine), machine.layers, strict=True)
    for spread, shortfall, layer in sides:
        variance, n = layer.scatter / layer.count, layer.count
        common = 2 * log * variance / n
        assert spread == pytest.approx(common + (log * np.maximum(high - layer.mean, 0) / n) ** 2)
        assert shortfall == pytest.approx(common + (log * np.maximum(layer.mean - low, 0) / n) ** 2)
    assert widths.evidence == pytest.approx(math.log(1 + 1 / (2 * delta)))
    assert widths.width(np.array([0.25])).tolist() == [0.5]
    assert widths.guesses([np.array([0.1])])[0] == pytest.approx([0.2 * log])


def test_calibrated_spreads_of_rewards_without_a_range() -> None:
    """Their noise is known: it does not have to be measured."""
    machine = random_machine(np.random.default_rng(1), 3, 2, 3, counts=(2, 8, 500))
    widths = calibrated(0.05, (-math.inf, math.inf), reward_noise=0.3)
    for spread, layer in zip(widths.spreads(machine), machine.layers, strict=True):
        assert spread == pytest.approx(2 * math.log(40) * 0.3**2 / layer.count)


@pytest.mark.parametrize("mean", [0.5, 0.1, 0.02])
@pytest.mark.parametrize("count", [8, 50, 1000])
def test_calibrated_widths_hold_most_means(mean: float, count: int) -> None:
    """At one number of readings: wrong by more than the width no more often than delta."""
    delta, streams = 0.1, 4000
    wins = np.random.default_rng(4).binomial(count, mean, size=streams)
    found, at = np.unique(wins, return_inverse=True)
    layer = layer_of(1, len(found), UNKNOWN)
    layer.count = np.full((1, len(found)), float(count))
    layer.scatter = (found * (1 - found / count))[None]
    widths = calibrated(delta)
    width = widths.width(widths.spreads(Automaton([layer], len(found)))[0][0])[at]
    outside = int((np.abs(wins / count - mean) > width).sum())
    assert outside <= stats.binom.isf(SURE, streams, delta)


@pytest.mark.parametrize("levels", [1, 4, 30])
def test_few_equal_rewards_do_not_make_a_certain_mean(levels: int) -> None:
    """The mean of which so many zeros come with probability delta / 2; of every edge, however many.

    What hides behind the zeros of one edge is not less likely because there are other edges.
    """
    layer = layer_of(1, 1, UNKNOWN)
    layer.count = np.array([[8.0]])
    widths = calibrated()
    spreads = widths.spreads(Automaton([layer] * levels, 1))
    assert len(spreads) == levels
    for spread in spreads:
        rare = widths.width(spread)[0, 0]
        assert rare == pytest.approx(math.log(2 / 0.05) / 8)
        assert (1 - rare) ** 8 <= 0.05 / 2
