"""What the observations of a node come down to: their mean and, where needed, its noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from surepath.features.kernels import Bag
from surepath.system import FloatArray

COVARIANCE_LIMIT = 80
"""Features up to which all covariances are recorded, d^2 numbers a node; beyond, variances only."""


@dataclass(frozen=True, slots=True)
class Average:
    """The mean feature of some observations, kept as their sum: pooling adds exactly."""

    count: int
    total: FloatArray  # [d]

    @classmethod
    def of(cls, count: int, mean: FloatArray) -> Average:
        return cls(count, count * mean)

    @property
    def value(self) -> FloatArray:
        return self.total / self.count

    def merge(self, other: Average) -> Average:
        return Average(self.count + other.count, self.total + other.total)


@dataclass(frozen=True, slots=True)
class Cloud:
    """Features by their number, sum and second moments: the mean, and the noise around it."""

    count: int
    total: FloatArray  # [d]
    products: FloatArray | None  # as `squares` has them; None of symbols, which have no others

    @property
    def squares(self) -> FloatArray:
        """Sum of f f' [d, d], or its diagonal [d] where it would be too large."""
        if self.products is not None:
            return self.products
        return np.diag(self.total) if len(self.total) <= COVARIANCE_LIMIT else self.total

    @property
    def value(self) -> FloatArray:
        return self.total / self.count

    def merge(self, other: Cloud) -> Cloud:
        symbols = self.products is None and other.products is None
        return Cloud(
            self.count + other.count,
            self.total + other.total,
            None if symbols else self.squares + other.squares,
        )


Digest: TypeAlias = Average | Cloud | Bag
"""What the observations of a node come down to."""
