"""The claim, its assumptions and the evidence, as data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from surepath.inference.judgement import Terms
from surepath.results.usage import Decision, Usage
from surepath.theory.schedule import Bounds, Schedule, Setting, bounds

SCHEMA = 2


@dataclass(frozen=True, slots=True)
class Level:
    """The evidence for one action of the plan."""

    level: int
    action: int
    estimates: tuple[float, ...]  # of Q* for every action
    width: float  # every estimate is within this of Q*, on the event the claim rests on
    margin: float  # lead of the chosen action
    coverage: float
    samples: int
    source: str  # what the estimates came from


class Sources(NamedTuple):
    """Where the quantities that were assumed come from."""

    gap: str
    norm: str


@dataclass(frozen=True, slots=True)
class Certificate:
    certified: bool
    claim: str
    reason: str  # why it is, or is not, certified
    delta: float
    failure: float  # proved bound on the probability that the plan is not optimal
    assumptions: tuple[str, ...]
    notes: tuple[str, ...]  # what was chosen for the run: features with their scales, future
    levels: tuple[Level, ...]
    guarantee: Literal["schedule", "calibrated", "proved"] = "schedule"
    schedule: Schedule | None = None  # of a fixed schedule, like the bounds it proves
    bounds: Bounds | None = None
    terms: Terms | None = None  # of an adaptive run
    doubts: tuple[str, ...] = ()  # what single episodes said against the assumptions
    schema: int = SCHEMA

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def certify(
    schedule: Schedule,
    setting: Setting,
    decisions: Sequence[Decision],
    usage: Usage,
    *,
    sources: Sources,
    notes: tuple[str, ...] = (),
) -> Certificate:
    """What a finished fixed-schedule run proves.

    The schedule alone bounds the failure probability; the decisions can only take the claim away.
    On the event behind the claim every estimate is within `width` of Q*, so the lead of the best
    action is at least gap - 2 width or, at a tie, at most 2 width. A lead in between contradicts
    what was assumed.
    """
    proved = bounds(schedule, setting)
    levels = tuple(level_of(d, _width(d, schedule, setting, proved)) for d in decisions)
    refusal = (
        _refusal(decisions, schedule, setting)
        or _excess(usage, proved)
        or _contradiction(levels, setting)
    )
    certified = proved.failure <= setting.delta and refusal is None
    return Certificate(
        certified=certified,
        claim=f"these {len(levels)} actions are optimal with probability at least "
        f"{1 - setting.delta:g}",
        reason=refusal or _reason(proved, setting),
        delta=setting.delta,
        failure=proved.failure,
        assumptions=assumptions(setting, sources),
        notes=notes,
        schedule=schedule,
        bounds=proved,
        levels=levels,
    )


def _refusal(decisions: Sequence[Decision], schedule: Schedule, setting: Setting) -> str | None:
    """Why these are not the decisions of a run that followed its schedule to the end."""
    if [decision.level for decision in decisions] != list(range(setting.horizon)):
        return f"the plan does not have one decision for each of the {setting.horizon} levels"
    for decision in decisions:
        covered = decision.source == "expansion" or decision.coverage <= schedule.threshold
        if not (decision.margin >= 0 and covered and math.isfinite(decision.coverage)):
            return f"the decision at level {decision.level} is not settled by its estimates"
        tried = decision.source == "expansion"
        needed = schedule.reward_samples if tried else schedule.feature_samples
        if decision.samples < needed:
            return (
                f"the decision at level {decision.level} rests on {decision.samples} readings; "
                f"the schedule asks for {needed}"
            )
    return None


def _excess(usage: Usage, proved: Bounds) -> str | None:
    """Where the run needed more than its bounds allow: then what was assumed cannot be true."""
    counts = {
        "expansions of a level": (max(usage.expansions), proved.expansions),
        "sampled embeddings": (usage.feature_batches, proved.feature_batches),
        "sampled reward means": (usage.reward_batches, proved.reward_batches),
    }
    for name, (count, most) in counts.items():
        if count > most:
            return (
                f"the run contradicts its assumptions: {count} {name}, where they allow {most}; "
                "the features are longer, or span more dimensions, than assumed"
            )
    return None


def _contradiction(levels: Sequence[Level], setting: Setting) -> str | None:
    """Where the leads that were found are impossible under what was assumed."""
    for level in levels:
        tie = -math.inf if setting.unique else 2 * level.width
        if tie < level.margin < setting.gap - 2 * level.width:
            return (
                f"the run contradicts the assumed gap of {setting.gap:g}: at level {level.level} "
                f"the best action leads by {level.margin:.4g}, and the estimates are within "
                f"{level.width:.4g}; the gap is smaller or the norm is larger than assumed"
            )
    return None


def assumptions(setting: Setting, sources: Sources) -> tuple[str, ...]:
    ties = "one optimal action in every state" if setting.unique else "ties are allowed"
    kind = (
        f"features bounded by {setting.radius:g}"
        if setting.feature_noise is None
        else f"features sub-Gaussian with parameter {setting.feature_noise:g} around embeddings "
        f"of length at most {setting.radius:g}"
    )
    seen = "the observation" if setting.future == 1 else f"the next {setting.future} observations"
    counted = (
        (
            "all observations are like those of the pilot, over which the kernel's information "
            "gain was bounded",
        )
        if setting.expansions is not None
        else ()
    )
    return (
        "every episode starts in the same hidden state, which moves deterministically",
        f"Q* of every level and action is linear in the embedding of {seen}, "
        f"with weights of norm at most {setting.norm:g} ({sources.norm})",
        f"suboptimal actions fall short by at least {setting.gap:g} ({sources.gap}); {ties}",
        kind if counted else f"{kind} in {setting.dimension} dimensions",
        *counted,
        f"rewards sub-Gaussian with parameter {setting.reward_noise:g}",
        "given the actions, the noise of observations and rewards is independent between episodes, "
        "between steps and of each other",
    )


def _width(decision: Decision, schedule: Schedule, setting: Setting, proved: Bounds) -> float:
    if proved.tolerance <= 0:
        return math.inf
    if decision.source == "expansion":
        return proved.tolerance  # what was tried is a sum of reward means: event (ii)
    # The three terms of the regression error, at the coverage that was measured.
    bias = math.sqrt(schedule.ridge) * setting.norm
    noise = 2 * proved.tolerance * math.sqrt(proved.expansions)
    return decision.coverage * (bias + noise) + proved.tolerance


def level_of(decision: Decision, width: float = math.inf) -> Level:
    """The evidence of one decision; an infinite width says that nothing is proved about it."""
    return Level(
        level=decision.level,
        action=decision.action,
        estimates=decision.estimates,
        width=width,
        margin=decision.margin,
        coverage=decision.coverage,
        samples=decision.samples,
        source=decision.source,
    )


def _reason(proved: Bounds, setting: Setting) -> str:
    if proved.failure <= setting.delta:
        return f"the schedule bounds the failure probability by {proved.failure:.3g}"
    if proved.tolerance <= 0:
        return (
            "the schedule proves nothing for this gap and norm: the ridge alone can shift an "
            "estimate by half the gap"
        )
    return (
        f"the schedule bounds the failure probability only by {proved.failure:.3g}, "
        f"more than delta = {setting.delta:g}: it takes more samples or a smaller ridge"
    )
