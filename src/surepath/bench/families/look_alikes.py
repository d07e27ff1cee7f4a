"""States whose looks are close together, or the same until one or two steps later."""

from __future__ import annotations

from functools import partial

import numpy as np

from surepath.bench.families.case import Case, Family, case_of
from surepath.bench.families.machines import drawn, emissions, paid_last
from surepath.bench.families.symbol_laws import apart, shifted
from surepath.builtin_problems.finite import Dynamics
from surepath.builtin_problems.tabular import Tabular
from surepath.builtin_problems.truth import separation
from surepath.system import FloatArray, IntArray

# ---------------------------------------------------------------- close laws


def close_laws(distance: float, rng: np.random.Generator) -> Case:
    """Many symbols, a little difference in each of them, and no reward before the last step."""
    while True:
        horizon, states, actions = drawn(3, 6, rng), drawn(3, 6, rng), drawn(2, 3, rng)
        transitions = rng.integers(states, size=(horizon, states, actions))
        laws = emissions(horizon, states, drawn(10, 50, rng), distance, rng)
        case = case_of(Tabular(paid_last(transitions, rng), laws))
        if case.separation < distance + 1e-9:  # the nearest states of some level are reached
            return case


# ---------------------------------------------------------------- aliased states

BACK, AWAY, USE = 0, 1, 2
SYMBOLS = 8
WINDOW = 0
"""The cell where the sensor shows whether the key is in the pocket."""


def key_and_door(future: int, rng: np.random.Generator) -> Case:
    """Cells, a key to be picked up in one of them, and a door that needs it.

    Whether the key is in the pocket shows in the first cell only: from the others it takes up to
    `future` observations in a row to see it. Nothing is paid but for using the door with the key,
    in the last step.
    """
    while True:
        machine = _corridor(future, rng)
        if machine.oracle.value > 0 and separation(machine, future - 1) == 0:
            return case_of(machine, future)


def _corridor(future: int, rng: np.random.Generator) -> Tabular:
    """A state is a cell, twice: without the key and with it."""
    horizon, cells = drawn(5, 7, rng), drawn(future, future + 2, rng)
    moves = _moves(future, cells, rng)
    transitions = np.concatenate([moves, moves + cells])
    key, door, start = rng.integers(cells, size=3)
    transitions[key, USE] += cells
    rewards = np.zeros((horizon, 2 * cells, 3))
    rewards[-1, cells + door, USE] = rng.uniform(0.5, 1.0)
    # Machines start in their first state: it changes places with the start.
    order = np.arange(2 * cells)
    order[[0, start]] = order[[start, 0]]
    each_level = np.broadcast_to(order[transitions[order]], rewards.shape).copy()
    laws = np.broadcast_to(_shown(cells, rng)[order], (horizon, 2 * cells, SYMBOLS)).copy()
    return Tabular(Dynamics(each_level, rewards[:, order]), laws)


def _moves(future: int, cells: int, rng: np.random.Generator) -> IntArray:
    """Where the actions lead from each cell: back towards the window, away from it, nowhere."""
    steps = np.minimum(np.arange(cells), future - 1)  # that it takes to the window
    moves = np.empty((cells, 3), dtype=np.int64)
    for cell in range(cells):
        moves[cell, BACK] = max(0, steps[cell] - 1)
        moves[cell, AWAY] = rng.choice(np.flatnonzero(steps >= min(steps[cell] + 1, future - 1)))
    moves[:, USE] = np.arange(cells)
    return moves


def _shown(cells: int, rng: np.random.Generator) -> FloatArray:
    """Laws of what is seen, [2 * cells, O]: the pocket changes that of the window alone."""
    laws = np.tile(apart(cells, SYMBOLS, 0.6, rng), (2, 1))
    laws[cells + WINDOW] = shifted(laws[WINDOW], 0.3, rng)
    return laws


FAMILIES = (
    Family("close laws", partial(close_laws, 0.3), 50_000),
    Family("close laws, below: 0.2", partial(close_laws, 0.2), 50_000, runs=100),
    Family("aliased, 2 looks", partial(key_and_door, 2), 200_000, runs=150),
    Family("aliased, 3 looks", partial(key_and_door, 3), 200_000, runs=40),
)
