"""UCT: the bandit rule UCB1 at every node of the tree of prefixes.

Kocsis and Szepesvari, "Bandit based Monte-Carlo Planning" (ECML 2006). Action a of a node at level
h is scored mean + c (H - h) sqrt(ln N / n): the mean return from there on in the n episodes that
took it, and a bonus in proportion to the largest return, for N episodes through the node. Actions
that were never taken come first. The paper's rule for returns in [0, 1] is c = 2 / sqrt(2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from surepath.baselines.openloop import TreeSearch
from surepath.validate import between


class Uct(TreeSearch):
    """Plays on for as long as it is told; the most played sequence is the incumbent."""

    needs_range = True

    def __init__(
        self,
        horizon: int,
        n_actions: int,
        *,
        exploration: float = math.sqrt(2),
        batch: int = 1,
        seed: int = 0,
        reward_range: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        super().__init__(horizon, n_actions, batch=batch, seed=seed, reward_range=reward_range)
        self.exploration = between("exploration", exploration, 0, math.inf, closed=(True, False))
        self._advance(None)

    def _choose(self, first: int, level: int) -> int:
        counts = self._counts[first : first + self.n_actions]
        if 0 in counts:
            return self._largest([not n for n in counts])
        totals = self._totals[first : first + self.n_actions]
        bonus = self.exploration * (self.horizon - level) * math.sqrt(math.log(sum(counts)))
        scores = [t / n + bonus / math.sqrt(n) for t, n in zip(totals, counts, strict=True)]
        return self._largest(scores)

    def _prefer(self, edge: int) -> float:
        return self._totals[edge] / max(1, self._counts[edge])

    def _learn(self, path: Sequence[int], rewards: Sequence[float], count: int) -> None:
        following = 0.0
        for edge, reward in zip(reversed(path), reversed(rewards), strict=True):
            following += reward
            self._counts[edge] += count
            self._totals[edge] += count * following
