"""What is true of a finite machine: which states are one, and how far apart the others look."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any, cast

import numpy as np

from surepath.builtin_problems.finite import FiniteProblem
from surepath.builtin_problems.tabular import Tabular
from surepath.system import FloatArray, IntArray


def bisimilarity(machine: FiniteProblem) -> IntArray:
    """The class of every state among those of its level, [H, S].

    Two states are in one class when they look alike, pay alike, and go on alike after every action.
    """
    classes = np.zeros((machine.horizon + 1, machine.n_states), dtype=np.int64)
    for h in range(machine.horizon - 1, -1, -1):
        seen = dict[Any, int]()
        for s in range(machine.n_states):
            pays = tuple(_key(machine.reward_law(h, s, a)) for a in range(machine.n_actions))
            following = machine.dynamics.transitions[h, s] if h < machine.horizon - 1 else [0]
            key = (_key(machine.observation_law(h, s)), pays, tuple(classes[h + 1, following]))
            classes[h, s] = seen.setdefault(key, len(seen))
    return classes[:-1]


def _key(law: Any) -> tuple[bytes, ...]:
    """The numbers of a law; what rounding may have changed of them is cut off."""
    numbers = cast(dict[str, float | FloatArray], vars(law)).values()
    return tuple((np.round(np.ravel(value), 12) + 0.0).tobytes() for value in numbers)


def different_states(machine: FiniteProblem) -> list[IntArray]:
    """One state of every class that some action sequence reaches, by level."""
    classes = bisimilarity(machine)
    firsts = [
        np.unique(classes[h, states], return_index=True)[1]
        for h, states in enumerate(machine.reachable)
    ]
    return [states[first] for states, first in zip(machine.reachable, firsts, strict=True)]


def separation(machine: FiniteProblem, future: int = 1) -> float:
    """The least total variation between different states, by so many observations in a row.

    Of all continuations the one that shows most counts. The last levels, which have no full window,
    are not compared: there no two states are ever taken for one. 1 where there is one state only.
    Real readings are compared by their means, one reading at a time.
    """
    levels = different_states(machine)[: machine.horizon - future + 1]
    if not isinstance(machine, Tabular):
        return variation_of(min(_nearest(machine, h, states) for h, states in enumerate(levels)))
    from scipy.spatial.distance import pdist

    least = 1.0
    for h, states in enumerate(levels):
        laws = window_laws(machine, h, states, future)  # [n, continuations, cells]
        apart = np.max([pdist(law, "cityblock") / 2 for law in laws.swapaxes(0, 1)], axis=0)
        least = min(least, float(apart.min(initial=1.0)))
    return least


def window_laws(machine: Tabular, level: int, states: IntArray, future: int) -> FloatArray:
    """Joint laws of so many observations from a level on, [states, continuations, cells]."""
    own, moves = machine.emissions[level, states], machine.dynamics.transitions[level, states]
    if future == 1:
        return own[:, None]
    following = np.concatenate(
        [window_laws(machine, level + 1, ends, future - 1) for ends in moves.T], axis=1
    )
    joint: FloatArray = np.einsum("so,scf->scof", own, following)
    return joint.reshape(*following.shape[:2], -1)


def _nearest(machine: FiniteProblem, level: int, states: IntArray) -> float:
    """The least distance between real mean readings, in units of the larger noise of the two."""
    from scipy.spatial.distance import cdist

    laws: list[Any] = [machine.observation_law(level, int(s)) for s in states]
    noises = np.array([[law.noise] for law in laws])
    means = np.array([law.mean for law in laws])
    apart = cdist(means, means) / np.maximum(noises, noises.T)
    return float(apart[np.triu_indices(len(laws), 1)].min(initial=np.inf))


def variation_of(distance: float) -> float:
    """Total variation of two unit-noise Gaussians so far apart."""
    return 2 * NormalDist().cdf(distance / 2) - 1


def distance_of(variation: float) -> float:
    """How far apart two unit-noise Gaussians of that total variation are."""
    return 2 * NormalDist().inv_cdf((1 + variation) / 2)
