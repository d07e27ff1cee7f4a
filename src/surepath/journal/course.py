"""The course of a run: what it knew after every batch, and what the episodes of each were for.

Nothing is decided by it. It is kept because a picture of a run shows how its gap closed, and only
deciding everything again would tell that otherwise. A replay of the run compares it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, TypedDict

from surepath.decoding.kinds import Unbounded, Unknown
from surepath.decoding.typed import decoded
from surepath.journal.database import Journal
from surepath.validate import without_infinities

PART = 64
"""Batches of one entry of a journal: what is written anew after every batch stays small."""


KEY = "course"
"""How the entries of a journal begin that hold it."""


class Purpose(StrEnum):
    """What a learner asks for episodes for."""

    EXPLORE = "explore"  # where nobody has been, or hardly
    TELL_APART = "tell apart"  # the plan from what may be better
    IDENTIFY = "identify"  # which state an action leads to
    CERTIFY = "certify"  # walk the plan, audit what is assumed, prove what was proposed


class Point(TypedDict):
    """What was known after a batch."""

    batch: int
    episodes: int
    steps: int
    value: Unknown  # of the best plan, as far as it is known
    bound: Unbounded  # what no plan is worth more than
    states: int | None  # that were told apart; None where none are looked for
    open_questions: int | None
    spent: list[int]  # episodes of this batch, by purpose


class Course:
    """Writes the course of a run into its journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._part = -1
        self._points: dict[int, Any] = {}  # of this part, by batch

    def note(self, point: Point) -> None:
        """Keep a point, in place of an older one of the same batch."""
        part, said = point["batch"] // PART, without_infinities(dict(point))
        if part != self._part:
            known = _part(self._journal, part)
            self._part, self._points = part, {each["batch"]: each for each in known}
        if self._points.get(point["batch"]) == said:
            return
        self._points[point["batch"]] = said
        self._journal.put(_key(part), [self._points[batch] for batch in sorted(self._points)])


def course_in(journal: Journal) -> list[Point]:
    """The course as far as it was recorded; empty in journals from before there was one."""
    points = [
        point
        for key in journal.keys(KEY)
        for point in decoded(list[Point], journal.get(key), f"the entry {key}")
    ]
    return sorted(points, key=lambda point: point["batch"])


def _part(journal: Journal, part: int) -> Any:
    return journal.get(_key(part)) or []


def _key(part: int) -> str:
    return f"{KEY} {part}"
