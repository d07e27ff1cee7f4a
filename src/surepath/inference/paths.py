"""Paths through the machine: the best one, what could still beat it, and how to read it cheaply.

A path's value is a sum of reward means, and so is its uncertainty: every edge has a *spread*, the
spreads of the edges in which two paths differ add up, and `width` turns the sum into a half-width
of the difference of the two values (a square root where independent errors add in squares, the
identity where bounds add). Edges that two paths share do not matter to their difference.

For every place where the plan could be left, the path that is hardest to rule out is found exactly,
by carrying the Pareto front of (value, spread) backwards through the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from surepath.inference.states import UNKNOWN, Automaton, Edge, Layer
from surepath.inference.values import LEAST_POINTS, Values
from surepath.system import Actions, FloatArray, IntArray, steps_of

MOST_LABELS = 64
"""A longer front is thinned by rounding spreads up, which can only widen what it says."""

Width: TypeAlias = Callable[[FloatArray], FloatArray]
"""From summed spreads to half-widths."""

Spreads: TypeAlias = list[FloatArray]
"""Of every edge, [S, A] for each level."""


@dataclass(frozen=True, slots=True)
class Path:
    edges: list[Edge]  # one for each level passed
    end: int  # the state it stops at, when that is not expanded

    @property
    def actions(self) -> Actions:
        return tuple(action for _, action in self.edges)


@dataclass(frozen=True, slots=True)
class Challenger:
    """The path that leaves the plan at a level by an action and is hardest to rule out."""

    level: int
    action: int
    margin: float  # lead of the plan, estimated
    width: float  # half-width of the lead
    path: Path  # from the level on
    guessed: float  # share of the spread that comes from a state not expanded
    excess: float  # by how much the width is too large; negative when the question is settled
    loss: float  # the most that any path through this deviation can gain on the plan


@dataclass(frozen=True, slots=True)
class _Front:
    """Continuations from one state that no other beats in both value and spread."""

    mean: FloatArray  # [L], increasing
    spread: FloatArray  # [L], decreasing
    action: IntArray  # [L], first action
    after: IntArray  # [L], label at the state that follows


def best_path(machine: Automaton, values: Values) -> Path:
    """The path of largest estimated value, as far as its states are expanded."""
    edges, state = list[Edge](), 0
    for layer, q in zip(machine.layers, values.q, strict=True):
        if not layer.expanded[state]:
            break
        edges.append((state, int(q[state].argmax())))
        state = int(layer.target[edges[-1]])
    return Path(edges, end=state)


def challengers(
    machine: Automaton,
    plan: Path,
    values: Values,
    spreads: Spreads,
    guesses: list[FloatArray],
    width: Width,
    excess: Callable[[FloatArray, FloatArray], FloatArray],
) -> list[Challenger]:
    """For every deviation from the plan, the path with the largest excess(margin, width)."""
    signed = [spread.copy() for spread in spreads]
    for level, edge in enumerate(plan.edges):
        # A path that comes back to the plan shares this edge with it: its spread is not added, and
        # that of the plan, counted below, is taken back.
        signed[level][edge] *= -1
    fronts = _fronts(machine, values, guesses, signed)
    found = list[Challenger]()
    value = spread = 0.0
    for level in range(machine.horizon - 1, -1, -1):
        state, chosen = plan.edges[level]
        value += float(machine.layers[level].mean[state, chosen])
        spread += float(spreads[level][state, chosen])
        for action in range(machine.n_actions):
            if action != chosen:
                mean, more, _ = _step(machine, fronts, signed, level, (state, action))
                margins, total = value - mean, np.maximum(spread + more, 0.0)
                widths = width(total)
                beyond = excess(margins, widths)
                worst = int(beyond.argmax())
                path = _trace(machine, fronts, level, (state, action), worst)
                stop = level + len(path.edges)
                guess = 0.0 if stop == machine.horizon else float(guesses[stop][path.end])
                found.append(
                    Challenger(
                        level=level,
                        action=action,
                        margin=float(margins[worst]),
                        width=float(widths[worst]),
                        path=path,
                        guessed=guess / float(total[worst]) if guess else 0.0,
                        excess=float(beyond[worst]),
                        loss=float((widths - margins).max()),
                    )
                )
    return found[::-1]


def _fronts(
    machine: Automaton, values: Values, guesses: list[FloatArray], signed: Spreads
) -> list[list[_Front]]:
    fronts: list[list[_Front]] = [[] for _ in machine.layers]
    for level in range(machine.horizon - 1, -1, -1):
        best, expanded = values.best(level), machine.layers[level].expanded
        for state in range(len(best)):
            if not expanded[state]:
                fronts[level].append(_guess(float(best[state]), float(guesses[level][state])))
                continue
            steps = [
                _step(machine, fronts, signed, level, (state, action))
                for action in range(machine.n_actions)
            ]
            fronts[level].append(_front(steps))
    return fronts


def _guess(value: float, spread: float) -> _Front:
    """What is predicted of a state that was not expanded: the paths end there."""
    end = np.full(1, UNKNOWN)
    return _Front(np.array([value]), np.array([spread]), end, end)


def _step(
    machine: Automaton, fronts: list[list[_Front]], signed: Spreads, level: int, edge: Edge
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Values, spreads and labels of the continuations that begin with the edge."""
    layer = machine.layers[level]
    mean, spread = layer.mean[edge], signed[level][edge]
    if level == machine.horizon - 1:
        return np.array([mean]), np.array([spread]), np.zeros(1, dtype=np.int64)
    front = fronts[level + 1][int(layer.target[edge])]
    return mean + front.mean, spread + front.spread, np.arange(len(front.mean))


def _front(steps: list[tuple[FloatArray, FloatArray, IntArray]]) -> _Front:
    mean, spread, after = (np.concatenate(parts) for parts in zip(*steps, strict=True))
    action = np.repeat(np.arange(len(steps)), [len(part[0]) for part in steps])
    # Whoever is worth less and is known better is ruled out with whoever is worth more.
    order = np.lexsort((-mean, -spread))
    best = np.maximum.accumulate(mean[order])
    keep = order[np.concatenate([[True], best[1:] > best[:-1]])]
    widest = keep
    if len(keep) > MOST_LABELS:
        # Each label kept stands for those before it: at least their value, the widest spread.
        ends = np.unique(np.linspace(0, len(keep) - 1, MOST_LABELS).round().astype(int))
        starts = np.concatenate([[0], ends[:-1] + 1])
        widest, keep = keep[starts], keep[ends]
    return _Front(mean[keep], spread[widest], action[keep], after[keep])


def _trace(
    machine: Automaton, fronts: list[list[_Front]], level: int, edge: Edge, label: int
) -> Path:
    edges = [edge]
    state = int(machine.layers[level].target[edge])
    for below in range(level + 1, machine.horizon):
        front = fronts[below][state]
        if front.action[label] == UNKNOWN:
            break
        edges.append((state, int(front.action[label])))
        label = int(front.after[label])
        state = int(machine.layers[below].target[edges[-1]])
    return Path(edges, end=state)


def cover(machine: Automaton, least: int, rng: np.random.Generator) -> list[tuple[Actions, int]]:
    """Sequences and counts that give every edge `least` readings, several edges at a time.

    Where a level has many states, the edges of so many of them that the rest can be predicted.

    An episode reads every edge it passes, so each sequence goes on past the edge it is for, along
    whatever is still short of readings; where nobody has been yet, by actions drawn at random.
    """
    short = shortage(machine, least)
    wanted = list[tuple[Actions, int]]()
    for level, layer in enumerate(machine.layers):
        for state, action in _edges(layer):
            if (count := int(short[level][state, action])) > 0:
                onwards = _onwards(machine, short, level, (state, action), rng)
                actions = (*layer.prefixes[state], action, *onwards)
                _charge(machine, short, actions, count)
                wanted.append((actions, count))
    return wanted


def shortage(machine: Automaton, least: int) -> list[FloatArray]:
    """How many readings each edge is short of; [S, A] for each level."""
    short = [np.maximum(least - layer.count, 0.0) for layer in machine.layers]
    for part, layer in zip(short, machine.layers, strict=True):
        if layer.points is not None:
            tried = layer.expanded
            # Those already tried, then those read most.
            order = np.lexsort((-layer.count.sum(axis=1), ~tried))
            part[order[max(int(tried.sum()), LEAST_POINTS) :]] = 0.0
    return short


def missing(machine: Automaton, least: int) -> bool:
    """Whether an edge that has to be read was read fewer times."""
    return any(bool(part.any()) for part in shortage(machine, least))


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
        known = len(machine.layers[below].members)
        if state == UNKNOWN and known:
            # It leads somewhere, most likely to a state already seen: aim for one that is short.
            state = int(rng.integers(known))
        if state == UNKNOWN:
            actions.append(int(rng.integers(machine.n_actions)))
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


def _gains(machine: Automaton, short: list[FloatArray]) -> list[FloatArray]:
    """Most edges that are short on a path that begins with each edge; [S, A] for each level."""
    gains = [(part > 0).astype(np.float64) for part in short]
    for level in range(machine.horizon - 2, -1, -1):
        if len(machine.layers[level + 1].members):
            best = gains[level + 1].max(axis=1)
            target = machine.layers[level].target
            gains[level] += np.where(target == UNKNOWN, best.mean(), best[target])
        else:
            gains[level] += machine.layers[level].target == UNKNOWN
    return gains


def _charge(machine: Automaton, short: list[FloatArray], actions: Actions, count: int) -> None:
    state = 0
    for level, action in enumerate(actions):
        short[level][state, action] -= count
        state = int(machine.layers[level].target[state, action])
        if state == UNKNOWN:
            break


def sharpen(
    machine: Automaton, plan: Path, rival: Challenger, spreads: Spreads, *, pools: bool
) -> list[tuple[Actions, int]]:
    """Sequences that tell the rival from the plan at least cost, each with the readings it has.

    Where the nodes of a state count as one, a whole path is read at a time: the plan or the rival.
    Where only the node that stands for a state counts, the widest edge is read at that node, and so
    is the state it is taken to lead to.
    """
    level = rival.level
    ours = list(enumerate(plan.edges))[level:]
    theirs = list(enumerate(rival.path.edges, start=level))
    shared = set(ours) & set(theirs)
    if not pools:
        apart = [place for place in ours + theirs if place not in shared]
        return _at_widest(machine, apart, spreads)
    options = list[tuple[float, Actions, int]]()
    for edges, whole in ((ours, plan.actions), (theirs, plan.actions[:level] + rival.path.actions)):
        apart = [place for place in edges if place not in shared]
        actions = whole[: apart[-1][0] + 1]
        counts = [machine.layers[h].count[edge] for h, edge in apart]
        # One more reading of an edge takes this share of its spread away.
        gain = sum(spreads[h][edge] / n for (h, edge), n in zip(apart, counts, strict=True))
        options.append((gain / steps_of(actions, machine.horizon), actions, int(min(counts))))
    _, actions, count = max(options, key=lambda option: option[0])
    return [(actions, count)]


def _at_widest(
    machine: Automaton, places: list[tuple[int, Edge]], spreads: Spreads
) -> list[tuple[Actions, int]]:
    level, edge = max(places, key=lambda place: float(spreads[place[0]][place[1]]))
    layer = machine.layers[level]
    wanted = list[tuple[Actions, int]]()
    wanted.append(((*layer.prefixes[edge[0]], edge[1]), int(layer.count[edge])))
    if level + 1 < machine.horizon:
        below = machine.layers[level + 1]
        state = int(layer.target[edge])
        if below.members[state][0].count <= layer.count[edge]:
            wanted.append((below.prefixes[state], below.members[state][0].count))
    return wanted


def _edges(layer: Layer) -> Iterator[Edge]:
    states, actions = layer.count.shape
    return ((state, action) for state in range(states) for action in range(actions))


def reach(machine: Automaton) -> list[FloatArray]:
    """The most that can have been collected on the way to each state; [S] for each level."""
    best = [np.full(len(layer.members), -np.inf) for layer in machine.layers]
    best[0][0] = 0.0
    for level, layer in enumerate(machine.layers[:-1]):
        arrive = best[level][:, None] + layer.mean
        for edge in _edges(layer):
            target = layer.target[edge]
            if target != UNKNOWN:
                best[level + 1][target] = max(best[level + 1][target], arrive[edge])
    return best
