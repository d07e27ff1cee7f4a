"""Which sequences to run so that as much as possible is learned from each episode."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from surepath.inference.coverage import shortage
from surepath.inference.judgement import Judgement
from surepath.inference.paths import Challenger, Path, Spreads, reach
from surepath.inference.states import UNKNOWN, Automaton, Edge
from surepath.inference.tuning import TUNING
from surepath.readings.trie import Node
from surepath.system import Actions, FloatArray, steps_of

Place: TypeAlias = tuple[int, Edge]
"""A level, and an edge there."""


def cover(
    machine: Automaton,
    least: Sequence[int],
    most_from: Callable[[int], float],
    rng: np.random.Generator,
    *,
    merges: bool = True,
) -> list[tuple[Actions, int]]:
    """Sequences and counts that give every edge the `least` of its level, several at a time.

    Of a level with many states, only as many are covered as it takes to predict the rest.

    An episode reads every edge it passes, so each sequence goes on past the edge it is for, along
    whatever is still short of readings; where nobody has been yet, by actions drawn at random. What
    it only probably passes counts as read too: what is short after all is seen when it was run.
    merges: whether prefixes may be one state; else what nobody has taken leads nowhere known.
    """
    short = shortage(machine, least, most_from)
    gains = Gains(machine, short)
    wanted = list[tuple[Actions, int]]()
    for level, layer in enumerate(machine.layers):
        for state, action in np.argwhere(short[level] > 0).tolist():
            if (count := int(short[level][state, action])) > 0:
                onwards, supposed = _onwards(machine, short, gains, level, (state, action), rng)
                actions = (*layer.prefixes[state], action, *onwards)
                edges = [*_passed(machine, actions), *(supposed if merges else ())]
                gains.renew(_charge(short, edges, count), level)
                wanted.append((actions, count))
    return wanted


def _onwards(
    machine: Automaton,
    short: list[FloatArray],
    gains: Gains,
    level: int,
    edge: Edge,
    rng: np.random.Generator,
) -> tuple[Actions, list[Place]]:
    """How to go on after the edge so that as many edges as possible that are short get read.

    And the edges that are passed if states are what they are supposed to be.
    """
    actions, useful, edges = list[int](), 0, list[Place]()
    state = int(machine.layers[level].target[edge])
    supposed = False  # whether where it leads was only guessed on the way
    for below in range(level + 1, machine.horizon):
        known = len(machine.layers[below].prefixes)
        supposed |= state == UNKNOWN
        if supposed and _only_measures(machine, below):
            break  # what is read before it says whether that was measured already
        if state == UNKNOWN and known:
            # Nobody has taken this edge. It most likely leads to a state already seen: suppose one
            # of them at random, and go on as would be best from there.
            state = int(rng.integers(known))
        if state == UNKNOWN:
            actions.append(int(rng.integers(machine.layers[below].n_actions)))
            useful = len(actions)
            continue
        gain = gains.levels[below][state]
        if gain.max() <= 0:
            break
        action = int(gain.argmax())
        actions.append(action)
        if short[below][state, action] > 0:
            useful = len(actions)
        if supposed:
            edges.append((below, (state, action)))
        state = int(machine.layers[below].target[state, action])
    return tuple(actions[:useful]), [place for place in edges if place[0] <= level + useful]


def _only_measures(machine: Automaton, level: int) -> bool:
    """Whether a level is the last one and leaves no choice, while others do."""
    return level == machine.horizon - 1 and machine.layers[level].n_actions == 1 < machine.n_actions


class Gains:
    """Most edges that are short on a path that begins with each edge.

    As edges stop being short, only what that changes is computed anew.
    """

    def __init__(self, machine: Automaton, short: list[FloatArray]) -> None:
        self._machine, self._short = machine, short
        self.levels = [np.zeros(part.shape) for part in short]  # [S, A] for each level
        self._best = [np.full(len(part), np.nan) for part in short]  # by any action
        self.renew(range(machine.horizon), -1)

    def renew(self, changed: Container[int], down_to: int) -> None:
        """Edges of these levels are short no more; levels above are not asked for again."""
        moved = False
        for level in range(self._machine.horizon - 1, down_to, -1):
            if moved or level in changed:
                self.levels[level] = self._of(level)
                best = self.levels[level].max(axis=1)
                moved = not np.array_equal(best, self._best[level])
                self._best[level] = best

    def _of(self, level: int) -> FloatArray:
        gains = (self._short[level] > 0).astype(np.float64)
        if level == self._machine.horizon - 1:
            return gains
        unknown = self._machine.layers[level].target == UNKNOWN
        best = self._best[level + 1]
        if not len(best):
            return gains + unknown
        return gains + np.where(unknown, best.mean(), best[self._machine.layers[level].target])


def _passed(machine: Automaton, actions: Actions) -> Iterator[Place]:
    """The edges that the actions are known to pass."""
    state = 0
    for level, action in enumerate(actions):
        yield level, (state, action)
        state = machine.layers[level].target.item(state, action)
        if state == UNKNOWN:
            break


def _charge(short: list[FloatArray], edges: Iterable[Place], count: int) -> Container[int]:
    """Take `count` off the shortage of edges; returns the levels where one is short no more."""
    changed = set[int]()
    for level, edge in edges:
        left = short[level].item(*edge)
        short[level][edge] = left - count
        if left > 0 >= left - count:
            changed.add(level)
    return changed


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


class Side(NamedTuple):
    """What tells the plan from a challenger: one of the two."""

    gain: float  # how much of their width one more reading takes away, for each of its steps
    actions: Actions  # as far as the two differ
    readings: int  # by now


def sides(
    machine: Automaton,
    plan: Path,
    challenger: Challenger,
    spreads: Spreads,
    shortfalls: Spreads | None = None,
) -> tuple[Side, Side]:
    """The plan and the challenger, each a whole path that can be read.

    The spreads of the plan's edges are the shortfalls, where they differ.
    """
    level = challenger.level
    ours = list(enumerate(plan.edges))[level:]
    theirs = list(enumerate(challenger.path.edges, start=level))
    shared = set(ours) & set(theirs)
    whole = plan.actions[:level] + challenger.path.actions

    def side(edges: list[tuple[int, Edge]], actions: Actions, spread: Spreads) -> Side:
        apart = [place for place in edges if place not in shared]
        actions = actions[: apart[-1][0] + 1]
        counts = [machine.layers[h].count[edge] for h, edge in apart]
        # One more reading of an edge takes this share of its spread away.
        gain = sum(spread[h][edge] / n for (h, edge), n in zip(apart, counts, strict=True))
        return Side(gain / steps_of(actions, machine.horizon), actions, int(min(counts)))

    return side(ours, plan.actions, shortfalls or spreads), side(theirs, whole, spreads)


def sharpen(
    machine: Automaton,
    plan: Path,
    challenger: Challenger,
    spreads: Spreads,
    shortfalls: Spreads | None = None,
) -> list[tuple[Actions, int]]:
    """Sequences that tell the challenger from the plan at least cost.

    Beside each sequence stand the readings it has by now, not how many to run: the caller takes a
    share. A whole path is read at a time: the plan or the challenger.
    """
    found = sides(machine, plan, challenger, spreads, shortfalls)
    best = max(found, key=lambda side: side.gain)
    return [(best.actions, best.readings)]


def explore(judged: Judgement, first: Sequence[int], at_once: int) -> list[tuple[Actions, int]]:
    """Expand where the best path ends, and a few states that promise as much."""
    machine, level = judged.machine, len(judged.plan.edges)
    expanded = machine.layers[level].expanded
    promise = reach(machine)[level] + judged.values.best(level)
    as_good = promise >= promise[judged.plan.end] - judged.tolerance
    order = np.argsort(-promise, kind="stable")
    others = [int(state) for state in order if as_good[state] and not expanded[state]]
    room = at_once // (machine.layers[level].n_actions * first[level])
    most = max(1, int(TUNING.expanded_at_once * expanded.sum()), room)
    chosen = dict.fromkeys([judged.plan.end, *others])
    return [
        request
        for state in list(chosen)[:most]
        for request in expand(machine, level, state, first[level])
    ]


def expand(machine: Automaton, level: int, state: int, first: int) -> list[tuple[Actions, int]]:
    """Every action at a state."""
    layer = machine.layers[level]
    return [((*layer.prefixes[state], action), first) for action in range(layer.n_actions)]
