"""The claim, its assumptions and the evidence, as data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Literal, TypeAlias

from surepath.decoding.kinds import Bottomless, Probability, Unbounded
from surepath.errors import visible
from surepath.inference.terms import Terms
from surepath.theory.schedule import Bounds, Schedule
from surepath.validate import plain

SCHEMA = 10
"""Of `to_dict`: 9 rested on predictions also where they could not matter, 8 had wider widths of
what was hardly read, 6 did not add up how differently prefixes of one state pay, 5 took many close
decisions for one, 4 followed no merges to the end before it certified; 3 had no declared separation
and did not say what it rests on, 2 had no status, tolerance and warnings, 1 knew fixed schedules
only."""

Source: TypeAlias = Literal["regression", "expansion"]


class Status(StrEnum):
    """What is claimed, or why nothing is."""

    OPTIMAL = "optimal"  # claimed: no plan is better
    WITHIN = "within"  # claimed: no plan is better by more than the tolerance
    OPEN = "open"  # the answer was not settled yet when the result was asked for
    REFUSED = "refused"  # the readings speak against what was assumed
    UNPROVED = "unproved"  # the run ended, and what it was told beforehand proves nothing

    @property
    def certified(self) -> bool:
        return self in (Status.OPTIMAL, Status.WITHIN)


@dataclass(frozen=True, slots=True)
class Level:
    """The evidence for one action of the plan."""

    level: int
    action: int
    estimates: tuple[Bottomless, ...]  # of Q* for every action
    margin: Unbounded  # lead of the chosen action; infinite when there is no other
    coverage: Unbounded  # of the embedding by the stored ones; 0 where every action was tried
    samples: int  # readings behind the embedding, or behind each reward mean
    source: Source  # where the estimates come from
    width: Unbounded = (
        math.inf
    )  # of the estimates (fixed) or the margin (adaptive) if the claim holds

    @classmethod
    def decided(
        cls,
        level: int,
        action: int,
        estimates: tuple[float, ...],
        coverage: float,
        samples: int,
        source: Source,
    ) -> Level:
        """A decision as a learner makes it, by its estimates alone."""
        others = [q for a, q in enumerate(estimates) if a != action]
        margin = estimates[action] - max(others, default=-math.inf)
        return cls(level, action, estimates, margin, coverage, samples, source)


@dataclass(frozen=True, slots=True)
class Audit:
    """Predicted states that were drawn at random and tried before the certificate."""

    states: int
    worst_miss: Unbounded  # the largest difference between what was predicted and what was found
    predicted: int  # states whose value is still only predicted


@dataclass(frozen=True, slots=True)
class Certificate:
    status: Status
    tolerance: (
        float | None
    )  # how much the plan may fall short of the best; None: nothing is claimed
    claim: str
    reason: str  # for the status
    delta: Probability
    failure: float  # bound on the probability that the claim is false: what a fixed schedule
    # proves, even where the run is refused; of an adaptive run delta, 1 where nothing is claimed
    assumptions: tuple[str, ...]
    notes: tuple[str, ...]  # what was chosen for the run: features with their scales, future
    levels: tuple[Level, ...]
    warnings: tuple[str, ...] = ()  # what the user should look at, whatever the status
    guarantee: str = "schedule"  # or that of an adaptive run
    schedule: Schedule | None = None  # of a fixed schedule, like the bounds it proves
    bounds: Bounds | None = None
    terms: Terms | None = None  # of an adaptive run
    rests_on: tuple[str, ...] = ()  # of an adaptive run: "merging", "prediction", both or neither
    excluded_separation: float | None = None  # the smallest that its readings exclude
    audit: Audit | None = None  # of its predictions
    doubts: tuple[str, ...] = ()  # what episodes and their order said against the assumptions
    schema: int = SCHEMA

    derived: ClassVar = ("certified",)  # written beside the fields

    @property
    def certified(self) -> bool:
        return self.status.certified

    @property
    def sentence(self) -> str:
        """The claim, or why there is none."""
        if self.certified:
            return f"certified: {visible(self.claim)}"
        return f"not certified: {visible(self.reason)}"

    def __str__(self) -> str:
        because = [f"because {visible(self.reason)}"] if self.certified else []
        assumed = [f"- {visible(each)}" for each in self.assumptions]
        return "\n".join([self.sentence, *because, "it assumes:", *assumed])

    def to_dict(self) -> dict[str, Any]:
        return {"certified": self.certified, **plain(self)}

    def _repr_html_(self) -> str:
        from surepath.results.report.notebook import of_certificate

        return of_certificate(self)
