"""How often a level is expanded and how many means are sampled, against the formulas and runs."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assumptions import setting
from surepath.errors import InputError
from surepath.readings.ridge import Ridge
from surepath.theory.expansion_bounds import (
    expansion_bound,
    feature_batches,
    latent_expansion_bound,
    reward_batches,
)
from surepath.theory.setting import exhaustive_from

# ---------------------------------------------------------------- how often a level is expanded

RIDGES = (1e-10, 1e-6, 1e-3, 0.1, 1.0, 30.0)
THRESHOLDS = (0.01, 0.1, 0.6, 1.0, 1.98, 5.0)
VARIANTS: tuple[tuple[dict[str, Any], float], ...] = (  # and the square of the largest length
    ({}, 1.0),
    ({"dimension": 1}, 1.0),
    ({"dimension": 50, "radius": 3.0}, 9.0),
    ({"future": 3, "radius": 0.5}, 4 * 0.25),
    ({"feature_noise": 2.0, "radius": 3.0}, 16.0),
    ({"radius": 3.0, "future": 3, "windows": "joint"}, 36.0),
)


@pytest.mark.parametrize(("changes", "square"), VARIANTS)
def test_expansion_bound_is_the_exact_maximiser(changes: dict[str, Any], square: float) -> None:
    s = setting(**changes)
    d = s.window_dimension

    def slack(n: int, ridge: float, threshold: float) -> float:
        return d * math.log1p(n * square / (d * ridge)) - n * math.log1p(threshold**2)

    for ridge, threshold in product(RIDGES, THRESHOLDS):
        n = expansion_bound(s, ridge, threshold)
        assert slack(n, ridge, threshold) >= 0
        assert slack(n + 1, ridge, threshold) < 0


@pytest.mark.parametrize("changes", [changes for changes, _ in VARIANTS])
@pytest.mark.parametrize("latent", [1, 7, 40])
def test_latent_expansion_bound_is_the_exact_maximiser(
    changes: dict[str, Any], latent: int
) -> None:
    s = setting(**(changes | {"dimension": 60, "latent_dimension": latent}))
    square = s.n_actions ** (s.future - 1) * s.radius**2  # of the expectation, not of the mean

    def slack(n: int, ridge: float, threshold: float) -> float:
        growth = math.log1p(threshold**2) - 0.25
        return latent * math.log1p(2 * n * square / (latent * ridge)) - n * growth

    for ridge, threshold in product(RIDGES, THRESHOLDS[2:]):
        n = latent_expansion_bound(s, ridge, threshold)
        assert slack(n, ridge, threshold) >= 0
        assert slack(n + 1, ridge, threshold) < 0


@settings(deadline=None, derandomize=True, max_examples=300)
@given(d=st.integers(1, 500), log_ratio=st.floats(-0.3, 6))
def test_closed_forms_of_the_expansion_bounds(d: int, log_ratio: float) -> None:
    """Threshold 1 and lambda = (Delta / 6 Theta)^2, for features of length at most 1."""
    ratio = 10**log_ratio  # Theta / Delta
    s = setting(dimension=d, norm=ratio, gap=1.0, latent_dimension=d)
    ridge = 1 / (36 * ratio**2)
    assert expansion_bound(s, ridge, 1.0) <= d * (2 * math.log2(1 + 36 * ratio**2) + 0.18)
    closed = d * (4.52 * math.log(1 + 2 / ridge) + 2.29)
    assert latent_expansion_bound(s, ridge, 1.0) <= closed


def expansions_of(points: np.ndarray, ridge: float, threshold: float) -> int:
    """How many of the points are uncovered when they come."""
    model = Ridge(points.shape[1], 1, ridge)
    for x in points:
        if model.coverage(x) > threshold:
            model.add(x, np.zeros(1))
    return model.count


@pytest.mark.parametrize("ridge", [1e-6, 1e-2, 0.1])
@pytest.mark.parametrize("threshold", [0.2, 1.0, 2.0])
def test_no_sequence_is_expanded_more_often(ridge: float, threshold: float) -> None:
    """Unit vectors along the axes in turn, in random directions, and of growing length."""
    d = 4
    most = expansion_bound(setting(dimension=d), ridge, threshold)
    rng = np.random.default_rng(1)
    random = rng.normal(size=(4000, d))
    random /= np.linalg.norm(random, axis=1, keepdims=True)
    growing = random * np.geomspace(math.sqrt(ridge), 1, len(random))[:, None]
    counts = [
        expansions_of(points, ridge, threshold)
        for points in (np.tile(np.eye(d), (1000, 1)), random, growing)
    ]
    assert 1 <= max(counts) <= most


@pytest.mark.parametrize("ridge", [1e-5, 1e-2])
def test_noise_below_the_ridge_does_not_raise_the_latent_count(ridge: float) -> None:
    """Two latent directions seen through 60 noisy dimensions, each error of length sqrt(l/8)."""
    d, latent = 60, 2
    rng = np.random.default_rng(2)
    errors = rng.normal(size=(2000, d))
    errors *= math.sqrt(ridge / 8) / np.linalg.norm(errors, axis=1, keepdims=True)
    angles = rng.uniform(0, 2 * math.pi, size=2000)
    lengths = np.geomspace(math.sqrt(ridge), 1, 2000)
    points = errors
    points[:, 0] += lengths * np.cos(angles)
    points[:, 1] += lengths * np.sin(angles)
    s = setting(dimension=d, latent_dimension=latent)
    assert latent < expansions_of(points, ridge, 1.0) <= latent_expansion_bound(s, ridge, 1.0)


# ---------------------------------------------------------------- batches


@pytest.mark.parametrize("n", [0, 1, 13])
@pytest.mark.parametrize("a", [1, 2, 5])
@pytest.mark.parametrize("h", [1, 2, 3, 20])
def test_batches_of_the_printed_algorithm(h: int, a: int, n: int) -> None:
    s = setting(horizon=h, n_actions=a)
    chains = n * a * (h - 1) * (h - 2) // 2
    assert feature_batches(s, n) == h * (h * n + 1) + chains
    assert reward_batches(s, n) == a * h * n + chains + a**2 * (h - 1) * n


@pytest.mark.parametrize("n", [1, 2, 500])
@pytest.mark.parametrize("a", [2, 3, 10])
@pytest.mark.parametrize("h", [2, 3, 50])
def test_simplified_bounds_of_the_batches(h: int, a: int, n: int) -> None:
    s = setting(horizon=h, n_actions=a)
    assert feature_batches(s, n) <= 1.25 * a * h**2 * n
    assert reward_batches(s, n) <= a * h * (h / 2 + a) * n


def walk(level: int, first: int, horizon: int, a: int) -> tuple[int, int]:
    """Embeddings and rewards of one chain of covered visits from `level` to the end."""
    if level >= first:  # try everything
        return 0, sum(a**k for k in range(1, horizon - level + 1))
    embeddings, rewards = walk(level + 1, first, horizon, a)
    return embeddings + 1, rewards + 1


@pytest.mark.parametrize("future", [1, 2, 3, 5])
@pytest.mark.parametrize("a", [1, 2, 3])
@pytest.mark.parametrize("h", [1, 2, 4, 6])
def test_batches_count_the_worst_run(h: int, a: int, future: int) -> None:
    """N' expansions at every level that has a full window, each with A chains to the end."""
    n = 3
    s = setting(horizon=h, n_actions=a, future=future)
    tested = max(0, h - future + 1)
    first = exhaustive_from(h, future)
    assert first == max(0, h - max(future - 1, 1)) == s.exhaustive_from
    features = tested * (tested * n + 1)
    rewards = 0
    for level in range(tested):
        rewards += n * a
        if level < first:
            chain = walk(level + 1, first, h, a)
            features += n * a * chain[0]
            rewards += n * a * chain[1]
    if future > 1:  # the main loop's own end, where no window is left to test
        rewards += walk(first, first, h, a)[1]
    assert feature_batches(s, n) == features
    assert reward_batches(s, n) == rewards


def test_counts_that_do_not_apply_are_refused() -> None:
    with pytest.raises(InputError, match="latent_dimension=None"):
        latent_expansion_bound(setting(), 1.0, 1.0)
    with pytest.raises(InputError, match=r"threshold=0\.5"):
        latent_expansion_bound(setting(latent_dimension=2), 1.0, 0.5)
