"""Methods that are told what nobody tells surepath: which prefixes lead to the same state.

They know the graph of hidden states and read only its rewards, so their price beside surepath's is
the price of not seeing states. Every edge (state and action of a level) has a mean and a count,
pooled over all sequences that pass it; the value of a plan is a sum of such means.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from surepath.baselines.openloop import OpenLoop
from surepath.errors import InputError
from surepath.learners.base import Answer
from surepath.system import Actions, FloatArray, IntArray
from surepath.validate import between

MOST_EDGES = 2**12
"""Edges of a graph that can be listed."""

DIGITS = 9
"""In which two states agree that are one."""

Move: TypeAlias = Callable[[int, Any, int], Any]
"""The state after a step, a state and an action."""

Weights: TypeAlias = list[FloatArray]
"""A number for every edge, [S, A] for each level."""


@dataclass(frozen=True, slots=True)
class Graph:
    """Which states there are at each level, and where their actions lead."""

    targets: list[IntArray]  # [S, A] for each level but the last

    @classmethod
    def of(cls, start: Any, move: Move, horizon: int, n_actions: int) -> Graph:
        """All that can be reached."""
        states, targets, edges = [start], list[IntArray](), n_actions
        for level in range(horizon - 1):
            known, below = dict[Hashable, int](), dict[int, Any]()
            target = np.zeros((len(states), n_actions), dtype=np.int64)
            for place, (state, action) in enumerate(product(states, range(n_actions))):
                reached = move(level, state, action)
                number = known.setdefault(_key(reached), len(known))
                below.setdefault(number, reached)
                target.flat[place] = number
            targets.append(target)
            states = list(below.values())
            edges += n_actions * len(states)
            if edges > MOST_EDGES:
                raise InputError(
                    f"a method that lists all states takes at most {MOST_EDGES} of their actions",
                    got=f"more at level {level + 1} of {horizon}",
                    remedy="Shorten the horizon, or use a method that lists none.",
                )
        return cls(targets)

    def zeros(self, n_actions: int) -> Weights:
        sizes = [1, *(int(target.max()) + 1 for target in self.targets)]
        return [np.zeros((size, n_actions)) for size in sizes]

    def onwards(self, weights: Weights) -> Weights:
        """The most that a path collects from each edge on."""
        q = [weights[-1]]
        for target, own in zip(reversed(self.targets), reversed(weights[:-1]), strict=True):
            q.append(own + q[-1].max(axis=1)[target])
        return q[::-1]

    def through(self, weights: Weights) -> Weights:
        """The most that a path collects which passes each edge."""
        q, reached = self.onwards(weights), np.zeros(1)
        found = list[FloatArray]()
        for level, onwards in enumerate(q):
            found.append(reached[:, None] + onwards)
            if level < len(self.targets):
                arrive = reached[:, None] + weights[level]
                reached = np.full(len(q[level + 1]), -np.inf)
                np.maximum.at(reached, self.targets[level], arrive)
        return found

    def best(self, weights: Weights) -> Actions:
        """The path that collects most."""
        state, actions = 0, list[int]()
        for level, q in enumerate(self.onwards(weights)):
            actions.append(int(q[state].argmax()))
            if level < len(self.targets):
                state = int(self.targets[level][state, actions[-1]])
        return tuple(actions)

    def edges(self, actions: Actions) -> list[tuple[int, int]]:
        """State and action of a path at every level."""
        state, found = 0, list[tuple[int, int]]()
        for level, action in enumerate(actions):
            found.append((state, action))
            if level < len(self.targets):
                state = int(self.targets[level][state, action])
        return found


def _key(state: Any) -> Hashable:
    """What two ways to one state agree in, whatever they rounded on the way."""
    if isinstance(state, tuple):
        return tuple(_key(part) for part in cast("tuple[Any, ...]", state))
    if isinstance(state, int):
        return state
    return tuple(np.round(np.asarray(state, dtype=np.float64), DIGITS).ravel().tolist())


class Told(OpenLoop):
    """Pools rewards by edge of a graph that it is told; the best path of the means is its plan."""

    needs_range = True

    def __init__(
        self, horizon: int, n_actions: int, start: Any, move: Move, **options: Any
    ) -> None:
        super().__init__(horizon, n_actions, **options)
        self.graph = Graph.of(start, move, horizon, n_actions)
        self.counts = self.graph.zeros(n_actions)
        self._totals = self.graph.zeros(n_actions)

    @property
    def means(self) -> Weights:
        """Of what was read; the middle of the range where nothing was."""
        pairs = zip(self._totals, self.counts, strict=True)
        return [np.where(n > 0, total / np.maximum(n, 1), 0.5) for total, n in pairs]

    def radii(self, scale: float) -> Weights:
        """sqrt(scale / (2 n)), at most the whole range of a reward."""
        return [np.minimum(np.sqrt(scale / (2 * np.maximum(n, 1e-9))), 1.0) for n in self.counts]

    def _advance(self, answers: list[Answer] | None) -> None:
        for answer in answers or ():
            edges, count = self.graph.edges(answer.raw.actions), answer.raw.count
            for level, (edge, reward) in enumerate(zip(edges, self._rewards(answer), strict=True)):
                self.counts[level][edge] += count
                self._totals[level][edge] += count * reward
        if answers:
            self.incumbent = self.graph.best(self.means)
        self._pending = tuple(self._request(actions, count) for actions, count in self._next())
        if not self._pending:
            self.plan = ()

    @abstractmethod
    def _next(self) -> Sequence[tuple[Actions, int]]:
        """Sequences to play and how often; none at the end."""

    def _cover(self, wanted: Sequence[NDArray[np.bool_]]) -> list[Actions]:
        """Paths that pass all the wanted edges, each as many that are left as it can."""
        left = [part.astype(np.float64) for part in wanted]
        paths = list[Actions]()
        while any(part.any() for part in left):
            paths.append(self.graph.best(left))
            for level, edge in enumerate(self.graph.edges(paths[-1])):
                left[level][edge] = 0.0
        return paths


class _Sure(Told):
    """Methods that stop when they are sure."""

    def __init__(
        self, horizon: int, n_actions: int, start: Any, move: Move, *, delta: float = 0.05,
        width: float = 1.0, **options: Any,
    ) -> None:  # fmt: skip
        """width: what stands before the logarithm under the root of an interval; 1 is Hoeffding's,
        and a smaller one is what it can be tuned to.
        """
        super().__init__(horizon, n_actions, start, move, **options)
        self.delta = between("delta", delta, 0, 1)
        self.width = between("width", width, 0, math.inf)


class ToldLucb(_Sure):
    """LUCB for paths: what looks best, and what could be better, until they are one.

    CLUCB of Chen, Lin, King, Lyu and Chen, "Combinatorial Pure Exploration of Multi-Armed Bandits"
    (NeurIPS 2014), on edges: the best path is set against the best one when its own edges are worth
    as little as they may be and all others as much. Of the edges in which the two differ the one
    read least is read again, by the path that passes it.
    """

    def __init__(self, *system: Any, **options: Any) -> None:
        super().__init__(*system, **options)
        self._first = self._cover([n == 0 for n in self.counts])
        self._advance(None)

    def _next(self) -> Sequence[tuple[Actions, int]]:
        if self._first:
            first, self._first = self._first, []
            return [(actions, self.batch) for actions in first]
        edges = sum(n.size for n in self.counts)
        episodes = max(2, self.usage.episodes)
        level = math.log(4 * edges * episodes**3 / self.delta)
        radii = self.radii(self.width * level)
        means, plan = self.means, self.incumbent
        ours = self.graph.edges(plan)
        hoped = [mean + radius for mean, radius in zip(means, radii, strict=True)]
        for h, edge in enumerate(ours):
            hoped[h][edge] -= 2 * radii[h][edge]
        rival = self.graph.best(hoped)
        if rival == plan:
            return []
        theirs = self.graph.edges(rival)
        apart = [h for h in range(self.horizon) if ours[h] != theirs[h]]
        _, side = max(
            (radii[h][edges[h]], side)
            for side, edges in ((0, ours), (1, theirs))
            for h in apart
        )  # fmt: skip
        return [((plan, rival)[side], self.batch)]


class ToldHalving(Told):
    """Sequential halving on edges: of those left the half goes whose best path is worth least.

    The idea of Karnin, Koren and Somekh (ICML 2013; see `arms`), where arms share what they are
    made of. `episodes` are shared out evenly over the rounds, and in a round over paths that pass
    all edges that are left.
    """

    def __init__(
        self, horizon: int, n_actions: int, start: Any, move: Move, *, episodes: int,
        **options: Any,
    ) -> None:  # fmt: skip
        super().__init__(horizon, n_actions, start, move, **options)
        self.episodes = episodes
        self.left = [np.ones(n.shape, dtype=bool) for n in self.counts]
        self.rounds = math.ceil(math.log2(max(2, sum(part.size for part in self.left) / horizon)))
        self.begun = 0  # of them
        if self.episodes // self.rounds < len(self._cover(self.left)):
            raise InputError(
                "every action of every state must be played in the first round",
                got=f"{episodes} episodes in {self.rounds} rounds",
                remedy="Give more episodes.",
            )
        self._advance(None)

    def _next(self) -> Sequence[tuple[Actions, int]]:
        if self.begun:
            self._halve()
        if self.begun == self.rounds:
            return []
        self.begun += 1
        paths = self._cover(self.left)
        return [(path, max(1, self.episodes // (self.rounds * len(paths)))) for path in paths]

    def _halve(self) -> None:
        values = np.concatenate([part.ravel() for part in self.graph.through(self.means)])
        left = np.concatenate([part.ravel() for part in self.left])
        keep = max(self.horizon, math.ceil(left.sum() / 2))
        order = np.argsort(-np.where(left, values, -np.inf), kind="stable")
        kept = np.zeros(len(values), dtype=bool)
        kept[order[:keep]] = True
        ends = np.cumsum([part.size for part in self.left])[:-1]
        shaped = zip(np.split(kept, ends), self.left, strict=True)
        self.left = [part.reshape(old.shape) for part, old in shaped]


class ToldElimination(_Sure):
    """Identification of the best policy of a deterministic decision process with states known.

    Elimination with maximum coverage, after Tirinzoni, Al-Marjani and Kaufmann, "Near
    Instance-Optimal PAC Reinforcement Learning for Deterministic MDPs" (NeurIPS 2022): edges whose
    best path may still be the best one are all read as often, twice as often in every phase, by
    paths that pass as many of them as they can; the others are dropped for good.
    """

    def __init__(self, *system: Any, **options: Any) -> None:
        super().__init__(*system, **options)
        self.target = self.batch
        self.active = [np.ones(n.shape, dtype=bool) for n in self.counts]
        self._advance(None)

    def _eliminate(self) -> None:
        """Drop every edge whose best path, of those that are left, is worth less than the plan."""
        edges = sum(n.size for n in self.counts)
        level = math.log(4 * edges * max(2.0, math.log2(2 * self.target)) ** 2 / self.delta)
        # Variances of a path's edges add up: the square of its width is a sum of squares.
        squares = self._left([radius**2 for radius in self.radii(self.width * level)])
        means = self._left(self.means)
        through = self.graph.through(means)
        plan = self.graph.edges(self.graph.best(means))
        own = sum(float(squares[h][edge]) for h, edge in enumerate(plan))
        value = max(float(part.max()) for part in through)
        widest = self.graph.through(squares)
        self.active = [
            np.isfinite(mean) & (mean + np.sqrt(np.maximum(own + square, 0.0)) >= value)
            for mean, square in zip(through, widest, strict=True)
        ]

    def _left(self, weights: Weights) -> Weights:
        """No path may pass what was dropped."""
        pairs = zip(weights, self.active, strict=True)
        return [np.where(active, weight, -np.inf) for weight, active in pairs]

    def _next(self) -> Sequence[tuple[Actions, int]]:
        while True:
            if self.usage.episodes:
                self._eliminate()
            if sum(int(part.sum()) for part in self.active) <= self.horizon:
                return []
            short = [a & (n < self.target) for a, n in zip(self.active, self.counts, strict=True)]
            if any(part.any() for part in short):
                return [(path, self.batch) for path in self._cover(short)]
            self.target *= 2
