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
alternatives. Both ends of the bracket on T* are computed outside the program, free of its slack.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, sqrt
from typing import Any, Literal, TypeAlias, get_args, overload

import numpy as np
from numpy.typing import ArrayLike

from surepath.errors import InputError, NumericalError
from surepath.system import FloatArray, IntArray
from surepath.validate import between, nearest, whole

Law: TypeAlias = Literal["bernoulli", "gaussian"]

_TIE = 1e-9  # relative to the largest reward: a smaller gap drowns in rounding
_MAX_ROUNDS = 300
"""Cuts after which the search for the floor gives up; 10 to 25 are usual."""


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
    rewards: FloatArray  # [H, S, A]
    start: int

    def flow(self, weights: FloatArray) -> FloatArray:
        """The unit flow [H, S, A] that leaves each state in proportion to the weights [E]."""
        flow = weights.reshape(self.rewards.shape)
        flow = np.where(flow.sum(axis=2, keepdims=True) > 0, flow, 1.0)
        flow /= flow.sum(axis=2, keepdims=True)
        mass = np.zeros(flow.shape[1])
        mass[self.start] = 1.0
        for h in range(len(flow)):
            flow[h] *= mass[:, None]
            if h < len(self.transitions):
                mass = np.bincount(self.transitions[h].ravel(), flow[h].ravel(), len(mass))
        return flow


@dataclass(frozen=True, slots=True)
class _Duels:
    """Every other path against the best one; its H edges come first, then the best path's."""

    edges: IntArray  # [P, 2H]
    room: FloatArray  # [P, 2H], how far a Bernoulli mean can move to close the gap
    spread: FloatArray  # [P, 2H], the largest variance on the way; like the room, 0 where shared
    gaps: FloatArray  # [P]

    def take(self, rows: IntArray) -> _Duels:
        return _Duels(self.edges[rows], self.room[rows], self.spread[rows], self.gaps[rows])


@overload
def binary_kl(p: float, q: float) -> float: ...
@overload
def binary_kl(p: FloatArray, q: FloatArray) -> FloatArray: ...
def binary_kl(p: float | FloatArray, q: float | FloatArray) -> float | FloatArray:
    """Relative entropy of Bernoulli(p) from Bernoulli(q), infinite where q rules p out."""
    p, q = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    divergence = _excess(p, q) + _excess(1 - p, 1 - q)
    return divergence if divergence.ndim else float(divergence)


def _excess(p: FloatArray, q: FloatArray) -> FloatArray:
    # p log(p / q) + q - p is never negative: adding two of them cancels nothing when q is near p.
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p > 0, (q - p) - p * np.log1p((q - p) / p), q)


def tree_floor(
    gaps: ArrayLike, *, delta: float = 0.05, variance: float = 0.25, promised: float = 0.0
) -> float:
    """The closed form for Gaussian rewards on trees: kl(delta, 1 - delta) sum 2 variance / D^2.

    `gaps` holds, for every edge (h, a) that leaves the best path, the loss D of the best path
    through it. Raising that one edge by D makes p* no longer best, so it needs kl 2 variance / D^2
    visits; on a tree an episode leaves p* at most once, so these add up to episodes (where paths
    can rejoin p*, they do not: use information_floor). A learner that is promised gaps of at least
    `promised` need only rule out alternatives that keep the promise: D + promised replaces D.
    """
    losses = np.asarray(gaps, dtype=np.float64)
    _require(bool((losses > 0).all()), "gaps must be positive", losses, "Leave out the best path.")
    variance = between("variance", variance, 0, inf)
    promised = between("promised", promised, 0, losses.min(initial=inf), closed=(True, True))
    return _information(delta) * float((2 * variance / (losses + promised) ** 2).sum())


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
    _require(law in get_args(Law), "the law is not known", law, nearest(law, get_args(Law)))
    tolerance = between("tolerance", tolerance, 1e-6, 1, closed=(True, False))
    variance, information = between("variance", variance, 0, inf), _information(delta)
    graph = _graph(transitions, rewards, start)
    duels = _duels(graph, law, variance, max_paths)
    inner = graph.flow(np.ones(graph.rewards.size))
    if not len(duels.gaps):
        return Floor(0.0, 0.0, 0.0, inner, 0)  # one path only: nothing to learn
    closest = _gaussian if law == "gaussian" else _bernoulli
    low, edges, slopes = _cheapest(duels, inner, closest)  # 1 / T* is in [low, high]
    high = inf
    for _ in range(_MAX_ROUNDS):
        outer, weights = _master(graph, inner, edges, slopes / low)
        # Weak duality: a mixture of cuts is a cut, and no flow beats the longest path under it.
        mixture = np.bincount(edges.ravel(), (weights[:, None] * slopes).ravel(), inner.size)
        lengths = mixture[duels.edges].reshape(len(duels.gaps), 2, -1).sum(axis=2)
        high = max(low, min(high, float(lengths.max())))
        if high <= low * (1 + tolerance):
            return Floor(1 / high, 1 / low, information / high, inner, len(edges))
        # Half-way to the best flow so far no visit is zero, so slopes stay finite; and either the
        # new cuts exclude the outer flow, or the inner value gains half of what is missing.
        trial = (inner + outer) / 2
        value, more_edges, more_slopes = _cheapest(duels, trial, closest)
        edges, slopes = np.vstack([edges, more_edges]), np.vstack([slopes, more_slopes])
        if value > low:
            low, inner = value, trial
    bracket = f"[{1 / high}, {1 / low}] after {len(edges)} cuts"
    raise NumericalError(f"T* is only known to be in {bracket}. Ask for a larger tolerance.")


def _gaussian(duels: _Duels, visits: FloatArray) -> FloatArray:
    # Lagrange: every mean moves in proportion to its variance over N_e.
    n = visits[duels.edges]
    force = duels.gaps / (duels.spread / n).sum(axis=1)
    return (force[:, None] / n) ** 2 * duels.spread / 2


def _bernoulli(duels: _Duels, visits: FloatArray) -> FloatArray:
    """Minimise sum N kl(m, x) subject to sum (m - x) >= gap, by bisection on the multiplier eta.

    m is an edge's room: its failures on the other path, its successes on the best one. Setting the
    derivative to 0, N (m - x) = eta x (1 - x), is solved for x in a form that subtracts no close
    numbers, so that means at or near 0 and 1 need no special case.
    """
    n, m = visits[duels.edges], duels.room

    def kept(eta: FloatArray) -> FloatArray:
        eta = eta[:, None]
        return 2 * n * m / (n + eta + np.sqrt((n - eta) ** 2 + 4 * n * eta * (1 - m)))

    # The equation implies m - x <= eta spread / N and x <= N / eta, which bracket eta. The m sum
    # to the gap plus one per level where the paths differ: the gap can always be closed.
    low: FloatArray = duels.gaps / (duels.spread / n).sum(axis=1)
    high: FloatArray = (n * (m > 0)).sum(axis=1) / (m.sum(axis=1) - duels.gaps)
    while np.any(np.nextafter(low, high) < high):  # to the last bit: x can hinge on eta - N
        middle = (low + high) / 2
        enough = (m - kept(middle)).sum(axis=1) >= duels.gaps
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return binary_kl(m, kept(high))  # the end that closes the gap: a true alternative


def _cheapest(
    duels: _Duels, flow: FloatArray, closest: Callable[[_Duels, FloatArray], FloatArray]
) -> tuple[float, IntArray, FloatArray]:
    """The least cost of an alternative under the flow, and the cuts of the cheapest ones."""
    visits = flow.ravel()
    # d(mu, lambda) >= (mu - lambda)^2 / 2 spread bounds every path's cost: few need the exact one.
    bound: FloatArray = duels.gaps**2 / (2 * (duels.spread / visits[duels.edges]).sum(axis=1))
    order = np.argsort(bound)
    wanted = count = max(64, np.count_nonzero(visits) // 8)
    while True:
        some = duels.take(order[:count])
        slopes = closest(some, visits)
        costs: FloatArray = (visits[some.edges] * slopes).sum(axis=1)
        undecided = np.count_nonzero(bound < costs.min())
        if undecided <= count:
            few = np.argsort(costs)[:wanted]
            return float(costs[few[0]]), some.edges[few], slopes[few]
        count = undecided


def _master(
    graph: _Graph, inner: FloatArray, edges: IntArray, slopes: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The least flow that lifts every cut to 1, scaled to a unit, and the weights of the cuts."""
    # Half a second to import, for the few who ask for a floor.
    from scipy.optimize import linprog
    from scipy.sparse import csc_array

    solve: Callable[..., Any] = linprog  # its published types do not know sparse matrices
    horizon, n_states, n_actions = map(int, graph.rewards.shape)
    # Neither rare visits nor the prices of rare edges may fall below the solver's tolerances.
    unit, first = np.sqrt(inner.ravel()), n_states * n_actions
    # Conservation at every state after the first level: what leaves it less what enters it.
    enter = np.arange((horizon - 1) * first)
    heads = enter // first * n_states + graph.transitions.ravel()
    nodes = np.concatenate([enter // n_actions, heads])
    columns = np.concatenate([enter + first, enter])
    signed = np.repeat([1.0, -1.0], len(enter)) * unit[columns]
    rows = np.repeat(np.arange(len(edges)), edges.shape[1])
    lifts = np.minimum(slopes * unit[edges], 1e9).ravel()  # it refuses huge coefficients
    size, n_nodes = inner.size, len(enter) // n_actions
    result = solve(
        np.where(np.arange(size) < first, unit, 0.0),
        A_ub=csc_array((-lifts, (rows, edges.ravel())), shape=(len(edges), size)),
        b_ub=-np.ones(len(edges)),
        A_eq=csc_array((signed, (nodes, columns)), shape=(n_nodes, size)),
        b_eq=np.zeros(n_nodes),
        options={"dual_feasibility_tolerance": 1e-9},
    )
    if not result.success:
        raise NumericalError(f"The linear program of the floor failed: {result.message}")
    weights = np.maximum(-result.ineqlin.marginals, 0.0)
    return graph.flow(np.maximum(result.x, 0.0) * unit), weights / weights.sum()


def _duels(graph: _Graph, law: Law, variance: float, max_paths: int) -> _Duels:
    horizon, n_states, n_actions = map(int, graph.rewards.shape)
    what, got = f"there are more than max_paths = {max_paths} paths", f"{n_actions}^{horizon}"
    _require(n_actions**horizon <= max_paths, what, got, "Shorten the problem or raise max_paths.")
    paths, states = np.empty((1, 0), dtype=np.int64), np.array([graph.start])
    for h in range(horizon):
        edges = (h * n_states + states[:, None]) * n_actions + np.arange(n_actions)
        paths = np.column_stack([np.repeat(paths, n_actions, axis=0), edges.ravel()])
        states = graph.transitions[h, states].ravel() if h < horizon - 1 else states
    means = graph.rewards.ravel()[paths]
    low, high = (0.0, 1.0) if law == "bernoulli" else (-1e100, 1e100)
    inside, got = ((means >= low) & (means <= high)).all(), f"{means.min()} to {means.max()}"
    _require(bool(inside), f"{law} means must be in [{low}, {high}]", got, "Rescale the rewards.")
    best = means[means.sum(axis=1).argmax()]
    gaps: FloatArray = (best - means).sum(axis=1)
    tied = gaps <= _TIE * np.abs(means).max()
    got = f"a tie between actions {(paths[tied][:2] % n_actions).tolist()}"
    _require(np.count_nonzero(tied) == 1, "the best path must be unique", got, "Break the tie.")
    along = np.broadcast_to(paths[tied], paths.shape)
    differs = np.tile(paths != along, 2)
    room = np.hstack([1 - means, np.broadcast_to(best, means.shape)]) * differs
    widest = np.minimum(room, 0.5)  # the variance x (1 - x) is largest at 1/2
    spread = variance * differs if law == "gaussian" else widest * (1 - widest)
    return _Duels(np.hstack([paths, along]), room, spread, gaps).take(np.flatnonzero(~tied))


def _graph(transitions: ArrayLike, rewards: ArrayLike, start: int) -> _Graph:
    moves, means = np.asarray(transitions), np.asarray(rewards, dtype=np.float64)
    what, got = "transitions and rewards must be [H, S, A]", f"{moves.shape} and {means.shape}"
    shaped = means.ndim == 3 and means.size > 0 and moves.shape == means.shape
    _require(shaped, what, got, "Pad both to the most states of any level.")
    last = means.shape[1] - 1
    numbered = moves.dtype.kind in "iu" and ((moves >= 0) & (moves <= last))[:-1].all()
    got, remedy = np.unique(moves[:-1]), f"Use 0 .. {last}; only the last level is not read."
    _require(bool(numbered), "transitions must be numbers of states", got, remedy)
    return _Graph(moves[:-1].astype(np.int64), means, whole("start", start, least=0, most=last))


def _information(delta: float) -> float:
    delta = between("delta", delta, 0, 0.5)
    return binary_kl(delta, 1 - delta)


def _require(holds: bool, what: str, got: object, remedy: str) -> None:
    if not holds:
        raise InputError(what, got=got, remedy=remedy)
