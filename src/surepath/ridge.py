"""Ridge regression and coverage of one level, on one growing factorisation.

Sigma = lambda I + sum of x x'. Instead of Sigma or its inverse, a square root S of the inverse is
kept (S S' = Sigma^-1) and updated for each added point in O(d^2) by Potter's formula, known from
square-root Kalman filters (J. E. Potter, in Battin, "Astronautical Guidance", 1964). A squared
length is never negative and rounding grows with the root of the condition number, not with the
condition number itself, so that a tiny ridge and 10^5 additions are carried in double precision.
"""

from __future__ import annotations

import math

import numpy as np

from surepath.errors import NumericalError
from surepath.system import FloatArray

DRIFT_LIMIT = 1e-6
"""Largest relative error of the coverage of a point just added, which is known exactly."""


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
                "use a larger ridge, or scale the features up."
            )
