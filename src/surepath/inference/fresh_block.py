"""One block of fresh readings: what was asked for, the bet on it, and what it says of each edge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from surepath.inference.merge_evidence import Window, Windows
from surepath.inference.proposal import Proposal, Sums
from surepath.system import Actions, FloatArray, Readings, Sample, steps_of

Totals: TypeAlias = Callable[[Sample], FloatArray]
"""From the observations of one step to their summed features, or the counts of their symbols."""

Counted: TypeAlias = list[tuple[Actions, int]]
"""Action sequences, and how often each is run."""


@dataclass(frozen=True, slots=True)
class Told:
    """What was read by one request, pooled over its episodes."""

    actions: Actions
    count: int
    paid: list[tuple[float, float]]  # by time step: sum of rewards and of their squares
    observed: list[FloatArray] | None  # by time step from 1 on; None where nothing is compared

    @classmethod
    def of(cls, read: Readings, totals: Totals | None, horizon: int) -> Told:
        paid = list[tuple[float, float]]()
        for step in range(len(read.actions)):
            found = read.reward(step)
            total = found.count * found.mean
            paid.append((total, found.scatter + total * found.mean))
        observed = range(1, steps_of(read.actions, horizon))
        seen = None if totals is None else [totals(read.observation(step)) for step in observed]
        return cls(read.actions, read.count, paid, seen)


@dataclass(slots=True)
class Block:
    """Counts and bet were fixed before anything of it was read."""

    requests: Counted
    bet: float
    before: tuple[float, float]  # least evidence of paths and of merges
    told: list[Told] = field(default_factory=list[Told])
    raw: list[Readings] = field(default_factory=list[Readings])  # where somebody wants them


def episodes_of(requests: Counted) -> int:
    return sum(count for _, count in requests)


def planned(proposal: Proposal, requests: Counted) -> tuple[FloatArray, FloatArray]:
    """[E], how often a block of these requests reads each edge, and the weight of that."""
    count, weight = np.zeros((2, proposal.first[-1]))
    for actions, episodes in requests:
        edges = proposal.walk(actions)
        count[edges] += episodes
        weight[edges] += episodes * (len(actions) if proposal.rules.shared else 1)
    return count, weight


def rewards_by_edge(proposal: Proposal, told: Sequence[Told]) -> Sums:
    sums = Sums.none(proposal.first[-1])
    for each in told:
        for edge, (total, squares) in zip(proposal.walk(each.actions), each.paid, strict=False):
            sums.count[edge] += each.count
            sums.total[edge] += total
            sums.squares[edge] += squares
    return sums


def windows_by_edge(proposal: Proposal, told: Sequence[Told]) -> Windows:
    depth, windows = proposal.rules.future, Windows()
    for each in told:
        seen = each.observed or []
        for level, edge in enumerate(proposal.walk(each.actions)):
            if level + depth <= len(seen):
                way = each.actions[level + 1 : level + depth]
                read = Window(each.count, np.stack(seen[level : level + depth]))
                before = windows.get((edge, way))
                windows[edge, way] = read if before is None else before + read
    return windows
