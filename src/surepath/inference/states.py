"""From pooled readings to a finite machine: which prefixes reach the same hidden state.

Equal embeddings have equal Q*, and equal states have equal successors. So the nodes of the trie are
sorted into *states*, level by level: all children by one action of the nodes of one state are
readings of one place (an *edge*'s end), and edges whose ends look the same lead to the same state.
What was read below one prefix is then evidence about all prefixes of its state.

Everything here is a function of the trie alone: deriving the machine again from the same readings
gives the same machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surepath.decoding import limits
from surepath.decoding.kinds import Between
from surepath.inference.comparison import Comparison
from surepath.inference.same_law import samples_of
from surepath.inference.separation import Merges, Separation, settle_merges, ways_through
from surepath.readings.digests import Cloud
from surepath.readings.trie import Node, Tally
from surepath.system import Actions, FloatArray, IntArray

Edge: TypeAlias = tuple[int, int]
"""A state of a level and an action."""

UNKNOWN = -1
"""In place of a state: where an edge leads that nobody has taken."""

LARGEST_COMPARISON = 2**15
"""Numbers in one call of `log_odds` where all samples are compared with all states: as many as stay
close to the processor (256 KB)."""


@dataclass(frozen=True, slots=True)
class Sorting:
    """How the ends of the edges into one level were sorted into states."""

    edges: list[Edge]  # [G], those with readings
    counts: FloatArray  # [G], readings of each
    labels: IntArray  # [G], their states
    merges: Merges  # how sure each of them is
    comparison: Comparison | None  # what they were told apart by; None where nothing is merged


@dataclass(slots=True)
class Layer:
    """The states of one level and the edges that leave them."""

    members: list[list[Node]]  # by state
    prefixes: list[Actions]  # a way to reach each state
    count: FloatArray  # [S, A] rewards read
    mean: FloatArray  # [S, A]
    scatter: FloatArray  # [S, A], squared distances from the mean
    target: IntArray  # [S, A] state of the next level, or UNKNOWN
    points: FloatArray | None = None  # [S, d] mean features, where one observation is the future
    sorting: Sorting | None = None  # of the ends of these edges; None at the last

    @property
    def edges(self) -> list[Edge]:
        states, actions = self.count.shape
        return [(state, action) for state in range(states) for action in range(actions)]

    @property
    def expanded(self) -> NDArray[np.bool_]:
        """States all of whose actions were tried, [S]."""
        return np.all(self.count > 0, axis=1)


@dataclass(frozen=True, slots=True)
class Automaton:
    """The machine that readings show: the states of each level, joined by actions."""

    layers: list[Layer]  # [H]
    n_actions: int

    @property
    def horizon(self) -> int:
        return len(self.layers)

    @property
    def pays(self) -> bool:
        """Whether rewards were seen that differ: while all are the same, none says anything."""
        means = np.concatenate([layer.mean[layer.count > 0] for layer in self.layers])
        scattered = any(layer.scatter.any() for layer in self.layers)
        return scattered or bool(len(means) and (means != means[0]).any())

    def forbid_predictions(self) -> None:
        """Every state has to be tried: none is predicted from what is seen there."""
        for layer in self.layers:
            layer.points = None


@dataclass(frozen=True, slots=True)
class Shape:
    """What has to be known of a system to read its trie."""

    horizon: Annotated[int, Between(1, limits.HORIZON)]
    n_actions: Annotated[int, Between(1, limits.ACTIONS)]
    dimension: Annotated[int, Between(1, limits.DIMENSION)]  # of the features
    symbols: bool  # whether these are one-hot: sums are then counts
    future: Annotated[int, Between(1, limits.HORIZON)] = 1  # observations that tell states apart

    @property
    def continuations(self) -> int:
        """Ways to go on that a window has; beyond the horizon there is no window."""
        return self.n_actions ** (self.future - 1) if self.future <= self.horizon else 1


def derive(root: Node, shape: Shape, separation: Separation | None = None) -> Automaton:
    """The machine that the readings below `root` show; its merges are tested where asked."""
    layers = list[Layer]()
    members: list[list[Node]] = [[root]]
    prefixes: list[Actions] = [()]
    for level in range(shape.horizon):
        layer = _layer(members, prefixes, shape.n_actions)
        if level and shape.future == 1:
            layer.points = _points(members, shape.dimension)
        layers.append(layer)
        if level + 1 < shape.horizon:
            members, prefixes = _follow(layer, shape, level + 1, separation)
    return Automaton(layers, shape.n_actions)


def _layer(members: list[list[Node]], prefixes: list[Actions], n_actions: int) -> Layer:
    shape = (len(members), n_actions)
    layer = Layer(
        members,
        prefixes,
        np.zeros(shape),
        np.zeros(shape),
        np.zeros(shape),
        np.full(shape, UNKNOWN),
    )
    for state, nodes in enumerate(members):
        for action in range(n_actions):
            tally = Tally()
            for node in _children(nodes, action):
                tally.add(node.rewards)
            layer.count[state, action] = tally.count
            layer.mean[state, action] = tally.mean
            layer.scatter[state, action] = tally.scatter
    return layer


def _points(members: list[list[Node]], dimension: int) -> FloatArray:
    """The mean features of each state's readings."""
    points = np.zeros((len(members), dimension))
    for state, nodes in enumerate(members):
        clouds: list[Cloud] = [node.digest for node in nodes if node.digest is not None]
        total = sum((cloud.total for cloud in clouds), np.zeros(dimension))
        points[state] = total / sum(cloud.count for cloud in clouds)
    return points


def _children(nodes: Sequence[Node], action: int) -> list[Node]:
    return [node.children[action] for node in nodes if action in node.children]


def _follow(
    layer: Layer, shape: Shape, level: int, separation: Separation | None
) -> tuple[list[list[Node]], list[Actions]]:
    """Sort the ends of a layer's edges into states of the level; their members and prefixes."""
    # Without a full window states may look alike and differ: there nothing is merged.
    depth = shape.future if level + shape.future <= shape.horizon else 0
    children = {
        (state, action): _children(nodes, action)
        for state, nodes in enumerate(layer.members)
        for action in range(shape.n_actions)
    }
    ends = {edge: nodes for edge, nodes in children.items() if any(n.count for n in nodes)}
    if not ends:
        return [], []
    edges = list(ends)
    counts = np.array([sum(node.count for node in ends[edge]) for edge in edges], dtype=float)
    order: list[int] = np.argsort(-counts, kind="stable").tolist()
    labels, merges, comparison = np.arange(len(edges)), Merges.none(len(edges)), None
    if depth:
        windows = [_window(ends[edge], shape.n_actions, depth) for edge in edges]
        labels, merges, comparison = _sorted(windows, shape, depth, order, separation)
    layer.sorting = Sorting(edges, counts, labels, merges, comparison)
    n_states = int(labels.max(initial=-1)) + 1
    members = [list[Node]() for _ in range(n_states)]
    prefixes: list[Actions] = [()] * n_states
    for i in order:
        state, action = edges[i]
        label = int(labels[i])
        layer.target[state, action] = label
        members[label] += ends[edges[i]]
        prefixes[label] = prefixes[label] or (*layer.prefixes[state], action)
    return members, prefixes


def _sorted(
    windows: list[list[Cloud | None]],
    shape: Shape,
    depth: int,
    order: list[int],
    separation: Separation | None,
) -> tuple[IntArray, Merges, Comparison]:
    """The states of the windows, how sure their merges are, and what they were told apart by."""
    samples, comparison = samples_of(
        windows, shape.dimension, symbols=shape.symbols, products=separation is not None
    )
    labels = _sort(comparison.brief(samples), comparison, order)
    if separation is None:
        return labels, Merges.none(len(windows)), comparison
    ways = ways_through(shape.n_actions, depth)[1]
    while True:
        merges = settle_merges(samples, labels, order, comparison, ways, separation)
        if not merges.differs.any():
            return labels, merges, comparison
        # What sorting did not see: those that differ from their state are another one.
        labels = np.unique(labels + (labels.max() + 1) * merges.differs, return_inverse=True)[1]


def _window(nodes: list[Node], n_actions: int, depth: int) -> list[Cloud | None]:
    """Pooled readings of the nodes and of what lies below them, as far as the future reaches."""
    pooled: Cloud | None = None
    for node in nodes:
        if node.digest is not None:
            pooled = node.digest if pooled is None else pooled.merge(node.digest)
    if depth == 1:
        return [pooled]
    below = (_window(_children(nodes, a), n_actions, depth - 1) for a in range(n_actions))
    return [pooled, *chain.from_iterable(below)]


def _sort(samples: FloatArray, comparison: Comparison, order: Sequence[int]) -> IntArray:
    """Each sample to the state it most likely comes from, those with most readings first."""
    labels = np.full(len(samples), UNKNOWN)
    pools = np.zeros((0, *samples.shape[1:]))
    for i in order:
        odds = comparison.log_odds(pools, samples[i])
        if len(pools) and odds.max() > 0:
            labels[i] = odds.argmax()
            pools[labels[i]] += samples[i]
        else:
            labels[i] = len(pools)
            pools = np.concatenate([pools, samples[i : i + 1]])
    # Once more, now that each state is known by all its samples.
    left = np.array(order, dtype=np.int64)
    odds = _log_odds(pools, np.arange(len(pools)), labels[left], samples[left], comparison)
    while len(left):
        own = odds[np.arange(len(left)), labels[left]]
        misplaced = np.flatnonzero(odds.max(axis=1) > np.maximum(own, 0))
        if not len(misplaced):
            break
        first = int(misplaced[0])
        i, old, new = left[first], labels[left[first]], odds[first].argmax()
        labels[i] = new
        pools[old] -= samples[i]
        pools[new] += samples[i]
        left, odds, changed = left[first + 1 :], odds[first + 1 :], np.array([old, new])
        odds[:, changed] = _log_odds(pools, changed, labels[left], samples[left], comparison)
    return np.unique(labels, return_inverse=True)[1].reshape(len(labels))


def _log_odds(
    pools: FloatArray,
    states: IntArray,
    labels: IntArray,
    samples: FloatArray,
    comparison: Comparison,
) -> FloatArray:
    """Log-odds that each sample comes from each of the states, not from another law: [G, S].

    A sample's own state is taken without that sample; 0 where nothing else is known of it.
    """
    odds = np.empty((len(samples), len(states)))
    several = max(1, LARGEST_COMPARISON // pools[states].size)
    for start in range(0, len(samples), several):
        part = slice(start, start + several)
        odds[part] = comparison.log_odds(pools[states][None], samples[part, None])
    column = np.full(len(pools), UNKNOWN)
    column[states] = np.arange(len(states))
    own = np.flatnonzero(column[labels] != UNKNOWN)
    rest = pools[labels[own]] - samples[own]
    odds[own, column[labels[own]]] = comparison.log_odds(rest, samples[own])
    return odds
