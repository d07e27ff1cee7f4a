"""Do prefixes that look the same pay the same? If not, what was looked at is not enough.

The nodes of a state were put together because they look alike. If they are one hidden state, the
same action pays the same at each of them. Where it does not, different states look alike: features
cannot tell them apart, or the future is too short. Only rewards are compared here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from surepath.inference.states import Automaton, Layer
from surepath.inference.tuning import TUNING
from surepath.readings.columns import sums_by
from surepath.readings.digests import Cloud
from surepath.readings.trie import Node, Tally
from surepath.system import Actions, FloatArray, IntArray
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
    found = [_splits(layer) for layer in machine.layers]
    owners = np.repeat(np.arange(len(found)), [len(rows) for rows, _ in found])
    rows = np.concatenate([rows for rows, _ in found])
    if not len(rows):
        return None
    suspicion, alarm = (
        math.log(2 * len(rows) / chance)
        for chance in (TUNING.consistency_suspicion, TUNING.consistency_alarm)
    )
    sides = _Sides(*np.concatenate([sides for _, sides in found], axis=2))
    suspect = np.flatnonzero(_scores(sides, reward_range, suspicion) > suspicion)
    scores = _scores(sides, reward_range, alarm)
    beyond = list[tuple[bool, float, Conflict]]()
    for i in suspect.tolist():
        layer = machine.layers[int(owners[i])]
        node = layer.below.columns.nodes[int(rows[i])]
        short = tuple(_short(node, layer, future, machine))
        odd = Conflict(node.level - 1, node.prefix, node.rewards, sides.rest(i), short)
        if not odd.final or scores[i] > alarm:
            beyond.append((odd.final, float(scores[i]), odd))
    # Those that are final count first: nothing else will explain them.
    return max(beyond, key=lambda found: found[:2], default=(False, 0.0, None))[2]


def read_differently(machine: Automaton) -> Actions | None:
    """A prefix whose readings are not all the same: where they have no noise there is none."""
    for layer in machine.layers:
        for node, _ in layer.here.nodes():
            cloud: Cloud | None = node.digest
            if cloud is not None:
                squares = np.diag(cloud.squares) if cloud.squares.ndim > 1 else cloud.squares
                scatter = squares - cloud.count * cloud.value**2
                if (scatter > ROUNDING * np.maximum(squares, 1e-300)).any():
                    return node.prefix
    return None


def _splits(layer: Layer) -> tuple[IntArray, FloatArray]:
    """Each node with enough rewards beside all others of its edge: its row, and both sides.

    The side read less is the one to suspect. Sides are [3, 2, P]: number, sum and scatter.
    """
    below = layer.below
    read = np.flatnonzero(below.columns.rewards[below.rows, 0] > 1)
    rows, edge = below.rows[read], below.groups[read]
    count, total, scatter = below.columns.rewards[rows].T
    with np.errstate(over="ignore", invalid="ignore"):  # what is too large is infinite
        whole, all_total = (sums_by(edge, each, layer.count.size)[edge] for each in (count, total))
        # What is left of the whole, about the mean of the whole: little cancels.
        middle = all_total / whole
        about = scatter + count * (total / count - middle) ** 2
        rest, rest_total = whole - count, all_total - total
        shift = rest_total / np.maximum(rest, 1) - middle
        spread = sums_by(edge, about, layer.count.size)[edge] - about - rest * shift**2
    sides = np.array(
        [[count, rest], [total, rest_total], [scatter, np.maximum(spread, 0.0)]], dtype=float
    )
    kept = (rest > 0) & (count <= rest)
    return rows[kept], sides[..., kept]


def _short(
    node: Node, layer: Layer, future: int, machine: Automaton
) -> Iterator[tuple[Actions, int]]:
    """Sequences behind the sorting of the node's parent that were read too little."""
    if node.rewards.count < TUNING.consistency_readings:
        yield node.prefix, node.rewards.count
    parent = node.parent
    assert parent is not None  # an action leads to the node
    merged = parent.level + future <= machine.horizon  # else nothing is told apart by what follows
    if not merged or future == 1:
        return
    # Over several steps states are told apart by whatever may follow, here and elsewhere.
    alike = next(nodes for nodes in layer.members if parent in nodes)
    for nodes in ([parent], [member for member in alike if member is not parent]):
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

    def rest(self, i: int) -> Tally:
        """The other side of a pair."""
        return Tally(int(self.count[1, i]), float(self.total[1, i]), float(self.scatter[1, i]))

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
