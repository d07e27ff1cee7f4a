"""Did what is paid stay the same? Part by part of a run, against what the same prefix paid in all.

A picture beside the test of `inference.drift`, which decides: single parts may stray by chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from surepath.readings.trie import Tally
from surepath.system import Actions, Readings, RewardMoments

PARTS = 24
"""Of a run."""

LIMIT = 3.0
"""Standard errors beyond which a part is marked: of all parts of a steady run about one in 400."""


@dataclass(frozen=True, slots=True)
class Paid:
    """What one request was paid, without what was seen."""

    actions: Actions
    count: int
    rewards: list[RewardMoments]  # of every step

    @classmethod
    def of(cls, readings: Readings) -> Paid:
        steps = range(len(readings.actions))
        return cls(readings.actions, readings.count, [readings.reward(step) for step in steps])


@dataclass(frozen=True, slots=True)
class Window:
    """A part of the run."""

    first: int  # numbers of its episodes
    last: int
    score: float  # how far above its prefixes' means it paid, in standard errors


def windows_of(told: Sequence[Paid]) -> list[Window]:
    """The parts of a run, from what its requests were paid, in their order.

    Empty where there is too little.
    """
    whole = _tallies(told)
    episodes = sum(each.count for each in told)
    size = max(1, math.ceil(episodes / PARTS))
    found, part, start, end = list[Window](), list[Paid](), 0, 0
    for paid in told:
        part.append(paid)
        end += paid.count
        if end - start >= size or end == episodes:
            score = _score(part, whole)
            found += [] if score is None else [Window(start + 1, end, score)]
            part, start = [], end
    return found if len(found) > 2 else []


def _tallies(told: Iterable[Paid]) -> dict[Actions, Tally]:
    tallies = dict[Actions, Tally]()
    for paid in told:
        for step, rewards in enumerate(paid.rewards):
            tallies.setdefault(paid.actions[: step + 1], Tally()).add(rewards)
    return tallies


def _score(part: Iterable[Paid], whole: dict[Actions, Tally]) -> float | None:
    """None where nothing in this part varies."""
    above, variance = 0.0, 0.0
    for prefix, tally in _tallies(part).items():
        of_all = whole[prefix]
        spread = of_all.scatter / max(1, of_all.count - 1)
        # What is compared with a mean that it is part of strays less.
        rest = 1 - tally.count / of_all.count
        above += tally.count * (tally.mean - of_all.mean)
        variance += tally.count * spread * rest
    return above / math.sqrt(variance) if variance > 0 else None
