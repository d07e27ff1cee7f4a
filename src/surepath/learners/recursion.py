"""The one recursion: Algorithms 1 to 4 of Uehara, Sekhari, Lee, Kallus and Sun.

Finite features, kernels and futures of several steps differ only in the embedding.

The learner does no input or output: it asks for episodes and is told what they read. Inside it is
written as the paper writes it, as a recursion, in generators that yield either requests (to be
answered from outside) or another generator (a call). A small loop keeps the stack of calls, so the
depth of the recursion is limited by memory only.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import chain
from typing import Any, Literal, TypeAlias

import numpy as np

from surepath.learners.base import Answer, Asking
from surepath.readings.embedding import Averaged, embed
from surepath.readings.ridge import Regression
from surepath.readings.trie import Node, Tally
from surepath.results.certificate import Level
from surepath.system import FloatArray, Request
from surepath.theory.own_counts import Stage
from surepath.theory.schedule import Schedule
from surepath.theory.setting import exhaustive_from
from surepath.validate import whole

MOST_PAIRED = 4096
"""Readings that a node may have beyond those that its embedding needs, where they are compared pair
by pair."""

Kind: TypeAlias = Literal["observations", "rewards"]
Process: TypeAlias = "Generator[tuple[Request, ...] | Process, Any, Any]"


class _ExpansionsError(Exception):
    """A level needs more than the schedule is made for."""


class Learner(Asking):
    """The paper's algorithm (EQDP), for fixed schedules, without input or output."""

    def __init__(
        self,
        horizon: int,
        n_actions: int,
        features: Averaged,
        schedule: Schedule,
        *,
        most: int | None = None,
        later: Sequence[Stage] = (),
        future: int = 1,
        reward_range: tuple[float, float] = (0.0, 1.0),
        largest_batch: int | None = None,
    ) -> None:
        """most: expansions of a level after which it begins again with the first of the later
        stages, which have other sample sizes and average windows alike.
        """
        embedding = embed(features, n_actions, future, schedule.windows)
        super().__init__(horizon, n_actions, embedding, reward_range)
        self.schedule = schedule
        self._most, self._later = most, list(later)
        self.level = 0  # where the recursion is now
        if largest_batch is not None:
            whole("largest_batch", largest_batch, least=1)
        self._largest_batch = largest_batch
        # The last K - 1 levels have no full window; what they are worth is found by trying all.
        self._exhaustive_from = exhaustive_from(horizon, embedding.future)
        self._begin()
        self._advance(None)

    def _begin(self) -> None:
        """Begin, or begin again, with nothing known."""
        levels = range(self.horizon - self.embedding.future + 1)  # those with a full window
        self._regressions: list[Regression] = [
            self.embedding.regression(self.schedule.ridge) for _ in levels
        ]
        self._root = Node()
        self._calls: list[Process] = [self._main()]

    def _begin_again(self) -> None:
        """The next stage: fresh readings, more of them, and only these count in the end."""
        stage = self._later.pop(0)
        self.schedule, self._most = stage.schedule, stage.most
        self.usage.start_again()
        self.value = None
        self._begin()

    def status(self) -> dict[str, str]:
        return {
            "level": f"{self.level}/{self.horizon}",
            "expansions": str(sum(self.usage.expansions)),
            **super().status(),
        }

    def _advance(self, answers: list[Answer] | None) -> None:
        """Run until requests are pending or the main loop has returned."""
        sent: Any = answers
        while self._calls:
            try:
                step = self._calls[-1].send(sent)
            except StopIteration as stop:
                self._calls.pop()
                sent = stop.value
                continue
            except _ExpansionsError:
                self._begin_again()
                sent = None
                continue
            if isinstance(step, tuple):
                self._pending = step
                return
            self._calls.append(step)
            sent = None

    # ------------------------------------------------------------ the recursion

    def _main(self) -> Process:
        """Algorithm 1."""
        while True:  # line 3
            self.usage.rounds += 1
            decisions: list[Level] = []
            uncovered: tuple[Node, Any] | None = None
            node = self._root
            for regression in self._regressions:  # line 4
                if self.schedule.pool and node.targets is not None:
                    # What a node was told about its actions is kept, and beats any prediction.
                    decisions.append(self._tried(node))
                else:
                    x = yield from self._embed(node)  # line 5
                    decisions.append(self._predicted(node, x, regression))  # line 6
                    covered = decisions[-1].coverage <= self.schedule.threshold
                    if uncovered is None and not covered:  # line 11
                        uncovered = node, x
                        if self.schedule.pool:
                            break  # what lies deeper will not be used in this round
                node = node.child(decisions[-1].action)
            self.incumbent = tuple(d.action for d in decisions)
            if uncovered is None:  # line 8
                yield from self._finish(node, decisions)
                return  # line 9
            yield from self._expand(*uncovered)  # lines 12 to 17

    def _finish(self, node: Node, decisions: list[Level]) -> Process:
        """Complete the plan where windows are cut off by the horizon: try all that is left."""
        if node.level < self.horizon:
            value = yield self._value(node)
            if node is self._root:
                self.value = value
        while node.level < self.horizon:
            decisions.append(self._tried(node))
            node = node.child(decisions[-1].action)
        self.plan = tuple(decisions)
        self.incumbent = tuple(d.action for d in decisions)
        if self.value is None:
            self.value = max(decisions[0].estimates)

    def _value(self, node: Node) -> Process:
        """Algorithm 2, Compute-V*."""
        if node.level == self.horizon:
            return 0.0  # nothing is left to collect; the paper leaves this case out
        if self.schedule.pool and node.value is not None:
            return node.value
        self.level = node.level
        if node.level >= self._exhaustive_from:  # line 2
            targets: FloatArray = yield from self._try_all(node)  # line 3
            node.value = float(targets.max())  # line 4
            return node.value
        x = yield from self._embed(node)  # line 6
        regression = self._regressions[node.level]
        if regression.coverage(x) <= self.schedule.threshold:  # line 7
            self.usage.covered[node.level] += 1
            action = int(regression.predict(x).argmax())  # line 8
            reward = yield from self._rewards(node, [action])  # line 9
            node.value = float(reward[0]) + (yield self._value(node.child(action)))  # line 10
        else:
            targets = yield from self._expand(node, x)  # lines 12 to 17
            node.value = float(targets.max())  # line 18
        return node.value

    def _expand(self, node: Node, x: Any) -> Process:
        """Try every action below an uncovered node and store what it taught."""
        if self._most is not None and self.usage.expansions[node.level] >= self._most:
            raise _ExpansionsError
        targets: FloatArray = yield from self._try_all(node)
        # The sub-calls touch deeper levels only, so adding afterwards changes nothing.
        self._regressions[node.level].add(x, targets)  # Alg. 1, lines 14 and 16; Alg. 2, 15 and 17
        self.usage.expansions[node.level] += 1
        if node is self._root:
            self.value = float(targets.max())
        return targets

    def _try_all(self, node: Node) -> Process:
        """y_a = r-hat(a) + Compute-V* of the child, for every action."""
        targets: FloatArray = yield from self._rewards(node, range(self.n_actions))
        for action in range(self.n_actions):
            targets[action] += yield self._value(node.child(action))
        node.targets = targets
        return targets

    # ------------------------------------------------------------ sampling

    def _embed(self, node: Node) -> Process:
        """x-hat of the node: fresh at every visit, or once and for all when pooling."""
        self.level = node.level
        if self.schedule.pool and node.point is not None:
            return node.point
        self.usage.feature_batches += 1
        window = node.window(self.embedding.future - 1, self.n_actions)
        # A window is read by its own episodes. They pass an inner node once for each continuation
        # through it, so that its mean is as exact as the windows need it; what was read there for
        # the windows above has decided whether this one is read at all.
        if not self.schedule.pool or self.embedding.future > 1:
            for member in chain.from_iterable(window):
                member.forget()
        # Whoever reaches the end of a continuation has passed the nodes before it.
        yield from self._collect(window[-1], self.schedule.feature_samples, "observations")
        node.point = self.embedding.point(node)
        node.samples = min(end.count for end in window[-1])
        return node.point

    def _rewards(self, node: Node, actions: Sequence[int]) -> Process:
        """r-hat of these actions at the node: fresh at every visit, or once when pooling."""
        children = [node.child(action) for action in actions]
        wanted = [c for c in children if not self.schedule.pool or c.reward is None]
        self.usage.reward_batches += len(wanted)
        if not self.schedule.pool:
            for child in wanted:
                child.rewards = Tally()
        yield from self._collect(wanted, self.schedule.reward_samples, "rewards")
        for child in wanted:
            child.reward = child.rewards.mean
        return np.array([child.reward for child in children])

    def _collect(self, nodes: Sequence[Node], target: int, kind: Kind) -> Process:
        """Ask until `target` readings of the kind are there for each node."""
        while missing := [node for node in nodes if _count(node, kind) < target]:
            requests = tuple(
                self._request(node, target - _count(node, kind), kind) for node in missing
            )
            answers: Sequence[Answer] = yield requests
            for node, answer in zip(missing, answers, strict=True):
                for level, digest in answer.observations.items():
                    node.ancestor(level).absorb(digest)
                for rewards in answer.rewards.values():
                    node.rewards.add(rewards)

    def _request(self, node: Node, count: int, kind: Kind) -> Request:
        if not node.seen:
            node.seen = True
            self.usage.nodes += 1
        if self._largest_batch is not None:
            count = min(count, self._largest_batch)
        h = node.level
        # An episode that ends at the node reads both what is seen there and the last reward; when
        # pooling, neither is thrown away where it can be of use.
        both = self.schedule.pool
        observed = kind == "observations" or (self._pools_rewards and h < self._exhaustive_from)
        rewarded = h > 0 and (both or kind == "rewards")
        return Request(
            node.prefix,
            count,
            self.embedding.steps(h) if observed else range(0),
            range(h - 1, h) if rewarded else range(0),
            joint=observed and self.embedding.joint,
        )

    @property
    def _pools_rewards(self) -> bool:
        """Whether what is seen where a reward is read is of use for the embedding there.

        A window has episodes of its own. And where readings are compared pair by pair, very many
        more than an embedding needs save few episodes and take long.
        """
        few = self.schedule.reward_samples <= max(self.schedule.feature_samples, MOST_PAIRED)
        single = self.embedding.future == 1
        return self.schedule.pool and single and (few or not self.embedding.pairs)

    # ------------------------------------------------------------ decisions

    def _predicted(self, node: Node, x: Any, level: Regression) -> Level:
        estimates = level.predict(x)
        return Level.decided(
            level=node.level,
            action=int(estimates.argmax()),
            estimates=tuple(estimates.tolist()),
            coverage=level.coverage(x),
            samples=node.samples,
            source="regression",
        )

    def _tried(self, node: Node) -> Level:
        """The decision at a node whose actions were all tried."""
        assert node.targets is not None
        return Level.decided(
            level=node.level,
            action=int(node.targets.argmax()),
            estimates=tuple(node.targets.tolist()),
            coverage=0.0,
            samples=min(child.rewards.count for child in node.children.values()),
            source="expansion",
        )


def _count(node: Node, kind: Kind) -> int:
    return node.count if kind == "observations" else node.rewards.count
