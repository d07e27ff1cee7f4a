"""What the readings decide so far: the plan, what could still beat it, and what is in doubt.

A function of the trie and the terms alone. The adaptive learner asks it what to read next, and
`verify` asks it again, from the recorded readings, what they prove.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from surepath.inference.consistency import Conflict, conflict
from surepath.inference.paths import (
    Challenger,
    Path,
    Spreads,
    best_path,
    challengers,
    missing,
    reach,
)
from surepath.inference.states import Automaton, Edge, Shape, Sorting, derive
from surepath.inference.values import Values, estimate
from surepath.inference.widths import Calibrated, Guarantee, Proved
from surepath.readings.trie import Node
from surepath.system import Actions, FloatArray

SHOWN = 128
"""Readings after which a state of its own, if it is one, has had its chance to show."""

GuaranteeName: TypeAlias = Literal["calibrated", "proved"]


@dataclass(frozen=True, slots=True)
class Terms:
    """What a run is held to."""

    shape: Shape
    guarantee: GuaranteeName
    delta: float
    gap: float | None  # least loss of a suboptimal plan, where it is known
    resolution: float  # otherwise: plans closer than this count as equal
    reward_range: tuple[float, float]
    norm: float | None = None  # proved only, like the following
    radius: float = 1.0
    feature_noise: float | None = None
    reward_noise: float = 0.5

    def widths(self) -> Guarantee:
        if self.guarantee == "calibrated":
            ways = self.shape.horizon * (self.shape.n_actions - 1)
            return Calibrated(
                self.delta, self.reward_range, self.reward_noise, self.shape.horizon, ways
            )
        assert self.norm is not None  # checked when the terms were made
        return Proved(
            self.delta,
            self.norm,
            self.shape.horizon,
            self.shape.n_actions,
            self.shape.dimension,
            self.radius,
            self.feature_noise,
            self.reward_noise,
        )

    def excess(self, margin: FloatArray, width: FloatArray) -> FloatArray:
        """By how much the width of a lead is too large; negative when the question is settled.

        Settled: the plan leads for certain; or loses, if at all, less than any suboptimal plan
        does; or, where no gap is known, its lead is known to within the resolution, so that it
        loses less than that, if at all.
        """
        if self.gap is not None:
            return width - margin - self.gap
        return width - np.maximum(margin, self.resolution + np.minimum(margin, 0.0))

    def doubtful(self, spread: FloatArray) -> FloatArray:
        """Spreads of predictions, such that none is taken for a tie.

        What was read may count as equal within the resolution. A prediction that comes so close is
        a reason to go there and look.
        """
        if self.gap is not None:
            return spread
        return np.where(spread > 0, spread + self.resolution**2, spread)


@dataclass(frozen=True, slots=True)
class Doubt:
    """An edge whose end may be another state than it is taken for, where that could matter."""

    level: int
    edge: Edge
    read: Edge  # the edge of the same level that it would help most to read
    count: int  # readings it has


@dataclass(frozen=True, slots=True)
class Judgement:
    machine: Automaton
    values: Values
    plan: Path
    spreads: Spreads
    rivals: list[Challenger]  # for each deviation from the plan, the one hardest to rule out
    doubts: list[Doubt]
    conflict: Conflict | None  # prefixes of one state that go on differently
    value: float  # estimate of the plan's value
    width: float  # of that estimate
    kept: Actions | None  # the sequence whose nodes stand for themselves, where that is needed
    stands: bool  # whether that is the plan

    @property
    def open(self) -> list[Challenger]:
        return [rival for rival in self.rivals if not rival.excess < 0]

    @property
    def settled(self) -> bool:
        unfinished = self.conflict is not None and not self.conflict.final
        return self.stands and not (self.open or self.doubts or unfinished)

    @property
    def loss(self) -> float:
        """The most that the plan can fall short of the optimum."""
        return max((rival.loss for rival in self.rivals), default=0.0)

    @property
    def weakest(self) -> Challenger | None:
        return max(self.rivals, key=lambda rival: rival.excess, default=None)


def judge(root: Node, terms: Terms, keep: Actions | None = None) -> Judgement | Automaton:
    """What the readings decide; only the machine, while not every edge it needs has been read.

    Where nodes are not pooled, the plan is judged by what was read on its own way, so its nodes
    have to stand for their states: the machine is derived again with the plan that came out, until
    the same plan comes out.
    """
    widths = terms.widths()
    tries = 0
    while True:
        machine = derive(root, terms.shape, pool=widths.pools, keep=None if widths.pools else keep)
        if missing(machine, 1):
            return machine
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
    rivals, doubts, width = list[Challenger](), list[Doubt](), math.inf
    if whole:
        guesses = [terms.doubtful(spread) for spread in widths.guesses(values.variance)]
        rivals = challengers(machine, plan, values, spreads, guesses, widths.width, terms.excess)
        own = sum(float(spreads[level][edge]) for level, edge in enumerate(plan.edges))
        width = float(widths.width(np.array(own)))
    if whole and widths.pools:
        doubts = _doubts(machine, values, spreads, widths, terms)
    return Judgement(
        machine,
        values,
        plan,
        spreads,
        rivals,
        doubts,
        conflict(machine, terms.reward_range, terms.shape.future) if whole else None,
        value=float(values.best(0)[0]),
        width=width,
        kept=None if widths.pools else keep,
        stands=whole and stands,
    )


def _doubts(
    machine: Automaton, values: Values, spreads: Spreads, widths: Guarantee, terms: Terms
) -> list[Doubt]:
    before = reach(machine)
    enough = float(values.best(0)[0]) - terms.resolution
    found = list[Doubt]()
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
            if sorting.counts[i] >= SHOWN:
                unsure[-1] &= sorting.against[i, -1] <= 0
            open_to = np.flatnonzero(unsure & (best >= enough))
            if len(open_to):
                found.append(_doubt(level, sorting, i, int(open_to[0])))
    return found


def _doubt(level: int, sorting: Sorting, i: int, other: int) -> Doubt:
    """Whichever of the three is read least decides: the end, its state, or the other state."""
    alike = np.flatnonzero(sorting.labels == sorting.labels[i])
    options = [np.array([i]), alike[alike != i], np.flatnonzero(sorting.labels == other)]
    least = min((o for o in options if len(o)), key=lambda o: float(sorting.counts[o].sum()))
    read = int(least[sorting.counts[least].argmax()])
    count = int(sorting.counts[least].sum())
    return Doubt(level, sorting.edges[i], sorting.edges[read], count)
