"""What the doctor found: one row for each thing that was looked at, and all of them together."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from surepath.results.report.doctor import BROKEN, DOUBTFUL, diagnosed, diagnosis_of
from surepath.results.words import number
from surepath.validate import plain, without_infinities


class Verdict(StrEnum):
    """What a pilot says of an assumption."""

    HOLDS = "holds"
    DOUBTFUL = "doubtful"
    BROKEN = "broken"
    UNTESTED = "not tested"  # the pilot has too little to say

    @classmethod
    def of(cls, chance: float) -> Verdict:
        """What a p-value says."""
        if chance < BROKEN:
            return cls.BROKEN
        return cls.DOUBTFUL if chance < DOUBTFUL else cls.HOLDS


@dataclass(frozen=True, slots=True)
class Finding:
    """One assumption, and what the pilot says of it."""

    assumption: str
    evidence: str
    verdict: Verdict = Verdict.HOLDS
    chance: float | None = None  # p-value, where it is a test
    remedy: str = ""  # names the argument to change
    data: dict[str, Any] = field(default_factory=dict[str, Any])  # the numbers behind the words

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against it."""
        return self.verdict in (Verdict.HOLDS, Verdict.UNTESTED)


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a run is expected to take; episodes of its own, beside the pilot that it is given."""

    guarantee: str
    episodes: float
    low: float  # four of five runs should take more than this, and less than the next
    high: float
    steps: float
    seconds: float  # from the measured time of a step, by one process
    note: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What a pilot says of a system: whether the assumptions hold, and what a run will cost."""

    findings: tuple[Finding, ...]
    forecasts: tuple[Forecast, ...]
    episodes: int  # of the pilot
    steps: int
    step_seconds: float  # measured
    workers: int = 1  # that the time of a forecast is divided by

    @property
    def sound(self) -> bool:
        """Whether nothing speaks against any assumption."""
        return all(finding.holds for finding in self.findings)

    def __getitem__(self, assumption: str) -> Finding:
        return next(each for each in self.findings if each.assumption == assumption)

    def to_dict(self) -> dict[str, Any]:
        return {"sound": self.sound, **plain(self)}

    def to_json(self, indent: int | None = None) -> str:
        return json.dumps(without_infinities(self.to_dict()), indent=indent, allow_nan=False)

    def _repr_html_(self) -> str:
        return diagnosed(diagnosis_of(json.loads(self.to_json())))

    def __str__(self) -> str:
        lines = [f"{self.episodes} pilot episodes: {'sound' if self.sound else 'not sound'}"]
        for each in self.findings:
            chance = "" if each.chance is None else f" (p = {each.chance:.2g})"
            lines.append(f"  {each.assumption}: {each.verdict}{chance}. {each.evidence}")
            lines += [f"    {each.remedy}"] * bool(each.remedy)
        for each in self.forecasts:
            lines.append(
                f"  {each.guarantee}: about {number(each.episodes, 2)} episodes "
                f"({number(each.low, 2)} to {number(each.high, 2)}), "
                f"{number(each.steps, 2)} steps, {number(each.seconds, 2)} s{each.note}"
            )
        return "\n".join(lines)
