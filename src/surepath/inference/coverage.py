"""What has to be read before paths are judged: every edge of the states that may matter.

A state that could not be on a better path than the best that was read, even if it paid the most
there can be from there on, is not tried at all: it is judged as if it paid that. Whether that was
right is for the judgement to say, which knows how uncertain the way to it is; what it cannot rule
out is read then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from surepath.inference.paths import reach
from surepath.inference.states import Automaton
from surepath.inference.tuning import TUNING
from surepath.system import FloatArray


def shortage(
    machine: Automaton, least: Sequence[int], most_from: Callable[[int], float]
) -> list[FloatArray]:
    """How many readings each edge is short of the least of its level; [S, A] for each.

    most_from: the most that can be earned from a level on.
    """
    short = list[FloatArray]()
    hopeful = worth_trying(machine, most_from)
    for layer, worth, enough in zip(machine.layers, hopeful, least, strict=True):
        tried = layer.expanded
        part = np.maximum(enough - layer.count, 0.0)
        part[~(worth | tried)] = 0.0
        if layer.points is not None:
            # Those already tried, then those read most: the rest is predicted from them.
            order = np.lexsort((-layer.count.sum(axis=1), ~worth, ~tried))
            part[order[max(int(tried.sum()), TUNING.least_points) :]] = 0.0
        short.append(part)
    return short


def missing(machine: Automaton, least: Sequence[int], most_from: Callable[[int], float]) -> bool:
    """Whether some edge that has to be read has fewer readings than are least at its level."""
    return any(bool(part.any()) for part in shortage(machine, least, most_from))


def worth_trying(machine: Automaton, most_from: Callable[[int], float]) -> list[NDArray[np.bool_]]:
    """Whether each state may be on a path as good as the best that was read to its end; [S]."""
    before = reach(machine)
    last = machine.layers[-1]
    whole = np.where(last.count > 0, before[-1][:, None] + last.mean, -np.inf)
    best = float(whole.max(initial=-np.inf))
    return [may_come_to(each, most_from(level), best) for level, each in enumerate(before)]


def may_come_to(paid: FloatArray, most: float, wanted: float) -> NDArray[np.bool_]:
    """Whether what was paid on the way, and the most that can follow, may come to so much; [S]."""
    return np.full(len(paid), True) if math.isinf(most) else paid + most >= wanted
