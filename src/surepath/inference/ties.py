"""How much less sure many close decisions are than one.

Every way to leave the plan is held against a width that is right for one difference of two fixed
paths. But the plan was chosen by the same readings. Where many decisions are close, it takes the
wrong side of some of them, always the side that chance has favoured: what it loses by all of them
together grows with their number, and the width of their sum only with its root. So where several
decisions are open that one path could leave the plan by, one after the other, the widths of ties
grow as the quantiles of chi-square do: by one more in z^2 for each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from surepath.inference.paths import Path, Spreads, reach
from surepath.inference.states import Automaton, Edge
from surepath.inference.values import Values
from surepath.system import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Close:
    """What is known of differences between paths."""

    machine: Automaton
    values: Values
    spreads: Spreads  # of what edges may be worth more than they seem
    shortfalls: Spreads  # of what they may be worth less
    noise: Spreads  # the part of both that was seen in the readings
    guesses: list[FloatArray]  # spreads of what is predicted of states

    def others(self, plan: Path) -> float:
        """How many close decisions one path can get wrong, beside the one that is least sure.

        Each counts by its noise, beside the largest; one with several close actions counts for
        more, as the largest of several errors does. What was paid without noise was not chosen by
        chance, and does not count.
        """
        horizon = self.machine.horizon
        best = [0.0] * (horizon + 1)  # of what can be combined from a level on
        largest = heaviest = 0.0
        away = self._excursions(plan)
        for level in range(horizon - 1, -1, -1):
            found = list(self._open(plan, level, away))
            weight = 1 + math.log(max(len(found), 1))
            largest = max([largest, *(noise for noise, _ in found)])
            heaviest = max([heaviest, *(weight * noise for noise, _ in found)])
            combined = (weight * noise + best[back] for noise, back in found)
            best[level] = max([best[level + 1], *combined])
        return (best[0] - heaviest) / largest if largest > 0 else 0.0

    def rivals(self, plan: Path) -> int:
        """How many ways through some level are so close to the plan that any of them may be better.

        Of several that are equal, the plan is the one that chance has favoured most; what is truly
        better is one among them that it has not.
        """
        most, value = 0, float(self.values.best(0)[0])
        layers = zip(plan.edges, reach(self.machine), self.values.q, strict=True)
        for level, (own, before, q) in enumerate(layers):
            lead = value - (before[:, None] + q)
            spread = self.spreads[level] + self.shortfalls[level][own]
            close = (lead * np.abs(lead) < spread) & (self.noise[level] > 0)
            most = max(most, int(close.sum()) - bool(close[own]))
        return most

    def _open(self, plan: Path, level: int, away: _Excursions) -> Iterator[tuple[float, int]]:
        """Noise of the ways to leave the plan here that may pay, and where they are back on it."""
        state, chosen = plan.edges[level]
        q = self.values.q[level][state]
        here = np.flatnonzero(away.start == level).tolist()
        for i, action in zip(here, _others(len(q), chosen), strict=True):
            noise, lead = float(away.noise[i]), float(q[chosen] - q[action])
            if noise > 0 and lead * abs(lead) < away.spread[i]:
                yield noise, int(away.back[i])

    def _excursions(self, plan: Path) -> _Excursions:
        """Leave the plan once, at every level and by every action, and go on as is best.

        All that are on their way take their steps together, level by level.
        """
        sizes = [len(self.values.q[level][0]) - 1 for level in range(len(plan.edges))]
        found = _Excursions.beginning(sizes)
        on, state = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        for level, own in enumerate(plan.edges):
            begun = np.flatnonzero(found.start == level)
            action = self.values.q[level].argmax(axis=1)[state]
            action = np.append(action, _others(sizes[level] + 1, own[1])).astype(np.int64)
            state = np.append(state, np.full(len(begun), own[0]))
            on = np.append(on, begun)
            self._take(found, on, level, (state, action), own)
            if level + 1 < len(plan.edges):
                target = self.machine.layers[level].target[state, action]
                on, state = self._arrive(found, on, target, level + 1, plan.edges[level + 1][0])
        return found

    def _take(
        self,
        found: _Excursions,
        on: IntArray,
        level: int,
        edges: tuple[IntArray, IntArray],
        own: Edge,
    ) -> None:
        """One step of those that are away, against that of the plan."""
        found.spread[on] += self.spreads[level][edges] + self.shortfalls[level][own]
        found.noise[on] += self.noise[level][edges] + self.noise[level][own]

    def _arrive(
        self, found: _Excursions, on: IntArray, target: IntArray, level: int, plan: int
    ) -> tuple[IntArray, IntArray]:
        """Those that go on, and their states: not those that are back, or where nobody has been."""
        returned = target == plan
        found.back[on[returned]] = level
        on, target = on[~returned], target[~returned]
        known = self.machine.layers[level].expanded[target]
        guess = self.guesses[level][target[~known]]
        found.spread[on[~known]] += guess
        found.noise[on[~known]] += guess
        return on[known], target[known]


@dataclass(frozen=True, slots=True)
class _Excursions:
    """Ways to leave a plan once, in the order of levels and actions: E of them."""

    start: IntArray  # [E], levels where they leave it
    spread: FloatArray  # [E], against the plan
    noise: FloatArray  # [E]
    back: IntArray  # [E], levels where they are back on it

    @classmethod
    def beginning(cls, sizes: Sequence[int]) -> _Excursions:
        """Before the first step; sizes: how many there are from each level."""
        many = sum(sizes)
        start = np.repeat(np.arange(len(sizes)), sizes)
        return cls(start, np.zeros(many), np.zeros(many), np.full(many, len(sizes)))


def _others(actions: int, chosen: int) -> list[int]:
    return [action for action in range(actions) if action != chosen]
