"""What the readings decide so far: the plan, what could still beat it, and what is not sure yet.

A function of the trie and the terms alone. The adaptive learner asks it what to read next, and
`verify` asks it again, from the recorded readings, what they prove.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from surepath.inference.consistency import Conflict, conflict
from surepath.inference.guarantee_widths import Guarantee, widths_of
from surepath.inference.paths import Challenger, Path, Spreads, best_path, challengers, reach
from surepath.inference.states import Automaton, Edge, Sorting, derive
from surepath.inference.terms import Terms
from surepath.inference.tuning import TUNING
from surepath.inference.values import Values, estimate, missing
from surepath.readings.trie import Node
from surepath.system import Actions


@dataclass(frozen=True, slots=True)
class UnsureEnd:
    """An edge whose end may be another state than it is taken for, where that could matter."""

    level: int
    edge: Edge
    read: Edge  # what to read: the edge with most readings in the group that was read least
    count: int  # readings of that whole group: the end, its state, or the state it may be


@dataclass(frozen=True, slots=True)
class Judgement:
    """All that `judge` found; after `of_too_little` only the machine means anything."""

    machine: Automaton
    complete: bool  # whether every edge was read that has to be, so that all that follows is there
    values: Values
    plan: Path
    spreads: Spreads
    challengers: list[Challenger]  # for each deviation from the plan, the hardest to rule out
    unsure_ends: list[UnsureEnd]
    conflict: Conflict | None  # a prefix that pays differently from the rest of its state
    value: float  # estimate of the plan's value
    width: float  # of that estimate
    kept: Actions | None  # the sequence the machine was derived for; None where nodes are pooled
    stands: bool  # the plan is whole and, where nodes are not pooled, it is the `kept` sequence

    @classmethod
    def of_too_little(cls, machine: Automaton) -> Judgement:
        """While edges are missing there is a machine, and nothing to be said of its paths."""
        return cls(
            machine,
            complete=False,
            values=Values([], []),
            plan=Path([], end=0),
            spreads=[],
            challengers=[],
            unsure_ends=[],
            conflict=None,
            value=math.nan,
            width=math.inf,
            kept=None,
            stands=False,
        )

    @property
    def open(self) -> list[Challenger]:
        return [challenger for challenger in self.challengers if not challenger.excess < 0]

    @property
    def settled(self) -> bool:
        unfinished = self.conflict is not None and not self.conflict.final
        return self.stands and not (self.open or self.unsure_ends or unfinished)

    @property
    def loss(self) -> float:
        """The most that the plan can fall short of the optimum."""
        return max((challenger.loss for challenger in self.challengers), default=0.0)

    @property
    def weakest(self) -> Challenger | None:
        return max(self.challengers, key=lambda challenger: challenger.excess, default=None)


def judge(root: Node, terms: Terms, keep: Actions | None = None) -> Judgement:
    """What the readings decide.

    Where nodes are not pooled, the plan is judged by what was read on its own way, so its nodes
    have to stand for their states: the machine is derived again with the plan that came out, until
    the same plan comes out.
    """
    widths = widths_of(terms)
    tries = 0
    while True:
        machine = derive(root, terms.shape, pool=widths.pools, keep=None if widths.pools else keep)
        if missing(machine, 1):
            return Judgement.of_too_little(machine)
        values = estimate(machine, terms.reward_range[1], 2 * terms.reward_noise)
        plan = best_path(machine, values)
        stands = widths.pools or plan.actions == keep
        if stands or tries == terms.shape.horizon:
            return _judged(machine, values, plan, widths, terms, keep, stands=stands)
        keep = plan.actions
        tries += 1


def _judged(
    machine: Automaton,
    values: Values,
    plan: Path,
    widths: Guarantee,
    terms: Terms,
    keep: Actions | None,
    *,
    stands: bool,
) -> Judgement:
    spreads = widths.spreads(machine)
    whole = len(plan.edges) == machine.horizon
    found, unsure, width = list[Challenger](), list[UnsureEnd](), math.inf
    if whole:
        guesses = [terms.beyond_ties(spread) for spread in widths.guesses(values.variance)]
        found = challengers(machine, plan, values, spreads, guesses, widths.width, terms.excess)
        own = sum(float(spreads[level][edge]) for level, edge in enumerate(plan.edges))
        width = float(widths.width(np.array(own)))
    if whole and widths.pools:
        unsure = _unsure_ends(machine, values, spreads, widths, terms)
    return Judgement(
        machine,
        complete=True,
        values=values,
        plan=plan,
        spreads=spreads,
        challengers=found,
        unsure_ends=unsure,
        conflict=conflict(machine, terms.reward_range, terms.shape.future) if whole else None,
        value=float(values.best(0)[0]),
        width=width,
        kept=None if widths.pools else keep,
        stands=whole and stands,
    )


def _unsure_ends(
    machine: Automaton, values: Values, spreads: Spreads, widths: Guarantee, terms: Terms
) -> list[UnsureEnd]:
    before = reach(machine)
    enough = float(values.best(0)[0]) - terms.resolution
    found = list[UnsureEnd]()
    for level, layer in enumerate(machine.layers[:-1]):
        sorting = layer.sorting
        if sorting is None or not sorting.against.size:
            continue
        # What the end is worth if it is another state; a new one is worth all that can be earned.
        most = (machine.horizon - level - 1) * terms.reward_range[1]
        after = np.append(values.best(level + 1), most)
        width = widths.width(spreads[level])
        for i, edge in enumerate(sorting.edges):
            best = before[level][edge[0]] + layer.mean[edge] + width[edge] + after
            unsure = sorting.against[i] < widths.evidence
            if sorting.counts[i] >= TUNING.chance_to_show:
                unsure[-1] &= sorting.against[i, -1] <= 0
            open_to = np.flatnonzero(unsure & (best >= enough))
            if len(open_to):
                found.append(_unsure_end(level, sorting, i, int(open_to[0])))
    return found


def _unsure_end(level: int, sorting: Sorting, i: int, other: int) -> UnsureEnd:
    """Whichever of the three is read least decides: the end, its state, or the other state."""
    alike = np.flatnonzero(sorting.labels == sorting.labels[i])
    options = [np.array([i]), alike[alike != i], np.flatnonzero(sorting.labels == other)]
    least = min((o for o in options if len(o)), key=lambda o: float(sorting.counts[o].sum()))
    read = int(least[sorting.counts[least].argmax()])
    count = int(sorting.counts[least].sum())
    return UnsureEnd(level, sorting.edges[i], sorting.edges[read], count)
