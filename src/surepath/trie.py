"""All prefixes tried, each with its pooled readings.

With a deterministic hidden state a prefix *is* the state it reaches, so every reading of it is one
more draw from the same law, whichever episode it came from.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from surepath.system import Actions, FloatArray


@dataclass(slots=True)
class Tally:
    """Running sum of readings."""

    count: int = 0
    total: FloatArray = field(default_factory=lambda: np.zeros(1))

    def add(self, count: int, mean: FloatArray | float) -> None:
        self.total = (
            self.total + count * np.asarray(mean) if self.count else count * np.asarray(mean)
        )
        self.count += count

    def clear(self) -> None:
        self.count = 0

    @property
    def mean(self) -> FloatArray:
        return self.total / self.count


class Node:
    """One prefix: how it is reached, what was read there, and what was concluded."""

    __slots__ = (
        "action", "children", "embedding", "features", "level", "parent", "reward", "rewards",
        "sampled", "targets", "value",
    )  # fmt: skip

    def __init__(self, parent: Node | None = None, action: int = -1) -> None:
        self.parent = parent
        self.action = action  # that leads here from the parent
        self.level: int = parent.level + 1 if parent else 0
        self.children: dict[int, Node] = {}
        self.sampled = False  # whether anything was ever asked for here
        self.features = Tally()  # of the observations at this node
        self.rewards = Tally()  # of the action that leads here
        self.embedding: FloatArray | None = None  # x-hat, as it was when first used
        self.reward: float | None = None  # r-hat of the action that leads here, when first used
        self.targets: FloatArray | None = None  # y_a of every action, once all were tried
        self.value: float | None = None  # what Compute-V* returned

    def child(self, action: int) -> Node:
        if action not in self.children:
            self.children[action] = Node(self, action)
        return self.children[action]

    @property
    def prefix(self) -> Actions:
        actions: list[int] = []
        node = self
        while node.parent is not None:
            actions.append(node.action)
            node = node.parent
        return tuple(reversed(actions))
