"""All that a page shows, gathered from a saved result or from a journal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from surepath.inference.judgement import Judgement
from surepath.journal.action_names import names_in
from surepath.journal.course import Point, course_in
from surepath.journal.database import Journal
from surepath.journal.rows import as_told, requests_of
from surepath.results.report.doctor import Diagnosis, diagnosis_in
from surepath.results.report.steadiness import Paid, Window, windows_of
from surepath.results.result import Result
from surepath.results.verify import judged_again
from surepath.results.words import action_name, short

LONGEST_NAME = 48
"""Characters of an action's name that are shown."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """What is known of a run."""

    name: str  # of its file
    result: Result | None  # None where a run goes on and nothing can be said of it yet
    judged: Judgement | None  # None where the file has no readings, or by older rules
    call: Mapping[str, Any] = field(default_factory=dict[str, Any])
    course: list[Point] = field(default_factory=list[Point])  # empty where it was not recorded
    windows: list[Window] = field(default_factory=list[Window])  # of what was paid over time
    diagnosis: Diagnosis | None = None  # the doctor's
    actions: tuple[str, ...] = ()  # their names
    failed: int = 0  # attempts at episodes
    running: bool = False

    @property
    def title(self) -> str:
        """What the system is called, or else the file."""
        return system_name(self.call) or self.name

    def named(self, action: int) -> str:
        """How an action is called, in a few words."""
        return short(action_name(self.actions, action), LONGEST_NAME)


def system_name(call: Mapping[str, Any]) -> str:
    """What the system of a run is called, by what is recorded of it."""
    system = call.get("system")
    if not isinstance(system, Mapping):
        return ""
    said = cast(Mapping[str, Any], system)
    for key in ("problem", "environment", "system", "name", "type"):
        if isinstance(said.get(key), str):
            return said[key]
    return "a system elsewhere" if "elsewhere" in said else ""


def sheet_of_result(result: Result, name: str) -> Sheet:
    """The sheet of a saved result, which knows the end of its run only."""
    return Sheet(name, result, judged_again(result), result.call or {})


def sheet_of_journal(journal: Journal, result: Result | None, *, running: bool) -> Sheet:
    """The sheet of a journal; `result` is what its run has found, at the end or so far."""
    adaptive = result is not None and result.certificate.terms is not None
    pilot = result is not None and result.usage.pooled_episodes > 0
    told = requests_of(as_told(journal.rows(), pilot=pilot)) if adaptive else ()
    return Sheet(
        journal.path.name,
        result,
        None if result is None else judged_again(result),
        journal.configuration,
        course_in(journal),
        windows_of([Paid.of(readings) for _, readings in told]),
        diagnosis=diagnosis_in(journal),
        actions=names_in(journal),
        failed=journal.faults(),
        running=running,
    )
