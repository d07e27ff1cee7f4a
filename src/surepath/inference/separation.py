"""Has a declared separation been excluded? The sequential test that settles a merge.

Two places are either one state, or the laws of what is read there are at least the separation
apart. Suppose they are. Then the evidence E of their samples (`Comparison.log_evidence`) has mean
at most 1: it is large only by chance, and ever reaches 1/delta with probability at most delta. If
they are one state, E grows with the readings. Over a window of several nodes every way through it
has to pass. (`docs/theory.md` derives it, and says why no bound for many merges is needed.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from surepath.inference.comparison import Apart, Comparison
from surepath.inference.tuning import TUNING
from surepath.system import Actions, FloatArray, IntArray
from surepath.theory.special import normal_below, normal_quantile

BISECTIONS = 12
"""Halvings of the separation when the smallest excluded one is sought: to a four-thousandth."""


MOST_GROWTH = 16.0
"""Readings are not foreseen beyond so many times those that there are."""


def in_noise_units(separation: float) -> float:
    """The distance between two Gaussians of unit noise whose total variation is the separation."""
    return 2 * float(normal_quantile((1 + separation) / 2))


def as_total_variation(distance: float) -> float:
    """The total variation of two Gaussians of unit noise at this distance."""
    return 2 * float(normal_below(distance / 2)) - 1


@dataclass(frozen=True, slots=True)
class Separation:
    """A separation to be excluded, in the units of a comparison, and how surely."""

    size: float  # infinite where readings are exact: one reading then says which state it is
    evidence: float  # ln E at which it is excluded

    @property
    def exact(self) -> bool:
        """Whether readings have no noise."""
        return math.isinf(self.size)

    def log_evidence(self, comparison: Comparison, apart: Apart) -> FloatArray:
        if self.exact:
            return np.where(np.isfinite(apart.variance), np.inf, 0.0)
        return comparison.log_evidence(apart, self.size)

    def growth(self, comparison: Comparison, apart: Apart) -> FloatArray:
        """How many times as many readings will probably exclude it, by bisection; at most MOST.

        If it is one state, distances are noise: they shrink with the root of the readings.
        """
        low, high = np.ones_like(apart.distance), np.full_like(apart.distance, MOST_GROWTH)
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            then = apart.with_readings(middle)
            enough = self.log_evidence(comparison, then) >= self.evidence
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return high

    def excluded(self, comparison: Comparison, apart: Apart) -> FloatArray:
        """The smallest separation that these readings exclude, by bisection."""
        low, high = np.zeros_like(apart.distance), np.full_like(apart.distance, self.size)
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            enough = comparison.log_evidence(apart, middle) >= self.evidence
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return high


@dataclass(frozen=True, slots=True)
class Merges:
    """How sure it is that each sample is of its state, tested against the others of that state."""

    evidence: FloatArray  # [G], ln E; infinite where the sample founds its state
    apart: Apart  # [G], distance and its noise, along the way that is least sure
    way: IntArray  # [G], through the window: that one
    own: FloatArray  # [G], readings of the sample along it, where there are fewest
    rest: FloatArray  # [G], those of the others of its state that are sure
    differs: NDArray[np.bool_]  # [G], whether it is another state: beyond chance along some way

    @classmethod
    def none(cls, size: int) -> Merges:
        """Where every sample is a state of its own."""
        sure, way = np.full(size, np.inf), np.zeros(size, dtype=np.int64)
        none = (np.zeros(size) for _ in range(4))
        apart = Apart(next(none), np.full(size, np.inf), *none)
        return cls(sure, apart, way, sure.copy(), sure.copy(), np.zeros(size, dtype=bool))

    @property
    def tested(self) -> NDArray[np.bool_]:
        """[G], whether the sample was held against others; those that found a state are not."""
        return np.isfinite(self.rest)

    def excluded(self, comparison: Comparison, separation: Separation) -> float:
        """The smallest separation that is excluded for every merge that is settled."""
        settled = self.tested & (self.evidence >= separation.evidence)
        found = separation.excluded(comparison, self.apart.at(settled))
        return float(found.max(initial=0.0))


def settle_merges(
    samples: FloatArray,
    labels: IntArray,
    order: Sequence[int],
    comparison: Comparison,
    ways: IntArray,
    separation: Separation,
) -> Merges:
    """Test each sample of a state against those of the state that have passed.

    The first in the order founds its state. A sample is compared with samples that have passed
    only: were it compared with all the rest, two states in one would each be held against a mixture
    that is closer than the separation.
    """
    merges = Merges.none(len(samples))
    pools = np.zeros((int(labels.max(initial=-1)) + 1, *samples.shape[1:]))
    at = np.array(order, dtype=np.int64)
    founder = np.zeros(len(pools), dtype=np.int64)  # of each state, its first in the order
    founder[labels[at[::-1]]] = at[::-1]
    pools[:] = samples[founder]
    at = at[founder[labels[at]] != at]
    while len(at):
        _test(merges, at, samples[at], pools[labels[at]], comparison, ways, separation)
        passed = merges.evidence[at] >= separation.evidence
        if not passed.any():
            break
        np.add.at(pools, labels[at[passed]], samples[at[passed]])
        at = at[~passed]
    return merges


def _test(
    merges: Merges,
    at: IntArray,
    samples: FloatArray,
    pools: FloatArray,
    comparison: Comparison,
    ways: IntArray,
    separation: Separation,
) -> None:
    apart = comparison.apart(samples, pools, ways)  # [left, ways]
    evidence = separation.log_evidence(comparison, apart)
    worst = evidence.argmin(axis=1)
    here = np.arange(len(at)), worst
    merges.evidence[at] = evidence[here]
    for kept, found in zip(merges.apart, apart.at(here), strict=True):
        kept[at] = found
    merges.way[at] = worst
    alarm = TUNING.consistency_alarm / apart.distance.size
    merges.differs[at] = comparison.differ(apart, alarm).any(axis=1)
    nodes = ways[worst]
    rows = np.arange(len(at))[:, None]
    merges.own[at] = comparison.counts(samples)[rows, nodes].min(axis=1)
    merges.rest[at] = comparison.counts(pools)[rows, nodes].min(axis=1)


@cache
def ways_through(n_actions: int, length: int) -> tuple[list[Actions], IntArray]:
    """The continuations of a window, and the positions of the nodes that each of them passes."""
    size = window_sizes(n_actions, length)
    actions = list(product(range(n_actions), repeat=length - 1))
    positions = np.zeros((len(actions), length), dtype=np.int64)
    for way, taken in enumerate(actions):
        for step, action in enumerate(taken, start=1):
            positions[way, step] = positions[way, step - 1] + 1 + action * size[length - step]
    return actions, positions


def window_sizes(n_actions: int, length: int) -> list[int]:
    """How many nodes a window has, by its length: it is a node and the windows of its children."""
    size = [0]
    for _ in range(length):
        size.append(1 + n_actions * size[-1])
    return size
