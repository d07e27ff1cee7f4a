"""What the doctor found before a run, as its journal keeps it."""

from __future__ import annotations

from typing import Any, TypedDict

from surepath.decoding.kinds import Unbounded
from surepath.decoding.typed import decoded
from surepath.journal.database import Journal
from surepath.results.report.html import EMPTY, Child, Html, element, table, together
from surepath.results.words import number

DOUBTFUL, BROKEN = 1e-2, 1e-3
"""Probabilities, in a system that satisfies an assumption, of the two verdicts against it."""

DIAGNOSIS = "diagnosis"
"""The entry of a journal that holds it."""


class Finding(TypedDict):
    assumption: str
    evidence: str
    verdict: str
    chance: float | None
    remedy: str
    data: dict[str, Any]


class Forecast(TypedDict):
    guarantee: str
    episodes: Unbounded
    low: Unbounded
    high: Unbounded
    steps: Unbounded
    seconds: Unbounded
    note: str


class Diagnosis(TypedDict):
    sound: bool
    findings: list[Finding]
    forecasts: list[Forecast]
    episodes: int
    steps: int
    step_seconds: Unbounded
    workers: int


def diagnosis_in(journal: Journal) -> Diagnosis | None:
    said = journal.get(DIAGNOSIS)
    return None if said is None else diagnosis_of(said)


def diagnosis_of(data: Any) -> Diagnosis:
    return decoded(Diagnosis, data, "the diagnosis")


def diagnosed(found: Diagnosis | None) -> Html:
    """The doctor's table, and what was expected of the run."""
    if found is None:
        return element(
            "p",
            "No diagnosis is in this file. surepath doctor ENV --journal run.db looks at every "
            "assumption before a run, and learn goes on with its journal.",
        )
    rows: list[list[Child]] = [
        [
            each["assumption"],
            element("span", each["verdict"], cls=f"verdict {each['verdict']}"),
            "" if each["chance"] is None else number(each["chance"], 2),
            _said(each),
        ]
        for each in found["findings"]
    ]
    head = ["assumption", "verdict", "p", "evidence and remedy"]
    words = "sound" if found["sound"] else "not sound"
    caption = (
        f"By {number(found['episodes'])} pilot episodes: {words}. Doubtful below "
        f"p = {DOUBTFUL:g}, broken below {BROKEN:g}."
    )
    return together(table(head, rows, caption), _forecasts(found["forecasts"]))


def _said(finding: Finding) -> Html:
    evidence, remedy = finding["evidence"], finding["remedy"]
    return together(f"{evidence}. ", element("b", remedy)) if remedy else together(evidence)


def _forecasts(found: list[Forecast]) -> Html:
    rows: list[list[Child]] = [
        [
            each["guarantee"],
            number(each["episodes"], 2),
            f"{number(each['low'], 2)} to {number(each['high'], 2)}{each['note']}",
            number(each["steps"], 2),
        ]
        for each in found
    ]
    head = ["a run", "episodes", "between", "steps"]
    return table(head, rows, "What a run was expected to take") if rows else EMPTY
