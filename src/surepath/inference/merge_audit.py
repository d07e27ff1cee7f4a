"""Before a certificate, what was taken for one state is walked on from every side.

What was read behind one prefix of a state counts for all of them. If they look alike and are not
one, nothing shows it as long as nobody goes on from the others. So, of the ends of edges that were
taken for a state that another edge leads to, some are followed to the end, along what would be best
from there. Whether they pay and go on like the rest is then seen by the tests that see it anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from surepath.inference.judgement import Judgement
from surepath.inference.paths import reach
from surepath.inference.states import UNKNOWN, Automaton
from surepath.inference.terms import Terms
from surepath.inference.tuning import TUNING
from surepath.inference.values import Values
from surepath.readings.trie import Node
from surepath.system import Actions, IntArray


def own_walk(judged: Judgement) -> list[tuple[Actions, int]]:
    """The plan as it stands, as often as it takes to compare it with what was pooled elsewhere."""
    node, short = _root(judged), 0
    for action in judged.plan.actions:
        node = node.child(action)
        short = max(short, TUNING.own_readings - node.rewards.count)
    return [(judged.plan.actions, short)] if short > 0 else []


def walks(judged: Judgement, episodes: int, terms: Terms) -> list[tuple[Actions, int]]:
    """Sequences, and how often to run them: as many merges as a share of the episodes pays for.

    Those that promise most come first: a wrong one matters most there. What was followed while it
    promised more counts, for half of them at most. What was followed and turned
    out to be a state of its own was followed all the same; but as rivals of the plan are read like
    that too, at least half are merges that there are now. Empty when all is done.
    """
    root, readings = _root(judged), terms.merge_readings
    enough = float(readings)
    if terms.exact:
        # Episodes that only read where they come to are not what such a run is short of.
        episodes = min(episodes, int(judged.machine.layers[-1].count.sum()))
        enough = math.inf  # following what reads the same does not show that it is another state
    several = int(TUNING.followed_share * episodes / readings)
    several = max(several, TUNING.least_audited)
    ways = _merged(judged, enough)
    promised = sum(way is None or root.walked(way) >= readings for way in ways[several:])
    several -= min(promised, several // 2)
    left, done = list[Actions](), 0
    for way in ways:
        if len(left) + done == several:
            break
        if way is None:
            done = min(done + 1, several // 2)
        else:
            left.append(way)
    short = [readings - root.walked(way) for way in left]
    return [(way, count) for way, count in zip(left, short, strict=True) if count > 0]


def unfollowed(
    judged: Judgement, level: int, states: Sequence[int], readings: int
) -> dict[int, list[Actions]]:
    """By state of a level: sequences that take a merge above it, go on as is best, and pass it.

    Only those that were not followed yet.
    """
    machine, values, root = judged.machine, judged.values, _root(judged)
    found: dict[int, list[Actions]] = {state: [] for state in states}
    leads = _leads(machine, values, level)
    for above, layer in enumerate(machine.layers[:level]):
        if (sorting := layer.sorting) is None:
            continue
        passed = leads[above + 1][sorting.labels]
        chosen = sorting.merges.tested & np.isin(passed, states)
        for i in np.flatnonzero(chosen).tolist():
            state, action = sorting.edges[i]
            start = (*layer.prefixes[state], action)
            way = _onwards(machine, values, above + 1, int(sorting.labels[i]), start)
            if root.walked(way) < readings:
                found[int(passed[i])].append(way)
    return found


def _leads(machine: Automaton, values: Values, level: int) -> list[IntArray]:
    """The state of the level that the best path from each state comes to; [S] for each above it.

    UNKNOWN where that is not known.
    """
    leads = [np.arange(len(machine.layers[level].prefixes))]
    above = zip(machine.layers[:level], values.q[:level], strict=True)
    for layer, q in reversed(list(above)):
        target = layer.target[np.arange(len(q)), q.argmax(axis=1)]
        known = layer.expanded & (target != UNKNOWN)
        leads.append(np.where(known, leads[-1][target], UNKNOWN))
    return leads[::-1]


def _root(judged: Judgement) -> Node:
    return judged.machine.layers[0].here.columns.nodes[0]


def _merged(judged: Judgement, enough: float) -> list[Actions | None]:
    """For every merge a sequence that takes it and goes on as is best, the most promising first.

    None for what was followed often enough and, by that, turned out to be a state of its own: one
    that no other edge leads to, and of which little was read but the way on that was followed. What
    the plan passes was not read for that.
    """
    machine, before = judged.machine, reach(judged.machine)
    found = list[tuple[float, Actions | None]]()
    ways = zip(machine.layers, machine.layers[1:], judged.plan.edges[1:], strict=False)
    for level, (layer, below, (passed, _)) in enumerate(ways):
        sorting = layer.sorting
        if sorting is None:
            continue
        most, all_of_it = below.count.max(axis=1), below.count.sum(axis=1)
        followed = (most >= enough) & (all_of_it - most < enough)
        followed &= np.bincount(sorting.labels, minlength=len(most)) == 1
        followed[passed] = False
        merged = sorting.merges.tested
        for i in np.flatnonzero(merged | followed[sorting.labels]).tolist():
            edge = sorting.edges[i]
            state = int(layer.target[edge])
            promise = before[level][edge[0]] + layer.mean[edge]
            promise += float(judged.values.best(level + 1)[state])
            start = (*layer.prefixes[edge[0]], edge[1])
            way = _onwards(machine, judged.values, level + 1, state, start) if merged[i] else None
            found.append((float(promise), way))
    found.sort(key=lambda each: (-each[0], each[1] or ()))
    return [way for _, way in found]


def _onwards(machine: Automaton, values: Values, level: int, state: int, start: Actions) -> Actions:
    """From the state on by what is best, as far as its states were tried."""
    actions = list(start)
    for layer, q in zip(machine.layers[level:], values.q[level:], strict=True):
        if not layer.expanded[state]:
            break
        actions.append(int(q[state].argmax()))
        state = int(layer.target[state, actions[-1]])
    return tuple(actions)
