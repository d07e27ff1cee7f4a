"""Open-loop optimistic planning: play the sequence whose value could be the largest.

OLOP is by Bubeck and Munos, "Open Loop Optimistic Planning" (COLT 2010); with Kullback-Leibler
instead of Hoeffding bounds it is KL-OLOP, by Leurent and Maillard, "Practical Open-Loop Optimistic
Planning" (ECML-PKDD 2019). Both are stated for discounted rewards. Here the return is the plain sum
of `horizon` rewards in [0, 1], and whole sequences are played, so nothing is truncated.

A prefix is bounded by what its last reward and the rest can be at most:

    U(prefix) = u(prefix) + max over actions a of U(prefix a),    u = max {q: T kl(mean, q) <= f},

with T and mean the number and the average of the rewards at the prefix's last step. A prefix of
depth h that was never played has U = H - h + 1. Kullback-Leibler bounds use
f = 2 ln M + 2 ln ln M for M episodes; Hoeffding's are their relaxation by Pinsker's inequality,
u = mean + sqrt(f / 2T), with f = 4 ln M.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

from surepath.baselines.openloop import TreeSearch
from surepath.learners.base import Answer
from surepath.results.certificate import Level
from surepath.validate import between, whole


class Olop(TreeSearch):
    """OLOP (`kl=False`) or KL-OLOP for so many episodes; then the most played sequence is the plan.

    `constant` c sets f = c ln M in place of the published one.
    """

    needs_range = True

    def __init__(
        self,
        horizon: int,
        n_actions: int,
        episodes: int,
        *,
        kl: bool = True,
        constant: float | None = None,
        batch: int = 1,
        seed: int = 0,
        reward_range: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        self.episodes = whole("episodes", episodes, least=2)
        self.kl = kl
        self.threshold = _threshold(self.episodes, kl, constant)
        self._uppers = array("d")  # [edges] U of the prefix that ends with the edge
        super().__init__(horizon, n_actions, batch=batch, seed=seed, reward_range=reward_range)
        self._advance(None)

    @property
    def upper(self) -> float:
        """The bound on the value of the best sequence."""
        return self._unscaled(max(self._uppers[: self.n_actions]))

    def status(self) -> dict[str, str]:
        return super().status() | {"upper": f"{self.upper:.3g}"}

    def _left(self) -> int:
        return min(self.batch, self.episodes - self.usage.episodes)

    def _grow(self, level: int) -> int:
        self._uppers.extend([float(self.horizon - level)] * self.n_actions)
        return super()._grow(level)

    def _choose(self, first: int, level: int) -> int:  # noqa: ARG002 - bounds know their level
        return self._largest(self._uppers[first : first + self.n_actions])

    def _prefer(self, edge: int) -> float:
        return self._uppers[edge]

    def _learn(self, path: Sequence[int], rewards: Sequence[float], count: int) -> None:
        counts, totals, uppers, n_actions = self._counts, self._totals, self._uppers, self.n_actions
        following = 0.0
        # From the last edge back: only bounds along the path change.
        for edge, reward in zip(reversed(path), reversed(rewards), strict=True):
            counts[edge] = n = counts[edge] + count
            totals[edge] = total = totals[edge] + count * reward
            uppers[edge] = self._reward_bound(total / n, n) + following
            first = edge - edge % n_actions
            following = max(uppers[first : first + n_actions])

    def _reward_bound(self, mean: float, count: int) -> float:
        if self.kl:
            return kl_upper(mean, self.threshold / count)
        return min(1.0, mean + math.sqrt(self.threshold / (2 * count)))

    def _advance(self, answers: list[Answer] | None) -> None:
        super()._advance(answers)
        if not self._pending:
            self._settle()

    def _settle(self) -> None:
        decisions = list[Level]()
        for level, edge in enumerate(self._recommended(0)):
            action = edge % self.n_actions
            every = range(edge - action, edge - action + self.n_actions)
            estimates = tuple(self._unscaled(self._value(e), level) for e in every)
            samples = self._counts[edge]
            decisions.append(Level.decided(level, action, estimates, 0.0, samples, "expansion"))
        self.plan = tuple(decisions)
        self.value = decisions[0].estimates[decisions[0].action]

    def _value(self, edge: int) -> float:
        """Mean rewards from the edge on, as recommended; minus infinity if it was never played."""
        if not self._counts[edge]:
            return -math.inf
        below = self._below[edge]
        edges = [edge, *(self._recommended(below) if below else ())]
        return sum(self._totals[e] / self._counts[e] for e in edges)


def kl_upper(mean: float, level: float) -> float:
    """The largest q in [mean, 1] with kl(mean, q) <= level, for Bernoulli laws.

    Newton's method from the right. kl is convex in q and grows there, so iterates fall to the root
    and never pass it. The first is the smaller of two bounds on the root: Pinsker's inequality, and
    kl(mean, q) >= -entropy(mean) - (1 - mean) ln(1 - q).
    """
    rest = 1 - mean
    if rest <= 0:
        return 1.0
    if mean <= 0:
        return -math.expm1(-level)
    cross = level - mean * math.log(mean) - rest * math.log(rest)  # level + entropy
    q = min(mean + math.sqrt(level / 2), -math.expm1(-cross / rest))
    for _ in range(_MOST_STEPS):
        if not mean < q < 1:
            break
        excess = -mean * math.log(q) - rest * math.log1p(-q) - cross
        step = excess * q * (1 - q) / (q - mean)
        q -= step
        if step < _PRECISION:
            break
    return max(mean, q)


_MOST_STEPS = 50
_PRECISION = 1e-12
"""Newton's method for an upper confidence bound: steps at most, and the step that is none."""


def _threshold(episodes: int, kl: bool, constant: float | None) -> float:
    log = math.log(episodes)
    if constant is not None:
        return between("constant", constant, 0, math.inf) * log
    return 2 * log + 2 * math.log(log) if kl else 4 * log
