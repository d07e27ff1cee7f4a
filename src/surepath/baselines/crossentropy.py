"""The cross-entropy method: draw sequences, fit the law to the best of them, and again.

Rubinstein, "The Cross-Entropy Method for Combinatorial and Continuous Optimization" (1999). The
law draws the action of every level on its own. Its smoothed update keeps actions from dying out by
the noise of a few returns (de Boer, Kroese, Mannor and Rubinstein, "A Tutorial on the Cross-Entropy
Method", 2005).
"""

from __future__ import annotations

import numpy as np

from surepath.baselines.openloop import OpenLoop
from surepath.learners.base import Answer
from surepath.system import FloatArray, IntArray
from surepath.validate import between, whole


class CrossEntropy(OpenLoop):
    """Asks for one generation at a time; the law's most likely sequence is the incumbent."""

    def __init__(
        self,
        horizon: int,
        n_actions: int,
        *,
        population: int = 100,
        elite: int = 10,
        smoothing: float = 0.3,
        batch: int = 1,
        seed: int = 0,
        reward_range: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        super().__init__(horizon, n_actions, batch=batch, seed=seed, reward_range=reward_range)
        self.population = whole("population", population, least=1)
        self.elite = whole("elite", elite, least=1, most=population)
        self.smoothing = between("smoothing", smoothing, 0, 1, closed=(False, True))
        self.law: FloatArray = np.full((horizon, n_actions), 1 / n_actions)  # of actions by level
        self._drawn: IntArray = np.empty((0, horizon), dtype=np.int64)
        self._advance(None)

    def _advance(self, answers: list[Answer] | None) -> None:
        if answers is not None:
            self._fit(np.array([self._return(answer) for answer in answers]))
            self.incumbent = tuple(self.law.argmax(axis=1).tolist())
        # A level's action is the number of partial sums that a uniform number has passed; the last
        # sum is 1 but for rounding.
        uniform = self._rng.random((self.population, self.horizon, 1))
        self._drawn = (uniform >= self.law.cumsum(axis=1)[:, :-1]).sum(axis=2)
        self._pending = tuple(self._request(tuple(row), self.batch) for row in self._drawn.tolist())

    def _fit(self, returns: FloatArray) -> None:
        # Drawn in no order, so a stable sort breaks ties at random.
        best = self._drawn[np.argsort(-returns, kind="stable")[: self.elite]]
        shares = (best[:, :, None] == np.arange(self.n_actions)).mean(axis=0)
        self.law = (1 - self.smoothing) * self.law + self.smoothing * shares
