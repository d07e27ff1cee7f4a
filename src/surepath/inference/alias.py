"""Do prefixes that look alike go on alike? If not, states look alike and are not.

If two prefixes are one hidden state, the same actions lead from both to readings of one law. The
machine takes them for one state by what is read there; whether they go on alike is a question to
everything that was read below them. All readings of an edge are compared by the way they came:
those that entered an earlier state by one edge, against those that entered it by the others. It is
the only evidence against a wrong merge before anything is paid.

What differs beyond all chance is an *alias*: what is looked at does not tell the states apart. What
only looks odd is a *suspect*, and read more often, until it either is an alias or the declared
separation is excluded there too. While no reward was ever seen to differ from another, everything
one step below a merge is a suspect until then: nothing else would show what is wrong.

Only merges that are settled are asked: what was put somewhere on few readings may be put elsewhere
when there are more, and its readings say nothing of what was looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from surepath.inference.comparison import Comparison
from surepath.inference.same_law import samples_of
from surepath.inference.separation import Separation
from surepath.inference.states import Automaton, Layer, Shape, equal_readings
from surepath.inference.tuning import TUNING
from surepath.readings.columns import Grouped, numbered, sums_by
from surepath.readings.trie import Node
from surepath.system import Actions, FloatArray, IntArray

APART = -1
"""In place of a way in: of nodes below merges that are not settled, or have nothing beside them."""

ONE_NODE = np.zeros((1, 1), dtype=np.int64)
"""The only way through a window of one node."""


AT_ONCE = 2**20
"""Numbers that were read at the nodes whose ways are compared at once (8 MB)."""


@dataclass(frozen=True, slots=True)
class Alias:
    """A state in which two look alike: they go on differently."""

    prefix: Actions  # the way in that goes on differently from the others
    others: Actions  # another way into the same state
    step: int  # at which what is read differs
    count: int  # readings of that step by this way in

    def __str__(self) -> str:
        return (
            f"after {self.prefix} and after {self.others} the readings are alike, but not what "
            f"follows: at step {self.step} the same state and action give readings of another law "
            f"({self.count} readings). What is looked at does not tell the hidden states apart"
        )


@dataclass(frozen=True, slots=True)
class Suspect:
    """A sequence whose end looks odd beside what it was taken for."""

    actions: Actions
    count: int  # readings of it, and of others that came the same way


@dataclass(frozen=True, slots=True)
class GoingOn:
    """What was found below the merges of a machine."""

    alias: Alias | None
    suspects: list[Suspect]


@dataclass(frozen=True)
class _Level:
    """The nodes of a level that were read, as arrays: N of them."""

    nodes: Grouped  # by state
    parents: IntArray  # [N], their places among the nodes of the level above
    edge: IntArray  # [N], the edge they were reached by: state of the level above and action
    way: IntArray  # [N], the edge where its merge is settled and not the only one, else APART
    shape: Shape

    @cached_property
    def read(self) -> tuple[FloatArray, Comparison]:
        """Their readings as samples, [N, 1, ...]; most levels are never compared."""
        many = len(self.nodes.rows)
        each = Grouped(self.nodes.columns, self.nodes.rows, np.arange(many))
        shape = self.shape
        return samples_of([each], (many, 1), shape.dimension, symbols=shape.symbols)

    @cached_property
    def several(self) -> bool:
        """Whether several ways whose merges are settled lead into one of its states."""
        return bool((self.way != APART).any())

    @cached_property
    def counts(self) -> FloatArray:
        """How many observations were read at them, [N]."""
        return self.nodes.columns.read[self.nodes.rows]

    def node(self, place: int) -> Node:
        return self.nodes.columns.nodes[int(self.nodes.rows[place])]


@dataclass(frozen=True, slots=True)
class _Ways:
    """Nodes below merges, by the way in that they came and by the state that it leads into.

    Both together with the edge they were reached by. Ways lead into several levels above: L.
    """

    above: list[_Level]  # [L], where the ways lead in
    below: _Level
    at: IntArray  # [L, N], places, in each level above, of the nodes that those below go on from
    into: IntArray  # [n], which of the levels above
    kept: IntArray  # [n], places of the nodes below that came by a merge there that is settled
    way: IntArray  # [n]
    pool: IntArray  # [n]

    def example(self, way: int) -> tuple[Node, Node, Node]:
        """Of the nodes that came one way: the one read most, its way in, and another way in."""
        came = self.way == way
        places = self.kept[came]
        mine = int(places[self.below.counts[places].argmax()])
        pool = self.pool == self.pool[came][0]
        other = int(self.kept[pool & ~came][0])
        into = int(self.into[came][0])
        above, at = self.above[into], self.at[into]
        return self.below.node(mine), above.node(at[mine]), above.node(at[other])


@dataclass(frozen=True, slots=True)
class _Compared:
    """Readings of the edges into a level, by the way they came into earlier ones: W of them."""

    ahead: IntArray  # [W], steps between the two levels
    odds: FloatArray  # [W], log-odds of one law
    chance: FloatArray  # [W], of so much difference in samples of one law
    sides: tuple[FloatArray, FloatArray]  # [W, ...], what came this way, and what came by others
    kind: Comparison  # of these
    counts: FloatArray  # [W], readings that came this way
    read: IntArray  # [W], the number of the way
    ways: _Ways

    @property
    def final_odds(self) -> FloatArray:
        """Of those that were read often enough to believe them."""
        return np.where(self.counts >= TUNING.alias_readings, self.odds, np.inf)

    def unsettled(self, which: NDArray[np.bool_], separation: Separation) -> IntArray:
        """Of these ways, those along which the separation has not been excluded."""
        asked = np.flatnonzero(which)
        if not len(asked):
            return asked
        mine, theirs = self.sides
        apart = self.kind.apart(mine[asked], theirs[asked], ONE_NODE)
        evidence = separation.log_evidence(self.kind, apart)[:, 0]
        return asked[evidence < separation.evidence]

    def alias(self, i: int) -> Alias:
        node, mine, other = self.ways.example(self.read[i])
        return Alias(mine.prefix, other.prefix, node.level, int(self.counts[i]))

    def suspect(self, i: int) -> Suspect:
        return Suspect(self.ways.example(self.read[i])[0].prefix, int(self.counts[i]))


def going_on(machine: Automaton, shape: Shape, separation: Separation) -> GoingOn:
    """The clearest case of readings that differ by the way they came, and what looks odd."""
    if separation.exact and (alias := _not_the_same(machine)) is not None:
        return GoingOn(alias, [])
    compared = list(_compared(_levels(machine, shape, separation)))
    many = sum(len(each.odds) for each in compared)
    if not many:
        return GoingOn(None, [])
    clearest = min(compared, key=lambda each: float(each.final_odds.min()))
    i = int(clearest.final_odds.argmin())
    if clearest.final_odds[i] < -math.log(2 * many / TUNING.consistency_alarm):
        return GoingOn(clearest.alias(i), [])
    odd = min(TUNING.odd_chance, TUNING.odd_at_once / many)
    suspects, paid = list[Suspect](), machine.pays
    for each in compared:
        suspected = each.chance < odd
        if not paid:
            suspected |= each.ahead == 1
        for i in each.unsettled(suspected, separation).tolist():
            suspects.append(each.suspect(i))
    return GoingOn(None, suspects)


def _not_the_same(machine: Automaton) -> Alias | None:
    """Of readings without noise: an action that leads from one state to different readings."""
    for layer in machine.layers:
        for nodes in layer.members:
            for action in range(machine.n_actions):
                ends = [node.children[action] for node in nodes if action in node.children]
                read = [end for end in ends if end.digest is not None]
                for end in read[1:]:
                    if not equal_readings(end.digest.value, read[0].digest.value):
                        return Alias(
                            end.prefix[:-1], read[0].prefix[:-1], end.level, end.digest.count
                        )
    return None


def _compared(levels: list[_Level]) -> Iterator[_Compared]:
    for last, below in enumerate(levels):
        at = np.arange(len(below.parents))
        several = max(1, AT_ONCE // max(1, len(at) * below.shape.dimension))
        above = list[tuple[int, IntArray]]()
        for level in range(last - 1, -1, -1):
            at = levels[level + 1].parents[at]
            if levels[level].several:
                above.append((level, at))
        for start in range(0, len(above), several):
            part = above[start : start + several]
            ahead = last - np.array([level for level, _ in part])
            found = _compare([levels[level] for level, _ in part], below, part, ahead)
            if found is not None:
                yield found


def _levels(machine: Automaton, shape: Shape, separation: Separation) -> list[_Level]:
    """Level 1 and below: everything begins in one state."""
    levels, read = list[_Level](), machine.layers[0].here
    for above, layer in zip(machine.layers, machine.layers[1:], strict=False):
        if above.sorting is None:
            break
        levels.append(_level(above, layer, read, separation, shape))
        read = levels[-1].nodes
    return levels


def _level(
    above: Layer, layer: Layer, read: Grouped, separation: Separation, shape: Shape
) -> _Level:
    """`read` are the nodes of the level above that were read."""
    sure = above.settled(separation)
    columns = layer.here.columns
    seen = np.flatnonzero(columns.read[layer.here.rows])
    nodes = Grouped(columns, layer.here.rows[seen], layer.here.groups[seen])
    place = np.zeros(len(above.here.columns), dtype=np.int64)
    place[read.rows] = np.arange(len(read.rows))
    edge_of = np.zeros(len(columns), dtype=np.int64)
    edge_of[above.below.rows] = above.below.groups
    edge = edge_of[nodes.rows]
    targets = above.target.ravel()
    ways_into = sums_by(targets[sure], np.ones(int(sure.sum())), len(layer.prefixes))
    way = np.where(sure[edge] & (ways_into[nodes.groups] > 1), edge, APART)
    return _Level(nodes, place[columns.parent[nodes.rows]], edge, way, shape)


def _compare(
    above: list[_Level], below: _Level, places: Sequence[tuple[int, IntArray]], ahead: IntArray
) -> _Compared | None:
    """`places` are, for each level above, those of the nodes that the nodes below go on from."""
    at = np.array([each for _, each in places])
    came = np.array([level.way[each] for level, each in zip(above, at, strict=True)])
    into, kept = np.nonzero(came != APART)
    if not len(kept):
        return None
    edges = int(below.edge.max()) + 1
    state = np.array([level.nodes.groups[each] for level, each in zip(above, at, strict=True)])
    pools, pool = numbered(_apart(state, into, kept) * edges + below.edge[kept])
    ways, way = numbered(_apart(came, into, kept) * edges + below.edge[kept])
    pool_of = np.zeros(ways, dtype=np.int64)
    pool_of[way] = pool
    counts = sums_by(way, below.counts[kept], ways)
    others = sums_by(pool_of, counts, pools)[pool_of] - counts
    # The side read less is the one to suspect.
    read = np.flatnonzero((counts >= TUNING.first_readings) & (counts <= others))
    if not len(read):
        return None
    mine, theirs = _sides(below, kept, way, pool_of, read)
    kind = below.read[1]
    into_of = np.zeros(ways, dtype=np.int64)
    into_of[way] = into
    return _Compared(
        ahead[into_of[read]],
        kind.log_odds(mine, theirs),
        kind.chance(mine, theirs),
        (mine, theirs),
        kind,
        counts[read],
        read,
        _Ways(above, below, at, into, kept, way, pool),
    )


def _sides(
    below: _Level, kept: IntArray, way: IntArray, pool_of: IntArray, read: IntArray
) -> tuple[FloatArray, FloatArray]:
    """What was read by each of these ways, and by the others of its pool: of no other pools."""
    asked = np.zeros(int(pool_of.max()) + 1, dtype=bool)
    asked[pool_of[read]] = True
    chosen = asked[pool_of]  # ways
    number = np.cumsum(chosen) - 1
    there = np.flatnonzero(chosen[way])
    pools, pool = numbered(pool_of[chosen])
    by_way = sums_by(number[way[there]], below.read[0][kept[there]], len(pool))
    by_pool = sums_by(pool, by_way, pools)
    mine = number[read]
    return by_way[mine], by_pool[pool[mine]] - by_way[mine]


def _apart(numbers: IntArray, into: IntArray, kept: IntArray) -> IntArray:
    """Numbers [L, N] at these places, those of each level beyond all of the level before it."""
    most = numbers.max(axis=1) + 1
    return numbers[into, kept] + (np.cumsum(most) - most)[into]
