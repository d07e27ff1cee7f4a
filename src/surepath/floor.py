"""The fewest episodes any learner can hope for: an information-theoretic floor.

Transitions and sensors are known; only the reward means mu_e on the edges e = (h, s, a) of the
reachable layered graph are not. One episode draws one reward on every edge of its path, and one
path p* is best. A learner that names it with probability at least 1 - delta, whatever the means,
needs at least T* kl(delta, 1 - delta) episodes in expectation, where

    1 / T* = max over unit flows N, min over paths p other than p*,
             inf { sum_e N_e d(mu_e, lambda_e) : lambda(p) >= lambda(p*) }.

For its data must tell mu from every lambda under which p* is not best (the transportation lemma of
Kaufmann, Cappe and Garivier, "On the Complexity of Best-Arm Identification in Multi-Armed Bandit
Models", JMLR 17, 2016, Lemma 1), and expected visits per episode form a unit flow. A learner that
has to find out transitions or sensors as well is no better off: the floor holds for it too.

The objective is concave in N, and each alternative lambda bounds it by a linear function, a cut.
Kelley's method alternates a linear program over the cuts with an exact search for the cheapest
alternatives. Both ends of the bracket are evaluated outside the linear program, so that its
tolerances cannot invalidate them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, sqrt
from typing import Literal, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog
from scipy.sparse import csc_array

from surepath.errors import InputError, NumericalError
from surepath.system import FloatArray, IntArray

Law: TypeAlias = Literal["bernoulli", "gaussian"]

_TIE = 1e-9  # relative to the largest reward: a smaller gap drowns in rounding
_FINEST = 1e-6  # the finest tolerance that rounding allows at such gaps
_MAX_ROUNDS = 300


@dataclass(frozen=True, slots=True)
class Floor:
    """The characteristic time T* in a bracket, and the episodes that its lower end implies."""

    lower: float  # proved by a mixture of cuts
    upper: float  # attained by `flow`
    episodes: float  # lower * kl(delta, 1 - delta): no learner needs fewer in expectation
    flow: FloatArray  # [H, S, A], share of the episodes that should visit each edge
    cuts: int

    @property
    def characteristic(self) -> float:
        """T* itself, as the geometric middle of its bracket."""
        return sqrt(self.lower * self.upper)


@dataclass(frozen=True, slots=True)
class _Graph:
    """A checked problem. The edge (h, s, a) has the number (h S + s) A + a."""

    transitions: IntArray  # [H - 1, S, A]
    rewards: FloatArray  # [H, S, A], zero where unreachable
    reachable: NDArray[np.bool_]  # [H, S]
    start: int

    def values(self, rewards: FloatArray) -> FloatArray:
        """Backward induction: the largest total from each edge on, [H, S, A]."""
        totals = rewards.copy()
        for h in range(len(totals) - 2, -1, -1):
            totals[h] += totals[h + 1].max(axis=1)[self.transitions[h]]
        return totals

    def flow(self, weights: FloatArray) -> FloatArray:
        """The unit flow that leaves each state in proportion to the weights, [H, S, A]."""
        flow = np.where(weights.sum(axis=2, keepdims=True) > 0, weights, 1.0)
        flow /= flow.sum(axis=2, keepdims=True)
        mass = np.zeros(flow.shape[1])
        mass[self.start] = 1.0
        for h, level in enumerate(flow):
            level *= mass[:, None]
            if h < len(self.transitions):
                mass = np.bincount(self.transitions[h].ravel(), level.ravel(), len(mass))
        return flow

    def best_path(self) -> tuple[IntArray, FloatArray]:
        """The states of the best path [H], and the loss of first leaving it by an action [H, A]."""
        values = self.values(self.rewards)
        states = np.full(len(values), self.start)
        for h, moves in enumerate(self.transitions):
            states[h + 1] = moves[states[h], values[h, states[h]].argmax()]
        along = values[np.arange(len(values)), states]
        losses = along.max(axis=1, keepdims=True) - along
        tied = (losses <= _TIE * np.abs(self.rewards).max()).sum(axis=1)
        _require(
            bool((tied == 1).all()),
            "the floor needs a unique best path",
            got=f"{tied.max()} actions that tie at level {tied.argmax()}",
            remedy="Break the tie: where several answers are right this bound does not apply.",
        )
        return states, losses


@dataclass(frozen=True, slots=True)
class _Duels:
    """Every other path against the best one; its H edges come first, then the best path's."""

    edges: IntArray  # [P, 2H]
    room: FloatArray  # [P, 2H], how far a mean can move to close the gap; 0 on shared edges
    spread: FloatArray  # [P, 2H], the largest variance on the way; 0 on shared edges
    gaps: FloatArray  # [P]

    def take(self, rows: IntArray) -> _Duels:
        return _Duels(self.edges[rows], self.room[rows], self.spread[rows], self.gaps[rows])


_Closest: TypeAlias = Callable[[_Duels, FloatArray], FloatArray]
"""(duels, visits [E]) -> d(mu_e, lambda_e) [P, 2H] of the cheapest lambda that closes each gap."""


@overload
def binary_kl(p: float, q: float) -> float: ...
@overload
def binary_kl(p: FloatArray, q: FloatArray) -> FloatArray: ...
def binary_kl(p: float | FloatArray, q: float | FloatArray) -> float | FloatArray:
    """Relative entropy of Bernoulli(p) from Bernoulli(q); infinite where q rules p out."""
    left, right = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    divergence = _excess(left, right) + _excess(1 - left, 1 - right)
    return divergence if divergence.ndim else float(divergence)


def _excess(p: FloatArray, q: FloatArray) -> FloatArray:
    # p log(p / q) + q - p is never negative: adding two of them cancels nothing when q is near p.
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p > 0, (q - p) - p * np.log1p((q - p) / p), q)


def information_floor(
    transitions: ArrayLike,  # [H, S, A] next state; the last level is ignored
    rewards: ArrayLike,  # [H, S, A] means
    *,
    start: int = 0,
    delta: float = 0.05,
    law: Law = "bernoulli",
    variance: float = 0.25,  # of every reward; Gaussian only
    tolerance: float = 1e-4,  # relative width of the bracket on T*
    max_paths: int = 100_000,
) -> Floor:
    """The floor that this module describes, by cutting planes over an enumeration of all paths."""
    _require(_FINEST <= tolerance < 1, "tolerance is out of range", tolerance, "Try 1e-4.")
    information = _information(delta)
    graph = _graph(transitions, rewards, start, law, variance)
    duels = _duels(graph, law, variance, max_paths)
    inner = graph.flow(np.ones_like(graph.rewards))
    if not len(duels.gaps):
        return Floor(0.0, 0.0, 0.0, inner, 0)  # one path only: nothing to learn
    closest = _gaussian if law == "gaussian" else _bernoulli
    low, edges, slopes = _cheapest(duels, inner, closest)  # 1 / T* is in [low, high]
    high = inf
    for _ in range(_MAX_ROUNDS):
        outer, weights = _master(graph, inner, edges, slopes / low)
        # Weak duality: a mixture of cuts is a cut, and no flow beats the longest path under it.
        mixture = np.bincount(edges.ravel(), (weights[:, None] * slopes).ravel(), inner.size)
        high = min(high, float(graph.values(mixture.reshape(inner.shape))[0, start].max()))
        if high <= low * (1 + tolerance):
            return Floor(1 / high, 1 / low, information / high, inner, len(edges))
        # Half-way to the best flow so far no visit is zero, so slopes stay finite; and either the
        # new cuts exclude the outer flow, or the inner value gains half of what is missing.
        trial = (inner + outer) / 2
        value, more, steeper = _cheapest(duels, trial, closest)
        edges, slopes = np.vstack([edges, more]), np.vstack([slopes, steeper])
        if value > low:
            low, inner = value, trial
    raise NumericalError(
        f"T* is in [{1 / high}, {1 / low}] after {len(edges)} cuts, wider than the tolerance "
        f"{tolerance}. Ask for a larger one."
    )


def tree_floor(
    transitions: ArrayLike,  # [H, S, A]
    rewards: ArrayLike,  # [H, S, A]
    *,
    start: int = 0,
    delta: float = 0.05,
    law: Law = "bernoulli",
    variance: float = 0.25,
    gap: float = 0.0,
) -> float:
    """A closed-form floor on the episodes, where the best path once left is never re-entered.

    Raising the one edge that leaves the best path at (h, a) by its loss D makes another path best,
    so that edge needs kl(delta, 1 - delta) / d(mu, mu + D) visits. An episode leaves the best path
    at most once, so these visits add up to episodes; Gaussian: kl * sum 2 variance / D^2. A learner
    that is promised gaps of at least `gap` must only rule out alternatives that keep the promise:
    raise by D + gap.
    """
    graph = _graph(transitions, rewards, start, law, variance)
    states, losses = graph.best_path()
    for h, moves in enumerate(graph.transitions):
        entries = np.count_nonzero(moves[graph.reachable[h]] == states[h + 1])
        _require(
            entries == 1,
            "the closed form needs a best path that no other path re-enters",
            got=f"{entries} edges into state {states[h + 1]} of level {h + 1}",
            remedy="Use information_floor.",
        )
    leaving = losses > 0
    least = float(losses[leaving].min(initial=inf))
    _require(0 <= gap <= least, f"gap must be in [0, {least}], as here", gap, "Promise less, or 0.")
    rise = losses[leaving] + gap
    means = graph.rewards[np.arange(len(states)), states][leaving]
    if law == "gaussian":
        visits = 2 * variance / rise**2
    else:  # an edge that would have to rise to 1 or more cannot do it alone: it proves nothing
        within = means + rise < 1
        visits = 1 / binary_kl(means[within], (means + rise)[within])
    return _information(delta) * float(visits.sum())


def _gaussian(duels: _Duels, visits: FloatArray) -> FloatArray:
    # Lagrange: every mean moves in proportion to its variance over N_e.
    ease = duels.spread / visits[duels.edges]
    move = duels.gaps[:, None] / (visits[duels.edges] * ease.sum(axis=1, keepdims=True))
    return move**2 * duels.spread / 2


def _bernoulli(duels: _Duels, visits: FloatArray) -> FloatArray:
    """Minimise sum N kl(m, x) subject to sum (m - x) >= gap, by bisection on the multiplier eta.

    m is an edge's room: its failures on the other path, its successes on the best one. Stationarity,
    N (m - x) = eta x (1 - x), is solved for x in a form that subtracts no close numbers, so that
    means at or near 0 and 1 need no special case.
    """
    n, m = visits[duels.edges], duels.room

    def kept(eta: FloatArray) -> FloatArray:
        eta = eta[:, None]
        return 2 * n * m / (n + eta + np.sqrt((n - eta) ** 2 + 4 * n * eta * (1 - m)))

    # Stationarity implies m - x <= eta spread / N and x <= N / eta, which bracket eta.
    low = duels.gaps / (duels.spread / n).sum(axis=1)
    high = (n * (m > 0)).sum(axis=1) / (m.sum(axis=1) - duels.gaps)
    while np.any(high - low > 1e-11 * high):
        middle = (low + high) / 2
        enough = (m - kept(middle)).sum(axis=1) >= duels.gaps
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return binary_kl(m, kept(high))  # the end that closes the gap: a true alternative


def _cheapest(
    duels: _Duels, flow: FloatArray, closest: _Closest
) -> tuple[float, IntArray, FloatArray]:
    """The least cost of an alternative under the flow; edges and slopes of the cheapest cuts."""
    visits = flow.ravel()
    # d(mu, lambda) >= (mu - lambda)^2 / 2 spread bounds every path's cost: few need the exact one.
    bound = duels.gaps**2 / (2 * (duels.spread / visits[duels.edges]).sum(axis=1))
    order = np.argsort(bound)
    wanted = count = max(64, np.count_nonzero(visits) // 8)
    while True:
        some = duels.take(order[:count])
        slopes = closest(some, visits)
        costs = (visits[some.edges] * slopes).sum(axis=1)
        open_ = int(np.searchsorted(bound, costs.min(), sorter=order))
        if open_ <= count:
            break
        count = open_
    few = np.argsort(costs)[:wanted]
    return float(costs[few[0]]), some.edges[few], slopes[few]


def _master(
    graph: _Graph, inner: FloatArray, edges: IntArray, slopes: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The smallest flow that lifts every cut to 1, made a unit, and the weights of the cuts."""
    _, n_states, n_actions = inner.shape
    visits, level = inner.ravel(), n_states * n_actions
    used = np.flatnonzero(visits)
    # Conservation at each state after the first level: what leaves it, less what enters it.
    leave, enter = np.arange(level, inner.size), np.arange(inner.size - level)
    heads = enter // level * n_states + graph.transitions.ravel()
    nodes = np.concatenate([leave // n_actions - n_states, heads])
    signs = np.repeat([1.0, -1.0], len(leave))
    columns = np.concatenate([leave, enter])
    balance = csc_array((signs * visits[columns], (nodes, columns)), shape=(inner.size // n_actions - n_states, inner.size))
    rows = np.repeat(np.arange(len(edges)), edges.shape[1])
    cuts = csc_array(((slopes * visits[edges]).ravel(), (rows, edges.ravel())), shape=(len(edges), inner.size))
    # In units of the inner flow, the solution is of order one throughout.
    result = linprog(
        np.where(used < level, visits[used], 0.0),
        A_ub=-cuts[:, used],
        b_ub=-np.ones(len(edges)),
        A_eq=balance[:, used],
        b_eq=np.zeros(balance.shape[0]),
    )
    if not result.success:
        raise NumericalError(f"The linear program of the floor failed: {result.message}")
    flow = np.zeros(inner.size)
    flow[used] = np.maximum(result.x, 0.0) * visits[used]
    weights = np.maximum(-result.ineqlin.marginals, 0.0)
    return graph.flow(flow.reshape(inner.shape)), weights / weights.sum()


def _duels(graph: _Graph, law: Law, variance: float, max_paths: int) -> _Duels:
    horizon, n_states, n_actions = graph.rewards.shape
    _require(
        n_actions**horizon <= max_paths,
        f"the floor enumerates all paths, and max_paths is {max_paths}",
        got=f"{n_actions}^{horizon} paths",
        remedy="Shorten the problem, or raise max_paths if time and memory allow.",
    )
    best_states, losses = graph.best_path()
    best = (np.arange(horizon) * n_states + best_states) * n_actions + losses.argmin(axis=1)
    paths = np.empty((1, 0), dtype=np.int64)
    states = np.array([graph.start])
    for h in range(horizon):
        edges = (h * n_states + states[:, None]) * n_actions + np.arange(n_actions)
        paths = np.column_stack([np.repeat(paths, n_actions, axis=0), edges.ravel()])
        states = graph.transitions[h, states].ravel() if h < horizon - 1 else states
    paths = paths[(paths != best).any(axis=1)]
    differs = np.tile(paths != best, 2)
    other, along = graph.rewards.ravel()[paths], graph.rewards.ravel()[best]
    edges = np.hstack([paths, np.broadcast_to(best, paths.shape)])
    gaps = (along - other).sum(axis=1)
    if law == "gaussian":
        return _Duels(edges, np.where(differs, inf, 0.0), np.where(differs, variance, 0.0), gaps)
    room = np.hstack([1 - other, np.broadcast_to(along, paths.shape)]) * differs
    return _Duels(edges, room, np.where(room < 0.5, room * (1 - room), 0.25), gaps)


def _graph(
    transitions: ArrayLike, rewards: ArrayLike, start: int, law: Law, variance: float
) -> _Graph:
    moves, means = np.asarray(transitions), np.asarray(rewards, dtype=np.float64)
    _require(
        means.ndim == 3 and means.size > 0 and moves.shape == means.shape,
        "transitions and rewards must share one shape [levels, states, actions]",
        got=f"{moves.shape} and {means.shape}",
        remedy="Pad both to the most states of any level; what cannot be reached is not read.",
    )
    horizon, n_states, _ = means.shape
    _require(0 <= start < n_states, "start must be a state", start, f"Try 0 .. {n_states - 1}.")
    _require(variance > 0, "variance must be positive", variance, "Try 0.25.")
    _require(
        moves.dtype.kind in "iu" and bool(((moves[:-1] >= 0) & (moves[:-1] < n_states)).all()),
        f"transitions must be whole numbers in 0 .. {n_states - 1}",
        got=f"{moves.dtype} from {moves[:-1].min()} to {moves[:-1].max()}",
        remedy="Number the states from 0; only the last level may hold anything.",
    )
    reachable = np.zeros((horizon, n_states), dtype=np.bool_)
    reachable[0, start] = True
    for h in range(horizon - 1):
        reachable[h + 1, moves[h, reachable[h]]] = True
    means = np.where(reachable[:, :, None], means, 0.0)
    ranges = {"bernoulli": (0.0, 1.0), "gaussian": (-1e100, 1e100)}
    _require(law in ranges, "the law is not known", law, f"Use one of {sorted(ranges)}.")
    low, high = ranges[law]
    _require(
        bool(((means >= low) & (means <= high)).all()),
        f"{law} means must be in [{low}, {high}]",
        got=f"means from {means.min()} to {means.max()}",
        remedy="Rescale the rewards, or check for values that are not numbers.",
    )
    return _Graph(moves[:-1].astype(np.int64), means, reachable, start)


def _information(delta: float) -> float:
    _require(0 < delta < 0.5, "delta must be in (0, 0.5)", delta, "Try 0.05.")
    return binary_kl(delta, 1 - delta)


def _require(holds: bool, what: str, got: object, remedy: str) -> None:
    if not holds:
        raise InputError(what, got=got, remedy=remedy)
