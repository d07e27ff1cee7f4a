"""Paths through the machine: the best one, and what could still beat it.

A path's value is a sum of reward means, and so is its uncertainty: every edge has a *spread*, the
spreads of the edges in which two paths differ add up, and `width` turns the sum into a half-width
of the difference of the two values (a square root where independent errors add in squares, the
identity where bounds add). Edges that two paths share do not matter to their difference.

For every place where the plan could be left, the path that is hardest to rule out is found exactly,
by carrying the Pareto front of (value, spread) backwards through the machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from surepath.inference.states import UNKNOWN, Automaton, Edge
from surepath.inference.tuning import TUNING
from surepath.inference.values import Values
from surepath.system import Actions, FloatArray, IntArray

Width: TypeAlias = Callable[[FloatArray], FloatArray]
"""From summed spreads to half-widths."""

Spreads: TypeAlias = list[FloatArray]
"""Of every edge, [S, A] for each level."""

LARGEST_FRONT = 2**14
"""Continuations of a state beyond which no more are told apart: a few megabytes."""


@dataclass(frozen=True, slots=True)
class Path:
    edges: list[Edge]  # one for each level passed
    end: int  # the state it stops at because that is not expanded; means nothing where whole

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

    @property
    def growth(self) -> float:
        """The share of more readings that would settle the question; infinite where none would.

        Widths shrink with the root of the readings.
        """
        allowed = self.width - self.excess
        return (self.width / allowed) ** 2 - 1 if allowed > 0 else math.inf


@dataclass(frozen=True, slots=True)
class _Front:
    """Continuations from one state that may be hardest to rule out; each is called a label.

    One is left out where another has at least as much value and at least as much spread.
    """

    mean: FloatArray  # [L], increasing
    spread: FloatArray  # [L], decreasing
    action: IntArray  # [L], first action
    after: IntArray  # [L], position of the rest of the path in the front of the next state


def best_path(machine: Automaton, values: Values) -> Path:
    """The path of largest estimated value, as far as its states are expanded."""
    edges, state = list[Edge](), 0
    for layer, q in zip(machine.layers, values.q, strict=True):
        if not layer.expanded[state]:
            break
        edges.append((state, int(q[state].argmax())))
        state = int(layer.target[edges[-1]])
    return Path(edges, end=state)


def best_known(machine: Automaton) -> Actions:
    """The most promising of what was tried, while too little was read to judge all of it.

    Where an edge leads is worth what the states of that level are worth on average, if nobody has
    gone on from there.
    """
    after, chosen = np.zeros(1), list[IntArray]()
    for layer in reversed(machine.layers):
        known = layer.count > 0
        usual = float(after[np.isfinite(after)].mean()) if np.isfinite(after).any() else 0.0
        onwards = np.where(np.isfinite(after), after, usual) if len(after) else np.zeros(1)
        follows = np.where(layer.target == UNKNOWN, usual, onwards[layer.target])
        q = np.where(known, layer.mean + follows, -np.inf)
        chosen.append(q.argmax(axis=1))
        after = q.max(axis=1)
    actions, state = list[int](), 0
    for layer, best in zip(machine.layers, reversed(chosen), strict=True):
        if state == UNKNOWN or not layer.count[state].any():
            break
        actions.append(int(best[state]))
        state = int(layer.target[state, actions[-1]])
    return tuple(actions)


def challengers(
    machine: Automaton,
    plan: Path,
    values: Values,
    spreads: Spreads,
    guesses: list[FloatArray],
    width: Width,
    excess: Callable[[FloatArray, FloatArray], FloatArray],
    shortfalls: Spreads | None = None,
    among: float = 1.0,
    most_labels: int | None = None,
) -> list[Challenger]:
    """For every deviation from the plan, the path with the largest excess(margin, width).

    Of a challenger it matters what its edges may be worth more than they seem (`spreads`), of the
    plan what they may be worth less (`shortfalls`; without them the same). among: how much wider a
    difference is that the plan does not lead for certain. most_labels: continuations that are told
    apart from each state at first, where that is not the usual number. Where a question is open
    only because so few are, more of them are.
    """
    labels = most_labels or TUNING.most_labels
    while True:
        found, thinned = _challengers(
            machine, plan, values, spreads, guesses, width, excess, shortfalls, among, labels
        )
        if not thinned or labels >= LARGEST_FRONT:
            return found
        labels *= 4


def _challengers(
    machine: Automaton,
    plan: Path,
    values: Values,
    spreads: Spreads,
    guesses: list[FloatArray],
    width: Width,
    excess: Callable[[FloatArray, FloatArray], FloatArray],
    shortfalls: Spreads | None,
    among: float,
    most_labels: int,
) -> tuple[list[Challenger], bool]:
    """The challengers; and whether one is open only by what thinning added to its spread."""
    own = spreads if shortfalls is None else shortfalls
    signed = [spread.copy() for spread in spreads]
    for level, edge in enumerate(plan.edges):
        # A path that comes back to the plan shares this edge with it: its spread is not added, and
        # that of the plan, counted below, is taken back.
        signed[level][edge] = -own[level][edge]
    fronts = _fronts(machine, values, guesses, signed, most_labels)
    found, thinned = list[Challenger](), False
    value = spread = 0.0
    for level in range(machine.horizon - 1, -1, -1):
        state, chosen = plan.edges[level]
        value += float(machine.layers[level].mean[state, chosen])
        spread += float(own[level][state, chosen])
        for action in range(machine.layers[level].n_actions):
            if action != chosen:
                mean, more, _ = _step(machine, fronts, signed, level, (state, action))
                margins, total = value - mean, np.maximum(spread + more, 0.0)
                widths = width(total)
                beyond = excess(margins, widths)
                gains = np.where(widths < margins, widths, among * widths) - margins
                worst = int(beyond.argmax())
                path = _trace(machine, fronts, level, (state, action), worst)
                stop = level + len(path.edges)
                guess = 0.0 if stop == machine.horizon else float(guesses[stop][path.end])
                passed = (signed[h].item(*edge) for h, edge in enumerate(path.edges, start=level))
                alone = np.maximum(spread + guess + math.fsum(passed), 0.0)
                thinned |= bool(excess(margins[worst], width(alone)) < 0 <= beyond[worst])
                found.append(
                    Challenger(
                        level=level,
                        action=action,
                        margin=float(margins[worst]),
                        width=float(widths[worst]),
                        path=path,
                        guessed=guess / float(total[worst]) if guess else 0.0,
                        excess=float(beyond[worst]),
                        loss=float(gains.max()),
                    )
                )
    return found[::-1], thinned


def _fronts(
    machine: Automaton,
    values: Values,
    guesses: list[FloatArray],
    signed: Spreads,
    most_labels: int,
) -> list[list[_Front]]:
    fronts: list[list[_Front]] = [[] for _ in machine.layers]
    for level in range(machine.horizon - 1, -1, -1):
        layer = machine.layers[level]
        best, expanded = values.best(level), layer.expanded
        for state in range(len(best)):
            if not expanded[state]:
                fronts[level].append(_guess(float(best[state]), float(guesses[level][state])))
                continue
            steps = [
                _step(machine, fronts, signed, level, (state, action))
                for action in range(layer.n_actions)
            ]
            fronts[level].append(_front(steps, most_labels))
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


def _front(steps: list[tuple[FloatArray, FloatArray, IntArray]], most_labels: int) -> _Front:
    mean, spread, after = (np.concatenate(parts) for parts in zip(*steps, strict=True))
    action = np.repeat(np.arange(len(steps)), [len(part[0]) for part in steps])
    # A continuation with less value and less spread than another is ruled out when that one is.
    order = np.lexsort((-mean, -spread))
    best = np.maximum.accumulate(mean[order])
    keep = order[np.concatenate([[True], best[1:] > best[:-1]])]
    widest = keep
    if len(keep) > most_labels:
        # Each label kept stands for those before it: at least their value, the widest spread.
        ends = np.unique(np.linspace(0, len(keep) - 1, most_labels).round().astype(int))
        starts = np.concatenate([[0], ends[:-1] + 1])
        widest, keep = keep[starts], keep[ends]
    return _Front(mean[keep], spread[widest], action[keep], after[keep])


def _trace(
    machine: Automaton, fronts: list[list[_Front]], level: int, edge: Edge, label: int
) -> Path:
    edges = [edge]
    state: int = machine.layers[level].target.item(*edge)
    for below in range(level + 1, machine.horizon):
        front = fronts[below][state]
        action: int = front.action.item(label)
        if action == UNKNOWN:
            break
        edges.append((state, action))
        label = front.after.item(label)
        state = machine.layers[below].target.item(state, action)
    return Path(edges, end=state)


def reach(machine: Automaton, rewards: Sequence[FloatArray] | None = None) -> list[FloatArray]:
    """The most that can have been collected on the way to each state; [S] for each level.

    rewards: of every edge, [S, A] for each level, where it is not what they pay on average.
    """
    paid = rewards or [layer.mean for layer in machine.layers]
    best = [np.full(len(layer.prefixes), -np.inf) for layer in machine.layers]
    best[0][0] = 0.0
    for level, layer in enumerate(machine.layers[:-1]):
        arrive = best[level][:, None] + paid[level]
        known = layer.target != UNKNOWN
        np.maximum.at(best[level + 1], layer.target[known], arrive[known])
    return best
