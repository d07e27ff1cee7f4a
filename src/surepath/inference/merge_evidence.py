"""Evidence that what a proposal merges is one: the declared separation is excluded.

Suppose the end of an edge and the end of the edge that founds its state are two states. Then their
laws are at least the separation e apart, along one set of symbols or one direction, and

    exp(lambda M (e - d) - lambda^2 c M / 2),

with the distance d that fresh readings show, has mean at most 1 and is large only by chance. With a
future of K observations d is the sum over the steps of the window, along every continuation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias

import numpy as np

from surepath.inference.proposal import Proposal, Route
from surepath.system import Actions, FloatArray

BET = 0.65
"""The bet of a merge, in units of e / c: near the best for many numbers of symbols and features."""


@dataclass(frozen=True, slots=True)
class Window:
    """What was read in the windows of an edge along one continuation."""

    count: int
    totals: FloatArray  # [K, d]

    def __add__(self, other: Window) -> Window:
        return Window(self.count + other.count, self.totals + other.totals)

    @property
    def mean(self) -> FloatArray:
        return self.totals / self.count


Windows: TypeAlias = dict[tuple[int, Actions], Window]
"""By edge and continuation."""


@dataclass(slots=True)
class Compared:
    """One merge along one continuation, over all blocks."""

    weight: float = 0.0  # M
    apart: FloatArray | None = None  # W, [K, d]
    best: float = 0.0  # the largest evidence so far
    excluded: float = math.inf  # the smallest separation that would have been excluded
    seen: FloatArray | None = None  # [K, d], of exact readings: all that was read on both sides


@dataclass
class MergeEvidence:
    """The evidence so far for every merge of a proposal."""

    proposal: Proposal
    tests: dict[tuple[int, Actions], Compared] = field(init=False)

    def __post_init__(self) -> None:
        actions = range(self.proposal.n_actions)
        ways = list(product(actions, repeat=self.proposal.rules.future - 1))
        merges = self.proposal.merges
        self.tests = {(edge, way): Compared() for edge in merges for way in ways}

    @property
    def least(self) -> float:
        """The least evidence for any merge; infinite where there is none."""
        return min((test.best for test in self.tests.values()), default=math.inf)

    def add(self, windows: Windows) -> None:
        """Take in what was read in one block."""
        for (edge, way), test in self.tests.items():
            founder = self.proposal.founded_by(edge)
            mine, theirs = windows.get((edge, way)), windows.get((founder, way))
            if self._exact:
                self._look_at(test, mine, theirs)
            if mine is not None and theirs is not None:
                self._compare(edge, test, mine, theirs)
            if self._exact:
                test.best = max(self.last(edge, test), 0.0)

    def _look_at(self, test: Compared, *sides: Window | None) -> None:
        """Exact readings have to be the same, whichever side they are of."""
        for read in sides:
            if read is not None:
                test.seen = read.totals + (0.0 if test.seen is None else test.seen)

    def _compare(self, edge: int, test: Compared, mine: Window, theirs: Window) -> None:
        rules = self.proposal.rules
        weight = mine.count * theirs.count / (mine.count + theirs.count)
        test.weight += weight
        before = 0.0 if test.apart is None else test.apart
        test.apart = weight * (mine.mean - theirs.mean) + before
        if not self._exact:
            test.best = max(test.best, self.last(edge, test))
            bet, proxy = self.bet(edge), self.proxy
            noise = rules.level / (bet * test.weight) + bet * proxy / 2
            test.excluded = min(test.excluded, self.distance(test) + noise)

    def distance(self, test: Compared) -> float:
        """How far apart the two ends look, over all blocks."""
        assert test.apart is not None  # asked of what was read
        rules = self.proposal.rules
        apart = test.apart / test.weight
        assert rules.observed is not None  # there are no merges on the tree
        if rules.observed.type == "symbols":
            return float(np.abs(apart).sum() / 2)
        return float(np.linalg.norm(apart, axis=-1).sum())

    def last(self, edge: int, test: Compared) -> float:
        """The evidence for a merge after the last block; 0 before it was read."""
        if not test.weight:
            return 0.0
        if self._exact:
            assert test.seen is not None  # where both sides were read
            same = np.count_nonzero(test.seen, axis=-1).max() == 1
            return self.proposal.rules.level if same else -math.inf
        bet, size = self.bet(edge), self.size(edge)
        return test.weight * (bet * (size - self.distance(test)) - bet**2 * self.proxy / 2)

    def bet(self, edge: int) -> float:
        return BET * self.size(edge) / self.proxy

    @property
    def excluded(self) -> float | None:
        """The smallest separation that is excluded for every merge; None where none says it."""
        found = [test.excluded for test in self.tests.values()]
        return max(found) if found and math.isfinite(max(found)) else None

    def size(self, edge: int) -> float:
        """What has to be excluded: the separation, or the radius that the merge claims."""
        rules = self.proposal.rules
        if rules.route is Route.NORM:
            return float(self.proposal.radius[edge])
        assert rules.separation is not None  # of this route
        return rules.separation

    @property
    def _exact(self) -> bool:
        """Whether readings have no noise, so that equal ones are one state and others are not."""
        size = self.proposal.rules.separation
        return size is not None and math.isinf(size)

    @property
    def proxy(self) -> float:
        """Variance proxy of a window."""
        rules = self.proposal.rules
        assert rules.observed is not None  # there are no merges on the tree
        assert rules.future == 1 or not rules.shared  # what shares noise has no sum of distances
        return rules.observed.proxy * rules.future
