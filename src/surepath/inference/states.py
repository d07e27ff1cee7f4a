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
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surepath.decoding import limits
from surepath.decoding.kinds import Between
from surepath.inference.comparison import Comparison
from surepath.inference.one_by_one import sorted_into_states
from surepath.inference.same_law import samples_of
from surepath.inference.separation import (
    Merges,
    Separation,
    settle_merges,
    ways_through,
    window_sizes,
)
from surepath.readings.columns import (
    NO_NODES,
    UNKNOWN,
    Columns,
    Grouped,
    TrieColumns,
    in_order,
    numbered,
)
from surepath.readings.trie import Node
from surepath.system import Actions, FloatArray, IntArray
from surepath.validate import SAID_IF_GIVEN

Edge: TypeAlias = tuple[int, int]
"""A state of a level and an action."""


ADDING = 1e-9
"""What rounding may change in a mean of readings that are all the same, relative to it.

Features of a kernel add numbers that cancel, and how these are rounded follows how many readings
are added at once: features of one image were seen to differ by 3e-12.
"""


@dataclass(frozen=True, slots=True)
class Sorting:
    """How the ends of the edges into one level were sorted into states."""

    edges: list[Edge]  # [G], those with readings
    counts: FloatArray  # [G], readings of each
    labels: IntArray  # [G], their states
    merges: Merges  # how sure each of them is
    comparison: Comparison | None  # what they were told apart by; None where nothing is merged


@dataclass
class Layer:
    """The states of one level and the edges that leave them."""

    prefixes: list[Actions]  # a way to reach each state
    count: FloatArray  # [S, A] rewards read
    mean: FloatArray  # [S, A]
    scatter: FloatArray  # [S, A], squared distances from the mean
    target: IntArray  # [S, A] state of the next level, or UNKNOWN
    here: Grouped = NO_NODES  # the nodes of the level, by state
    below: Grouped = NO_NODES  # those that the edges lead to, by edge: A times its state + action
    points: FloatArray | None = None  # [S, d] mean features, where one observation is the future
    # and a state is left that was not tried
    sorting: Sorting | None = None  # of the ends of these edges; None at the last

    @property
    def members(self) -> list[list[Node]]:
        """The nodes of each state."""
        members = [list[Node]() for _ in self.prefixes]
        for node, state in self.here.nodes():
            members[state].append(node)
        return members

    @property
    def n_actions(self) -> int:
        return self.count.shape[1]

    @property
    def edges(self) -> list[Edge]:
        states, actions = self.count.shape
        return [(state, action) for state in range(states) for action in range(actions)]

    @cached_property
    def expanded(self) -> NDArray[np.bool_]:
        """States all of whose actions were tried, [S]: asked for again and again."""
        return np.all(self.count > 0, axis=1)

    def settled(self, separation: Separation) -> NDArray[np.bool_]:
        """[S A], edges whose end is known: it founds its state, or its merge is settled."""
        settled = np.full(self.count.size, False)
        if self.sorting is not None:  # of the edges whose ends were read, in this order
            settled[self.target.ravel() != UNKNOWN] = (
                self.sorting.merges.evidence >= separation.evidence
            )
        return settled


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
    last_actions: Annotated[int, Between(1, limits.ACTIONS)] | None = field(
        default=None, metadata={SAID_IF_GIVEN: True}
    )  # that differ at the last step, where these are fewer

    def actions_at(self, level: int) -> int:
        """How many actions there are to choose from."""
        last = self.last_actions if level == self.horizon - 1 else None
        return self.n_actions if last is None else last

    @property
    def ways(self) -> int:
        """To leave a plan by one action."""
        return sum(self.actions_at(level) - 1 for level in range(self.horizon))

    @property
    def sequences(self) -> int:
        """Whole action sequences that there are."""
        return self.n_actions ** (self.horizon - 1) * self.actions_at(self.horizon - 1)

    @property
    def merges(self) -> bool:
        """Whether prefixes may be taken for one: not where the future is beyond the horizon."""
        return self.future <= self.horizon

    @property
    def continuations(self) -> int:
        """Ways to go on that a window has; beyond the horizon there is no window."""
        return self.n_actions ** (self.future - 1) if self.merges else 1


def derive(
    root: Node,
    shape: Shape,
    separation: Separation | None = None,
    columns: TrieColumns | None = None,
) -> Automaton:
    """The machine that the readings below `root` show; its merges are tested where asked.

    columns: the trie as arrays, where somebody has them.
    """
    trie = columns or columns_of(root, shape)
    layers = list[Layer]()
    here = Grouped(trie.level(0), np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))
    prefixes: list[Actions] = [()]
    for level in range(shape.horizon):
        step = _step(level, here, prefixes, trie, shape, separation)
        layers.append(replace(step.layer))  # whoever asks for the machine may forbid predictions
        here, prefixes = step.there, step.prefixes
    return Automaton(layers, shape.n_actions)


@dataclass(frozen=True, slots=True)
class _Step:
    """From one level to the next: what was found, and all that it follows from."""

    told: tuple[list[int], list[Actions], Shape, Separation | None]
    layer: Layer  # of the level, with its nodes
    there: Grouped  # the nodes of the next level, and ways to reach its states
    prefixes: list[Actions]


def _step(
    level: int,
    here: Grouped,
    prefixes: list[Actions],
    trie: TrieColumns,
    shape: Shape,
    separation: Separation | None,
) -> _Step:
    """As it was found the last time, where it would be found again."""
    told = trie.fills(range(level, level + shape.future + 1)), prefixes, shape, separation
    known: _Step | None = trie.derived.get(level)
    if known is not None and known.told == told and known.layer.here.same(here):
        return known
    layer = _layer(here, trie.level(level + 1), prefixes, shape.actions_at(level))
    if level and shape.future == 1 and not layer.expanded.all():
        layer.points = _points(here, len(prefixes), shape)
    there, onwards = here, prefixes  # of the last level nothing follows
    if level + 1 < shape.horizon:
        there, onwards = _follow(layer, trie, shape, separation)
    trie.derived[level] = found = _Step(told, layer, there, onwards)
    return found


def columns_of(root: Node, shape: Shape) -> TrieColumns:
    """The trie as arrays: with the counts of symbols, which are what is read of them."""
    return TrieColumns(root, shape.dimension if shape.symbols else 0)


def _layer(here: Grouped, columns: Columns, prefixes: list[Actions], n_actions: int) -> Layer:
    ends = here.below(columns)
    kept = ends.actions < n_actions  # others are not told apart from these, and say nothing
    groups = ends.groups[kept] * n_actions + ends.actions[kept]
    below = Grouped(columns, ends.rows[kept], groups)
    shape = (len(prefixes), n_actions)
    count, mean, scatter = (each.reshape(shape) for each in pooled_rewards(below, shape))
    return Layer(prefixes, count, mean, scatter, np.full(shape, UNKNOWN), here, below)


def pooled_rewards(
    below: Grouped, shape: tuple[int, int]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Number, mean and scatter of the rewards of each group."""
    groups = shape[0] * shape[1]
    counts, totals, scatters = below.columns.rewards[below.rows].T
    count, total = below.sums(counts, groups), below.sums(totals, groups)
    mean = total / np.maximum(count, 1)
    with np.errstate(over="ignore", invalid="ignore"):  # what is too large is infinite
        shift = totals / np.maximum(counts, 1) - mean[below.groups]
        return count, mean, below.sums(scatters + counts * shift * shift, groups)


def _points(here: Grouped, states: int, shape: Shape) -> FloatArray:
    """The mean features of each state's readings."""
    columns, rows = here.columns, here.rows
    if shape.symbols:
        totals = here.sums(columns.features[rows], states)
    else:
        totals = np.zeros((states, shape.dimension))
        for node, state in here.nodes():
            if node.digest is not None:
                totals[state] += node.digest.total
    return totals / here.sums(columns.read[rows], states)[:, None]


def _follow(
    layer: Layer, trie: TrieColumns, shape: Shape, separation: Separation | None
) -> tuple[Grouped, list[Actions]]:
    """Sort the ends of a layer's edges into states of the next level: its nodes, and prefixes."""
    columns, below = layer.below.columns, layer.below
    read = below.sums(columns.read[below.rows], layer.count.size)
    found = np.flatnonzero(read)  # edges whose ends were read
    edges: list[Edge] = [divmod(edge, shape.n_actions) for edge in found.tolist()]
    counts = read[found]
    order: list[int] = np.argsort(-counts, kind="stable").tolist()
    end_of = np.full(len(read), UNKNOWN)
    end_of[found] = np.arange(len(found))
    known = end_of[below.groups] != UNKNOWN
    ends = Grouped(columns, below.rows[known], end_of[below.groups[known]])
    labels, merges, comparison = _sorted(ends, len(edges), trie, shape, order, separation)
    layer.sorting = Sorting(edges, counts, labels, merges, comparison) if edges else None
    layer.target.reshape(-1)[found] = labels
    prefixes: list[Actions] = [()] * (int(labels.max(initial=-1)) + 1)
    for i in order:
        state, action = edges[i]
        prefixes[labels[i]] = prefixes[labels[i]] or (*layer.prefixes[state], action)
    # By state; within it, those whose edge was read most come first.
    place = np.argsort(np.array(order, dtype=np.int64))
    sequence = in_order((labels * len(place) + place)[ends.groups])
    return Grouped(columns, ends.rows[sequence], labels[ends.groups[sequence]]), prefixes


def _sorted(
    ends: Grouped,
    size: int,
    trie: TrieColumns,
    shape: Shape,
    order: list[int],
    separation: Separation | None,
) -> tuple[IntArray, Merges, Comparison | None]:
    """The states of the ends, how sure their merges are, and what they were told apart by."""
    level = ends.columns.level
    # Without a full window states may look alike and differ: there nothing is merged.
    if not size or level + shape.future > shape.horizon:
        return np.arange(size), Merges.none(size), None
    samples, comparison = samples_of(
        *_windows(ends, size, trie, shape),
        shape.dimension,
        symbols=shape.symbols,
        products=separation is not None,
    )
    if separation is not None and separation.exact and shape.future == 1:
        labels = _equal(ends, size)
    else:
        labels = _sort(comparison.brief(samples), comparison, order, ends)
    if separation is None:
        return labels, Merges.none(size), comparison
    ways = ways_through(shape.n_actions, shape.future)[1]
    while True:
        merges = settle_merges(samples, labels, order, comparison, ways, separation)
        if not merges.differs.any():
            return labels, merges, comparison
        # What sorting did not see: those that differ from their state are another one.
        labels = numbered(labels + (labels.max() + 1) * merges.differs)[1]


def _windows(
    ends: Grouped, size: int, trie: TrieColumns, shape: Shape
) -> tuple[list[Grouped], tuple[int, int]]:
    """The nodes of the ends and of what lies below them, as far as the future reaches.

    Each is in the group of its end and of its position in the window; with the number of ends, and
    of positions.
    """
    sizes = window_sizes(shape.n_actions, shape.future)
    read = [Grouped(ends.columns, ends.rows, ends.groups * sizes[-1])]
    for step in range(1, shape.future):
        columns = trie.level(read[-1].columns.level + 1)
        part = read[-1].below(columns)
        cells = part.groups + 1 + part.actions * sizes[shape.future - step]
        read.append(Grouped(columns, part.rows, cells))
    return read, (size, sizes[-1])


def _equal(ends: Grouped, size: int) -> IntArray:
    """Of readings without noise: ends that read the same are one state, in the order seen."""
    first = dict[int, FloatArray]()
    for node, end in ends.nodes():
        if end not in first and node.digest is not None:
            first[end] = node.digest.value
    labels = np.full(size, UNKNOWN)
    labels[list(first)] = same_readings(np.array(list(first.values())))
    return labels


def same_readings(values: FloatArray) -> IntArray:
    """Numbers of groups of equal rows, [n], in the order seen; all but what adding rounds counts.

    Number by number, so that the cost grows with the rows and not with their pairs.
    """
    groups = np.zeros(len(values), dtype=np.int64)
    for column in values.T:
        order = np.lexsort((column, groups))
        ranked, group = column[order], groups[order]
        near = np.abs(np.diff(ranked)) <= ADDING * np.maximum(abs(ranked[1:]), abs(ranked[:-1]))
        groups[order] = np.cumsum(np.append(True, ~(near & (group[1:] == group[:-1])))) - 1
    _, seen, groups = np.unique(groups, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(seen))[groups]


def equal_readings(one: FloatArray, other: FloatArray) -> NDArray[np.bool_]:
    """Whether means of readings without noise are the same, [...]: but for what adding rounds."""
    within = np.abs(one - other) <= ADDING * np.maximum(np.abs(one), np.abs(other))
    return np.logical_and.reduce(within, axis=-1)


def _sort(
    samples: FloatArray, comparison: Comparison, order: Sequence[int], ends: Grouped
) -> IntArray:
    """Each sample to the state it most likely comes from, those with most readings first."""
    first, labels = sorted_into_states(samples, comparison, order, ends.guessed(len(samples)))
    ends.guess(first)
    return numbered(labels)[1]
