"""Ridge regression and coverage of one level, on one growing factorisation: primal and dual.

Primal (`Ridge`), for points that are vectors. Sigma = lambda I + sum of x x'. Instead of Sigma or
its inverse, a square root S of the inverse is
kept (S S' = Sigma^-1) and updated for each added point in O(d^2) by Potter's formula, known from
square-root Kalman filters (J. E. Potter, in Battin, "Astronautical Guidance", 1964). A squared
length is never negative and rounding grows with the root of the condition number, not with the
condition number itself, so that a tiny ridge and 10^5 additions are carried in double precision.

Dual (`DualRidge`), for points that are known by their inner products K only: a Cholesky factor of
K + lambda I that grows by a row for each added point. Coverage is
x' Sigma^-1 x = (k(x, x) - k' (K + lambda I)^-1 k) / lambda; the 1 / lambda makes it equal to the
primal one for every ridge (the paper states it for lambda = 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from surepath.errors import NumericalError
from surepath.system import FloatArray

DRIFT_LIMIT = 1e-6
"""Largest relative error of the coverage of a point just added, which is known exactly."""


Gram: TypeAlias = Callable[[Any, Sequence[Any]], FloatArray]
"""Inner products of one point with others, [len(others)]."""


class Regression(Protocol):
    """Least squares with a ridge for several outputs, and how far a point is from those stored."""

    def coverage(self, x: Any) -> float: ...

    def predict(self, x: Any) -> FloatArray: ...

    def add(self, x: Any, y: FloatArray) -> None: ...


class Ridge:
    """theta_a = Sigma^-1 sum x y_a for several outputs a that share their points x."""

    def __init__(self, dimension: int, n_outputs: int, ridge: float) -> None:
        self.count = 0
        self.drift = 0.0
        self._ridge = ridge
        self._root = np.eye(dimension) / math.sqrt(ridge)  # S, [d, d]
        self._moments = np.zeros((dimension, n_outputs))  # sum of x y', [d, outputs]
        self._whitened = np.zeros((dimension, n_outputs))  # S' moments

    def coverage(self, x: FloatArray) -> float:
        """||x|| in Sigma^-1: how far x is from what the stored points span."""
        v = x @ self._root
        return math.sqrt(v @ v)

    def predict(self, x: FloatArray) -> FloatArray:
        """<theta_a, x> for every output a, [outputs]."""
        return (x @ self._root) @ self._whitened

    def add(self, x: FloatArray, y: FloatArray) -> None:
        """Store the point x with its outputs y; raises when double precision no longer carries it.

        (I - g v v')^2 = I - v v' / (1 + u) for v = S'x, u = v'v, g = 1 / (1 + u + sqrt(1 + u)),
        so S (I - g v v') is a square root of the updated inverse.
        """
        v = x @ self._root
        u = float(v @ v)
        g = 1 / (1 + u + math.sqrt(1 + u))
        self._root -= np.outer(g * (self._root @ v), v)
        self._moments += np.outer(x, y)
        self._whitened = self._root.T @ self._moments
        self.count += 1
        self._check(x, u)

    def _check(self, x: FloatArray, before: float) -> None:
        """The squared coverage of a point just added is u / (1 + u): compare."""
        if before > 0:
            now = self.coverage(x) ** 2
            self.drift = max(self.drift, abs(now * (1 + before) / before - 1))
        if not (math.isfinite(before) and self.drift <= DRIFT_LIMIT):
            raise NumericalError(
                f"the factorisation lost its accuracy after {self.count} points: the coverage of "
                f"the last one is off by a factor of 1 + {self.drift:.1e}. The ridge "
                f"{self._ridge:.1e} is too small for double precision at this scale of features; "
                "use a larger ridge, or scale the features down."
            )


class DualRidge:
    """The same regression for points that are known by their inner products."""

    def __init__(self, gram: Gram, n_outputs: int, ridge: float) -> None:
        self._gram = gram
        self._ridge = ridge
        self._points: list[Any] = []
        self._factor = np.zeros((0, 0))  # L L' = K + lambda I
        self._whitened = np.zeros((0, n_outputs))  # L^-1 outputs
        self._last: tuple[Any, float, FloatArray] | None = None  # a point, k(x, x), L^-1 k(x, .)

    @property
    def count(self) -> int:
        return len(self._points)

    def coverage(self, x: Any) -> float:
        own, v = self._project(x)
        return math.sqrt(max(0.0, own - float(v @ v)) / self._ridge)

    def predict(self, x: Any) -> FloatArray:
        return self._project(x)[1] @ self._whitened

    def add(self, x: Any, y: FloatArray) -> None:
        own, v = self._project(x)
        square = own + self._ridge - float(v @ v)  # at least the ridge, in exact arithmetic
        # Rounding of the Gram matrix must stay far below the ridge, or coverage is noise.
        rounding = (self.count + 1) * np.finfo(np.float64).eps * own
        if not (square > self._ridge / 2 and rounding < self._ridge / 1000):
            raise NumericalError(
                f"the Gram matrix of {self.count + 1} points plus the ridge {self._ridge:.1e} is "
                f"not positive definite (last pivot {square:.1e}): the kernel is not positive "
                "definite, or the ridge is too small for double precision"
            )
        n = self.count
        factor = np.zeros((n + 1, n + 1))
        factor[:n, :n], factor[n, :n], factor[n, n] = self._factor, v, math.sqrt(square)
        self._factor = factor
        last = (y - v @ self._whitened) / factor[n, n]
        self._whitened = np.vstack([self._whitened, last])
        self._points.append(x)
        self._last = None

    def _project(self, x: Any) -> tuple[float, FloatArray]:
        """k(x, x) and L^-1 k(x, stored): what everything else needs, computed once a point."""
        if self._last is None or self._last[0] is not x:
            from scipy.linalg import solve_triangular  # takes a fifth of a second, and few need it

            row = self._gram(x, [x, *self._points])
            v = solve_triangular(self._factor, row[1:], lower=True) if self._points else row[1:]
            self._last = x, float(row[0]), v
        return self._last[1], self._last[2]
