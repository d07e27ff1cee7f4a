"""Do episodes resemble those that ran just before them? Where a reset leaves nothing behind, no.

What a system keeps for some episodes (a warm sensor, a cache, a mode that lasts) makes them alike:
a mean of many is then less sure than their scatter says, and certificates are false more often than
they admit. Of readings of the same actions, in the order in which they were told, each is held
against the next, and the last against the first: the sum of the products, with its exact mean and
variance under random reordering. (Wald and Wolfowitz, "An exact test for randomness in the
non-parametric case based on serial correlation", Annals of Mathematical Statistics 14, 1943, for
one number; here for vectors.) Rare events seldom meet, and when they do the sum is large: its tail
is that of the gamma law with the same mean, variance and skewness.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from surepath.inference.tuning import TUNING
from surepath.system import FloatArray
from surepath.theory.special import chi_square_tail, normal_quantile

MOST_PAIRED = 1024
"""Rows from all pairs of which it is told how skewed the sum is."""


SYMMETRIC = 1e-3
"""A skewness that makes no difference."""


class Resemblance(NamedTuple):
    """Of successive rows of one batch or of many, added up."""

    found: float = 0.0
    expected: float = 0.0
    variance: float = 0.0
    third: float = 0.0  # central moment; nearly, and never negative
    squares: float = 0.0  # of the rows: what there would be if all were alike

    def plus(self, other: Resemblance) -> Resemblance:
        return Resemblance(*(mine + its for mine, its in zip(self, other, strict=True)))

    @property
    def score(self) -> float:
        """The normal score of the tail probability."""
        if self.variance <= 0:
            return 0.0
        away = (self.found - self.expected) / self.variance**0.5
        skewness = self.third / self.variance**1.5
        if away <= 0 or skewness < SYMMETRIC:
            return away
        freedom = 8 / skewness**2
        rare = float(chi_square_tail(freedom, freedom + away * (2 * freedom) ** 0.5))
        return -float(normal_quantile(rare)) if rare > 0 else away

    @property
    def correlation(self) -> float:
        """Of a reading with the one before it."""
        return (self.found - self.expected) / self.squares if self.squares > 0 else 0.0

    def beyond(self, limit: float) -> bool:
        """Whether it is more than so many standard deviations, and more than a trace."""
        return self.score > limit and self.correlation > TUNING.least_resemblance


@dataclass(slots=True)
class Succession:
    """Running statistics of how much episodes resemble those before them, by step."""

    rewards: dict[int, Resemblance] = field(default_factory=dict[int, Resemblance])
    readings: dict[int, Resemblance] = field(default_factory=dict[int, Resemblance])

    def add(self, step: int, readings: FloatArray, rewards: FloatArray) -> None:
        """Standardised readings and rewards of episodes with the same actions, in their order."""
        for kind, rows in ((self.readings, readings), (self.rewards, rewards)):
            # Of unit variance, so that a batch counts by its size.
            found = successive(rows * len(rows) ** 0.5)
            kind[step] = kind.get(step, Resemblance()).plus(found)

    def doubt(self) -> str:
        """Why episodes may not be independent; empty when little speaks for it."""
        return self._text(TUNING.dependence_alarm)

    def warning(self) -> str:
        """The same, where it is worth a remark but not yet a reason to refuse."""
        return "" if self.doubt() else self._text(TUNING.dependence_warning)

    def _text(self, limit: float) -> str:
        for what, kind in (("what is paid", self.rewards), ("what is read", self.readings)):
            step = max(kind, key=lambda each: kind[each].score, default=None)
            if step is None:
                continue
            worst = kind[step]
            if worst.beyond(limit):
                return (
                    f"{what} at step {step} resembles that of the episode before with the same "
                    f"actions (correlation {worst.correlation:.2f}, {worst.score:.1f} standard "
                    "deviations): a reset leaves something behind, or episodes were not told in "
                    "the order in which they ran"
                )
        return ""


def successive(rows: FloatArray) -> Resemblance:
    """Centred rows, each with the next one. Too few of them say nothing."""
    n = len(rows)
    own = (rows**2).sum(axis=1)
    squares = float(own.sum())
    if n < 4 or squares <= 0:
        return Resemblance()
    found = float((rows * np.roll(rows, -1, axis=0)).sum())
    # Rows sum to 0, so that sums over different rows come down to these two.
    fourth = float((own**2).sum())
    others = float(((rows.T @ rows) ** 2).sum()) - fourth  # squared products of different rows
    same = others / (n - 1)
    adjacent = 2 * (fourth - others) / ((n - 1) * (n - 2))
    apart = (squares**2 + 2 * others - 4 * fourth) / ((n - 1) * (n - 2))
    expected = -squares / (n - 1)
    variance = same + adjacent + apart - expected**2
    some = rows[:MOST_PAIRED]
    products = some @ some.T
    np.fill_diagonal(products, 0.0)
    cubes = float((products * products**2).sum())  # numpy is slow at third powers
    third = n * cubes / (len(some) * (len(some) - 1))
    return Resemblance(found, expected, max(variance, 0.0), max(third, 0.0), squares)
