"""Random search with repeats: sequences drawn at random, each played some times, the best kept."""

from __future__ import annotations

from typing import Any

from surepath.baselines.openloop import OpenLoop
from surepath.learners.base import Answer


class RandomSearch(OpenLoop):
    """Nothing is learned from one sequence about another."""

    def __init__(self, horizon: int, n_actions: int, **options: Any) -> None:
        super().__init__(horizon, n_actions, **options)
        self._most = -float("inf")
        self._advance(None)

    def _advance(self, answers: list[Answer] | None) -> None:
        for answer in answers or ():
            if (found := self._return(answer)) > self._most:
                self._most, self.incumbent = found, answer.raw.actions
        drawn = self._rng.integers(self.n_actions, size=self.horizon)
        self._pending = (self._request(tuple(drawn.tolist()), self.batch),)
