"""Widths: what they are, and that they hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from machines import random_machine
from surepath.inference.few_readings import largest_square
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

    With L = z^2 / 2 = ln(2 / delta) + ln(max(1, ways / 32)) and R, the same with ways / 2: 2 L
    variance / n + (R room / n)^2, the room being what a rare reward could add on the side that
    matters: up to the end of the range. What 8 such rewards would scatter counts with R too. Never
    more than coins of the same mean.
    """
    machine = random_machine(np.random.default_rng(0), 3, 2, 3, counts=(1, 8, 500))
    widths = calibrated(delta, reward_range, ways=ways)
    low, high = reward_range
    log = math.log(2 / delta) + math.log(max(1.0, ways / 32))
    rare = math.log(2 / delta) + math.log(max(1.0, ways / 2))
    sides = zip(widths.spreads(machine), widths.shortfalls(machine), machine.layers, strict=True)
    for spread, shortfall, layer in sides:
        n = layer.count
        for found, side in ((spread, high - layer.mean), (shortfall, layer.mean - low)):
            room = np.maximum(side, 0)
            few = np.minimum(layer.scatter, 8 * room**2)
            shown = 2 * (log * layer.scatter + (rare - log) * few) / n**2 + (rare * room / n) ** 2
            of_coins = largest_square(
                1 - np.minimum(room / (high - low), 1).ravel(), rare / n.ravel(), machine.horizon
            )
            coins = (high - low) ** 2 * of_coins.reshape(n.shape)
            assert found == pytest.approx(np.minimum(shown, coins))
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
    layer.mean = found[None] / count
    layer.scatter = (found * (1 - found / count))[None]
    widths = calibrated(delta)
    machine, missing = Automaton([layer], len(found)), mean - wins / count
    above = widths.width(widths.spreads(machine)[0][0])[at]
    below = widths.width(widths.shortfalls(machine)[0][0])[at]
    outside = int(((missing > above) | (-missing > below)).sum())
    assert outside <= stats.binom.isf(SURE, streams, delta)


@pytest.mark.parametrize("levels", [1, 4, 30])
def test_few_equal_rewards_do_not_make_a_certain_mean(levels: int) -> None:
    """The mean of which so many zeros come with probability delta / 2; of every edge, however many.

    What hides behind the zeros of one edge is not less likely because there are other edges. And
    where every edge hides its share, the width of the path holds what they hide together.
    """
    layer = layer_of(1, 1, UNKNOWN)
    layer.count = np.array([[8.0]])
    widths = calibrated()
    spreads = widths.spreads(Automaton([layer] * levels, 1))
    assert len(spreads) == levels
    for spread in spreads:
        rare = widths.width(spread)[0, 0]
        assert rare >= 1 - (0.05 / 2) ** (1 / 8) - 1e-9
        assert levels > 1 or rare == pytest.approx(1 - (0.05 / 2) ** (1 / 8))
    shared = levels * (1 - (0.05 / 2) ** (1 / 8 / levels))
    assert widths.width(np.array(sum(float(spread[0, 0]) for spread in spreads))) >= shared


def test_no_reward_can_pay_more_than_there_is() -> None:
    """One step: a mean near the end of the range has next to no room, however little was read."""
    layer = layer_of(1, 1, UNKNOWN)
    layer.count, layer.mean = np.array([[4.0]]), np.array([[0.75]])
    layer.scatter = np.array([[0.75]])
    machine = Automaton([layer], 1)
    assert calibrated().width(calibrated().spreads(machine)[0])[0, 0] <= 0.25
    assert calibrated().width(calibrated().shortfalls(machine)[0])[0, 0] <= 0.75


@pytest.mark.parametrize("delta", [0.05, 0.2])
@pytest.mark.parametrize(("mean", "count"), [(0.5, 2), (0.9, 4), (0.9, 40), (0.1, 4), (0.02, 30)])
@pytest.mark.parametrize("horizon", [1, 4, 8])
def test_widths_of_sums_hold(horizon: int, mean: float, count: int, delta: float) -> None:
    """Of paths of few readings of coins: beyond the width, on one side, in at most delta of all.

    On either side, because a plan may be worth less than it seems, and what beats it more.
    """
    streams = 4000
    wins = np.random.default_rng(5).binomial(count, mean, size=(streams, horizon))
    layers = list[Layer]()
    for level in range(horizon):
        layer = layer_of(1, streams, 0 if level < horizon - 1 else UNKNOWN)
        layer.count = np.full((1, streams), float(count))
        layer.mean = wins[:, level][None] / count
        layer.scatter = count * layer.mean * (1 - layer.mean)
        layers.append(layer)
    machine, widths = Automaton(layers, streams), calibrated(delta)
    missing = horizon * mean - wins.sum(axis=1) / count
    for spreads, short in (
        (widths.spreads(machine), missing),
        (widths.shortfalls(machine), -missing),
    ):
        width = widths.width(np.sum([spread[0] for spread in spreads], axis=0))
        assert int((short > width + 1e-12).sum()) <= stats.binom.isf(SURE, streams, delta)
