"""Which sequences to run so that many merges are settled together.

An episode reads every edge that it passes, so what is needed at one level is read on the way to, or
behind, what is needed at another.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from surepath.inference.judgement import Judgement, UnsureEnd
from surepath.inference.states import UNKNOWN, Automaton, Edge
from surepath.inference.tuning import TUNING
from surepath.learners.next_readings import Gains, onwards
from surepath.readings.trie import Node
from surepath.system import Actions, FloatArray


@dataclass(frozen=True, slots=True)
class Need:
    """An edge whose end is to be read so many times more, where its window was read least."""

    level: int
    edge: Edge
    onwards: Actions  # through the window
    count: int


def together(
    machine: Automaton, root: Node, needs: Sequence[Need], ran: Iterable[tuple[Actions, int]]
) -> list[tuple[Actions, int]]:
    """Sequences and counts that give every need its readings, as many needs at a time as possible.

    ran: what is run anyway, which serves needs too. Each sequence goes on to the end: by what is
    still needed, then by what was read least, where it is seen whether what looks alike goes on
    alike.
    """
    left, counts = _Left(machine, needs), [layer.count.copy() for layer in machine.layers]
    for actions, count in ran:
        left.serve(actions, count)
    wanted = list[tuple[Actions, int]]()
    for need in sorted(needs, key=lambda each: each.level):
        count = left.of(need)
        if count > 0:
            state, action = need.edge
            start = (*machine.layers[need.level].prefixes[state], action, *need.onwards)
            actions = left.through(root, start, counts, count)
            left.serve(actions, count)
            wanted.append((actions, count))
    return wanted


class _Left:
    """What is still needed."""

    def __init__(self, machine: Automaton, needs: Sequence[Need]) -> None:
        self._machine = machine
        self._short = [np.zeros(layer.count.shape) for layer in machine.layers]
        self._windows = dict[tuple[int, Edge, Actions], int]()
        for need in needs:
            self._short[need.level][need.edge] += need.count
            key = need.level, need.edge, need.onwards
            self._windows[key] = max(need.count, self._windows.get(key, 0))
        self._window = len(needs[0].onwards) if needs else 0
        self._gains = Gains(machine, self._short).levels

    def of(self, need: Need) -> int:
        return self._windows[need.level, need.edge, need.onwards]

    def serve(self, actions: Actions, count: int) -> None:
        """Take off what a sequence reads."""
        state = 0
        for level, action in enumerate(actions):
            onwards = actions[level + 1 : level + 1 + self._window]
            key = level, (state, action), onwards
            if key in self._windows:
                self._windows[key] -= count
                self._short[level][state, action] -= count
            state = int(self._machine.layers[level].target[state, action])
            if state == UNKNOWN:
                break

    def through(self, root: Node, start: Actions, counts: list[FloatArray], more: int) -> Actions:
        """The sequence, and on to the end; `counts` are raised along the way."""
        state, taken = 0, list(start)
        for level, layer in enumerate(self._machine.layers):
            if level == len(taken):
                taken.append(self._next(root, start, level, state, counts))
            counts[level][state, taken[level]] += more
            state = int(layer.target[state, taken[level]])
            if state == UNKNOWN:
                break
        return tuple(taken)

    def _next(
        self, root: Node, start: Actions, level: int, state: int, counts: list[FloatArray]
    ) -> int:
        short = self._short[level][state]
        if short.max() > 0:
            return int(short.argmax())
        if self._gains[level][state].max() > 0:
            return int(self._gains[level][state].argmax())
        if level == len(start):
            actions = range(self._machine.layers[level].n_actions)
            return int(np.argmin([root.walked((*start, action)) for action in actions]))
        return int(counts[level][state].argmin())


def once_more(judged: Judgement, root: Node) -> list[tuple[Actions, int]]:
    """What looks odd is read more often: by what it pays, or by what follows it."""
    machine, conflict = judged.machine, judged.conflict
    odd = () if conflict is None else conflict.short
    wanted = [(actions, max(TUNING.least_request, count)) for actions, count in odd]
    counts = [layer.count.copy() for layer in machine.layers]
    for suspect in judged.ahead.suspects:
        count = max(TUNING.least_request, math.ceil(TUNING.most_growth * suspect.count))
        wanted.append((onwards(machine, root, suspect.actions, counts, count), count))
    return wanted


def least_alike(ends: Sequence[UnsureEnd]) -> list[UnsureEnd]:
    """Those that look least like what they are taken for."""
    ranked = sorted(ends, key=lambda each: each.chance)
    return ranked[: math.ceil(TUNING.least_alike * len(ranked))]
