"""Large machines: many states of a level, many levels."""

from __future__ import annotations

import numpy as np

from surepath.bench.families.case import Case, Family, case_of
from surepath.bench.families.machines import drawn, emissions, log_drawn, paid_last
from surepath.builtin_problems.finite import random_dynamics
from surepath.builtin_problems.tabular import Tabular


def many_states(rng: np.random.Generator) -> Case:
    """Twenty to two hundred states in the last level: every new one has many to be taken for."""
    actions = drawn(3, 6, rng)
    states = log_drawn(20, min(200, actions**3), rng)
    transitions = rng.integers(states, size=(4, states, actions))
    laws = emissions(4, states, drawn(30, 60, rng), rng.uniform(0.3, 0.4), rng)
    return case_of(Tabular(paid_last(transitions, rng), laws))


def long_horizon(rng: np.random.Generator) -> Case:
    """Twenty to sixty levels, all of which pay."""
    horizon, states = log_drawn(20, 60, rng), drawn(2, 4, rng)
    dynamics = random_dynamics(horizon, states, 2, rng.uniform(0.1, 0.3), rng)
    laws = emissions(horizon, states, drawn(4, 8, rng), rng.uniform(0.3, 0.5), rng)
    return case_of(Tabular(dynamics, laws))


FAMILIES = (
    Family("many states", many_states, 200_000),
    Family("long horizons", long_horizon, 200_000, runs=40),
)
