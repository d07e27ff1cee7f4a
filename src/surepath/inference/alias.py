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
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from surepath.inference.comparison import Comparison
from surepath.inference.same_law import samples_of
from surepath.inference.separation import Separation
from surepath.inference.states import Automaton, Layer, Shape
from surepath.inference.tuning import TUNING
from surepath.readings.trie import Node
from surepath.system import Actions, FloatArray, IntArray

APART = -1
"""In place of a way in: of nodes below merges that are not settled."""

ONE_NODE = np.zeros((1, 1), dtype=np.int64)
"""The only way through a window of one node."""


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
    """The nodes of a level that were read, as arrays."""

    nodes: list[Node]
    parents: IntArray  # [N], their places among the nodes of the level above
    edge: IntArray  # [N], the edge they were reached by: state of the level above and action
    state: IntArray  # [N]
    way: IntArray  # [N], the edge where its merge is settled, else APART
    shape: Shape

    @cached_property
    def read(self) -> tuple[FloatArray, Comparison]:
        """Their readings as samples, [N, 1, ...]; most levels are never compared."""
        windows = [[node.digest] for node in self.nodes]
        return samples_of(windows, self.shape.dimension, symbols=self.shape.symbols)


@dataclass(frozen=True, slots=True)
class _Compared:
    """Readings of the edges into a level, by the way they came into an earlier one: W of them."""

    ahead: int  # steps between the two levels
    odds: FloatArray  # [W], log-odds of one law
    chance: FloatArray  # [W], of so much difference in samples of one law
    evidence: FloatArray  # [W], against the declared separation
    counts: FloatArray  # [W], readings that came this way
    nodes: list[tuple[Node, Node, Node]]  # [W]: read most of them, its way in, another way in

    @property
    def final_odds(self) -> FloatArray:
        """Of those that were read often enough to believe them."""
        return np.where(self.counts >= TUNING.alias_readings, self.odds, np.inf)

    def alias(self, i: int) -> Alias:
        node, mine, other = self.nodes[i]
        return Alias(mine.prefix, other.prefix, node.level, int(self.counts[i]))


def going_on(machine: Automaton, shape: Shape, separation: Separation) -> GoingOn:
    """The clearest case of readings that differ by the way they came, and what looks odd."""
    compared = list(_compared(_levels(machine, shape, separation), separation))
    many = sum(len(each.odds) for each in compared)
    if not many:
        return GoingOn(None, [])
    clearest = min(compared, key=lambda each: float(each.final_odds.min()))
    i = int(clearest.final_odds.argmin())
    if clearest.final_odds[i] < -math.log(2 * many / TUNING.consistency_alarm):
        return GoingOn(clearest.alias(i), [])
    odd = min(TUNING.odd_chance, TUNING.odd_at_once / many)
    suspects = list[Suspect]()
    for each in compared:
        suspected = each.chance < odd
        if not machine.pays and each.ahead == 1:
            suspected |= True
        for i in np.flatnonzero(suspected & (each.evidence < separation.evidence)).tolist():
            suspects.append(Suspect(each.nodes[i][0].prefix, int(each.counts[i])))
    return GoingOn(None, suspects)


def _compared(levels: list[_Level], separation: Separation) -> Iterator[_Compared]:
    for last in range(1, len(levels)):
        at = np.arange(len(levels[last].nodes))
        for level in range(last - 1, -1, -1):
            at = levels[level + 1].parents[at]
            found = _compare(levels[level], levels[last], at, last - level, separation)
            if found is not None:
                yield found


def _levels(machine: Automaton, shape: Shape, separation: Separation) -> list[_Level]:
    """Level 1 and below: everything begins in one state."""
    levels = list[_Level]()
    places = {id(machine.layers[0].members[0][0]): 0}
    for above, layer in zip(machine.layers, machine.layers[1:], strict=False):
        if above.sorting is None:
            break
        levels.append(_level(above, layer, places, shape, separation))
        places = {id(node): place for place, node in enumerate(levels[-1].nodes)}
    return levels


def _level(
    above: Layer, layer: Layer, places: dict[int, int], shape: Shape, separation: Separation
) -> _Level:
    """`places` are those of the nodes of the level above, by identity."""
    assert above.sorting is not None
    owners = {id(node): state for state, nodes in enumerate(above.members) for node in nodes}
    sure = np.full(above.count.size, False)
    for (state, action), evidence in zip(
        above.sorting.edges, above.sorting.merges.evidence, strict=True
    ):
        sure[state * shape.n_actions + action] = evidence >= separation.evidence
    found = [
        (node, state)
        for state, members in enumerate(layer.members)
        for node in members
        if node.digest is not None
    ]
    nodes = [node for node, _ in found]
    edge = np.array([owners[id(node.parent)] * shape.n_actions + node.action for node in nodes])
    return _Level(
        nodes,
        np.array([places[id(node.parent)] for node in nodes]),
        edge,
        np.array([state for _, state in found]),
        np.where(sure[edge], edge, APART),
        shape,
    )


def _compare(
    above: _Level, below: _Level, at: IntArray, ahead: int, separation: Separation
) -> _Compared | None:
    """`at` are the places, in the level above, of the nodes that those below go on from."""
    kept = np.flatnonzero(above.way[at] != APART)
    if not len(kept):
        return None
    edges = int(below.edge.max()) + 1
    pools, pool = np.unique(above.state[at[kept]] * edges + below.edge[kept], return_inverse=True)
    ways, way = np.unique(above.way[at[kept]] * edges + below.edge[kept], return_inverse=True)
    if len(ways) == len(pools):  # one way into every state
        return None
    samples, kind = below.read
    by_way, by_pool = (np.zeros((len(kinds), *samples.shape[1:])) for kinds in (ways, pools))
    np.add.at(by_way, way, samples[kept])
    np.add.at(by_pool, pool, samples[kept])
    pool_of = np.zeros(len(ways), dtype=np.int64)
    pool_of[way] = pool
    rest = by_pool[pool_of] - by_way
    counts, others = (kind.counts(part)[:, 0] for part in (by_way, rest))
    # The side read less is the one to suspect.
    read = np.flatnonzero((counts >= TUNING.first_readings) & (counts <= others))
    if not len(read):
        return None
    mine, theirs = by_way[read], rest[read]
    apart = kind.apart(mine, theirs, ONE_NODE)
    return _Compared(
        ahead,
        kind.log_odds(mine, theirs),
        kind.chance(mine, theirs),
        separation.log_evidence(kind, apart)[:, 0],
        counts[read],
        [_example(above, below, at, kept, way == w, pool == pool_of[w]) for w in read],
    )


def _example(
    above: _Level, below: _Level, at: IntArray, kept: IntArray, way: IntArray, pool: IntArray
) -> tuple[Node, Node, Node]:
    """Of the nodes that came one way: the one read most, its way in, and another way in."""
    places: list[int] = kept[way].tolist()
    mine = max(places, key=lambda place: below.nodes[place].count)
    other = int(kept[pool & ~way][0])
    return below.nodes[mine], above.nodes[int(at[mine])], above.nodes[int(at[other])]
