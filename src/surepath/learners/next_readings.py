"""Which sequences to run so that as much as possible is learned from each episode."""

from __future__ import annotations

from typing import NamedTuple

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
