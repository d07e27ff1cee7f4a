"""What is assumed of a system before anything is sampled: the quantities the theorems speak of.

Names here and letters of Uehara, Sekhari, Lee, Kallus and Sun (the paper): horizon H, n_actions A,
dimension d, gap Delta, norm Theta, future K.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from surepath.errors import InputError
from surepath.validate import between, whole

MAGNITUDES = (1e-15, 1e15)
"""Quantities beyond these are mistakes, and would overflow the formulas."""

Windows: TypeAlias = Literal["product", "joint"]
"""How a future of several steps is averaged: products of node means, or joint windows."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What is assumed of a system: the quantities the theorems are stated in."""

    horizon: int  # H
    n_actions: int  # A
    dimension: int  # d, of the features of one window
    gap: float  # Delta
    norm: float  # Theta
    delta: float = 0.05
    latent_dimension: int | None = None  # d_s = dim span{x_h(s)}, where known
    radius: float = 1.0  # bound on ||psi||; on ||x_h(s)|| when the features are unbounded
    feature_noise: float | None = None  # sub-Gaussian parameter of unbounded features
    reward_noise: float = 0.5  # sub-Gaussian parameter; (high - low) / 2 for bounded rewards
    unique: bool = False  # one optimal action in every state: saves a factor H in M'
    future: int = 1  # K
    windows: Windows = "product"
    expansions: Callable[[float, float], int] | None = None  # N'(ridge, threshold) of a kernel

    def __post_init__(self) -> None:
        for name in ("horizon", "n_actions", "dimension", "future"):
            whole(name, getattr(self, name), least=1)
        if self.latent_dimension is not None:
            whole("latent_dimension", self.latent_dimension, least=1, most=self.window_dimension)
        for name in ("gap", "norm", "radius", "reward_noise"):
            between(name, getattr(self, name), *MAGNITUDES)
        if self.feature_noise is not None:
            between("feature_noise", self.feature_noise, *MAGNITUDES)
        between("delta", self.delta, 0, 1)
        if self.future > 1 and self.feature_noise is not None:
            raise InputError(
                "windows of unbounded features are not covered by the theory",
                got=f"future={self.future} with feature_noise={self.feature_noise}",
                remedy="Use bounded features.",
            )

    @property
    def continuations(self) -> int:
        """A^(K-1): windows an embedding stacks, each sampled on its own."""
        return self.n_actions ** (self.future - 1)

    @property
    def window_dimension(self) -> int:
        """Dimension of the stacked embedding."""
        return self.dimension * self.continuations

    @property
    def windows_are_products(self) -> bool:
        return self.future > 1 and self.windows == "product"

    @property
    def window_nodes(self) -> int:
        """1 + A + .. + A^(K-1): nodes of a window."""
        return sum(self.n_actions**depth for depth in range(self.future))

    @property
    def noise(self) -> float:
        """Sub-Gaussian parameter of <u, x-hat - x> for unit u and one reading a continuation.

        Hoeffding's where psi is bounded. For products of node means, x-hat - x is a sum over the
        depths of the window, each term linear in the errors of that depth given the depths above;
        a node at depth j is in A^(K-1-j) continuations, so its error counts A^(K-1-j)-fold.
        """
        base = self.radius if self.feature_noise is None else self.feature_noise
        return base * math.sqrt(self.window_nodes) if self.windows_are_products else base

    @property
    def tested_levels(self) -> int:
        """Levels whose embedding has a full window: Algorithm 1 tests the coverage of each."""
        return max(0, self.horizon - self.future + 1)

    @property
    def exhaustive_from(self) -> int:
        """First level that Compute-V* solves by trying everything (the last one when K = 1)."""
        return exhaustive_from(self.horizon, self.future)


def exhaustive_from(horizon: int, future: int) -> int:
    """First level that Compute-V* solves by trying every continuation: windows end there."""
    return max(0, horizon - max(future - 1, 1))
