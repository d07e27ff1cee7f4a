"""Laws of symbols at distances that are known exactly."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist

from surepath.system import FloatArray

TRIES = 1000


def shifted(law: FloatArray, distance: float, rng: np.random.Generator) -> FloatArray:
    """Another law at exactly that total variation.

    A random half of the symbols or the fewest that have enough mass lose it, each in proportion to
    its own, and all others gain alike: the difference is in many small steps, or in few large ones.
    """
    while True:
        order = rng.permutation(len(law))
        needed = int((np.cumsum(law[order]) < distance * 1.02).sum()) + 1
        few = needed if rng.random() < 0.5 else max(needed, len(law) // 2)
        if few < len(law):
            break
    giving, taking = order[:few], order[few:]
    other = law.copy()
    other[giving] *= 1 - distance / law[giving].sum()
    other[taking] += distance / len(taking)
    return other


def some_law(symbols: int, rng: np.random.Generator) -> FloatArray:
    """A random law that no symbol dominates."""
    return 0.5 * rng.dirichlet(np.ones(symbols)) + 0.5 / symbols


def apart(states: int, symbols: int, least: float, rng: np.random.Generator) -> FloatArray:
    """Laws [states, symbols], the two nearest of them at exactly that total variation.

    Moving all laws towards their mean shrinks all distances by one factor.
    """
    for _ in range(TRIES):
        laws = _scattered(states, symbols, rng)
        nearest = float(pdist(laws, "cityblock").min(initial=2.0)) / 2
        if nearest >= least:
            share = least / nearest if states > 1 else 1.0
            return share * laws + (1 - share) * laws.mean(axis=0)
    raise ValueError(f"no {states} laws of {symbols} symbols are {least} apart")


def _scattered(states: int, symbols: int, rng: np.random.Generator) -> FloatArray:
    """Laws far apart: sparse ones, or each on a half of the symbols of its own."""
    if rng.random() < 0.5:
        return rng.dirichlet(np.full(symbols, 0.2), size=states)
    halves = np.argsort(rng.random((states, symbols)), axis=1) < symbols // 2
    return halves / halves.sum(axis=1, keepdims=True)
