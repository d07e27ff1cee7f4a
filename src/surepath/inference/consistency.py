"""Do prefixes that look the same pay the same? If not, what was looked at is not enough.

The nodes of a state were put together because they look alike. If they are one hidden state, the
same action pays the same at each of them. Where it does not, different states look alike: features
cannot tell them apart, or the future is too short. Only rewards are compared here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from surepath.inference.states import Automaton
from surepath.inference.tuning import TUNING
from surepath.readings.digests import Cloud
from surepath.readings.trie import Node, Tally
from surepath.system import Actions, FloatArray
from surepath.theory.floor import binary_kl

ROUNDING = 1e-9
"""Share of the squares of equal readings that rounding may leave as scatter."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """A prefix that pays differently from the others of its state."""

    level: int  # of the state
    prefix: Actions  # the state's prefix and an action
    own: Tally  # its rewards
    rest: Tally  # those of the same action elsewhere in the state
    short: tuple[tuple[Actions, int], ...]  # sequences (and readings so far) to read more first

    @property
    def final(self) -> bool:
        """Whether it was read often enough to have been sorted right, if it can be."""
        return not self.short

    def __str__(self) -> str:
        return (
            f"prefixes that look alike at level {self.level} pay differently: after {self.prefix} "
            f"the reward of step {self.level} averages {self.own.mean:.3g} ({self.own.count} "
            f"readings), elsewhere in the same state {self.rest.mean:.3g} ({self.rest.count}). What"
            " is looked at does not tell the hidden states apart"
        )


def conflict(
    machine: Automaton, reward_range: tuple[float, float], future: int = 1
) -> Conflict | None:
    """The prefix that most clearly pays differently from the rest of its state, if any does.

    One that was read too little (`final` is False) is returned on mere suspicion, so that it is
    read more often. One that was read enough is returned only where chance cannot explain it.
    """
    pairs = [
        (nodes, node, rest)
        for layer in machine.layers
        for nodes in layer.members
        for action in range(machine.n_actions)
        for node, rest in _splits([n.children[action] for n in nodes if action in n.children])
    ]
    if not pairs:
        return None
    suspicion, alarm = (
        math.log(2 * len(pairs) / chance)
        for chance in (TUNING.consistency_suspicion, TUNING.consistency_alarm)
    )
    sides = _Sides.of([(node.rewards, rest) for _, node, rest in pairs])
    suspect = np.flatnonzero(_scores(sides, reward_range, suspicion) > suspicion)
    scores = _scores(sides, reward_range, alarm)
    beyond = list[tuple[bool, float, Conflict]]()
    for i in suspect.tolist():
        nodes, node, rest = pairs[i]
        short = tuple(_short(node, nodes, future, machine))
        odd = Conflict(node.level - 1, node.prefix, node.rewards, rest, short)
        if not odd.final or scores[i] > alarm:
            beyond.append((odd.final, float(scores[i]), odd))
    # Those that are final count first: nothing else will explain them.
    return max(beyond, key=lambda found: found[:2], default=(False, 0.0, None))[2]


def read_differently(machine: Automaton) -> Actions | None:
    """A prefix whose readings are not all the same: where they have no noise there is none."""
    for layer in machine.layers:
        for node in (node for nodes in layer.members for node in nodes):
            cloud: Cloud | None = node.digest
            if cloud is not None:
                squares = np.diag(cloud.squares) if cloud.squares.ndim > 1 else cloud.squares
                scatter = squares - cloud.count * cloud.value**2
                if (scatter > ROUNDING * np.maximum(squares, 1e-300)).any():
                    return node.prefix
    return None


def _splits(nodes: list[Node]) -> list[tuple[Node, Tally]]:
    """Each node with enough rewards beside all the others."""
    read = [node for node in nodes if node.rewards.count > 1]
    before, after = _running(read), _running(read[::-1])[::-1]
    splits = list[tuple[Node, Tally]]()
    for node, rest, others in zip(read, before, after, strict=True) if len(read) > 1 else ():
        rest.add(others)
        if node.rewards.count <= rest.count:  # the side read less is the one to suspect
            splits.append((node, rest))
    return splits


def _running(nodes: list[Node]) -> list[Tally]:
    """For each node, the rewards of all that come before it."""
    so_far, found = Tally(), list[Tally]()
    for node in nodes:
        found.append(Tally(so_far.count, so_far.total, so_far.scatter))
        so_far.add(node.rewards)
    return found


def _short(
    node: Node, members: list[Node], future: int, machine: Automaton
) -> Iterator[tuple[Actions, int]]:
    """Sequences behind the sorting of the node's parent that were read too little."""
    if node.rewards.count < TUNING.consistency_readings:
        yield node.prefix, node.rewards.count
    parent = node.parent
    assert parent is not None  # an action leads to the node
    # Over several steps states are told apart by whatever may follow, here and elsewhere.
    others = [member for member in members if member is not parent]
    merged = parent.level + future <= machine.horizon  # else nothing is told apart by what follows
    for nodes in ([parent], others) if merged and future > 1 else ():
        known = max(nodes, key=lambda member: member.count)
        for actions in product(range(machine.n_actions), repeat=future - 1):
            count = sum(_read(member, actions) for member in nodes)
            if count < TUNING.consistency_readings:
                yield (*known.prefix, *actions), count


def _read(node: Node, actions: Iterable[int]) -> int:
    """Observations read where the actions lead."""
    for action in actions:
        if action not in node.children:
            return 0
        node = node.children[action]
    return node.count


@dataclass(frozen=True, slots=True)
class _Sides:
    """Rewards that are compared, two by two, [2, P]."""

    count: FloatArray
    total: FloatArray
    scatter: FloatArray

    @classmethod
    def of(cls, pairs: Sequence[tuple[Tally, Tally]]) -> _Sides:
        rows = [[(t.count, t.total, t.scatter) for t in pair] for pair in pairs]
        return cls(*np.array(rows, dtype=float).T)

    @property
    def mean(self) -> FloatArray:
        return self.total / self.count


def _scores(sides: _Sides, reward_range: tuple[float, float], bar: float) -> FloatArray:
    """Log-likelihood ratios of two means against one, to be compared with the bar, [P].

    Rewards with a range are no more spread than coins of the same mean, for which the ratio has no
    heavy tail however few readings there are. Where they scatter much less, their own variance
    tells more, as soon as rewards too rare to have shown explain no more of it (Bernstein's term,
    as in `guarantee_widths`). Without a range they are taken as Gaussian.
    """
    low, high = reward_range
    both = sides.total.sum(axis=0) / sides.count.sum(axis=0)
    if math.isfinite(high - low):
        # Rounding may carry a mean a little outside.
        shares, pooled = (np.clip((mean - low) / (high - low), 0, 1) for mean in (sides.mean, both))
        as_coins = (sides.count * binary_kl(shares, pooled)).sum(axis=0)
        rare = bar * np.maximum(high - both, both - low) ** 2 / 2
        noise = ((sides.scatter + rare) / sides.count**2).sum(axis=0)
        return np.maximum(as_coins, _over(np.diff(sides.mean, axis=0)[0] ** 2, 2 * noise))
    apart = (sides.count * (sides.mean - both) ** 2).sum(axis=0)
    scatter = sides.scatter.sum(axis=0) + apart  # about the common mean
    return _over(apart * sides.count.sum(axis=0), 2 * scatter)


def _over(one: FloatArray, other: FloatArray) -> FloatArray:
    """Their ratio; 0 where there is nothing to divide by."""
    return np.divide(one, other, out=np.zeros_like(one), where=other > 0)
