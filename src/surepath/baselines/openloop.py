"""What methods that look at rewards only have in common.

The hidden state moves deterministically, so a policy is an action sequence and the best sequence is
the best policy: methods that never look at an observation can find it. They are asked and told
like everything else. Observations are read all the same, and every one is charged as a step.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from array import array
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from surepath.errors import InputError
from surepath.learners.base import Answer, Asking
from surepath.readings.embedding import VectorEmbedding
from surepath.results.usage import shorten
from surepath.system import Actions, Counts, FloatArray, Moments, Request, Sample
from surepath.validate import whole

NOTHING = range(0)
"""The observations that are wanted."""


class Blind:
    """Features of no dimension: whatever is read, nothing of it is seen."""

    dimension = 0
    radius = 0.0
    statistics = (Counts, Moments)

    def rows(self, observations: NDArray[Any]) -> FloatArray:
        return np.empty((len(observations), 0))

    def mean(self, sample: Sample) -> FloatArray:  # noqa: ARG002 - the protocol
        return np.empty(0)


class OpenLoop(Asking):
    """Plays whole sequences, each `batch` times, and looks at their rewards.

    Rewards are rescaled to [0, 1] by `reward_range`. After the first `tell` the incumbent is always
    a whole sequence: what the method would recommend now. Methods without a tree count no nodes.
    """

    needs_range: ClassVar[bool] = False  # whether rewards must be bounded

    def __init__(
        self,
        horizon: int,
        n_actions: int,
        *,
        batch: int = 1,
        seed: int = 0,
        reward_range: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        embedding = VectorEmbedding(Blind(), whole("n_actions", n_actions, least=2))
        super().__init__(horizon, n_actions, embedding, reward_range)
        self.batch = whole("batch", batch, least=1)
        self._rng = np.random.default_rng(whole("seed", seed, least=0))
        self._low, self._width = _scale(reward_range, self.needs_range)
        self._levels = range(horizon)

    def status(self) -> dict[str, str]:
        return {
            "episodes": f"{self.usage.episodes:.3g}",
            "incumbent": shorten(self.incumbent, 12) or "-",
        }

    def _request(self, actions: Actions, count: int) -> Request:
        self.usage.reward_batches += self.horizon
        return Request(actions, count, NOTHING, self._levels)

    def _rewards(self, answer: Answer) -> list[float]:
        """Mean rewards by level, in [0, 1] where they are bounded."""
        low, width, rewards = self._low, self._width, answer.rewards
        return [(rewards[level].mean - low) / width for level in self._levels]

    def _return(self, answer: Answer) -> float:
        """The mean return, rescaled likewise."""
        return sum(self._rewards(answer))

    def _unscaled(self, value: float, level: int = 0) -> float:
        """A value from this level on, as it is in the system's own rewards."""
        return (self.horizon - level) * self._low + self._width * value


class TreeSearch(OpenLoop):
    """Methods that keep the tree of all prefixes that were played.

    The actions of a node are A *edges* in a row, those of the root first, and edges are kept in
    flat arrays. A prefix that was never played has no node.
    """

    def __init__(self, horizon: int, n_actions: int, **options: Any) -> None:
        super().__init__(horizon, n_actions, **options)
        self._counts = array("q")  # [edges] episodes that took the edge
        self._totals = array("d")  # [edges] sum over them of what the method averages
        self._below = array("q")  # [edges] first edge of the node it leads to, 0 if there is none
        self._uniforms: list[float] = []
        self._grow(0)

    def status(self) -> dict[str, str]:
        return {"nodes": str(self.usage.nodes)} | super().status()

    @abstractmethod
    def _choose(self, first: int, level: int) -> int:
        """The action to play at the node whose edges begin at `first`."""

    @abstractmethod
    def _learn(self, path: Sequence[int], rewards: Sequence[float], count: int) -> None:
        """Take in the mean rewards of `count` episodes along the edges of a path."""

    @abstractmethod
    def _prefer(self, edge: int) -> float:
        """Which of the most played edges to recommend: the one with the largest."""

    def _left(self) -> int:
        """Episodes of the next sequence; 0 to end."""
        return self.batch

    def _grow(self, level: int) -> int:  # noqa: ARG002 - for methods that keep more of a node
        """A new node; where its edges begin."""
        first, n_actions = len(self._counts), self.n_actions
        self._counts.extend([0] * n_actions)
        self._totals.extend([0.0] * n_actions)
        self._below.extend([0] * n_actions)
        return first

    def _advance(self, answers: list[Answer] | None) -> None:
        for answer in answers or ():
            self._learn(self._path(answer.raw.actions), self._rewards(answer), answer.raw.count)
            self.incumbent = tuple(edge % self.n_actions for edge in self._recommended(0))
        if count := self._left():
            self._pending = (self._request(self._descend(), count),)

    def _descend(self) -> Actions:
        """The sequence to play next: chosen inside the tree, drawn below it."""
        first, actions, below = 0, list[int](), self._below
        for level in self._levels:
            action = self._choose(first, level)
            actions.append(action)
            first = below[first + action]
            if not first:
                break
        while len(actions) < self.horizon:
            actions.append(int(self._uniform() * self.n_actions))
        return tuple(actions)

    def _path(self, actions: Actions) -> list[int]:
        """The edges of a sequence, with nodes for those of its prefixes that had none."""
        first, path, below = 0, list[int](), self._below
        for level, action in enumerate(actions, start=1):
            edge = first + action
            path.append(edge)
            self.usage.nodes += not self._counts[edge]
            first = below[edge]
            if not first and level < self.horizon:
                first = below[edge] = self._grow(level)
        return path

    def _recommended(self, first: int) -> list[int]:
        """The most played edges from a node to the end."""
        counts, below, n_actions = self._counts, self._below, self.n_actions
        edges = list[int]()
        while first or not edges:
            here = counts[first : first + n_actions]
            most = max(here)
            if here.count(most) == 1:
                edge = first + here.index(most)
            else:
                tied = [first + action for action, n in enumerate(here) if n == most]
                edge = max(tied, key=self._prefer)
            edges.append(edge)
            first = below[edge]
        return edges

    def _largest(self, values: Sequence[float]) -> int:
        """Where the largest value is; one of its places at random where it has several."""
        best = max(values)
        ties = values.count(best)
        if ties == 1:
            return values.index(best)
        places = [place for place, value in enumerate(values) if value == best]
        return places[int(self._uniform() * ties)]

    def _uniform(self) -> float:
        """A number in [0, 1). Drawn many at a time: single draws would cost more than the rest."""
        if not self._uniforms:
            self._uniforms = self._rng.random(1024).tolist()
        return self._uniforms.pop()


def _scale(reward_range: tuple[float, float], bounded: bool) -> tuple[float, float]:
    """Where rewards begin and how far they reach; (0, 1) where they have no bounds."""
    low, high = reward_range
    finite = math.isfinite(low) and math.isfinite(high)
    if not low < high or (bounded and not finite):
        raise InputError(
            "the method needs the bounds of the rewards, the lower one first",
            got=f"reward_range=({low:g}, {high:g})",
            remedy="Pass reward_range=(low, high) with the system's true range.",
        )
    return (low, high - low) if finite else (0.0, 1.0)
