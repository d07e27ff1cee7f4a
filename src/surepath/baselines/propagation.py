"""Optimistic constraint propagation, for deterministic systems whose states are seen.

Wen and Van Roy, "Efficient Exploration and Value Function Generalization in Deterministic Systems"
(2013; journal version 2017), with linear functions; written from memory of the method. What is
known of Q is a set of functions, those that keep to an interval at each (state, action) met. A path
is played that is best for the most hopeful function of the set at each of its states; then, from
its end to its start, each of its pairs is bound to reward plus the least and the greatest value of
the state that follows. Without noise at most dim_E paths are not optimal, which is d A H for
weights theta of every level and action on embeddings that span d dimensions (the d H of the paper
counts features of state and action); no gap is needed.

Ours: a state is a prefix, its features are the mean embedding estimated from `samples` episodes,
and `slack` widens every interval on both sides for the noise of embeddings and rewards. An interval
that says no more than what is known, up to the slack, changes nothing; the method ends when a path
changes nothing, because then it would be played for ever. Actions whose greatest values differ by
no more than the slack are equal, and the one that was last played at the level is played again. So
at the end the greatest value possible is within 3 * slack * H of what the path collected, unless
intervals contradicted each other: then the smallest upper ends are kept to, and what does not go
with them is forgotten.

EQDP tries all actions wherever it is not covered; this plays only what may still be best, and needs
no gap. But it trusts Q to be exactly linear with weights below `norm`, and hands what it does not
know at one level up to the next, where EQDP goes by values that were collected.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from scipy.optimize import linprog

from surepath.baselines.sampled import Process, Sampled, path_return, reward_of
from surepath.errors import NumericalError
from surepath.features import Features
from surepath.readings.trie import Node
from surepath.results.certificate import Level
from surepath.system import Actions, FloatArray
from surepath.validate import between, whole

Interval: TypeAlias = tuple[float, float]
"""Lower and upper end."""

LEAST_SLACK = 1e-5
"""Of intervals: far above the tolerance with which linear programs are solved."""

OVERLAP = 1e-6
"""Intervals that share less than this share nothing that a linear program could find."""

MOST_PATHS = 1000
"""Paths to play before the best one sampled is taken."""


class LinearSet:
    """The functions <theta, x>, |theta_i| <= norm, that keep to an interval at some prefixes."""

    def __init__(self, norm: float) -> None:
        self.norm = norm
        self.version = 0  # changes with the set
        self._kept: dict[Node, Interval] = {}

    @property
    def count(self) -> int:
        """Prefixes with an interval."""
        return len(self._kept)

    def range(self, x: FloatArray) -> Interval:
        """The least and the greatest value at x of any function of the set."""
        if not self._kept:
            reach = self.norm * float(np.abs(x).sum())
            return -reach, reach
        points = np.array([node.point for node in self._kept])  # [n, d]
        low, high = np.array([*self._kept.values()]).T
        # Two functions in one program, the lowest at x and the highest: they share nothing.
        found = linprog(
            np.concatenate([x, -x]),
            A_ub=np.kron(np.eye(2), np.concatenate([points, -points])),
            b_ub=np.tile(np.concatenate([high, -low]), 2),
            bounds=(-self.norm, self.norm),
        )
        if not found.success or found.x is None:
            raise NumericalError(f"a linear program of {self.count} intervals: {found.message}")
        least, greatest = (found.x.reshape(2, -1) @ x).tolist()
        return least, greatest

    def add(self, node: Node, interval: Interval) -> bool:
        """Keep to one more interval, if that can be; upper ends decide where not all can."""
        low, high = self.range(node.point)
        if interval[0] > high - OVERLAP:
            return False  # older intervals with smaller upper ends say that it is less
        self.version += 1
        if interval[1] < low + OVERLAP:
            self._select(self._kept | {node: interval})
        else:
            self._kept[node] = shared(interval, self._kept.get(node, interval))
        return True

    def _select(self, intervals: dict[Node, Interval]) -> None:
        """Those that can be kept to, one after the other, smallest upper end first."""
        self._kept = {}
        for node, interval in sorted(intervals.items(), key=lambda one: one[1][1]):
            low, high = shared(interval, self.range(node.point))
            if high - low >= OVERLAP:
                self._kept[node] = interval


class Propagation(Sampled):
    """Sans-IO: `ask`, `tell`, until `plan` is there.

    samples: episodes behind every estimated prefix, for its embedding and its reward.
    slack: how far off reward plus value may be at one step, by the noise of both.
    norm: bound on the weights of Q; |theta_i| <= norm is what is used of it.
    most_paths: after so many paths the best one sampled is taken, and `settled` stays False.
        Intervals that contradict each other, for too small a slack, may go on changing for ever.
    """

    def __init__(
        self,
        horizon: int,
        n_actions: int,
        features: Features,
        samples: int,
        *,
        slack: float,
        norm: float,
        most_paths: int = MOST_PATHS,
        reward_range: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        super().__init__(horizon, n_actions, features, samples, reward_range)
        self.slack = between("slack", slack, LEAST_SLACK, math.inf, closed=(True, False))
        self.norm = between("norm", norm, 0, math.inf)
        self.most_paths = whole("most_paths", most_paths, least=1)
        self.played: list[Actions] = []
        self.settled = False
        self._levels = [[LinearSet(self.norm) for _ in range(n_actions)] for _ in range(horizon)]
        self._ranges: dict[tuple[Node, int], tuple[int, Interval]] = {}  # with the set's version
        self._advance(None)

    def _main(self) -> Process[None]:
        while not self.settled and len(self.played) < self.most_paths:
            self.usage.rounds += 1
            leaf = yield from self._play()
            self.played.append(leaf.prefix)
            self.settled = not self._propagate(leaf)
        actions = self.played[-1] if self.settled else self.incumbent
        node, decisions = self._root, list[Level]()
        for action in actions:
            decisions.append(self._decision(node, action))
            node = node.child(action)
        self._finish(decisions, path_return(node))

    def _play(self) -> Process[Node]:
        """The end of the path that is best as far as anyone knows."""
        node = self._root
        yield from self._visit(node)
        while node.level < self.horizon:
            node = node.child(self._most_hopeful(node))
            yield from self._visit(node)
        return node

    def _most_hopeful(self, node: Node) -> int:
        """The action of the greatest Q; of several, the one that was sampled along."""
        hopes, habit = self._values(node)[:, 1], self._habit[node.level]
        if hopes[habit] < hopes.max() - self.slack:
            self._habit[node.level] = int(hopes.argmax())
        return self._habit[node.level]

    def _propagate(self, leaf: Node) -> bool:
        """Bind what was played to what followed, from the end; whether anything changed."""
        changed, node = False, leaf
        low = high = 0.0  # of the value that follows
        while node.parent is not None:
            reward, action, node = reward_of(node), node.action, node.parent
            interval = reward + low - self.slack, reward + high + self.slack
            changed |= self._bind(node, action, interval)
            low, high = self._values(node).max(axis=0)
        return changed

    def _bind(self, node: Node, action: int, interval: Interval) -> bool:
        """Keep Q of the action in the interval; whether that changed anything."""
        low, high = self._value(node, action)
        if interval[0] <= low + self.slack and interval[1] >= high - self.slack:
            return False
        return self._levels[node.level][action].add(node, interval)

    def _values(self, node: Node) -> FloatArray:
        """The least and the greatest Q of every action, [A, 2]."""
        return np.array([self._value(node, action) for action in range(self.n_actions)])

    def _value(self, node: Node, action: int) -> Interval:
        functions = self._levels[node.level][action]
        version, value = self._ranges.get((node, action), (-1, (0.0, 0.0)))
        if version != functions.version:
            left = self.horizon - node.level
            least, most = (left * end for end in self.reward_range)
            low, high = np.clip(functions.range(node.point), least, most).tolist()
            value = low, high
            self._ranges[node, action] = functions.version, value
        return value

    def _decision(self, node: Node, action: int) -> Level:
        return Level.decided(
            level=node.level,
            action=action,
            estimates=tuple(self._values(node)[:, 1].tolist()),
            coverage=0.0,  # says nothing here: what is not covered has a large estimate
            samples=self.samples,
            source="regression",
        )


def shared(one: Interval, other: Interval) -> Interval:
    """What two intervals have in common; the ends are crossed where that is nothing."""
    return max(one[0], other[0]), min(one[1], other[1])
