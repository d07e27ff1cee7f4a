"""From what past readings show to a proposal: a closed machine, its plan, and what to expect."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from surepath.inference.judgement import Judgement
from surepath.inference.paths import reach
from surepath.inference.proposal import Proposal, Role, Route, Rules, Sums
from surepath.inference.states import UNKNOWN, Automaton, Edge, Layer
from surepath.readings.digests import Cloud
from surepath.system import FloatArray

SLACK = 0.5
"""The share of the plan's lead that the radii of merges may take, on the route of a norm."""


@dataclass(slots=True)
class _Drawn:
    """The machine as far as it has been drawn."""

    edges: list[tuple[int, Edge]] = field(default_factory=list[tuple[int, Edge]])  # as in the trie
    role: list[Role] = field(default_factory=list[Role])
    target: list[int] = field(default_factory=list[int])
    states: list[int] = field(default_factory=list[int])  # of each level, how many

    def add(self, place: tuple[int, Edge], role: Role, target: int = -1) -> None:
        self.edges.append(place)
        self.role.append(role)
        self.target.append(target)


def propose(judged: Judgement, rules: Rules) -> tuple[Proposal, FloatArray]:
    """The proposal; and [E], how far merged ends are expected to seem apart at M = 1.

    What even the most there is could not lift above the plan's rivals is not followed: its edges go
    to the top, and states that only they lead to are left out.
    """
    machine, lead = judged.machine, _least_lead(judged)
    drawn, kept = _Drawn(), {0: 0}  # the level's states: new numbers by old ones
    for level, layer in enumerate(machine.layers):
        drawn.states.append(len(kept))
        kept = _draw_level(drawn, judged, level, layer, kept, rules, lead)
    merges = np.array([role is Role.MERGES for role in drawn.role])
    radius = np.zeros(len(merges))
    if rules.norm is not None:
        radius[merges] = SLACK * lead / (rules.norm * max(machine.horizon - 1, 1))
    proposal = Proposal(
        rules=rules,
        horizon=machine.horizon,
        n_actions=machine.n_actions,
        states=tuple(drawn.states),
        role=drawn.role,
        target=np.array(drawn.target),
        radius=radius,
        known=_known(machine, drawn.edges),
        plan=judged.plan.actions,
    )
    return proposal, _noise(machine, drawn.edges, rules)


def _draw_level(
    drawn: _Drawn,
    judged: Judgement,
    level: int,
    layer: Layer,
    kept: dict[int, int],
    rules: Rules,
    lead: float,
) -> dict[int, int]:
    """Draw the edges of a level; the states of the next one that they lead to."""
    here = [(state, action) for state in kept for action in range(judged.machine.n_actions)]
    if level + 1 == judged.machine.horizon:
        for edge in here:
            drawn.add((level, edge), Role.ENDS)
        return {}
    # What was not tried is worth the most there is to the judgement too.
    top = (_led_on_top(judged, level, rules) >= lead) | ~_tried(judged, level)
    top[judged.plan.edges[level]] = False
    followed = [edge for edge in here if not top[edge]]
    founders = _founders(layer, followed, judged.plan.edges[level])
    found = {state: number for number, state in enumerate(founders)}
    for edge in here:
        if top[edge]:
            drawn.add((level, edge), Role.TOP)
        else:
            old = int(layer.target[edge])
            role = Role.FOUNDS if founders[old] == edge else Role.MERGES
            drawn.add((level, edge), role, found[old])
    return found


def _least_lead(judged: Judgement) -> float:
    """By how much the plan leads the next best path, with the tolerance that it has beside it."""
    machine, before = judged.machine, reach(judged.machine)
    after, least = np.zeros(1), np.inf
    for level in range(machine.horizon - 1, -1, -1):
        layer = machine.layers[level]
        total = layer.mean + (after[layer.target] if level + 1 < machine.horizon else 0.0)
        after = np.where(layer.expanded, total.max(axis=1), judged.values.best(level))
        others = before[level][:, None] + total
        others[judged.plan.edges[level]] = -np.inf
        least = min(least, judged.value - float(others.max()))
    return max(least, 0.0) + judged.tolerance


def _led_on_top(judged: Judgement, level: int, rules: Rules) -> FloatArray:
    """[S, A], by how much the plan leads if all that follows an edge paid the most there is."""
    layer = judged.machine.layers[level]
    if not rules.bounded:
        return np.full(layer.mean.shape, -np.inf)
    before = reach(judged.machine)[level][:, None]
    most = (judged.machine.horizon - level - 1) * rules.rewards[1]
    return judged.value - (before + layer.mean + most) + judged.tolerance


def _tried(judged: Judgement, level: int) -> NDArray[np.bool_]:
    """[S, A], whether the states that edges lead to were tried."""
    target = judged.machine.layers[level].target
    return (target != UNKNOWN) & judged.machine.layers[level + 1].expanded[target]


def _founders(layer: Layer, edges: list[Edge], plan: Edge) -> dict[int, Edge]:
    """By state of the next level: the edge that founds it, the plan's before those read most."""
    founders = dict[int, Edge]()
    for edge in sorted(edges, key=lambda edge: (edge != plan, -layer.count[edge])):
        founders.setdefault(int(layer.target[edge]), edge)
    return founders


def _known(machine: Automaton, edges: list[tuple[int, Edge]]) -> Sums:
    count, mean, scatter = (
        np.array([getattr(machine.layers[level], name)[edge] for level, edge in edges])
        for name in ("count", "mean", "scatter")
    )
    return Sums(count, count * mean, scatter + count * mean**2)


def _noise(machine: Automaton, edges: list[tuple[int, Edge]], rules: Rules) -> FloatArray:
    """The mean distance that two samples of one state show, times the root of M."""
    found = np.zeros(len(edges))
    members = [layer.members for layer in machine.layers]
    for i, (level, edge) in enumerate(edges):
        if rules.route is not Route.TREE and level + 1 < machine.horizon:
            nodes = members[level + 1][int(machine.layers[level].target[edge])]
            clouds: list[Cloud] = [node.digest for node in nodes if node.digest is not None]
            pooled = clouds[0]
            for cloud in clouds[1:]:
                pooled = pooled.merge(cloud)
            found[i] = rules.future * _apart(pooled, rules)
    return found


def _apart(cloud: Cloud, rules: Rules) -> float:
    assert rules.observed is not None  # asked where something is compared
    squares = np.diag(cloud.squares) if cloud.squares.ndim > 1 else cloud.squares
    variance = np.maximum(squares / cloud.count - cloud.value**2, 0.0)[: rules.observed.size]
    if rules.observed.type == "symbols":
        return float(np.sqrt(2 / np.pi * variance).sum() / 2)
    return float(np.sqrt(variance.sum()))
