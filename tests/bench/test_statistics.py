"""Shares, exponents and their intervals, against what is known of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from surepath.bench.harness.statistics import (
    bootstrap_interval,
    exponent,
    geometric,
    growth_factor,
    rate,
)


def test_rates() -> None:
    assert rate(50, 50) == "50/50 [0.93, 1.00]"
    assert rate(50, 50, 3) == "50/50 [0.929, 1.000]"
    assert rate(0, 0) == "0/0"


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (3, 20), (95, 100), (7, 7)])
def test_a_rate_has_its_wilson_interval(successes: int, trials: int) -> None:
    """The shares p from which the observed one is at most 1.96 standard deviations away."""
    low, high = (float(end) for end in rate(successes, trials, 6).split("[")[1][:-1].split(", "))
    for p in (low, high):
        if 0 < p < 1:
            away = abs(successes / trials - p) / math.sqrt(p * (1 - p) / trials)
            assert away == pytest.approx(1.959964, abs=1e-3)
    assert low <= successes / trials <= high


def test_exponents() -> None:
    assert exponent([1, 2, 4], [3, 12, 48]).value == pytest.approx(2)
    assert exponent([1, 10], [10**30, 10**33]).value == pytest.approx(3)
    assert str(exponent([1, 2, 4], [3, 12, 48])) == "2.00 [2.00, 2.00]"


def test_the_geometric_mean() -> None:
    assert geometric([1, 10, 100]) == pytest.approx(10)


def test_bases_and_exponents_are_fitted() -> None:
    assert growth_factor([2, 3, 4], [9, 27, 81]) == pytest.approx(3)
    rng = np.random.default_rng(0)
    sizes = np.repeat([1.0, 2.0, 4.0, 8.0], 25)
    inside = 0
    for _ in range(200):
        noisy = 3 * sizes**1.5 * np.exp(0.3 * rng.standard_normal(100))
        found = exponent(sizes.tolist(), noisy.tolist())
        inside += found.low <= 1.5 <= found.high
    assert 180 <= inside <= 199  # 95 % of 200, within five standard deviations


def test_a_bootstrap_interval_covers_the_mean() -> None:
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(100):
        drawn = rng.normal(size=40)
        low, high = bootstrap_interval(lambda chosen, drawn=drawn: float(drawn[chosen].mean()), 40)
        inside += low <= 0 <= high
    assert 84 <= inside <= 100  # 95 % of 100, within five standard deviations


def test_a_bootstrap_draws_runs_with_replacement_and_always_the_same() -> None:
    seen: list[list[int]] = []

    def first(chosen: np.ndarray) -> float:
        seen.append(chosen.tolist())
        return float(chosen[0])

    assert bootstrap_interval(first, 5) == bootstrap_interval(first, 5) == (0, 4)
    assert {number for chosen in seen for number in chosen} == set(range(5))
    assert any(len(set(chosen)) < 5 for chosen in seen)
    assert bootstrap_interval(first, 1) == (0, 0)
