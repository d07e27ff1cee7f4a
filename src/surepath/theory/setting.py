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

SQRT2 = math.sqrt(2)
"""Diameter of a set of unit vectors no two of which are more than a right angle apart: one-hot
vectors, and the features of a kernel that is never negative."""

Windows: TypeAlias = Literal["product", "joint"]
"""How a future of several steps is averaged: products of node means, or joint windows."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What is assumed of a system: the quantities the theorems are stated in."""

    horizon: int  # H
    n_actions: int  # A
    dimension: int | None  # d, of the features of one window; None of a kernel, which has none
    gap: float  # Delta
    norm: float  # Theta
    delta: float = 0.05
    latent_dimension: int | None = None  # d_s = dim span{x_h(s)}, where known
    radius: float = 1.0  # bound on ||psi||; on ||x_h(s)|| when the features are unbounded
    diameter: float | None = None  # bound on ||psi(o) - psi(o')||; None: twice the radius
    feature_noise: float | None = None  # sub-Gaussian parameter of unbounded features
    reward_noise: float = 0.5  # sub-Gaussian parameter; (high - low) / 2 for bounded rewards
    unique: bool = False  # one optimal action in every state: saves a factor H in M'
    future: int = 1  # K
    windows: Windows = "product"
    expansions: Callable[[float, float], int] | None = None  # N'(ridge, threshold) of a kernel
    gain: str = ""  # what that rests on, in words; empty where it holds for whatever can be read

    def __post_init__(self) -> None:
        for name in ("horizon", "n_actions", "future"):
            whole(name, getattr(self, name), least=1)
        if self.dimension is not None:
            whole("dimension", self.dimension, least=1)
        if self.latent_dimension is not None:
            most = self.window_dimension
            whole("latent_dimension", self.latent_dimension, least=1, most=most)
        for name in ("gap", "norm", "radius", "reward_noise"):
            between(name, getattr(self, name), *MAGNITUDES)
        for name in ("feature_noise", "diameter"):
            if getattr(self, name) is not None:
                between(name, getattr(self, name), *MAGNITUDES)
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
    def window_dimension(self) -> int | None:
        """Dimension of the stacked embedding; None of a kernel."""
        return None if self.dimension is None else self.dimension * self.continuations

    @property
    def noise(self) -> float:
        """Sub-Gaussian parameter of <u, x-hat - x> for unit u and one reading a continuation.

        Where psi is bounded, <u, psi> lies in an interval no longer than the diameter of its range:
        half of that, by Hoeffding. Continuations are read by episodes of their own, so that their
        errors are independent and their parameters add up like squares to that of one. Products of
        node means are averages of joint windows over all ways to pair the readings, and so (Jensen)
        no noisier.
        """
        if self.feature_noise is not None:
            return self.feature_noise
        return self.radius if self.diameter is None else min(self.radius, self.diameter / 2)

    @property
    def spread(self) -> float:
        """Bound on the root of E ||psi - x||^2, in units of `noise`.

        The range of psi lies in a ball of its radius; if its diameter is D, in one of D / sqrt(2)
        (Jung 1901).
        """
        if self.feature_noise is not None:
            return math.sqrt(self.dimension or 1)
        ball = self.radius if self.diameter is None else min(self.radius, self.diameter / SQRT2)
        return ball / self.noise

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
