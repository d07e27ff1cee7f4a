"""The built-in problems at random sizes, as they come."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.spatial.distance import pdist

from surepath.bench.families.case import Case, Family, case_of
from surepath.bench.families.machines import drawn
from surepath.builtin_problems.gaussian import gaussian
from surepath.builtin_problems.mixing import Mixing, mixing
from surepath.builtin_problems.overcomplete import overcomplete
from surepath.builtin_problems.tabular import tabular

LOOKS = 2
"""Observations in a row that tell the states of `overcomplete` apart."""


def plain_tabular(rng: np.random.Generator) -> Case:
    states = drawn(2, 5, rng)
    symbols = states + drawn(0, 3, rng)
    return case_of(tabular(drawn(2, 7, rng), states, drawn(2, 3, rng), symbols, seed=_seed(rng)))


def plain_gaussian(rng: np.random.Generator) -> Case:
    states = drawn(2, 5, rng)
    numbers = states + drawn(0, 3, rng)
    return case_of(gaussian(drawn(2, 7, rng), states, drawn(2, 3, rng), numbers, seed=_seed(rng)))


def plain_overcomplete(rng: np.random.Generator) -> Case:
    problem = overcomplete(horizon=drawn(3, 5, rng), future=LOOKS, seed=_seed(rng))
    return case_of(problem, LOOKS)


def plain_mixing(rng: np.random.Generator) -> Case:
    modes, components = drawn(1, 3, rng), drawn(2, 3, rng)
    symbols = modes * components + drawn(0, 3, rng)
    sizes = drawn(2, 7, rng), drawn(2, 3, rng)
    problem = mixing(*sizes, modes, components, symbols, seed=_seed(rng))
    return Case(problem, problem.oracle.value, problem.expected_return, _nearest(problem))


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))


def _nearest(problem: Mixing) -> float:
    """The least total variation between different laws of a level."""
    nearest = 1.0
    for level in range(1, problem.horizon):
        prefixes = product(range(problem.n_actions), repeat=level)
        laws = [
            problem.observation_law(level, problem.path(prefix)[level]).probabilities
            for prefix in prefixes
        ]
        apart = pdist(np.unique(np.round(laws, 12), axis=0), "cityblock") / 2
        nearest = min(nearest, float(apart.min(initial=1.0)))
    return nearest


FAMILIES = (
    Family("tabular", plain_tabular, 50_000),
    Family("gaussian", plain_gaussian, 50_000),
    Family("overcomplete", plain_overcomplete, 50_000),
    Family("mixing", plain_mixing, 50_000),
)
