"""One state that few paths reach and that looks almost like another, which pays much more or less.

Story. Roads that look clearly different lead to a field. Nearly all of them end in the hay; one to
three end at the needle. Needle and hay look alike but for a total variation that is known exactly,
from there until the pay, and then all is one again. On the way to the pay every action holds the
needle, or only one does and the others drop it into the hay. Whoever takes the ends of two roads
for one because nothing spoke against it finds out only where it pays.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from surepath.bench.families.case import Case, Family, case_of
from surepath.bench.families.machines import drawn, emissions
from surepath.bench.families.symbol_laws import shifted, some_law
from surepath.builtin_problems.finite import Dynamics
from surepath.builtin_problems.tabular import Tabular
from surepath.system import FloatArray, IntArray

HAY, NEEDLE = 0, 1


def needle(distance: float, rng: np.random.Generator) -> Case:
    horizon, actions, roads = drawn(4, 7, rng), drawn(2, 4, rng), drawn(2, 6, rng)
    field = drawn(1, horizon - 2, rng)  # the level where the roads end
    pay = drawn(field, horizon - 1, rng)
    transitions = rng.integers(roads, size=(horizon, roads, actions))
    transitions[field:] = HAY
    for level in range(field, pay):
        holding = range(actions) if rng.random() < 0.2 else rng.integers(actions)
        transitions[level, NEEDLE, holding] = NEEDLE
    _end_roads(transitions, field, rng)
    rewards = np.zeros(transitions.shape)
    rewards[:field] = rng.choice([0.0, 0.0, 0.1]) * rng.random((field, roads, actions))
    rewards[pay] = _paid(roads, actions, rng)
    laws = _laws(transitions.shape, range(field, pay + 1), distance, rng)
    return case_of(Tabular(Dynamics(transitions, rewards), laws))


def _end_roads(transitions: IntArray, field: int, rng: np.random.Generator) -> None:
    """The last steps of all roads lead to the hay, those of one to three to the needle."""
    roads = Dynamics(transitions, np.zeros(transitions.shape)).reachable()[field - 1]
    transitions[field - 1] = HAY
    edges = [(road, action) for road in roads for action in range(transitions.shape[2])]
    few = drawn(1, min(3, len(edges) - 1), rng)
    for number in rng.permutation(len(edges))[:few]:
        transitions[field - 1][edges[number]] = NEEDLE


def _paid(roads: int, actions: int, rng: np.random.Generator) -> FloatArray:
    """What the field pays: much more at the needle by one action, or much less by all of them."""
    if rng.random() < 0.7:
        rewards = np.full((roads, actions), rng.choice([0.0, 0.3]))
        rewards[NEEDLE, rng.integers(actions)] = 0.9
    else:
        rewards = np.full((roads, actions), 0.7)
        rewards[NEEDLE] = 0.1
    return rewards


def _laws(
    shape: tuple[int, ...], field: range, distance: float, rng: np.random.Generator
) -> FloatArray:
    symbols = drawn(6, 12, rng)
    laws = emissions(shape[0], shape[1], symbols, 0.4, rng)
    for level in field:
        laws[level, HAY] = some_law(symbols, rng)
        laws[level, NEEDLE] = shifted(laws[level, HAY], distance, rng)
    return laws


FAMILIES = (
    Family("needles", partial(needle, 0.3), 20_000),
    Family("needles, told 0.2", partial(needle, 0.2), 20_000, declared=0.2),
    Family("needles, below: 0.2", partial(needle, 0.2), 20_000, runs=100),
    Family("needles, below: 0.1", partial(needle, 0.1), 20_000, runs=100),
)
