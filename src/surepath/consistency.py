"""Do prefixes that look the same go on the same? If not, what was looked at is not enough.

The nodes of a state were put together because they look alike. If they are one hidden state, then
the same action gives the same rewards and leads to places that look alike again. Where it does not,
different states look alike: features cannot tell them apart, or one observation is too short a
future.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from surepath.automaton import Automaton
from surepath.floor import binary_kl
from surepath.system import Actions
from surepath.trie import Node, Tally

FALSE_ALARM = 1e-3
"""Probability of an alarm when all is well, over all comparisons together."""

ENOUGH = 128
"""Readings with which a prefix is in the right state, if looking at it can tell. Before that, being
odd is a reason to read it more often."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """A prefix that pays differently from the others of its state."""

    level: int  # of the state
    prefix: Actions  # the state's prefix and an action
    own: Tally  # its rewards
    rest: Tally  # those of the same action elsewhere in the state

    @property
    def final(self) -> bool:
        """Whether it was read often enough to have been sorted right, if it can be."""
        return self.own.count >= ENOUGH

    def __str__(self) -> str:
        return (
            f"prefixes that look alike at level {self.level} pay differently: after {self.prefix} "
            f"the reward of step {self.level} averages {self.own.mean:.3g} ({self.own.count} "
            f"readings), elsewhere in the same state {self.rest.mean:.3g} ({self.rest.count}). What"
            " is looked at does not tell the hidden states apart: use a longer future or other "
            "features"
        )


def conflict(machine: Automaton, reward_range: tuple[float, float]) -> Conflict | None:
    """The worst one, if any cannot be chance."""
    pairs = [
        Conflict(level, node.prefix, node.rewards, rest)
        for level, layer in enumerate(machine.layers)
        for nodes in layer.members
        for action in range(machine.n_actions)
        for node, rest in _splits([n.children[action] for n in nodes if action in n.children])
    ]
    limit = math.log(2 * max(len(pairs), 1) / FALSE_ALARM)
    scores = [_score(pair.own, pair.rest, reward_range) for pair in pairs]
    beyond = [(pair, score) for pair, score in zip(pairs, scores, strict=True) if score > limit]
    # Those that are final count first: nothing else will explain them.
    worst = max(beyond, key=lambda found: (found[0].final, found[1]), default=None)
    return worst[0] if worst else None


def _splits(nodes: list[Node]) -> list[tuple[Node, Tally]]:
    """Each node with enough rewards beside all the others."""
    read = [node for node in nodes if node.rewards.count > 1]
    splits = list[tuple[Node, Tally]]()
    for node in read if len(read) > 1 else []:
        rest = Tally()
        for other in read:
            if other is not node:
                rest.add(other.rewards)
        if node.rewards.count <= rest.count:  # the side read less is the one to suspect
            splits.append((node, rest))
    return splits


def _score(one: Tally, other: Tally, reward_range: tuple[float, float]) -> float:
    """Log-likelihood ratio of two means against one.

    Rewards with a range are no more spread than coins of the same mean, for which the ratio has no
    heavy tail however few readings there are; others are taken as Gaussian.
    """
    low, high = reward_range
    both = (one.total + other.total) / (one.count + other.count)
    if math.isfinite(high - low):
        coins = ((tally.count, (tally.mean - low) / (high - low)) for tally in (one, other))
        pooled = (both - low) / (high - low)
        return sum(count * binary_kl(_share(mean), _share(pooled)) for count, mean in coins)
    pooled = Tally()
    pooled.add(one)
    pooled.add(other)
    apart = one.count * (one.mean - both) ** 2 + other.count * (other.mean - both) ** 2
    return apart * pooled.count / (2 * pooled.scatter) if pooled.scatter else 0.0


def _share(mean: float) -> float:
    """Free of rounding beyond its ends."""
    return min(max(mean, 0.0), 1.0)
