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
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from surepath.inference.paths import Path, Spreads
from surepath.inference.states import Automaton
from surepath.inference.values import Values
from surepath.system import FloatArray


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
        best = [0.0] * (self.machine.horizon + 1)  # of what can be combined from a level on
        largest = heaviest = 0.0
        for level in range(self.machine.horizon - 1, -1, -1):
            found = list(self._open(plan, level))
            weight = 1 + math.log(max(len(found), 1))
            largest = max([largest, *(noise for noise, _ in found)])
            heaviest = max([heaviest, *(weight * noise for noise, _ in found)])
            combined = (weight * noise + best[back] for noise, back in found)
            best[level] = max([best[level + 1], *combined])
        return (best[0] - heaviest) / largest if largest > 0 else 0.0

    def _open(self, plan: Path, level: int) -> Iterator[tuple[float, int]]:
        """Noise of the ways to leave the plan here that may pay, and where they are back on it."""
        state, chosen = plan.edges[level]
        q = self.values.q[level][state]
        for action in range(len(q)):
            if action != chosen:
                spread, noise, back = self._excursion(plan, level, action)
                lead = float(q[chosen] - q[action])
                if noise > 0 and lead * abs(lead) < spread:
                    yield noise, back

    def _excursion(self, plan: Path, level: int, action: int) -> tuple[float, float, int]:
        """Leave the plan once, go on as is best: spread and noise against it, and where it ends."""
        machine, edge = self.machine, (plan.edges[level][0], action)
        spread = noise = 0.0
        while True:
            own = plan.edges[level]
            spread += float(self.spreads[level][edge] + self.shortfalls[level][own])
            noise += float(self.noise[level][edge] + self.noise[level][own])
            state, level = int(machine.layers[level].target[edge]), level + 1
            if level == machine.horizon or state == plan.edges[level][0]:
                return spread, noise, level
            if not machine.layers[level].expanded[state]:
                guess = float(self.guesses[level][state])
                return spread + guess, noise + guess, machine.horizon
            edge = (state, int(np.argmax(self.values.q[level][state])))
