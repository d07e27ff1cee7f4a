"""LUCB with the widths of the calibrated guarantee, and with its tolerance.

The rival that differs from the adaptive schedule in what it knows of the system, and in nothing
else: one arm for every sequence, the same bounds, the same rule for when a question is settled. All
arms that are open are played again, as is done there too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepath.baselines.arms import MOST_REQUESTS, Arms
from surepath.inference.guarantee_widths import Calibrated
from surepath.inference.terms import Terms
from surepath.inference.tuning import TUNING
from surepath.learners.base import Answer
from surepath.system import FloatArray, IntArray


class CalibratedLucb(Arms):
    """Plays what looks best, and all that could be better by more than the tolerance."""

    needs_range = True

    def __init__(self, horizon: int, n_actions: int, terms: Terms, **options: Any) -> None:
        """`terms` are those of the adaptive run that it is compared with."""
        super().__init__(horizon, n_actions, **options)
        self.terms = terms
        self.widths = Calibrated.under(terms)
        self._scatter = np.zeros(self.n_arms)
        self._queue: list[tuple[IntArray, int]] = [(np.arange(self.n_arms), self.batch)]
        self._advance(None)

    def _advance(self, answers: list[Answer] | None) -> None:
        for arm, answer in zip(self._played if answers else (), answers or (), strict=True):
            self._pool(arm, answer)
        if not self._queue:
            self._compare()
        if self._queue:
            arms, count = self._queue.pop(0)
            now, later = arms[:MOST_REQUESTS], arms[MOST_REQUESTS:]
            self._queue[:0] = [(later, count)] if len(later) else []
            self._play(now.tolist(), count)

    def _pool(self, arm: int, answer: Answer) -> None:
        """What is paid is paid at the last step: its scatter is that of the return."""
        paid = answer.rewards[self.horizon - 1]
        before, mean = int(self._counts[arm]), paid.mean
        total = before + paid.count
        old = float(self._means[arm]) if before else mean
        self._scatter[arm] += paid.scatter + before * paid.count / total * (mean - old) ** 2
        self._means[arm] = old + paid.count / total * (mean - old)
        self._counts[arm] = total
        self.incumbent = self.sequence(int(self._means.argmax()))

    def _spread(self, room: FloatArray) -> FloatArray:
        rare = self.widths.strength * room**2 / 2
        return 2 * self.widths.strength * (self._scatter + rare) / self._counts**2

    def _compare(self) -> None:
        best = int(self._means.argmax())
        low, high = self.terms.reward_range
        own = float(self._spread(self._means - low)[best])
        widths = np.sqrt(self._spread(high - self._means) + own)
        lead = self._means[best] - self._means
        tolerance = self.terms.allowed_loss(float(self._means[best]), 0.0)
        excess = self.terms.excess(lead, widths, tolerance)
        excess[best] = -math.inf
        open_arms = np.flatnonzero(excess >= 0)
        if not len(open_arms):
            self._settle(np.argsort(self._means, kind="stable"))
            return
        narrow = own > self._spread(high - self._means)[open_arms].max()
        for arm in [best] if narrow else open_arms.tolist():
            more = max(TUNING.least_request, math.ceil(TUNING.most_growth * self._counts[arm]))
            self._queue.append((np.array([arm]), more))
