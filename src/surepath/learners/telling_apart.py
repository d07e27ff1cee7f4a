"""Telling the plan from all that may be better, where readings have no noise.

Which state an episode comes to is then certain; what is left to find out is what is paid. Rewards
that were the same every time are known, so what counts of a sequence is its *end*: the state where
noise begins, and the actions from there on. Three things follow.

Several ways to leave the plan may have the same end as their hardest challenger. It is read once.

The plan stands against every challenger, and one more reading of it narrows all leads at once. So
challengers wait while it saves more readings than it costs.

What an end pays is told by every way that leads there. Read by ways that nobody has followed yet,
the same episodes show whether what was taken for one state pays like one, which `merge_audit` would
otherwise ask for before a certificate.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from surepath.inference.guarantee_widths import repeated_without_noise
from surepath.inference.judgement import Judgement
from surepath.inference.merge_audit import unfollowed
from surepath.inference.states import UNKNOWN, Automaton
from surepath.inference.terms import Terms
from surepath.inference.tuning import TUNING
from surepath.learners.ahead import Wanted
from surepath.learners.next_readings import sides
from surepath.system import Actions

End: TypeAlias = tuple[int, Actions]
"""A state of the level where noise begins, and the actions from there on."""


def exactly(judged: Judgement, wanted: Iterable[Wanted], terms: Terms) -> list[Wanted]:
    """What tells each challenger from the plan, put together for all of them."""
    machine = judged.machine
    level = _noisy_from(machine)
    plan = _more_of_the_plan(judged, level)
    once = dict[End, Wanted]()
    for actions, count in [plan] if plan else wanted:
        end = _end(machine, level, actions)
        first, most = once.get(end, (actions, count))
        once[end] = first, max(most, count)
    states = [state for state, _ in once if state != UNKNOWN]
    others = unfollowed(judged, level, states, terms.merge_readings)
    return [
        each
        for (state, rest), asked in once.items()
        for each in _shared(asked, [way for way in others.get(state, ()) if way[level:] == rest])
    ]


def _noisy_from(machine: Automaton) -> int:
    """The first level whose rewards were not all seen to be the same every time."""
    noisy = (h for h, layer in enumerate(machine.layers) if not repeated_without_noise(layer))
    return next(noisy, machine.horizon - 1)


def _end(machine: Automaton, level: int, actions: Actions) -> End:
    """A sequence that stops before noise begins is an end of its own."""
    if len(actions) <= level:
        return UNKNOWN, actions
    state = 0
    for layer, action in zip(machine.layers, actions[:level], strict=False):
        state = int(layer.target[state, action])
    return state, actions[level:]


def _more_of_the_plan(judged: Judgement, level: int) -> Wanted | None:
    """The plan, where one more reading of it saves the challengers more than one."""
    machine, plan = judged.machine, judged.plan
    saved, growth = dict[End, float](), TUNING.least_growth
    for challenger in judged.open:
        if challenger.guessed >= TUNING.mostly_guessed:
            continue  # where it ends is tried, and not read more often
        ours, theirs = sides(machine, plan, challenger, judged.spreads, judged.shortfalls)
        if theirs.gain > 0:
            saved[_end(machine, level, theirs.actions)] = ours.gain / theirs.gain
            growth = max(growth, challenger.growth)
    if sum(saved.values()) <= 1:
        return None
    edges = zip(machine.layers, plan.edges, strict=True)
    count = min(float(layer.count[edge]) for layer, edge in edges)
    growth = min(growth, TUNING.most_growth)
    return plan.actions, max(TUNING.least_request, math.ceil(growth * count))


def _shared(asked: Wanted, ways: Sequence[Actions]) -> list[Wanted]:
    """As often in all, up to half of it by other ways.

    The other half stays with one sequence: only what is read of the same again and again shows
    that a system drifts.
    """
    actions, count = asked
    others = [way for way in ways if way != actions][: count // 2]
    return [(actions, count - len(others)), *((way, 1) for way in others)]
