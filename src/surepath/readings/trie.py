"""All prefixes tried, each with its pooled readings.

With a deterministic hidden state a prefix *is* the state it reaches, so every reading of it is one
more draw from the same law, whichever episode it came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from surepath.system import Actions, FloatArray, RewardMoments


@dataclass(slots=True)
class Tally:
    """Rewards pooled: their number, sum, and squared distances from their mean."""

    count: int = 0
    total: float = 0.0
    scatter: float = 0.0

    def add(self, rewards: RewardMoments | Tally) -> None:
        if self.count and rewards.count:
            shift = rewards.mean - self.mean
            # Multiplied, not raised to a power: what is too large is infinite, and not an error.
            share = self.count * rewards.count / (self.count + rewards.count)
            self.scatter += shift * shift * share
        self.scatter += rewards.scatter
        self.total += rewards.count * rewards.mean
        self.count += rewards.count

    @property
    def mean(self) -> float:
        return self.total / self.count if self.count else 0.0


class Node:
    """One prefix: how it is reached, what was read there and, in the recursion, what was concluded.

    `used`, `reward`, `point`, `samples`, `targets` and `value` are conclusions of the recursion and
    of baselines; they stay as they were when first used. The adaptive learner keeps readings only,
    and these go on growing.
    """

    __slots__ = (
        "action", "children", "digest", "level", "parent", "point", "reward", "rewards", "samples",
        "seen", "targets", "used", "value",
    )  # fmt: skip

    def __init__(self, parent: Node | None = None, action: int = -1) -> None:
        self.parent = parent
        self.action = action  # that leads here from the parent
        self.level: int = parent.level + 1 if parent else 0
        self.children: dict[int, Node] = {}
        self.seen = False  # whether anything was ever asked for here
        self.digest: Any = None  # of the observations read here
        self.rewards = Tally()  # of the action that leads here
        self.used: Any = None  # the digest, as it was when first used
        self.reward: float | None = None  # r-hat of the action that leads here
        self.point: Any = None  # x-hat: the embedding of the future from here
        self.samples = 0  # readings behind the embedding
        self.targets: FloatArray | None = None  # y_a of every action, once all were tried
        self.value: float | None = None  # what Compute-V* returned

    def walked(self, actions: Actions) -> int:
        """How often the last of these actions was taken after the others, from here on."""
        node = self
        for action in actions:
            if action not in node.children:
                return 0
            node = node.children[action]
        return node.rewards.count

    def child(self, action: int) -> Node:
        if action not in self.children:
            self.children[action] = Node(self, action)
        return self.children[action]

    def ancestor(self, level: int) -> Node:
        """The node of this path at the level."""
        node = self
        while node.level > level and node.parent is not None:
            node = node.parent
        return node

    def window(self, depth: int, n_actions: int) -> list[list[Node]]:
        """The descendants 0 .. depth steps below, by depth, in the order of their actions."""
        layers: list[list[Node]] = [[self]]
        for _ in range(depth):
            layers.append([node.child(a) for node in layers[-1] for a in range(n_actions)])
        return layers

    def absorb(self, digest: Any) -> None:
        """Pool one more batch of observations, unless what they say is fixed already."""
        if self.used is None:
            self.digest = digest if self.digest is None else self.digest.merge(digest)

    def settle(self) -> Any:
        """The digest, fixed from now on."""
        if self.used is None:
            self.used = self.digest
        return self.used

    def forget(self) -> None:
        """Drop the observations, so that the next visit reads fresh ones."""
        self.digest = self.used = self.point = None

    def take_in(
        self, actions: Actions, digests: Mapping[int, Any], rewards: Mapping[int, RewardMoments]
    ) -> int:
        """Pool what was read on the way along these actions from here, by time step.

        Returns how many of the nodes on the way are new.
        """
        node, new = self, 0
        node.absorb(digests[0])
        for level, action in enumerate(actions):
            node = node.child(action)
            node.rewards.add(rewards[level])
            new += not node.seen
            node.seen = True
            if level + 1 in digests:
                node.absorb(digests[level + 1])
        return new

    def best_tried(self) -> Actions:
        """Of the longest sequences that were tried from here, the one that paid most on average."""
        level: list[tuple[Actions, float, Node]] = [((), 0.0, self)]
        best: Actions = ()
        while level:
            best = max(level, key=lambda each: each[1])[0]
            level = [
                ((*actions, action), paid + child.rewards.mean, child)
                for actions, paid, node in level
                for action, child in sorted(node.children.items())
                if child.rewards.count
            ]
        return best

    @property
    def count(self) -> int:
        """Observations read here."""
        return 0 if self.digest is None else self.digest.count

    @property
    def prefix(self) -> Actions:
        actions: list[int] = []
        node = self
        while node.parent is not None:
            actions.append(node.action)
            node = node.parent
        return tuple(reversed(actions))
