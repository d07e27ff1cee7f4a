"""How samples are compared: what every kind of observation has to answer.

A sample is an array whose entries add up when samples are pooled, with one row for each node of the
window it was read in, [P, ...]. Rows are independent, so their evidence adds.

`log_odds` sorts, by Bayes factors. `apart` is what a declared separation is tested with
(`surepath.inference.separation`): how far apart two samples are, and how much of that may be noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surepath.readings.digests import Cloud
from surepath.system import FloatArray, IntArray

WindowReadings: TypeAlias = Sequence[Sequence[Cloud | None]]
"""Readings [G][P]: each of the G known to come from one place, at P nodes of its window."""


LARGEST_COMPARISON = 2**13
"""Numbers of samples that are compared at once where there are many pairs: as many as stay close to
the processor (256 KB)."""

Pairs: TypeAlias = tuple[IntArray, IntArray]
"""Pairs of samples, by their places [n] among the ones and among the others."""


Against: TypeAlias = Callable[[FloatArray, Pairs], FloatArray]
"""Log-odds of n pairs, of samples it is given and of others, [n]: what samples are sorted by. It
matters by how much they are above 0; what is not may be any number that is not."""


def in_parts(odds: Callable[[Pairs], FloatArray], pairs: Pairs, width: int) -> FloatArray:
    """Of pairs of samples of so many numbers, so many at a time as can be compared at once."""
    several = max(1, LARGEST_COMPARISON // width)
    found = np.empty(len(pairs[0]))
    for start in range(0, len(found), several):
        part = slice(start, start + several)
        found[part] = odds((pairs[0][part], pairs[1][part]))
    return found


def in_use(places: IntArray, size: int) -> tuple[IntArray, IntArray]:
    """Which of so many are among these places, in their order; and where each place is among them.

    As `numpy.unique`, which would sort.
    """
    there = np.zeros(size, dtype=bool)
    there[places] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[places]


class Apart(NamedTuple):
    """How far two samples are apart, along each way through their window."""

    distance: FloatArray  # [..., ways]
    variance: FloatArray  # [..., ways], of the noise in any one direction; infinite where unread
    squared: FloatArray  # [..., ways], squared distance in units of the noise, whatever direction
    freedom: FloatArray  # [..., ways], directions that have noise
    rare: FloatArray  # [..., ways], of the distance, what may not show in that square

    def with_readings(self, times: FloatArray) -> Apart:
        """With so many times as many readings, if there is no difference but noise."""
        return self._replace(
            distance=self.distance / np.sqrt(times), variance=self.variance / times
        )

    def at(self, places: Any) -> Apart:
        return Apart(*(part[places] for part in self))


class Comparison(Protocol):
    def log_odds(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """Of "same" against "different", for samples [..., P, D] that broadcast: [...]."""
        ...

    def against(self, other: FloatArray) -> Against:
        """The same for pairs with these samples: what each of them says alone is computed once."""
        ...

    def chance(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """The probability that samples of one law differ so much, or more: [...]."""
        ...

    def apart(self, one: FloatArray, other: FloatArray, ways: IntArray) -> Apart:
        """`ways` are the nodes that each way through the window passes, [ways, K]."""
        ...

    def log_evidence(self, apart: Apart, separation: float | FloatArray) -> FloatArray:
        """Against laws this far apart: ln E, whose mean is 1 if they are."""
        ...

    def counts(self, sample: FloatArray) -> FloatArray:
        """Readings at each node of the window, [..., P]."""
        ...

    def brief(self, samples: FloatArray) -> FloatArray:
        """As much of the samples as `log_odds` and `chance` need: what is sorted by."""
        ...

    def differ(self, apart: Apart, alarm: float) -> NDArray[np.bool_]:
        """Whether samples of one law are so far apart with a probability below the alarm only."""
        ...
