"""How much more a reward may pay than a few readings of it have shown."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import brentq

from surepath.inference.few_readings import distance_above, largest_square
from surepath.theory.floor import binary_kl

MEANS = np.array([0.0, 1e-6, 0.02, 0.3, 0.5, 0.77, 0.98, 1 - 1e-6])


@pytest.mark.parametrize("divergence", [1e-6, 1e-3, 0.05, 0.6, 4.0, 20.0])
def test_the_distance_is_where_the_divergence_is_reached(divergence: float) -> None:
    """As found by halving; never less."""
    found = distance_above(MEANS, np.full(MEANS.shape, divergence))
    for mean, distance in zip(MEANS.tolist(), found.tolist(), strict=True):

        def beyond(u: float, mean: float = mean) -> float:
            return float(binary_kl(mean, u)) - divergence

        end = 1 - 1e-13
        expected = (brentq(beyond, mean, end, xtol=1e-15) if beyond(end) > 0 else end) - mean
        assert distance == pytest.approx(expected, rel=1e-4, abs=1e-10)
        assert distance >= expected - 1e-10


def test_there_is_no_room_above_the_end_of_the_range() -> None:
    assert distance_above(np.array([1.0]), np.array([3.0])) == pytest.approx(0.0, abs=1e-9)


def test_one_reward_has_the_square_of_its_distance() -> None:
    certainty = np.full(MEANS.shape, 0.4)
    found = largest_square(MEANS, certainty, 1)
    assert found == pytest.approx(distance_above(MEANS, certainty) ** 2)


@pytest.mark.parametrize("count", [2, 5, 40])
@pytest.mark.parametrize("horizon", [1, 2, 3, 5, 8, 13])
def test_sums_of_equal_rewards_are_held(horizon: int, count: int) -> None:
    """By Chernoff, k of them are k times as far as the certainty of a k-th allows."""
    found = largest_square(MEANS, np.full(MEANS.shape, 3.0 / count), horizon)
    for k in [2**i for i in range(horizon.bit_length())] + [horizon]:
        apart = k * distance_above(MEANS, np.full(MEANS.shape, 3.0 / count / k))
        assert (np.sqrt(k * found) >= apart - 1e-12).all()


def test_long_paths_have_the_width_of_a_gaussian() -> None:
    means = np.array([0.2, 0.5, 0.8])
    found = largest_square(means, np.full(3, 1e-5), 1000)
    assert found == pytest.approx(2 * 1e-5 * means * (1 - means), rel=0.02)


def test_the_longer_the_path_the_more_is_summed() -> None:
    certainty = np.full(MEANS.shape, 1.0)
    found = [largest_square(MEANS, certainty, horizon) for horizon in (1, 2, 4, 8, 16)]
    assert all((after >= before).all() for before, after in pairwise(found))
