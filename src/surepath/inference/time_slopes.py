"""What was read of one prefix over a run, and how it follows the course of a change.

`drift` says what is made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from surepath.inference.tuning import TUNING
from surepath.readings.trie import Node
from surepath.system import FloatArray

Course: TypeAlias = Callable[[FloatArray], FloatArray]
"""How far a change has come, by the time in the run, which goes from 0 to 1."""


class History(list[tuple[int, float, FloatArray]]):
    """What was read of one prefix in the order of the run, neighbouring batches joined.

    Of each part, number of readings, numbers of their episodes, summed, and what was read, summed.
    There are two of these for every node: a list each, and tuples that hold nothing but numbers,
    because whatever else there is many of takes long to collect garbage among.
    """

    __slots__ = ()

    def add(self, count: int, time: float, total: FloatArray) -> None:
        """One more batch; `time` is the mean number of its episodes."""
        self.append((count, count * time, total))
        if len(self) > TUNING.drift_parts:
            pairs = zip(self[::2], self[1::2], strict=False)
            odd = self[-1:] if len(self) % 2 else []
            self[:] = [(n + m, t + u, x + y) for (n, t, x), (m, u, y) in pairs] + odd

    @property
    def first(self) -> tuple[int, float]:
        """Number and sum of what was read first."""
        return self[0][0], float(self[0][2].sum())

    def parts(self, episodes: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Counts [p], mean times as shares of so many episodes [p], and totals [p, d]."""
        numbers, times, totals = zip(*self, strict=True)
        counts = np.array(numbers, dtype=np.float64)
        return counts, np.array(times) / counts / episodes, np.array(totals)


@dataclass(frozen=True, slots=True)
class Stream:
    """All readings of one prefix, by the part of the run that they come from."""

    node: Node
    counts: FloatArray  # [p]
    times: FloatArray  # [p]
    totals: FloatArray  # [p, d]
    variance: FloatArray  # of a reading, [d]; 0 where nothing can be said
    traces: FloatArray  # of the correlations of what varies, and their second and third power
    prior: tuple[float, float] = (0.0, 0.0)  # what was expected of it: readings it is worth, mean
    reach: float = 0.0  # how far the rarest reading is from the mean, of rewards

    @property
    def mean(self) -> FloatArray:
        return self.totals.sum(axis=0) / self.counts.sum()


@dataclass(frozen=True, slots=True)
class Slopes:
    """How the readings of one prefix follow several courses.

    Each part is held against what was expected after those before it, by how much further the
    change would have come by then; without a prior that adds up to the slope of the regression.
    Under any order of the readings a slope has a mean of 0, and the variance of a reading times its
    weight; one reading contributes its distance from the mean times at most the largest share.
    """

    stream: Stream
    slope: FloatArray  # [c, d]
    weight: FloatArray  # [c]
    largest: FloatArray  # [c]

    @classmethod
    def of(cls, stream: Stream, courses: Sequence[Course]) -> Slopes:
        worth, mean = stream.prior
        counts = stream.counts[1:]
        before = np.cumsum(stream.counts)[:-1]
        known = before + worth
        expected = (np.cumsum(stream.totals, axis=0)[:-1] + worth * mean) / known[:, None]
        courses_now = np.array([course(stream.times) for course in courses])
        earlier = np.cumsum(courses_now * stream.counts, axis=1)[:, :-1] / before
        further = courses_now[:, 1:] - earlier
        ways = further * known / (known + counts)
        slope = ways @ (stream.totals[1:] - counts[:, None] * expected)
        centre = courses_now @ stream.counts / stream.counts.sum()
        largest = abs(courses_now - centre[:, None]).max(axis=1)
        return cls(stream, slope, (further * ways) @ counts, largest)
