"""Asking for what will probably be needed next, where more episodes can run at once than are asked.

Whoever has 64 benches and is asked for 20 episodes leaves 44 of them idle. They are given, in this
order, as far as there is room:

1. the actions after those that are tried for the first time;
2. what has to be read before a certificate in any case: the plan itself, and what was taken for one
   state, followed to the end;
3. more episodes of all that is asked for, in proportion: most questions are asked more than once.

All of it is read like anything else and counts like anything else. How many can run at once is an
argument of the call: it decides what is asked for, so it is recorded, and a run that is resumed or
replayed asks for the same. Who runs the episodes is not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

from surepath.inference.states import Automaton
from surepath.inference.tuning import TUNING
from surepath.journal.course import Purpose
from surepath.readings.trie import Node
from surepath.system import Actions

Wanted: TypeAlias = tuple[Actions, int]
"""A sequence, and how often to run it."""

Asked: TypeAlias = dict[Purpose, list[Wanted]]
"""What is wanted, by what it is for."""

MOST_MORE = 1 / TUNING.most_growth
"""What is asked for is asked for at most so many times: readings are then doubled at most."""


def merged(asked: Asked) -> dict[Actions, int]:
    """The largest count asked for each sequence."""
    counts = dict[Actions, int]()
    for several in asked.values():
        for actions, count in several:
            counts[actions] = max(count, counts.get(actions, 0))
    return counts


def episodes_of(wanted: Sequence[Wanted]) -> int:
    """That it takes to run all of it."""
    return sum(merged({Purpose.EXPLORE: list(wanted)}).values())


def filled(
    asked: Asked, at_once: int, machine: Automaton, root: Node, later: Sequence[Wanted]
) -> Asked:
    """What is asked for, and beside it so much that about `at_once` episodes run at a time.

    later: what has to be read before a certificate. Nothing is added where nothing is asked for.
    """
    if not _room(asked, at_once) or not any(asked.values()):
        return asked
    found = {purpose: list(several) for purpose, several in asked.items()}
    if Purpose.EXPLORE in found:
        found[Purpose.EXPLORE] = _onwards(found[Purpose.EXPLORE], at_once, machine, root)
    for actions, count in later:
        if room := _room(found, at_once):
            found.setdefault(Purpose.CERTIFY, []).append((actions, min(count, room)))
    return _more(found, at_once)


def _room(asked: Asked, at_once: int) -> int:
    return max(0, at_once - sum(merged(asked).values()))


def _onwards(
    wanted: Sequence[Wanted], at_once: int, machine: Automaton, root: Node
) -> list[Wanted]:
    """In place of sequences that nobody has walked: these and every action after them, if all fit.

    All or none: what is known further in one direction only looks better or worse for that.
    """
    found = list(wanted)
    while True:
        longer = list[Wanted]()
        for actions, count in found:
            if len(actions) == machine.horizon or root.walked(actions):
                longer.append((actions, count))
            else:
                below = range(machine.layers[len(actions)].n_actions)
                longer += [((*actions, action), count) for action in below]
        if len(longer) == len(found) or sum(count for _, count in longer) > at_once:
            return found
        found = longer


def _more(asked: Asked, at_once: int) -> Asked:
    """All counts in proportion, so that they add up to `at_once` or come close to it."""
    total = sum(merged(asked).values())
    if total >= at_once:
        return asked
    share = min(at_once / total, MOST_MORE)
    return {
        purpose: [(actions, math.floor(share * count)) for actions, count in several]
        for purpose, several in asked.items()
    }


def parts(wanted: Sequence[Wanted], at_once: int, largest: int | None) -> list[Wanted]:
    """Requests of at most `largest` episodes; and so small that `at_once` of them share the work.

    largest: None where the system answers at once, however many are asked for.
    """
    if largest is None:
        return list(wanted)
    if at_once > 1:
        largest = min(largest, math.ceil(sum(count for _, count in wanted) / at_once))
    return [
        (actions, min(largest, count - start))
        for actions, count in wanted
        for start in range(0, count, largest)
    ]
