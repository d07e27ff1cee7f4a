"""What the readings decide so far: the plan, what could still beat it, and what is not sure yet.

A function of the trie and the terms alone. The adaptive learner asks it what to read next, and
`verify` asks it again, from the recorded readings, what they prove.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from surepath.inference.alias import GoingOn, going_on
from surepath.inference.consistency import Conflict, conflict
from surepath.inference.coverage import may_come_to, missing
from surepath.inference.guarantee_widths import Calibrated
from surepath.inference.paths import (
    Challenger,
    Path,
    Spreads,
    best_known,
    best_path,
    challengers,
    reach,
)
from surepath.inference.separation import Separation, ways_through
from surepath.inference.states import Automaton, Edge, Sorting, derive
from surepath.inference.terms import Terms
from surepath.inference.threads import one_thread
from surepath.inference.ties import Close
from surepath.inference.tuning import TUNING
from surepath.inference.uneven_pay import UnevenPay, uneven_pay
from surepath.inference.values import Values, estimate
from surepath.readings.columns import TrieColumns
from surepath.readings.trie import Node
from surepath.system import Actions
from surepath.theory.special import chi_square_tail

NOTHING_AHEAD = GoingOn(None, [])
"""Before anybody has looked whether what looks alike goes on alike."""


@dataclass(frozen=True, slots=True)
class UnsureEnd:
    """An edge whose end may be another state than it is taken for, where that could matter."""

    level: int
    edge: Edge
    read: Edge  # what to read: the edge itself, or the one that founds its state
    onwards: Actions  # and how to go on: to where its window was read least
    count: int  # readings there
    needed: int  # further ones that will probably settle it
    chance: float  # of a difference like that, or a larger one, if it is the state it is taken for

    @property
    def more(self) -> int:
        """Those to read before looking again."""
        most = max(TUNING.least_request, math.ceil(TUNING.most_settling * self.count))
        return min(max(self.needed, TUNING.least_request), most)


@dataclass(frozen=True, slots=True)
class Judgement:
    """All that `judge` found; after `of_too_little` only the machine means anything."""

    machine: Automaton
    complete: bool  # whether every edge was read that has to be, so that all that follows is there
    values: Values
    plan: Path
    spreads: Spreads  # of what edges may be worth more than they seem
    shortfalls: Spreads  # of what they may be worth less
    challengers: list[Challenger]  # for each deviation from the plan, the hardest to rule out
    unsure_ends: list[UnsureEnd]
    conflict: Conflict | None  # a prefix that pays differently from the rest of its state
    ahead: GoingOn  # whether what looks alike goes on alike: looked for when all else is settled
    uneven: UnevenPay | None  # whether what looks alike pays alike, all together: looked for then
    value: float  # estimate of the plan's value
    width: float  # of that estimate
    predicted: list[tuple[int, int]]  # level and state of all whose value is predicted, and matters
    tolerance: float  # how much the plan may fall short and still be the answer
    whole: bool  # whether the plan is

    @classmethod
    def of_too_little(cls, machine: Automaton) -> Judgement:
        """While edges are missing there is a machine, and nothing to be said of its paths."""
        return cls(
            machine,
            complete=False,
            values=Values([], []),
            plan=Path([], end=0),
            spreads=[],
            shortfalls=[],
            challengers=[],
            unsure_ends=[],
            conflict=None,
            ahead=NOTHING_AHEAD,
            uneven=None,
            value=math.nan,
            width=math.inf,
            predicted=[],
            tolerance=math.nan,
            whole=False,
        )

    @property
    def known(self) -> Actions:
        """The best that is known: the plan, where it does not end at what nobody has tried."""
        return self.plan.actions if self.whole else best_known(self.machine)

    @property
    def worth(self) -> float:
        """Estimate of the value of a whole plan; NaN where there is none."""
        return self.value if self.whole else math.nan

    @property
    def open(self) -> list[Challenger]:
        return [challenger for challenger in self.challengers if not challenger.excess < 0]

    @property
    def settled(self) -> bool:
        unfinished = self.conflict is not None and not self.conflict.final
        unsure = self.unsure_ends or self.ahead.suspects or unfinished
        return self.whole and not (self.open or unsure)

    @property
    def too_short(self) -> str:
        """Why what is looked at does not tell the hidden states apart; empty where it may."""
        if self.conflict is not None and self.conflict.final:
            return str(self.conflict)
        found = self.ahead.alias or self.uneven
        return "" if found is None else str(found)

    @property
    def merged(self) -> int:
        """Ends of edges that were taken for a state that another edge leads to."""
        sortings = [layer.sorting for layer in self.machine.layers]
        return sum(int(s.merges.tested.sum()) for s in sortings if s is not None)

    def excluded(self, separation: Separation) -> float:
        """The smallest separation that the readings exclude for every merge that is settled."""
        sortings = [layer.sorting for layer in self.machine.layers]
        found = (
            sorting.merges.excluded(sorting.comparison, separation)
            for sorting in sortings
            if sorting is not None and sorting.comparison is not None
        )
        return max(found, default=0.0)

    @property
    def loss(self) -> float:
        """The most that the plan can fall short of the optimum."""
        return max((challenger.loss for challenger in self.challengers), default=0.0)

    @property
    def weakest(self) -> Challenger | None:
        return max(self.challengers, key=lambda challenger: challenger.excess, default=None)


@one_thread()
def judge(
    root: Node, terms: Terms, *, look_on: bool = False, columns: TrieColumns | None = None
) -> Judgement:
    """What the readings decide.

    Whether prefixes that look alike go on alike, and pay alike taken together, is asked when all
    else is settled, and where `look_on` says so. columns: the trie as arrays, where somebody has
    them.
    """
    machine = derive(root, terms.shape, terms.merge_test, columns)
    if not (terms.predict and machine.pays):
        machine.forbid_predictions()
    if missing(machine, [1] * machine.horizon, terms.most_from):
        return Judgement.of_too_little(machine)
    values = estimate(machine, terms.reward_range[1], 2 * terms.reward_noise, terms.most_from)
    found = _judged(machine, values, best_path(machine, values), Calibrated.under(terms), terms)
    test = terms.merge_test
    if test is not None and (look_on or found.settled):
        ahead = going_on(machine, terms.shape, test)
        return replace(found, ahead=ahead, uneven=uneven_pay(machine, test))
    return found


def _judged(
    machine: Automaton,
    values: Values,
    plan: Path,
    widths: Calibrated,
    terms: Terms,
) -> Judgement:
    spreads, shortfalls = widths.spreads(machine), widths.shortfalls(machine)
    whole = len(plan.edges) == machine.horizon
    found, unsure, width = list[Challenger](), list[UnsureEnd](), math.inf
    value = float(values.best(0)[0])
    tolerance = terms.allowed_loss(value, _paid(machine, plan))
    if whole:
        guesses = [
            terms.beyond_ties(spread, tolerance) for spread in widths.guesses(values.variance)
        ]
        close = Close(machine, values, spreads, shortfalls, widths.noise(machine), guesses)
        among = widths.among(close.others(plan), close.rivals(plan))
        excess = partial(terms.excess, tolerance=tolerance, among=among)
        found = challengers(
            machine, plan, values, spreads, guesses, widths.width, excess, shortfalls, among,
            terms.most_labels,
        )  # fmt: skip
        own = [
            sum(float(side[level][edge]) for level, edge in enumerate(plan.edges))
            for side in (spreads, shortfalls)
        ]
        width = float(widths.width(np.array(max(own))))
        unsure = _unsure_ends(machine, values, spreads, widths, terms, tolerance)
    return Judgement(
        machine,
        complete=True,
        values=values,
        plan=plan,
        spreads=spreads,
        shortfalls=shortfalls,
        challengers=found,
        unsure_ends=unsure,
        conflict=conflict(machine, terms.reward_range, terms.shape.future) if whole else None,
        ahead=NOTHING_AHEAD,
        uneven=None,
        value=value,
        width=width,
        predicted=_predicted(machine, values, spreads, widths, terms, value - width - tolerance),
        tolerance=tolerance,
        whole=whole,
    )


def _paid(machine: Automaton, plan: Path) -> float:
    """What a paying step of the plan typically pays: the root of the mean square of its rewards."""
    squares = [
        float(layer.mean[edge] ** 2 + layer.scatter[edge] / max(layer.count[edge], 1))
        for layer, edge in zip(machine.layers, plan.edges, strict=False)
    ]
    paying = [square for square in squares if square > 0]
    return math.sqrt(sum(paying) / len(paying)) if paying else 0.0


def _predicted(
    machine: Automaton,
    values: Values,
    spreads: Spreads,
    widths: Calibrated,
    terms: Terms,
    least: float,
) -> list[tuple[int, int]]:
    """States whose value is predicted, but for those that could not matter whatever they pay.

    least: that the plan is worth, less what it may fall short.
    """
    layers = zip(machine.layers, spreads, strict=True)
    before = reach(machine, [layer.mean + widths.width(spread) for layer, spread in layers])
    found = list[tuple[int, int]]()
    for level, variance in enumerate(values.variance):
        matter = may_come_to(before[level], terms.most_from(level), least)
        found += [(level, int(state)) for state in np.flatnonzero((variance > 0) & matter)]
    return found


def _unsure_ends(
    machine: Automaton,
    values: Values,
    spreads: Spreads,
    widths: Calibrated,
    terms: Terms,
    tolerance: float,
) -> list[UnsureEnd]:
    """Merges that are not settled, where the end could matter if it were another state."""
    before = reach(machine)
    enough = float(values.best(0)[0]) - tolerance
    found = list[UnsureEnd]()
    for level, layer in enumerate(machine.layers[:-1]):
        sorting = layer.sorting
        if sorting is None:
            continue
        # A state that nobody has seen is worth all that can be earned.
        most = terms.most_from(level + 1)
        width = widths.width(spreads[level])
        best = before[level][:, None] + layer.mean + width + most
        unsure = np.flatnonzero(sorting.merges.evidence < widths.evidence).tolist()
        matter = [i for i in unsure if best[sorting.edges[i]] >= enough]
        if matter:
            found += _of_level(level, sorting, matter, terms)
    return found


def _of_level(level: int, sorting: Sorting, which: list[int], terms: Terms) -> list[UnsureEnd]:
    """Whichever of the two is read least decides: the end, or those that are sure of its state."""
    merges, shape, test = sorting.merges, terms.shape, terms.merge_test
    assert test is not None  # else nothing is unsure
    assert sorting.comparison is not None  # likewise
    growth = test.growth(sorting.comparison, merges.apart.at(which))
    depth = min(shape.future, shape.horizon - level - 1)
    ways = ways_through(shape.n_actions, depth)[0]
    found = list[UnsureEnd]()
    differences = merges.apart.at(which)
    chances = chi_square_tail(np.maximum(differences.freedom, 1), differences.squared)
    for i, times, chance in zip(which, growth.tolist(), chances.tolist(), strict=True):
        own, rest = float(merges.own[i]), float(merges.rest[i])
        read = i if own <= rest else _founder(sorting, i)
        fewer, others = min(own, rest), max(own, rest)
        onwards, needed = ways[int(merges.way[i])], _needed(fewer, others, times)
        found.append(
            UnsureEnd(
                level, sorting.edges[i], sorting.edges[read], onwards, int(fewer), needed, chance
            )
        )
    return found


def _founder(sorting: Sorting, i: int) -> int:
    """The end that the state of another is known by."""
    alike = np.flatnonzero(sorting.labels == sorting.labels[i])
    return int(alike[~sorting.merges.tested[alike]][0])


def _needed(fewer: float, others: float, times: float) -> int:
    """Further readings of the side read less, that both weigh so many times as much together.

    Where the other side is read too little for that: so many times as many of both.
    """
    if not fewer:
        return TUNING.first_readings
    share = (1 / fewer + 1 / others) / times - 1 / others
    return math.ceil(min(1 / share if share > 0 else math.inf, times * fewer) - fewer)
