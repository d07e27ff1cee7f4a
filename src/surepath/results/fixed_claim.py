"""What a run of a fixed schedule proves, or why nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from surepath.results.assumptions import Sources, of_fixed, sure_of
from surepath.results.certificate import Certificate, Level, Status
from surepath.results.usage import Usage
from surepath.theory.schedule import Bounds, Schedule, bounds
from surepath.theory.setting import Setting


def certify(
    schedule: Schedule,
    setting: Setting,
    decided: Sequence[Level],
    usage: Usage,
    *,
    sources: Sources,
    notes: tuple[str, ...] = (),
    warnings: tuple[str, ...] = (),
) -> Certificate:
    """What a finished fixed-schedule run proves.

    The schedule alone bounds the failure probability; the decisions can only take the claim away.
    On the event behind the claim every estimate is within `width` of Q*, so the lead of the best
    action is at least gap - 2 width or, at a tie, at most 2 width. A lead in between contradicts
    what was assumed.
    """
    proved = bounds(schedule, setting)
    levels = tuple(replace(d, width=_width(d, schedule, setting, proved)) for d in decided)
    refusal = (
        _refusal(decided, schedule, setting)
        or _excess(usage, proved)
        or _contradiction(levels, setting)
    )
    status = Status.OPTIMAL if proved.failure <= setting.delta else Status.UNPROVED
    if refusal is not None:
        status = Status.REFUSED
    return Certificate(
        status=status,
        tolerance=0.0 if status.certified else None,
        claim=f"these {len(levels)} actions are optimal with probability at least "
        f"{sure_of(setting.delta)}",
        reason=refusal or _reason(proved, setting),
        delta=setting.delta,
        failure=proved.failure,
        assumptions=of_fixed(setting, sources),
        notes=notes,
        warnings=warnings,
        schedule=schedule,
        bounds=proved,
        levels=levels,
    )


def uncertified(
    status: Status,
    reason: str,
    schedule: Schedule,
    decided: Sequence[Level],
    *,
    delta: float,
    assumptions: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
    warnings: tuple[str, ...] = (),
) -> Certificate:
    """The certificate of a run that did not end, or of which nothing can be proved."""
    return Certificate(
        status=status,
        tolerance=None,
        claim="none",
        reason=reason,
        delta=delta,
        failure=1.0,
        assumptions=assumptions,
        notes=notes,
        warnings=warnings,
        schedule=schedule,
        levels=tuple(decided),
    )


def nothing_tried(schedule: Schedule, decided: Sequence[Level], usage: Usage) -> tuple[str, ...]:
    """A warning for a run that looks finished but learned nothing."""
    idle = bool(decided) and decided[0].source == "regression"
    if not idle or sum(usage.expansions):
        return ()
    least = schedule.threshold * math.sqrt(schedule.ridge)
    return (
        f"nothing was tried: the first embedding is shorter than threshold * sqrt(ridge) "
        f"= {least:.3g} and so counts as covered; use a smaller ridge or longer features",
    )


def interval(
    certificate: Certificate, value: float, usage: Usage, possible: tuple[float, float]
) -> tuple[float, float]:
    """Where the optimal value lies, within what is possible at all."""
    low, high = possible
    if not certificate.certified or certificate.bounds is None:
        return low, high
    # Once all actions of the root were tried, the estimate is a sum of reward means along the
    # optimal plan and within t of V*; before that it is a prediction.
    tried = usage.expansions[0] or certificate.levels[0].source == "expansion"
    width = certificate.bounds.tolerance if tried else certificate.levels[0].width
    return max(low, value - width), min(high, value + width)


def _refusal(decided: Sequence[Level], schedule: Schedule, setting: Setting) -> str | None:
    """Why these are not the decisions of a run that followed its schedule to the end."""
    if [level.level for level in decided] != list(range(setting.horizon)):
        return f"the plan does not have one decision for each of the {setting.horizon} levels"
    for level in decided:
        tried = level.source == "expansion"
        covered = tried or level.coverage <= schedule.threshold
        if not (level.margin >= 0 and covered and math.isfinite(level.coverage)):
            return f"the decision at level {level.level} is not settled by its estimates"
        needed = schedule.reward_samples if tried else schedule.feature_samples
        if level.samples < needed:
            return (
                f"the decision at level {level.level} rests on {level.samples} readings; "
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


def _width(level: Level, schedule: Schedule, setting: Setting, proved: Bounds) -> float:
    if proved.tolerance <= 0:
        return math.inf
    if level.source == "expansion":
        return proved.tolerance  # t of theory/schedule.py: (ii) there is about sums of reward means
    # The three terms of the regression error, at the coverage that was measured.
    bias = math.sqrt(schedule.ridge) * setting.norm
    noise = 2 * proved.tolerance * math.sqrt(proved.expansions)
    return level.coverage * (bias + noise) + proved.tolerance


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
