"""What rivals that look at embeddings share: prefixes with estimates, sampled once along paths.

Methods for observed states are used on hidden ones by taking the estimated mean embedding of a
prefix for its state. Every prefix is estimated once, from `samples` episodes that pass it, and the
estimate is kept: nothing is pooled. An episode that reaches a prefix goes on to the horizon, along
the actions that were last thought best at the levels that follow, and gives the estimates of all
prefixes on its way.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Generator
from typing import TypeAlias, TypeVar

from surepath.features import Features
from surepath.learners.base import Answer, Asking
from surepath.readings.embedding import VectorEmbedding
from surepath.readings.trie import Node
from surepath.results.certificate import Level
from surepath.system import Request
from surepath.validate import whole

T = TypeVar("T")

Process: TypeAlias = Generator[tuple[Request, ...], list[Answer], T]
"""A computation that yields requests, is sent their answers and returns a T."""


class Sampled(Asking):
    """Sans-IO: a method that is written as one process, and visits prefixes.

    Until the method has its plan, the incumbent is the sampled path with the largest mean return.
    """

    def __init__(
        self,
        horizon: int,
        n_actions: int,
        features: Features,
        samples: int,
        reward_range: tuple[float, float],
    ) -> None:
        super().__init__(horizon, n_actions, VectorEmbedding(features, n_actions), reward_range)
        self.samples = whole("samples", samples, least=1)
        self._root = Node()
        self._habit = [0] * horizon  # the action last thought best, by level
        self._process = self._main()

    @abstractmethod
    def _main(self) -> Process[None]:
        """The method: it ends with `_finish`."""

    def _advance(self, answers: list[Answer] | None) -> None:
        try:
            # A process that has not begun takes nothing.
            self._pending = next(self._process) if answers is None else self._process.send(answers)
        except StopIteration:
            self._pending = ()

    def _visit(self, node: Node) -> Process[None]:
        """Have the estimates of a prefix whose parent was visited before, or of the root."""
        if node.seen:
            return
        h, first = node.level, max(node.level - 1, 0)
        actions = (*node.prefix, *self._habit[h:])
        wanted = Request(actions, self.samples, range(h, self.horizon), range(first, self.horizon))
        [answer] = yield (wanted,)
        # Whatever was visited was followed to the horizon, so all that lies below is new.
        while True:
            self._take(node, answer)
            if node.level == self.horizon:
                break
            node = node.child(actions[node.level])
        self._compare(node)

    def _take(self, node: Node, answer: Answer) -> None:
        node.seen = True
        node.samples = self.samples
        self.usage.nodes += 1
        if node.level > 0:
            node.reward = answer.rewards[node.level - 1].mean
            self.usage.reward_batches += 1
        if node.level < self.horizon:
            node.point = answer.observations[node.level].value
            self.usage.feature_batches += 1
        else:
            node.value = 0.0  # nothing is left to collect

    def _compare(self, leaf: Node) -> None:
        """Keep the better one of a path just sampled and the incumbent."""
        total = path_return(leaf)
        if self.value is None or total > self.value:
            self.incumbent, self.value = leaf.prefix, total

    def _finish(self, decisions: list[Level], value: float) -> None:
        self.plan = tuple(decisions)
        self.incumbent = tuple(decision.action for decision in decisions)
        self.value = value


def reward_of(node: Node) -> float:
    """Mean reward of the action that leads to a prefix that was visited."""
    assert node.reward is not None
    return node.reward


def path_return(leaf: Node) -> float:
    """Sum of the mean rewards on the way to a prefix."""
    rewards = list[float]()
    node = leaf
    while node.parent is not None:
        rewards.append(reward_of(node))
        node = node.parent
    return math.fsum(rewards)
