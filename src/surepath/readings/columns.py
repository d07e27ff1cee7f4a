"""The trie as arrays: for every level a row for each node, a column for each number kept there.

What the readings decide is asked again every round, of all nodes. Arrays answer for all of them at
once. Whoever goes on reading says which sequences were read (`touch`), and only the rows on their
way are filled in again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from surepath.readings.trie import Node
from surepath.system import Actions, FloatArray, IntArray

FIRST_ROWS = 16
"""That a level has room for; doubled whenever it is full."""

MOST_EMPTY = 16
"""Keys are numbered by a table where it has at most so many times as many places as there are keys:
sorting them takes longer."""

UNKNOWN = -1
"""In place of a state: where an edge leads that nobody has taken, or a node not yet sorted."""

T = TypeVar("T", bound=np.generic)


class Columns:
    """The nodes of one level, in the order in which they were first seen: N of them."""

    def __init__(self, level: int, dimension: int) -> None:
        """Dimension: of the sums of features that are kept in columns; 0 where they are not."""
        self.level = level
        self.nodes: list[Node] = []
        self._way = np.zeros((FIRST_ROWS, 2), dtype=np.int64)
        self._rewards = np.zeros((FIRST_ROWS, 3))
        self._read = np.zeros(FIRST_ROWS)
        self._features = np.zeros((FIRST_ROWS, dimension))
        self.fills = 0  # of rows, so far
        self.guesses = np.zeros(0, dtype=np.int64)  # states of the first rows, when last sorted

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def parent(self) -> IntArray:
        """Their parents' rows in the level above, [N]."""
        return self._way[: len(self.nodes), 0]

    @property
    def action(self) -> IntArray:
        """The actions that lead to them, [N]."""
        return self._way[: len(self.nodes), 1]

    @property
    def rewards(self) -> FloatArray:
        """Of the actions that lead to them: number, sum, and scatter about the mean, [N, 3]."""
        return self._rewards[: len(self.nodes)]

    @property
    def read(self) -> FloatArray:
        """How many observations were read at them, [N]."""
        return self._read[: len(self.nodes)]

    @property
    def features(self) -> FloatArray:
        """Sums of the features of these, [N, d]."""
        return self._features[: len(self.nodes)]

    def append(self, node: Node, parent: int) -> int:
        row = len(self.nodes)
        if row == len(self._read):
            self._way, self._rewards = _doubled(self._way), _doubled(self._rewards)
            self._read, self._features = _doubled(self._read), _doubled(self._features)
        self.nodes.append(node)
        self._way[row] = parent, node.action
        return row

    def fill(self, row: int) -> None:
        """Write down what is known of the row's node now."""
        node = self.nodes[row]
        tally, digest = node.rewards, node.digest
        self._rewards[row] = tally.count, tally.total, tally.scatter
        if digest is not None:
            self._read[row] = digest.count
            if self._features.shape[1]:
                self._features[row] = digest.total


def _doubled(array: NDArray[T]) -> NDArray[T]:
    return np.concatenate([array, np.zeros_like(array)])


class TrieColumns:
    """All levels of a trie."""

    def __init__(self, root: Node, dimension: int = 0) -> None:
        self._dimension = dimension
        self._levels: list[Columns] = []
        self._rows: list[dict[Node, int]] = []  # by level
        self._stale: list[set[int]] = []  # rows to be filled in again, by level
        self.derived: dict[int, Any] = {}  # by level: what was made of it the last time
        nodes = [root]
        while nodes:
            for node in nodes:
                self._touch(node)
            nodes = [child for node in nodes for child in node.children.values()]

    @property
    def root(self) -> Node:
        return self._levels[0].nodes[0]

    def touch(self, actions: Actions) -> None:
        """What stands at the nodes on this way has changed."""
        node = self.root
        self._touch(node)
        for action in actions:
            node = node.children[action]
            self._touch(node)

    def _touch(self, node: Node) -> None:
        level = node.level
        if level == len(self._levels):
            self._levels.append(Columns(level, self._dimension))
            self._rows.append({})
            self._stale.append(set())
        row = self._rows[level].get(node)
        if row is None:
            above = 0 if node.parent is None else self._rows[level - 1][node.parent]
            row = self._rows[level][node] = self._levels[level].append(node, above)
        self._stale[level].add(row)

    def level(self, level: int) -> Columns:
        """Its nodes as they are now; none where nobody has been."""
        if level >= len(self._levels):
            return Columns(level, self._dimension)
        columns, stale = self._levels[level], self._stale[level]
        for row in stale:
            columns.fill(row)
        columns.fills += len(stale)
        stale.clear()
        return columns

    def fills(self, levels: range) -> list[int]:
        """Whether these levels have changed since the last time: they have where this has."""
        return [self.level(level).fills for level in levels]


def sums_by(groups: IntArray, values: FloatArray, size: int) -> FloatArray:
    """Sums of values [n, ...] by the group of each, [size, ...], added in their order."""
    if values.ndim == 1:
        return np.bincount(groups, values, minlength=size).astype(np.float64, copy=False)
    width = int(np.prod(values.shape[1:]))
    cells = groups[:, None] * width + np.arange(width)
    if not len(groups):
        return np.zeros((size, *values.shape[1:]))
    sums = np.bincount(cells.ravel(), values.ravel(), minlength=size * width)
    return sums.astype(np.float64, copy=False).reshape(size, *values.shape[1:])


def numbered(keys: IntArray) -> tuple[int, IntArray]:
    """How many different keys there are, and the number of each among them."""
    span = int(keys.max()) + 1
    if span > MOST_EMPTY * len(keys):
        found, number = np.unique(keys, return_inverse=True)
        return len(found), number
    there = np.zeros(span, dtype=np.int64)
    there[keys] = 1
    return int(there.sum()), (np.cumsum(there) - 1)[keys]


def in_order(keys: IntArray) -> IntArray:
    """Places of keys from 0 on, by size; equal ones stay in their order.

    Short keys are sorted by their digits, which takes a tenth of the time.
    """
    short = keys.astype(np.uint16) if keys.max(initial=0) < 2**16 else keys
    return np.argsort(short, kind="stable")


@dataclass(frozen=True, slots=True)
class Grouped:
    """Nodes of a level, in some order, each with the number of the group it belongs to."""

    columns: Columns
    rows: IntArray  # [n]
    groups: IntArray  # [n]

    def same(self, other: Grouped) -> bool:
        """Whether it is the same nodes in the same groups, and in this order."""
        pairs = (self.rows, other.rows), (self.groups, other.groups)
        return self is other or all(np.array_equal(*pair) for pair in pairs)

    def sums(self, values: FloatArray, groups: int) -> FloatArray:
        """Of values [n, ...], by group: [groups, ...]. They are added in the order of the nodes."""
        return sums_by(self.groups, values, groups)

    def below(self, columns: Columns) -> Grouped:
        """The nodes one level further down, in the order of their parents and in their groups."""
        place = np.full(len(self.columns), -1)
        place[self.rows] = np.arange(len(self.rows))
        above = place[columns.parent]
        known = np.flatnonzero(above >= 0)
        rows = known[in_order(above[known])]
        return Grouped(columns, rows, self.groups[above[rows]])

    def guessed(self, groups: int) -> IntArray:
        """The state of each group when its nodes were last sorted, [groups]; else UNKNOWN."""
        before = self.columns.guesses
        sorted_then = np.flatnonzero(self.rows < len(before))
        states = before[self.rows[sorted_then]]
        known = states != UNKNOWN
        found = np.full(groups, UNKNOWN)
        found[self.groups[sorted_then[known]]] = states[known]
        return found

    def guess(self, states: IntArray) -> None:
        """Remember the state of each group, to begin with the next time."""
        self.columns.guesses = np.full(len(self.columns), UNKNOWN)
        self.columns.guesses[self.rows] = states[self.groups]

    @property
    def actions(self) -> IntArray:
        """That lead to the nodes, [n]."""
        return self.columns.action[self.rows]

    def nodes(self) -> Iterator[tuple[Node, int]]:
        """Each node with its group."""
        for row, group in zip(self.rows.tolist(), self.groups.tolist(), strict=True):
            yield self.columns.nodes[row], group


NO_NODES = Grouped(Columns(0, 0), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
