"""From a judgement to a certificate: what the readings of an adaptive run prove, or why nothing."""

from __future__ import annotations

import math

from surepath.inference.judgement import Judgement, Terms
from surepath.inference.paths import Challenger
from surepath.results.certificate import Certificate, Level
from surepath.results.usage import Decision
from surepath.system import Actions


def conclude(
    judged: Judgement | None,
    terms: Terms,
    *,
    episodes: int,
    doubts: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
) -> Certificate:
    """The certificate of what was judged; `doubts` is what single episodes said against it."""
    settled = judged is not None and judged.settled
    against = doubts
    if judged is not None and judged.conflict is not None and judged.conflict.final:
        against += (str(judged.conflict),)
    certified = settled and not against
    return Certificate(
        certified=certified,
        claim=_claim(judged, terms) if certified and judged else "none",
        reason=_reason(judged, terms, episodes, against),
        delta=terms.delta,
        failure=terms.delta if certified else 1.0,
        assumptions=assumptions(terms),
        notes=notes + remarks(judged, terms),
        levels=_levels(judged) if judged else (),
        guarantee=terms.guarantee,
        terms=terms,
        doubts=doubts,
    )


def remarks(judged: Judgement | None, terms: Terms) -> tuple[str, ...]:
    """What a user should know of a run in which nothing was told apart."""
    if judged is None or terms.shape.n_actions == 1 or terms.shape.horizon == 1:
        return ()
    if terms.guarantee == "proved" or any(
        len(layer.members) > 1 for layer in judged.machine.layers
    ):
        return ()
    return (
        "warning: all prefixes look alike at every level: either actions do not change the hidden "
        "state, or what is looked at does not show it; if the latter, nothing here holds",
    )


def _claim(judged: Judgement, terms: Terms) -> str:
    head = f"these {terms.shape.horizon} actions are"
    sure = f"with probability at least {1 - terms.delta:g}"
    if terms.gap is not None or all(rival.loss < 0 for rival in judged.rivals):
        return f"{head} optimal {sure}"
    return f"{head} within {_up(judged.loss)} of optimal {sure}"


def _up(loss: float) -> str:
    """Three digits, rounded up."""
    digits = 2 - math.floor(math.log10(loss)) if loss > 0 else 0
    return f"{math.ceil(max(loss, 0.0) * 10**digits) / 10**digits:.3g}"


def _reason(judged: Judgement | None, terms: Terms, episodes: int, doubts: tuple[str, ...]) -> str:
    if doubts:
        return "; ".join(doubts)
    if judged is None or (not judged.rivals and terms.shape.n_actions > 1):
        return f"the budget ended after {episodes} episodes, before there was a whole plan"
    if not judged.settled:
        return f"the budget ended after {episodes} episodes: {_open(judged)}"
    ties = sum(rival.loss >= 0 for rival in judged.rivals)
    reason = f"{len(judged.rivals)} ways to leave the plan are ruled out"
    if ties and terms.gap is not None:
        return f"{reason}, {ties} of them because they gain less than the gap of {terms.gap:g}"
    if ties:
        return (
            f"{reason}, but for {ties} that could gain no more than {_up(judged.loss)}, which is "
            f"within the resolution of {terms.resolution:g}"
        )
    return reason


def _open(judged: Judgement) -> str:
    parts = list[str]()
    weakest = judged.weakest
    if judged.open and weakest is not None:
        parts.append(
            f"at level {weakest.level} action {weakest.action} may still be better (the plan leads "
            f"by {weakest.margin:.3g}, give or take {weakest.width:.3g})"
        )
    if judged.doubts:
        doubt = judged.doubts[0]
        parts.append(
            f"where action {doubt.edge[1]} leads at level {doubt.level} is not certain yet "
            f"({len(judged.doubts)} such questions)"
        )
    if judged.conflict is not None:
        parts.append(f"prefix {judged.conflict.prefix} does not fit its state yet")
    more = more_episodes(judged)
    about = "" if math.isinf(more) else f"; about {more:.2g} more episodes would settle it"
    return (" and ".join(parts) or "two plans take turns") + about


def more_episodes(judged: Judgement) -> float:
    """An estimate of what it takes to settle what is open: widths shrink with the root."""
    more = float(sum(doubt.count for doubt in judged.doubts))
    for rival in judged.open:
        allowed = rival.width - rival.excess
        if allowed <= 0:
            return math.inf
        state = judged.plan.edges[rival.level][0]
        count = float(judged.machine.layers[rival.level].count[state, rival.action])
        more += 2 * ((rival.width / allowed) ** 2 - 1) * count
    return more


def assumptions(terms: Terms) -> tuple[str, ...]:
    shape = terms.shape
    seen = "the observation" if shape.future == 1 else f"the next {shape.future} observations"
    low, high = terms.reward_range
    common = (
        "every episode starts in the same hidden state, which moves deterministically",
        "given the actions, the noise of observations and rewards is independent between episodes, "
        "between steps and of each other",
        f"rewards between {low:g} and {high:g}"
        if math.isfinite(high - low)
        else f"rewards sub-Gaussian with parameter {terms.reward_noise:g}",
    )
    gap = () if terms.gap is None else (f"a suboptimal plan loses at least {terms.gap:g}",)
    if terms.guarantee == "proved":
        features = (
            f"features bounded by {terms.radius:g}"
            if terms.feature_noise is None
            else f"features sub-Gaussian with parameter {terms.feature_noise:g}"
        )
        return (
            *common,
            f"Q* of every level and action is linear in the embedding of {seen}, with weights of "
            f"norm at most {terms.norm:g}",
            f"{features} in {shape.dimension} dimensions; rewards sub-Gaussian with parameter "
            f"{terms.reward_noise:g}",
            *gap,
        )
    return (
        *common,
        f"hidden states that differ in Q* differ in the mean features of {seen}, by more than the "
        "readings can hide",
        *gap,
        "calibrated, not proved: intervals use estimated variances",
    )


def _levels(judged: Judgement) -> tuple[Level, ...]:
    return tuple(
        _level(judged, level, edge[0], edge[1]) for level, edge in enumerate(judged.plan.edges)
    )


def _level(judged: Judgement, level: int, state: int, action: int) -> Level:
    rivals = [rival for rival in judged.rivals if rival.level == level]
    closest = max(rivals, key=lambda rival: rival.excess, default=None)
    return Level(
        level=level,
        action=action,
        estimates=tuple(judged.values.q[level][state].tolist()),
        width=0.0 if closest is None else closest.width,
        margin=math.inf if closest is None else closest.margin,
        coverage=0.0,
        samples=int(judged.machine.layers[level].count[state].min()),
        source=_source(closest),
    )


def _source(rival: Challenger | None) -> str:
    return "regression" if rival is not None and rival.guessed else "expansion"


def decisions(judged: Judgement) -> tuple[Decision, ...]:
    """What each level of the plan rests on."""
    return tuple(
        Decision(
            level=level.level,
            action=level.action,
            estimates=level.estimates,
            coverage=0.0,
            samples=level.samples,
            source="regression" if level.source == "regression" else "expansion",
        )
        for level in _levels(judged)
    )


def interval(judged: Judgement, actions: Actions, terms: Terms) -> tuple[float, float]:
    """Where the optimal value lies, within what rewards allow."""
    low, high = (end * len(actions) for end in terms.reward_range)
    if not judged.rivals and len(judged.plan.edges) < len(actions):
        return low, high
    above = judged.value + max(judged.loss, 0.0) + judged.width
    return max(low, judged.value - judged.width), min(high, above)
