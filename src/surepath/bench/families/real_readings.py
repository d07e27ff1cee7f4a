"""Readings that are numbers: noise that depends on the state, and regions that no pilot saw."""

from __future__ import annotations

import numpy as np

from surepath.bench.families.case import Case, Family, case_of
from surepath.bench.families.machines import UnequalNoise, Untold, drawn, paid_last
from surepath.builtin_problems.finite import Dynamics
from surepath.builtin_problems.truth import distance_of
from surepath.system import FloatArray

LEAST = 1.0001 * distance_of(0.3)
"""Between two means of a level, in units of the larger noise of the two: a total variation of 0.3,
and a little more because of rounding."""


def unequal_noise(rng: np.random.Generator) -> Case:
    """The noise of the loudest state is three to ten times that of the quietest.

    Quiet states are close together for the noise of the others, and clearly apart for their own.
    """
    horizon, states, actions = (
        drawn(3, 6, rng),
        drawn(3, 5, rng),
        drawn(2, 3, rng),
    )
    transitions = rng.integers(states, size=(horizon, states, actions))
    noises = np.array([_noises(states, rng) for _ in range(horizon)])
    means = np.array([_in_line(level, drawn(1, 3, rng), rng) for level in noises])
    machine = UnequalNoise(paid_last(transitions, rng), means, noises)
    return case_of(machine, system=Untold(machine))


def _noises(states: int, rng: np.random.Generator) -> FloatArray:
    """Of each state: two quiet ones, the others up to ten times as loud."""
    loud = rng.uniform(3.0, 10.0, size=states)
    loud[rng.permutation(states)[:2]] = 1.0
    return 0.1 * loud


def _in_line(noises: FloatArray, most: int, rng: np.random.Generator) -> FloatArray:
    """Means [S, 3] along a line, the quiet states first and as close together as they may be.

    most: how far apart the others may be, in units of how far they have to be.
    """
    order = np.argsort(noises)
    louder = noises[order][1:]
    steps = LEAST * louder * np.where(np.arange(len(louder)) == 0, 1.0, rng.uniform(1, most))
    places = np.empty(len(noises))
    places[order] = np.concatenate([[0.0], np.cumsum(steps)])
    direction = rng.standard_normal(3)
    return places[:, None] * (direction / np.linalg.norm(direction))


TRACK, OFF, POOR, RICH = range(4)


def blind_region(rng: np.random.Generator) -> Case:
    """A region that random sequences practically never reach, with two places in it.

    The way there takes the right action at every step; whatever leaves it pays a little in the end.
    Behind it two actions lead to two places, whose readings are far from all that is seen before,
    and near each other. One pays much and the other nothing.
    """
    actions, gate = drawn(4, 5, rng), drawn(5, 6, rng)
    horizon = gate + drawn(2, 3, rng)
    way = rng.integers(actions, size=gate + 1)
    transitions = np.empty((horizon, 4, actions), dtype=np.int64)
    transitions[:] = np.arange(4)[:, None]
    transitions[: gate + 1, TRACK] = OFF
    transitions[np.arange(gate), TRACK, way[:gate]] = TRACK
    rich, poor = rng.permutation(actions)[:2]
    transitions[gate, TRACK, rich], transitions[gate, TRACK, poor] = RICH, POOR
    rewards = np.zeros(transitions.shape)
    rewards[-1] = np.array([0.0, 0.4, 0.0, 0.9])[:, None]
    machine = UnequalNoise(Dynamics(transitions, rewards), *_places(horizon, rng))
    return case_of(machine, system=Untold(machine))


def _places(horizon: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Means [H, S, 2] and noises [H, S]: the region is far away, and its places are close."""
    noise = rng.choice([0.1, 1.0])
    ordinary = rng.uniform(1.0, 3.0)
    far = rng.uniform(20.0, 60.0)
    near = LEAST * noise * rng.uniform(1.0, 3.0)
    level = np.array([[0.0, 0.0], [ordinary, 0.0], [far, 0.0], [far, near]])
    means = np.broadcast_to(level, (horizon, 4, 2)).copy()
    return means, np.broadcast_to([1.0, 1.0, noise, noise], (horizon, 4)).copy()


FAMILIES = (
    Family("unequal noise", unequal_noise, 20_000, options={"features": "linear"}),
    Family("unequal noise, auto", unequal_noise, 50_000),
    Family("blind regions", blind_region, 100_000, runs=60),
)
