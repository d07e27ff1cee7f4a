"""Agnostic Q-learning: the ancestor of EQDP, for deterministic systems whose states are seen.

Du, Lee, Mahajan and Wang, "Agnostic Q-learning with Function Approximation in Deterministic
Systems: Near-Optimal Bounds on Approximation Error and Sample Complexity" (2020), with linear
functions; written from memory of the method. At a state every action is either covered by the
(state, action) pairs stored for its level, and predicted, or tried: its successor is explored for
its exact value, and what came out is stored. Then the best action is followed to the horizon, so
that what is returned is a value that was collected and never a prediction: errors do not add up.

Ours: a state is a prefix, its features are the mean embedding estimated from `samples` episodes,
each action has stored pairs of its own (features are of the state), and values that are known are
not found again.

EQDP is this method with the noise of mean embeddings and rewards in place of the misspecification
that it tolerates. It tries all actions of a state that is not covered, so that one stored set for
each level serves all of them.
"""

from __future__ import annotations

import math

import numpy as np

from surepath.baselines.sampled import Process, Sampled, reward_of
from surepath.features import Features
from surepath.readings.ridge import Ridge
from surepath.readings.trie import Node
from surepath.results.certificate import Level
from surepath.system import FloatArray
from surepath.validate import between


class AgnosticQ(Sampled):
    """Sans-IO: `ask`, `tell`, until `plan` is there.

    samples: episodes behind every estimated prefix, for its embedding and its reward.
    ridge: of the regressions; by default 2 / samples, above the squared noise of an embedding. With
        much less, noise looks like states that were never seen.
    threshold: coverage (length in Sigma^-1) up to which a prediction is trusted. A state that was
        stored once has a coverage of about 1 when noise shows it again: a little more is needed.
    """

    def __init__(
        self,
        horizon: int,
        n_actions: int,
        features: Features,
        samples: int,
        *,
        ridge: float | None = None,
        threshold: float = 1.4,
        reward_range: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        super().__init__(horizon, n_actions, features, samples, reward_range)
        ridge = 2 / self.samples if ridge is None else ridge
        self.ridge = between("ridge", ridge, 0, math.inf)
        self.threshold = between("threshold", threshold, 0, math.inf)
        self._levels = [
            [Ridge(features.dimension, 1, self.ridge) for _ in range(n_actions)]
            for _ in range(horizon)
        ]
        self._advance(None)

    @property
    def stored(self) -> tuple[tuple[int, ...], ...]:
        """How many pairs are stored, by level and action."""
        return tuple(tuple(one.count for one in level) for level in self._levels)

    def _main(self) -> Process[None]:
        while True:
            self.usage.rounds += 1
            decisions, open_node = yield from self._walk()
            if open_node is None:
                self._finish(decisions, max(decisions[0].estimates))
                return
            yield from self._explore(open_node)

    def _walk(self) -> Process[tuple[list[Level], Node | None]]:
        """The greedy path, down to the first prefix with an action that has no estimate."""
        decisions, node = list[Level](), self._root
        while node.level < self.horizon:
            yield from self._visit(node)
            coverages = self._coverages(node)
            estimates = self._estimates(node, coverages)
            if np.isnan(estimates).any():
                return decisions, node
            decisions.append(self._decision(node, estimates, coverages))
            node = node.child(decisions[-1].action)
        return decisions, None

    def _explore(self, node: Node) -> Process[None]:
        """Find the value of a prefix, collected along its best actions."""
        level, coverages = self._levels[node.level], self._coverages(node)
        estimates = self._estimates(node, coverages)
        uncovered = np.flatnonzero(coverages > self.threshold).tolist()
        for action in uncovered:
            estimates[action] = yield from self._collect(node.child(action))
            # What was found meanwhile is of deeper levels: the pair is still not covered.
            level[action].add(node.point, estimates[action : action + 1])
        self.usage.expansions[node.level] += bool(uncovered)
        self.usage.covered[node.level] += not uncovered
        best = int(estimates.argmax())
        self._habit[node.level] = best
        node.value = yield from self._collect(node.child(best))

    def _collect(self, child: Node) -> Process[float]:
        """The reward on the last step to a prefix, and what is collected from there on."""
        yield from self._visit(child)
        if child.value is None:
            yield from self._explore(child)
        return collected(child)

    def _coverages(self, node: Node) -> FloatArray:
        return np.array([pairs.coverage(node.point) for pairs in self._levels[node.level]])

    def _estimates(self, node: Node, coverages: FloatArray) -> FloatArray:
        """Q of every action: collected, else predicted where it is covered, else NaN."""
        estimates = np.full(self.n_actions, np.nan)
        for action, pairs in enumerate(self._levels[node.level]):
            child = node.child(action)
            if child.value is not None:
                estimates[action] = collected(child)
            elif coverages[action] <= self.threshold:
                estimates[action] = pairs.predict(node.point)[0]
        return estimates

    def _decision(self, node: Node, estimates: FloatArray, coverages: FloatArray) -> Level:
        predicted = [a for a in range(self.n_actions) if node.child(a).value is None]
        return Level.decided(
            level=node.level,
            action=int(estimates.argmax()),
            estimates=tuple(estimates.tolist()),
            coverage=float(coverages[predicted].max(initial=0.0)),
            samples=self.samples,
            source="regression" if predicted else "expansion",
        )


def collected(child: Node) -> float:
    """Reward of the step to a prefix whose value is known, and that value."""
    assert child.value is not None
    return reward_of(child) + child.value
