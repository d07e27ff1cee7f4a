"""The noise of the built-in problems: each law draws single values and sufficient statistics.

`draw` and `summary` of one law agree in distribution, and the cost of `summary` does not grow
with the number of episodes. That is what lets schedules that ask for 10^15 steps run in seconds.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from surepath.system import Counts, FloatArray, IntArray, Moments, RewardMoments


class ObservationLaw(Protocol):
    def draw(self, n: int, rng: np.random.Generator) -> IntArray | FloatArray: ...

    def summary(self, n: int, rng: np.random.Generator) -> Counts | Moments: ...


class RewardLaw(Protocol):
    @property
    def mean(self) -> float: ...

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray: ...

    def summary(self, n: int, rng: np.random.Generator) -> RewardMoments: ...


class Categorical:
    """A discrete observation; its statistic is multinomial."""

    def __init__(self, probabilities: FloatArray) -> None:
        self.probabilities = probabilities  # [n_observations]

    def draw(self, n: int, rng: np.random.Generator) -> IntArray:
        return rng.choice(len(self.probabilities), size=n, p=self.probabilities)

    def summary(self, n: int, rng: np.random.Generator) -> Counts:
        return Counts(rng.multinomial(n, self.probabilities))

    def split(self, counts: IntArray, rng: np.random.Generator) -> IntArray:
        """How many of so many episodes read each symbol: a further axis, [..., n_observations]."""
        return rng.multinomial(counts, self.probabilities)


class Gaussian:
    """A vector with isotropic Gaussian noise; its statistic: normal mean, Wishart scatter."""

    def __init__(self, mean: FloatArray, noise: float) -> None:
        self.mean = mean  # [d]
        self.noise = noise  # standard deviation of every coordinate

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        return self.mean + self.noise * rng.standard_normal((n, len(self.mean)))

    def summary(self, n: int, rng: np.random.Generator) -> Moments:
        mean = self.mean + self.noise / np.sqrt(n) * rng.standard_normal(len(self.mean))
        return Moments(n, mean, self.noise**2 * standard_wishart(len(self.mean), n - 1, rng))


def standard_wishart(d: int, freedom: int, rng: np.random.Generator) -> FloatArray:
    """Scatter of `freedom` standard normal vectors in R^d, by Bartlett's decomposition."""
    if freedom < d:  # singular: few enough vectors to draw them all
        vectors = rng.standard_normal((freedom, d))
        return vectors.T @ vectors
    factor = np.tril(rng.standard_normal((d, d)), -1)
    np.fill_diagonal(factor, np.sqrt(rng.chisquare(freedom - np.arange(d))))
    return factor @ factor.T


class Bernoulli:
    """A reward of 0 or 1; its statistic is binomial."""

    def __init__(self, mean: float) -> None:
        self.mean = mean

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        return (rng.random(n) < self.mean).astype(np.float64)

    def summary(self, n: int, rng: np.random.Generator) -> RewardMoments:
        ones = int(rng.binomial(n, self.mean))
        return RewardMoments(n, ones / n, ones * (1 - ones / n))


class Normal:
    """An unbounded reward with Gaussian noise; its statistic is normal and chi-square."""

    def __init__(self, mean: float, noise: float) -> None:
        self.mean = mean
        self.noise = noise

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        return self.mean + self.noise * rng.standard_normal(n)

    def summary(self, n: int, rng: np.random.Generator) -> RewardMoments:
        mean = self.mean + self.noise / np.sqrt(n) * float(rng.standard_normal())
        scatter = self.noise**2 * float(rng.chisquare(n - 1)) if n > 1 else 0.0
        return RewardMoments(n, mean, scatter)
