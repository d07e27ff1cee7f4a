"""Widths: that they hold for all numbers of readings at once, and what they are."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from machines import random_machine
from surepath.inference.guarantee_widths import Calibrated, Proved
from surepath.inference.states import UNKNOWN, Automaton, Layer
from surepath.readings.digests import Cloud
from surepath.readings.trie import Node
from surepath.system import RewardMoments

LONGEST = 2000
SURE = 1e-6  # probability with which a statistical threshold may be missed by a sound law


def proved(
    delta: float = 0.05,
    *,
    norm: float = 0.0,
    horizon: int = 1,
    actions: int = 1,
    dimension: int = 2,
    radius: float = 1.0,
    feature_noise: float | None = None,
    reward_noise: float = 0.5,
) -> Proved:
    return Proved(delta, norm, horizon, actions, dimension, radius, feature_noise, reward_noise)


def layer_of(members: list[list[Node]], n_actions: int, target: int) -> Layer:
    shape = (len(members), n_actions)
    zeros = np.zeros(shape)
    return Layer(members, [()] * len(members), zeros, zeros, zeros, np.full(shape, target))


def node_at(prefix: tuple[int, ...], count: int, mean: np.ndarray) -> Node:
    node = Node()
    for action in prefix:
        node = node.child(action)
    node.digest = Cloud(count, count * mean, count * np.outer(mean, mean))
    node.rewards.add(RewardMoments(count, 0.5, 0.0))
    return node


def spread_of(widths: Proved, child: Node, stand_in: Node | None = None) -> float:
    """The spread of the edge into a node, which another one stands for."""
    assert child.parent is not None
    layers = [layer_of([], widths.n_actions, UNKNOWN) for _ in range(child.level - 1)]
    layers.append(layer_of([[child.parent]], widths.n_actions, 0))
    if stand_in is not None:
        layers.append(layer_of([[stand_in]], widths.n_actions, UNKNOWN))
    return float(
        widths.spreads(Automaton(layers, widths.n_actions))[child.level - 1][0, child.action]
    )


def reward_width(widths: Proved, count: int, level: int = 1) -> float:
    child = node_at((0,) * level, count, np.zeros(widths.dimension))
    return spread_of(widths, child, child if level < widths.horizon else None)


def feature_width(widths: Proved, count: int, level: int = 1) -> float:
    """Half of what two nodes with equal means and counts may still be apart."""
    zero = np.zeros(widths.dimension)
    child, other = (node_at((0,) * level, count, zero) for _ in range(2))
    return (spread_of(widths, child, other) - spread_of(widths, child, child)) / 2


COUNTS = np.arange(1, LONGEST + 1)


def ever_outside(errors: np.ndarray, limits: np.ndarray) -> int:
    """Streams [streams, n] whose error leaves the limits at some n."""
    return int((errors > limits).any(axis=1).sum())


# ---------------------------------------------------------------- proved: coverage


def assert_holds_at_once(
    errors: np.ndarray, limits: np.ndarray, share: float, *, widest: bool = True
) -> None:
    """No more streams leave than the share allows; of the widest laws far more with 0.3 of it."""
    streams = len(errors)
    allowed = stats.binom.isf(SURE, streams, share)
    assert ever_outside(errors, limits) <= allowed
    assert ever_outside(errors, 0.3 * limits) > allowed or not widest


@pytest.mark.parametrize("mean", [0.5, 0.05, 0.9])
def test_rewards_stay_inside_for_all_numbers_of_readings(mean: float) -> None:
    """Half of delta for rewards: a machine of one level and one action has one such statement."""
    delta, streams = 0.5, 2000
    widths = proved(delta)
    limits = np.array([reward_width(widths, int(n)) for n in COUNTS])
    rng = np.random.default_rng(0)
    sums = np.cumsum(rng.random((streams, LONGEST)) < mean, axis=1)
    errors = np.abs(sums / COUNTS - mean)
    assert_holds_at_once(errors, limits, delta / 2, widest=mean == 0.5)


def test_gaussian_rewards_stay_inside() -> None:
    delta, noise = 0.5, 2.0
    widths = proved(delta, reward_noise=noise)
    limits = np.array([reward_width(widths, int(n)) for n in COUNTS])
    sums = np.cumsum(noise * np.random.default_rng(1).normal(size=(2000, LONGEST)), axis=1)
    assert_holds_at_once(np.abs(sums / COUNTS), limits, delta / 2)


def feature_limits(widths: Proved) -> np.ndarray:
    return np.array([feature_width(widths, int(n)) for n in COUNTS])


@pytest.mark.parametrize("law", [(0.5, 0.5), (0.25, 0.25, 0.25, 0.25), (0.9, 0.05, 0.05)])
def test_embeddings_of_symbols_stay_inside(law: tuple[float, ...]) -> None:
    delta = 0.9
    widths = proved(delta, norm=1.0, horizon=2, dimension=len(law))
    rng = np.random.default_rng(2)
    rows = np.eye(len(law))[rng.choice(len(law), size=(600, LONGEST), p=law)]
    errors = np.linalg.norm(np.cumsum(rows, axis=1) / COUNTS[:, None] - np.array(law), axis=2)
    # Two levels of prefixes share the half of delta that is for embeddings.
    widest = max(law) == min(law)
    assert_holds_at_once(errors, feature_limits(widths), delta / 4, widest=widest)


@pytest.mark.parametrize("dimension", [1, 4])
def test_embeddings_of_gaussian_readings_stay_inside(dimension: int) -> None:
    delta, noise = 0.9, 1.5
    widths = proved(delta, norm=1.0, horizon=2, dimension=dimension, feature_noise=noise)
    rows = noise * np.random.default_rng(3).normal(size=(600, LONGEST, dimension))
    errors = np.linalg.norm(np.cumsum(rows, axis=1), axis=2) / COUNTS
    assert_holds_at_once(errors, feature_limits(widths), delta / 4)


# ---------------------------------------------------------------- proved: the numbers


@pytest.mark.parametrize("delta", [0.01, 0.3])
@pytest.mark.parametrize("actions", [1, 3])
@pytest.mark.parametrize("horizon", [1, 4])
def test_all_statements_together_fail_with_delta(delta: float, actions: int, horizon: int) -> None:
    """The union bound, summed: every prefix, every number of readings, both kinds of statements.

    From a width back to the tail it allows: 2 exp(-n w^2 / 2 s^2) for rewards (Hoeffding) and
    exp(-n (w - E)^2 / 2 r^2) for features with E = r / sqrt(n) (McDiarmid).
    """
    widths = proved(delta, norm=1.0, horizon=horizon, actions=actions, reward_noise=0.7, radius=1.3)
    numbers = np.arange(1, 400)
    # Tails fall as 1 / n^2: what is beyond the last number is at most its tail times it.
    total = 0.0
    for level in range(1, horizon + 1):
        w = np.array([reward_width(widths, int(n), level) for n in numbers])
        tails = 2 * np.exp(-numbers * w**2 / (2 * 0.7**2))
        assert tails == pytest.approx(tails[0] / numbers**2)
        total += actions**level * (tails.sum() + tails[-1] * numbers[-1])
    for level in range(1, horizon):
        w = np.array([feature_width(widths, int(n), level) for n in numbers])
        tails = np.exp(-numbers * (w - 1.3 / np.sqrt(numbers)) ** 2 / (2 * 1.3**2))
        assert tails == pytest.approx(tails[0] / numbers**2)
        total += actions**level * (tails.sum() + tails[-1] * numbers[-1])
    # The root's own embedding is never compared; its share is not spent.
    assert total <= delta * (1 + 1e-6)
    assert total >= 0.4 * delta


@pytest.mark.parametrize("count", [1, 10, 12345])
def test_widths_against_their_formulas(count: int) -> None:
    horizon, actions, delta, level = 5, 3, 0.02, 2
    common = horizon * actions**level * math.pi**2 / 6 * count**2 / delta
    span, radius, noise, d, norm = 1.4, 1.2, 0.8, 6, 3.0
    bounded = proved(
        delta, norm=norm, horizon=horizon, actions=actions, dimension=d, radius=radius,
        reward_noise=span / 2,
    )  # fmt: skip
    reward = span * math.sqrt(math.log(4 * common) / (2 * count))
    assert reward_width(bounded, count, level) == pytest.approx(reward)
    log = math.log(2 * common)
    ball = radius * (1 + math.sqrt(2 * log)) / math.sqrt(count)
    assert feature_width(bounded, count, level) == pytest.approx(norm * ball)
    free = proved(
        delta, norm=norm, horizon=horizon, actions=actions, dimension=d, feature_noise=noise,
    )  # fmt: skip
    cloud = noise * (math.sqrt(d) + math.sqrt(2 * log)) / math.sqrt(count)
    assert feature_width(free, count, level) == pytest.approx(norm * cloud)


def test_what_a_stand_in_costs() -> None:
    """The norm times all that lies between the two embeddings; nothing for a node itself."""
    widths = proved(norm=2.5, horizon=3, actions=2, dimension=2)
    x, y = np.array([1.0, 0.0]), np.array([0.4, 0.6])
    child, other = node_at((0, 1), 50, x), node_at((1, 1), 900, y)
    apart = float(np.linalg.norm(x - y)) * 2.5
    both = feature_width(widths, 50, 2) + feature_width(widths, 900, 2)
    own = spread_of(widths, child, child)
    assert own == pytest.approx(reward_width(widths, 50, 2))
    assert spread_of(widths, child, other) == pytest.approx(own + apart + both)


def test_what_was_not_read_is_not_known() -> None:
    """Nor is anything predicted: that would not be a proof."""
    widths = proved(actions=2)
    node = Node()
    node.child(1).rewards.add(RewardMoments(4, 0.5, 1.0))
    spreads = widths.spreads(Automaton([layer_of([[node]], 2, UNKNOWN)], 2))[0]
    assert math.isinf(spreads[0, 0])
    assert math.isfinite(spreads[0, 1])
    (guesses,) = widths.guesses([np.array([0.0, 1e-12, 3.0])])
    assert guesses.tolist() == [0.0, math.inf, math.inf]
    assert widths.width(np.array([0.25, 2.0])).tolist() == [0.25, 2.0]
    assert not widths.pools


# ---------------------------------------------------------------- calibrated


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

    With L = z^2 / 2 = ln(2 / delta) + ln(max(1, ways / 4)): 2 L variance / n + (L room / n)^2, the
    room being what a rare reward could add on the side that matters: up to the end of the range.
    """
    machine = random_machine(np.random.default_rng(0), 3, 2, 3, counts=(1, 8, 500))
    widths = calibrated(delta, reward_range, ways=ways)
    low, high = reward_range
    log = math.log(2 / delta) + math.log(max(1.0, ways / 4))
    sides = zip(widths.spreads(machine), widths.shortfalls(machine), machine.layers, strict=True)
    for spread, shortfall, layer in sides:
        variance, n = layer.scatter / layer.count, layer.count
        common = 2 * log * variance / n
        assert spread == pytest.approx(common + (log * np.maximum(high - layer.mean, 0) / n) ** 2)
        assert shortfall == pytest.approx(common + (log * np.maximum(layer.mean - low, 0) / n) ** 2)
    assert widths.evidence == pytest.approx(math.log(1 / delta))
    assert widths.width(np.array([0.25])).tolist() == [0.5]
    assert widths.guesses([np.array([0.1])])[0] == pytest.approx([0.2 * log])
    assert widths.pools


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
    layer = layer_of([[Node()]], len(found), UNKNOWN)
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
    layer = layer_of([[Node()]], 1, UNKNOWN)
    layer.count = np.array([[8.0]])
    widths = calibrated()
    spreads = widths.spreads(Automaton([layer] * levels, 1))
    assert len(spreads) == levels
    for spread in spreads:
        rare = widths.width(spread)[0, 0]
        assert rare == pytest.approx(math.log(2 / 0.05) / 8)
        assert (1 - rare) ** 8 <= 0.05 / 2
