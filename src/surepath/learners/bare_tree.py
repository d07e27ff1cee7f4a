"""Whether to take prefixes for one, by what is foreseen to be cheaper.

With few action sequences, telling hidden states apart can cost more than reading every sequence as
often as it takes. From what the machine says its sequences are worth, both are foreseen: readings
that will settle the merges that are unsure, and readings of every sequence by itself until it is
ruled out. Without merges a run goes on with the tree of its prefixes (a future beyond the horizon),
which needs no separation. All that was read counts, whichever it is.
"""

from __future__ import annotations

import math

import numpy as np

from surepath.inference.guarantee_widths import Calibrated
from surepath.inference.judgement import Judgement, judge
from surepath.inference.separation import MOST_GROWTH
from surepath.inference.states import UNKNOWN, Automaton
from surepath.inference.terms import Terms
from surepath.inference.tuning import TUNING
from surepath.learners.next_readings import sharpen
from surepath.learners.settling import Need, together
from surepath.readings.trie import Node
from surepath.system import Actions, FloatArray

MOST_LEAVES = 2**11
"""Sequences of a system of which the tree is considered: its judgement then takes a second."""

BY_FAR = 4
"""So many times cheaper has to be what a run goes over to. What is foreseen of the tree is too low
by two to seven times where sequences are close, because the best of many estimates is too high; and
the machine rests on more, and what it rests on is checked at some cost."""

TREE_IS_CHEAPER = "trying every sequence takes far fewer episodes than telling states apart"
MACHINE_IS_CHEAPER = "telling states apart takes far fewer episodes than trying every sequence"


class TreeOrMachine:
    """Which of the two a run goes on with."""

    def __init__(self, terms: Terms, *, may_choose: bool) -> None:
        """may_choose: else it is what the terms say, all the time."""
        leaves = terms.shape.sequences
        self.may_choose = may_choose and not terms.exact and leaves <= MOST_LEAVES
        self._future = terms.shape.future  # of the machine
        self._look_on = 0  # readings at which the machine is looked at again
        begins = self.may_choose and leaves <= TUNING.tree_at_first
        self.first = terms.tree() if begins else terms

    def decided(self) -> list[int]:
        """What has to be known to go on, as data."""
        return [self._future, self._look_on]

    def catch_up(self, decided: list[int]) -> None:
        """Be where these data say."""
        self._future, self._look_on = decided

    def other(self, judged: Judgement, terms: Terms, root: Node) -> tuple[Terms, str] | None:
        """The terms to go on with in place of these, and why; None where these will do."""
        if not self.may_choose or not judged.whole:
            return None
        if terms.shape.merges:
            self._future = terms.shape.future
            if not judged.unsure_ends or not _tree_is_cheaper(judged, terms, root):
                return None
            return terms.tree(), TREE_IS_CHEAPER
        if root.count < self._look_on or not judged.open:
            return None
        self._look_on = math.ceil(TUNING.looks_apart * root.count)
        machine = terms.with_future(self._future)
        found = judge(root, machine)
        if not found.whole or not _machine_is_cheaper(found, machine, root):
            return None
        # What takes for one state what is not may be quick, and wrong: not where the tree knows.
        return None if loses(judged, found.plan.actions, terms) else (machine, MACHINE_IS_CHEAPER)


def _tree_is_cheaper(judged: Judgement, terms: Terms, root: Node) -> bool:
    return BY_FAR * tree_episodes(judged, terms, root) < machine_episodes(judged, root)


def _machine_is_cheaper(judged: Judgement, terms: Terms, root: Node) -> bool:
    return BY_FAR * machine_episodes(judged, root) < tree_episodes(judged, terms, root)


def loses(tree: Judgement, actions: Actions, terms: Terms) -> bool:
    """Whether a sequence is worse than the plan, by what was read on its own prefixes."""
    lead = spread = 0.0
    state = 0
    for level, (action, own) in enumerate(zip(actions, tree.plan.edges, strict=True)):
        layer, edge = tree.machine.layers[level], (state, action)
        if state == UNKNOWN or not layer.count[edge]:
            return False
        if edge != own:
            lead += float(layer.mean[own] - layer.mean[edge])
            spread += float(tree.shortfalls[level][own] + tree.spreads[level][edge])
        state = int(layer.target[edge])
    return lead > float(Calibrated.under(terms).width(np.array(spread)))


def machine_episodes(judged: Judgement, root: Node) -> float:
    """Further episodes until merges are settled and challengers are ruled out."""
    needs = [Need(each.level, each.read, each.onwards, each.needed) for each in judged.unsure_ends]
    settling = sum(count for _, count in together(judged.machine, root, needs, ()))
    apart = 0.0
    for each in judged.open:
        read = sharpen(judged.machine, judged.plan, each, judged.spreads, judged.shortfalls)
        apart += sum(min(each.growth, MOST_GROWTH) * count for _, count in read)
    return settling + apart


def tree_episodes(judged: Judgement, terms: Terms, root: Node) -> float:
    """Further episodes until every sequence is ruled out by what was read on its own prefixes.

    A sequence is by what it is worth itself, or, with all that begin alike, by the most that can be
    earned after that beginning. An edge of the tree is read by all sequences that pass it. So the
    last edges are what costs: each is read until its noise is small beside what is lost there.
    """
    levels, read = _prefixes(judged, terms), _read(judged.machine, root)
    value, variance = levels[-1]
    best, strength = int(value.argmax()), Calibrated.under(terms).strength
    lost = np.maximum(value[best] - value, judged.tolerance)
    needed = np.maximum(2 * strength * variance / lost**2, terms.first_readings[-1])
    needed[best] = np.delete(needed, best).max(initial=0.0)
    cost = np.maximum(needed - read[-1], 0.0)
    for length in range(len(levels) - 1, 0, -1):
        each = cost.reshape(len(read[length - 1]), -1).sum(axis=1)
        so_far, variance = levels[length - 1]
        lost = value[best] - so_far - terms.most_from(length)
        clear = lost > judged.tolerance
        together = np.full(len(each), np.inf)
        together[clear] = 2 * strength * variance[clear] / lost[clear] ** 2
        cost = np.minimum(each, np.maximum(together - read[length - 1], 0.0))
    return float(cost.sum())


def _prefixes(judged: Judgement, terms: Terms) -> list[tuple[FloatArray, FloatArray]]:
    """What every prefix pays, and its noise, in the order of its actions; for each length.

    The noise of one reading of its last edge, and of edges above it in shares: those are read by
    more sequences. What is only predicted pays as is predicted and is as noisy as can be.
    """
    state, value, variance = np.zeros(1, dtype=np.int64), np.zeros(1), np.zeros(1)
    found = list[tuple[FloatArray, FloatArray]]()
    for level, layer in enumerate(judged.machine.layers):
        known = (state != UNKNOWN) & layer.expanded[state]
        mean, noise = np.zeros((len(state), layer.n_actions)), terms.reward_noise**2
        mean[known] = layer.mean[state[known]]
        entered = (state != UNKNOWN) & ~known
        mean[entered] = judged.values.best(level)[state[entered], None]
        own = np.full(mean.shape, noise)
        own[known] = (layer.scatter / np.maximum(layer.count, 1))[state[known]]
        value = (value[:, None] + mean).ravel()
        variance = (variance[:, None] / layer.n_actions + own).ravel()
        state = np.where(known[:, None], layer.target[state], UNKNOWN).ravel()
        found.append((value, variance))
    return found


def _read(machine: Automaton, root: Node) -> list[FloatArray]:
    """How often every prefix was run, in the order of its actions; for each length."""
    found = list[FloatArray]()
    shape = [layer.n_actions for layer in machine.layers]
    level: list[tuple[Node, tuple[int, ...]]] = [(root, ())]
    for length in range(1, machine.horizon + 1):
        level = [
            (child, (*taken, action))
            for node, taken in level
            for action, child in node.children.items()
        ]
        counts = np.zeros(shape[:length])
        for node, taken in level:
            counts[taken] = node.rewards.count
        found.append(counts.ravel())
    return found
