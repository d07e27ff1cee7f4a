"""Do prefixes that look the same pay the same, all of them taken together?

`consistency` looks for one prefix that pays differently beyond all chance. Where what decides is
read by no sensor, nearly all prefixes of a state pay a little differently: none of them stands out,
and all of them together leave no doubt. So the squares of their differences are added up over the
whole machine.

If prefixes are one state, their rewards could be dealt to them anew like cards. The difference z
between the mean of one and that of the others, in units of what dealing does to it, then has a mean
square of 1, whatever the law of the rewards. Each square counts up to a limit, so that a rare
reward that happens to fall on a prefix with few readings counts for little; a sum of limited terms
is beyond its mean only as often as Bernstein's inequality says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surepath.inference.consistency import ROUNDING
from surepath.inference.separation import Separation
from surepath.inference.states import Automaton, Layer
from surepath.inference.tuning import TUNING
from surepath.readings.columns import sums_by
from surepath.system import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class UnevenPay:
    """Prefixes taken for one state pay differently, more than chance explains."""

    prefixes: int  # that were compared
    square: float  # mean of their squared differences, in units of chance: 1 is expected

    def __str__(self) -> str:
        return (
            f"prefixes that look alike pay differently: {self.prefixes} were compared with the "
            f"others of their state, and the squares of the differences are {self.square:.2g} "
            "times what chance explains. What is looked at does not tell the hidden states apart"
        )


def uneven_pay(machine: Automaton, separation: Separation) -> UnevenPay | None:
    """What is wrong with all that was pooled, if it is beyond chance.

    Only below merges that are settled: others may still be undone.
    """
    squares, weights = list[FloatArray](), list[FloatArray]()
    sure = np.full(len(machine.layers[0].here.columns), True)
    for layer in machine.layers:
        below = layer.below
        from_sure = sure[below.columns.parent[below.rows]]
        found, weight = _squares(layer, below.rows[from_sure], below.groups[from_sure])
        squares.append(found)
        weights.append(weight)
        sure = _sure(layer, from_sure, separation)
    square, weight = np.concatenate(squares), np.concatenate(weights)
    expected = float(weight.sum())
    limited = float(weight @ np.minimum(square, TUNING.uneven_most))
    if limited - expected <= _by_chance(expected):
        return None
    return UnevenPay(len(square), float(weight @ square) / expected)


def _sure(layer: Layer, from_sure: NDArray[np.bool_], separation: Separation) -> NDArray[np.bool_]:
    """[N] for the level below, nodes that came by settled merges all the way."""
    below = layer.below
    sure = np.full(len(below.columns), False)
    sure[below.rows] = from_sure & layer.settled(separation)[below.groups]
    return sure


def _squares(layer: Layer, rows: IntArray, edge: IntArray) -> tuple[FloatArray, FloatArray]:
    """Of each node z^2 against the others of its edge, and its weight: those of an edge add up to
    one less than its nodes, its degrees of freedom.
    """
    count, total, scatter = layer.below.columns.rewards[rows].T
    read = count > 0
    edge, count, total, scatter = edge[read], count[read], total[read], scatter[read]

    def whole(values: FloatArray) -> FloatArray:
        return sums_by(edge, values, layer.count.size)[edge]

    all_count, all_total = whole(count), whole(total)
    with np.errstate(over="ignore", invalid="ignore"):  # what is too large is infinite
        middle = all_total / all_count
        spread = whole(scatter + count * (total / count - middle) ** 2)
        noisy = spread > ROUNDING * all_count * np.maximum(middle**2, ROUNDING)
    several = (all_count > count) & noisy & np.isfinite(spread)
    count, all_count, middle = count[several], all_count[several], middle[several]
    share = count / all_count
    shift = (total[several] / count - middle) / (1 - share)
    chance = spread[several] / (all_count - 1) / (count * (1 - share))
    return shift**2 / chance, 1 - share


def _by_chance(expected: float) -> float:
    """What a sum of so much in expectation exceeds it by, with the probability of an alarm.

    Bernstein's inequality: terms of mean at most 1 that are at most m have variances of at most m.
    """
    most, bar = TUNING.uneven_most, math.log(1 / TUNING.consistency_alarm)
    linear = most * bar / 3
    return linear + math.sqrt(linear**2 + 2 * most * expected * bar)
