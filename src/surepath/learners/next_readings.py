"""Which sequences to run so that as much as possible is learned from each episode."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from surepath.inference.paths import Challenger, Path, Spreads
from surepath.inference.states import UNKNOWN, Automaton, Edge
from surepath.inference.values import shortage
from surepath.readings.trie import Node
from surepath.system import Actions, FloatArray, steps_of


def cover(machine: Automaton, least: int, rng: np.random.Generator) -> list[tuple[Actions, int]]:
    """Sequences and counts that give every edge `least` readings, several edges at a time.

    Of a level with many states, only as many are covered as it takes to predict the rest.

    An episode reads every edge it passes, so each sequence goes on past the edge it is for, along
    whatever is still short of readings; where nobody has been yet, by actions drawn at random.
    """
    short = shortage(machine, least)
    wanted = list[tuple[Actions, int]]()
    for level, layer in enumerate(machine.layers):
        for state, action in layer.edges:
            if (count := int(short[level][state, action])) > 0:
                onwards = _onwards(machine, short, level, (state, action), rng)
                actions = (*layer.prefixes[state], action, *onwards)
                _charge(machine, short, actions, count)
                wanted.append((actions, count))
    return wanted


def _onwards(
    machine: Automaton,
    short: list[FloatArray],
    level: int,
    edge: Edge,
    rng: np.random.Generator,
) -> Actions:
    """How to go on after the edge so that as many edges as possible that are short get read."""
    gains = _gains(machine, short)
    actions, useful = list[int](), 0
    state = int(machine.layers[level].target[edge])
    for below in range(level + 1, machine.horizon):
        known = len(machine.layers[below].prefixes)
        if state == UNKNOWN and _only_measures(machine, below):
            break  # what is read before it says whether that was measured already
        if state == UNKNOWN and known:
            # Nobody has taken this edge. It most likely leads to a state already seen: suppose one
            # of them at random, and go on as would be best from there.
            state = int(rng.integers(known))
        if state == UNKNOWN:
            actions.append(int(rng.integers(machine.layers[below].n_actions)))
            useful = len(actions)
            continue
        gain = gains[below][state]
        if gain.max() <= 0:
            break
        action = int(gain.argmax())
        actions.append(action)
        if short[below][state, action] > 0:
            useful = len(actions)
        state = int(machine.layers[below].target[state, action])
    return tuple(actions[:useful])


def _only_measures(machine: Automaton, level: int) -> bool:
    """Whether a level is the last one and leaves no choice, while others do."""
    return level == machine.horizon - 1 and machine.layers[level].n_actions == 1 < machine.n_actions


def _gains(machine: Automaton, short: list[FloatArray]) -> list[FloatArray]:
    """Most edges that are short on a path that begins with each edge; [S, A] for each level."""
    gains = [(part > 0).astype(np.float64) for part in short]
    for level in range(machine.horizon - 2, -1, -1):
        if machine.layers[level + 1].prefixes:
            best = gains[level + 1].max(axis=1)
            target = machine.layers[level].target
            gains[level] += np.where(target == UNKNOWN, best.mean(), best[target])
        else:
            gains[level] += machine.layers[level].target == UNKNOWN
    return gains


def _charge(machine: Automaton, short: list[FloatArray], actions: Actions, count: int) -> None:
    """Take `count` off the shortage of every edge that the actions are known to pass."""
    state = 0
    for level, action in enumerate(actions):
        short[level][state, action] -= count
        state = int(machine.layers[level].target[state, action])
        if state == UNKNOWN:
            break


def onwards(
    machine: Automaton, root: Node, actions: Actions, counts: list[FloatArray], more: int
) -> Actions:
    """The actions, and then to the end by what was read least, as far as the machine is known.

    First by what was read least after these very actions, then by the edges read least. counts:
    readings of the edges of each level; raised by `more` along the way.
    """
    state, taken = 0, list(actions)
    for level, layer in enumerate(machine.layers):
        if level == len(actions):
            below = [root.walked((*actions, action)) for action in range(layer.n_actions)]
            taken.append(int(np.argmin(below)))
        elif level == len(taken):
            taken.append(int(counts[level][state].argmin()))
        counts[level][state, taken[level]] += more
        state = int(layer.target[state, taken[level]])
        if state == UNKNOWN:
            break
    return tuple(taken)


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
        self._gains = _gains(machine, self._short)

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

    def through(
        self, root: Node, start: Actions, counts: list[FloatArray], more: int
    ) -> Actions:
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


def sharpen(
    machine: Automaton,
    plan: Path,
    challenger: Challenger,
    spreads: Spreads,
    shortfalls: Spreads | None = None,
) -> list[tuple[Actions, int]]:
    """Sequences that tell the challenger from the plan at least cost.

    The spreads of the plan's edges are the shortfalls, where they differ. Beside each sequence
    stand the readings it has by now, not how many to run: the caller takes a share.

    A whole path is read at a time: the plan or the challenger.
    """
    level = challenger.level
    ours = list(enumerate(plan.edges))[level:]
    theirs = list(enumerate(challenger.path.edges, start=level))
    shared = set(ours) & set(theirs)
    options = list[tuple[float, Actions, int]]()
    for edges, whole, side in (
        (ours, plan.actions, shortfalls or spreads),
        (theirs, plan.actions[:level] + challenger.path.actions, spreads),
    ):
        apart = [place for place in edges if place not in shared]
        actions = whole[: apart[-1][0] + 1]
        counts = [machine.layers[h].count[edge] for h, edge in apart]
        # One more reading of an edge takes this share of its spread away.
        gain = sum(side[h][edge] / n for (h, edge), n in zip(apart, counts, strict=True))
        options.append((gain / steps_of(actions, machine.horizon), actions, int(min(counts))))
    _, actions, count = max(options, key=lambda option: option[0])
    return [(actions, count)]
