"""What the observations of a node come down to: their mean and, where needed, its noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from surepath.features.kernels import Bag
from surepath.system import FloatArray


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
    squares: FloatArray  # sum of f f' [d, d], or its diagonal [d] where it would be too large

    @property
    def value(self) -> FloatArray:
        return self.total / self.count

    def merge(self, other: Cloud) -> Cloud:
        return Cloud(
            self.count + other.count, self.total + other.total, self.squares + other.squares
        )


Digest: TypeAlias = Average | Cloud | Bag
"""What the observations of a node come down to."""
