"""A continuous hidden state, through kernels, from readings and from noisy images."""

from __future__ import annotations

import pytest
from sklearn.gaussian_process.kernels import RBF

import surepath
from surepath.theory.schedule import Count

SCHEDULE = surepath.Schedule(ridge=0.01, threshold=1.0, feature_samples=300, reward_samples=500)


def solved(sensor: str, features: str, seed: int) -> bool:
    """With the schedule that the example explains."""
    problem = surepath.make("continuous", sensor=sensor, seed=seed)
    result = surepath.learn(problem, features=features, schedule=SCHEDULE, seed=seed)
    assert not result.certified  # nobody knows the norm
    return problem.is_optimal(result.actions)


@pytest.mark.parametrize("features", ["rbf", "matern"])
@pytest.mark.parametrize("sensor", ["range", "gps", "image"])
def test_the_optimum_is_found(sensor: str, features: str) -> None:
    seeds = range(1 if sensor == "image" else 3)
    assert all(solved(sensor, features, seed) for seed in seeds)


@pytest.mark.slow
@pytest.mark.parametrize("features", ["rbf", "matern"])
@pytest.mark.parametrize("sensor", ["range", "gps", "image"])
def test_the_optimum_is_found_in_48_of_50_seeds(sensor: str, features: str) -> None:
    assert sum(solved(sensor, features, seed) for seed in range(50)) >= 48


def test_exact_kernels_find_it_too() -> None:
    """Small bags, so that every pair of readings can be used."""
    problem = surepath.make("continuous", horizon=3, actions=3, seed=2)
    schedule = surepath.Schedule(ridge=0.05, threshold=1.0, feature_samples=60, reward_samples=500)
    result = surepath.learn(problem, schedule=schedule)
    assert "exact" in result.certificate.notes[0]
    assert problem.is_optimal(result.actions)


def test_a_fixed_schedule_for_a_kernel_counts_as_it_goes() -> None:
    """No pilot shows all that a sensor can read: only own counts are believed."""
    problem = surepath.make("continuous", horizon=3, actions=2, seed=0)
    few = surepath.Schedule(ridge=0.01, threshold=1.0, feature_samples=60, reward_samples=60)
    kernel = surepath.KernelFeatures(RBF(1.0), "exact")
    result = surepath.learn(problem, features=kernel, schedule=few, gap=0.1, norm=5.0)
    bound = result.certificate.bounds
    assert bound is not None
    assert bound.counted is Count.OWN
    assert max(result.usage.expansions) == bound.expansions
    assert not result.certified
    assert "proves nothing" in result.certificate.reason
