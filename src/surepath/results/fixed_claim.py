"""What a run of a fixed schedule proves, or why nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from surepath.results.assumptions import Sources, of_fixed, sure_of
from surepath.results.certificate import Certificate, Level, Status
from surepath.results.usage import Usage
from surepath.theory.expansion_bounds import has_count
from surepath.theory.own_counts import Stage, allowance
from surepath.theory.schedule import Bounds, Count, Schedule, bounds, bounds_at
from surepath.theory.setting import Setting


def certify(
    stage: Stage,
    setting: Setting,
    decided: Sequence[Level],
    usage: Usage,
    *,
    sources: Sources,
    notes: tuple[str, ...] = (),
    warnings: tuple[str, ...] = (),
) -> Certificate:
    """What a finished fixed-schedule run proves; `stage` is the one that it ended in.

    The schedule alone bounds the failure probability, beforehand or for runs that expand no level
    more often than this one did; the decisions can only take the claim away. On the event behind
    the claim every estimate is within `width` of Q*, so the lead of the best action is at least
    gap - 2 width or, at a tie, at most 2 width. A lead in between contradicts what was assumed.
    """
    schedule = stage.schedule
    beforehand = _beforehand(schedule, setting)
    proved = _proved(stage, setting, usage, beforehand)
    levels = tuple(replace(d, width=_width(d, schedule, setting, proved)) for d in decided)
    refusal = (
        _refusal(decided, schedule, setting)
        or _excess(usage, stage, setting, beforehand)
        or _contradiction(levels, setting)
    )
    status = Status.OPTIMAL if proved.failure <= stage.delta else Status.UNPROVED
    if refusal is not None:
        status = Status.REFUSED
    others = setting.delta - stage.delta if proved.failure <= stage.delta else 0.0
    return Certificate(
        status=status,
        tolerance=0.0 if status.certified else None,
        claim=f"these {len(levels)} actions are optimal with probability at least "
        f"{sure_of(setting.delta)}",
        reason=refusal or _reason(proved, stage, setting, usage),
        delta=setting.delta,
        failure=min(1.0, proved.failure + others),  # the other stages have the rest of delta
        assumptions=of_fixed(setting, sources, proved.counted),
        notes=notes,
        warnings=warnings,
        schedule=schedule,
        bounds=proved,
        levels=levels,
    )


def _beforehand(schedule: Schedule, setting: Setting) -> Bounds | None:
    """What is known before the run; None where nothing bounds the number of expansions."""
    known = has_count(setting) or setting.latent_dimension is not None
    return bounds(schedule, setting) if known else None


def _proved(stage: Stage, setting: Setting, usage: Usage, beforehand: Bounds | None) -> Bounds:
    """What the schedule proves of a run with these counts."""
    if beforehand is not None and beforehand.failure <= stage.delta:
        return beforehand
    allowed = allowance(stage.schedule, setting, stage.delta)
    if allowed is not None and _within(usage, allowed):
        return allowed
    return beforehand or bounds_at(stage.schedule, setting, max(usage.expansions), Count.OWN)


def _within(usage: Usage, allowed: Bounds) -> bool:
    return all(count <= most for count, most in _counts(usage, allowed).values())


def _counts(usage: Usage, most: Bounds) -> dict[str, tuple[int, int]]:
    return {
        "expansions of a level": (max(usage.expansions), most.expansions),
        "sampled embeddings": (usage.feature_batches, most.feature_batches),
        "sampled reward means": (usage.reward_batches, most.reward_batches),
    }


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


def _excess(usage: Usage, stage: Stage, setting: Setting, beforehand: Bounds | None) -> str | None:
    """Where the run needed more than its bounds allow: then what was assumed cannot be true."""
    if beforehand is None:
        return None
    whatever_is_read = beforehand.counted is not Count.LATENT and setting.feature_noise is None
    if not whatever_is_read and beforehand.failure > stage.delta:
        return None  # the bounds hold on an event that the schedule does not make likely
    for name, (count, most) in _counts(usage, beforehand).items():
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


def _reason(proved: Bounds, stage: Stage, setting: Setting, usage: Usage) -> str:
    if proved.failure <= stage.delta:
        if proved.counted is not Count.OWN:
            return f"the schedule bounds the failure probability by {proved.failure:.3g}"
        return (
            f"the schedule can afford {proved.expansions} expansions of a level, and the run took "
            f"{max(usage.expansions)}: the failure probability is at most {proved.failure:.3g}"
        )
    if proved.tolerance <= 0:
        return (
            "the schedule proves nothing for this gap and norm: the ridge alone can shift an "
            "estimate by half the gap"
        )
    allowed = allowance(stage.schedule, setting, stage.delta)
    afford = "none" if allowed is None else str(allowed.expansions)
    return (
        f"the schedule bounds the failure probability only by {proved.failure:.3g}, more than "
        f"delta = {stage.delta:g}, and for this run's counts no better ({max(usage.expansions)} "
        f"expansions of a level, and it can afford {afford}): it takes more samples or a smaller "
        "ridge"
    )
