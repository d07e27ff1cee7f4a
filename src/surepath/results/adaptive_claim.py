"""From a judgement to a certificate: what the readings of an adaptive run prove, or why nothing."""

from __future__ import annotations

import math

from surepath.inference.consistency import read_differently
from surepath.inference.judgement import Judgement
from surepath.inference.merge_audit import own_walk, walks
from surepath.inference.paths import Challenger
from surepath.inference.separation import as_total_variation
from surepath.inference.terms import EXACT, MOST_SEQUENCES, Terms
from surepath.results.assumptions import of_adaptive, sure_of
from surepath.results.certificate import Audit, Certificate, Level, Source, Status
from surepath.results.hints import SEE_DOCTOR
from surepath.results.words import number

TOO_SHORT = (
    ": use other features, or a longer future (by default a run looks further ahead by itself, as "
    "long as there are not too many ways to go on)"
)

NO_SENSOR = (
    ', or guarantee="proved" without a separation, which tries all {} sequences and needs no sensor'
)


def conclude(
    judged: Judgement,
    terms: Terms,
    *,
    episodes: int,
    audit: Audit | None = None,
    doubts: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
    warnings: tuple[str, ...] = (),
) -> Certificate:
    """The certificate of what was judged.

    doubts: what single episodes said against the assumptions, strong enough to refuse the
    certificate. warnings: the same, too weak for that. notes: what was chosen for the run. audit:
    of its predictions, where they passed one.
    """
    against = doubts
    if judged.too_short:
        against += (judged.too_short + _remedy(terms),)
    if terms.separation == EXACT and (noisy := read_differently(judged.machine)) is not None:
        against += (
            f"readings were declared exact, but those after {noisy} differ from each other: give a "
            "number as separation",
        )
    unfollowed = 0
    if judged.settled:
        unfollowed = len(own_walk(judged) + walks(judged, episodes, terms))
    status = _status(judged, terms, against, audit)
    if unfollowed and status.certified:
        status = Status.OPEN
    tolerance = _tolerance(judged, status)
    return Certificate(
        status=status,
        tolerance=tolerance,
        claim=_claim(judged, status, tolerance, terms),
        reason=("; ".join(against) + SEE_DOCTOR if against else "")
        or (_unfollowed(episodes, unfollowed) if unfollowed else "")
        or _reason(judged, terms, episodes, audit),
        delta=terms.delta,
        failure=terms.delta if status.certified else 1.0,
        assumptions=of_adaptive(terms, audit),
        notes=notes,
        warnings=warnings + nothing_told_apart(judged, terms),
        levels=levels(judged),
        guarantee=terms.guarantee,
        terms=terms,
        rests_on=_grounds(judged),
        excluded_separation=_excluded(judged, terms),
        audit=audit,
        doubts=doubts,
    )


def _remedy(terms: Terms) -> str:
    """What to do where readings do not tell hidden states apart."""
    sequences = terms.shape.n_actions**terms.shape.horizon
    return TOO_SHORT + (NO_SENSOR.format(sequences) if sequences <= MOST_SEQUENCES else "")


def _unfollowed(episodes: int, sequences: int) -> str:
    return (
        f"the run stopped after {episodes} episodes: the plan, or what was taken for one state, "
        f"has still to be followed to the end, along {sequences} sequences"
    )


def _grounds(judged: Judgement) -> tuple[str, ...]:
    """What the plan rests on beside its own readings."""
    if not judged.complete:
        return ()
    return ("merging",) * bool(judged.merged) + ("prediction",) * bool(judged.predicted)


def _excluded(judged: Judgement, terms: Terms) -> float | None:
    """As a total variation; None where nothing was merged, or readings are exact."""
    test = terms.merge_test
    if test is None or terms.separation == EXACT or not judged.merged:
        return None
    found = judged.excluded(test)
    if not found:  # none of what was merged matters
        return None
    return found if terms.shape.symbols else as_total_variation(found)


def _status(
    judged: Judgement, terms: Terms, against: tuple[str, ...], audit: Audit | None
) -> Status:
    if against:
        return Status.REFUSED
    if not judged.settled or (judged.predicted and audit is None):
        return Status.OPEN
    leads = all(challenger.loss < 0 for challenger in judged.challengers)
    return Status.OPTIMAL if leads or terms.gap is not None else Status.WITHIN


def _tolerance(judged: Judgement, status: Status) -> float | None:
    if status is Status.WITHIN:
        return rounded_up(judged.loss)
    return 0.0 if status is Status.OPTIMAL else None


def _claim(judged: Judgement, status: Status, tolerance: float | None, terms: Terms) -> str:
    if not status.certified:
        return "none"
    close = "optimal" if status is Status.OPTIMAL else f"within {tolerance:.3g} of optimal"
    sure = f"with probability at least {sure_of(terms.delta)}"
    grounds = " and ".join(_grounds(judged))
    rests = f", resting on {grounds}" if grounds else ""
    unpaid = "" if judged.machine.pays else "; no reward was ever seen to differ from another"
    return f"these {terms.shape.horizon} actions are {close} {sure}{rests}{unpaid}"


def nothing_told_apart(judged: Judgement, terms: Terms) -> tuple[str, ...]:
    """A warning for a run in which all prefixes look alike."""
    trivial = terms.shape.n_actions == 1 or terms.shape.horizon == 1
    if not judged.complete or trivial:
        return ()
    if any(len(layer.prefixes) > 1 for layer in judged.machine.layers):
        return ()
    return (
        "all prefixes look alike at every level: either actions do not change the hidden "
        "state, or what is looked at does not show it; if the latter, nothing here holds",
    )


def rounded_up(loss: float) -> float:
    """To three digits, never below."""
    digits = 2 - math.floor(math.log10(loss)) if loss > 0 else 0
    return math.ceil(max(loss, 0.0) * 10**digits) / 10**digits


def _reason(judged: Judgement, terms: Terms, episodes: int, audit: Audit | None) -> str:
    if not judged.complete or (not judged.challengers and terms.shape.n_actions > 1):
        return f"the run stopped after {episodes} episodes, before there was a whole plan"
    if not judged.settled:
        return f"the run stopped after {episodes} episodes: {_open(judged)}"
    if judged.predicted and audit is None:
        return (
            f"the run stopped after {episodes} episodes: {len(judged.predicted)} states are only "
            "predicted, and no sample of them was tried yet"
        )
    ties = sum(challenger.loss >= 0 for challenger in judged.challengers)
    reason = f"{len(judged.challengers)} ways to leave the plan are ruled out"
    if ties and terms.gap is not None:
        return f"{reason}, {ties} of them because they gain less than the gap of {terms.gap:g}"
    if ties:
        return (
            f"{reason}, but for {ties} that could gain no more than "
            f"{rounded_up(judged.loss):.3g}, which is within the tolerance of "
            f"{judged.tolerance:.3g}"
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
    if judged.unsure_ends:
        first = judged.unsure_ends[0]
        parts.append(
            f"where action {first.edge[1]} leads at level {first.level} is not certain yet "
            f"({len(judged.unsure_ends)} such questions)"
        )
    if judged.conflict is not None:
        parts.append(f"prefix {judged.conflict.prefix} does not fit its state yet")
    if judged.ahead.suspects:
        first = judged.ahead.suspects[0]
        parts.append(
            f"what follows {first.actions} has to be read more often before it counts as what "
            f"follows the prefixes that look like it ({len(judged.ahead.suspects)} such questions)"
        )
    more = more_episodes(judged)
    about = (
        ""
        if math.isinf(more) or not more
        else f"; about {number(more, 2)} more episodes would settle it"
    )
    return " and ".join(parts) + about + _cheaper(judged)


def _cheaper(judged: Judgement) -> str:
    """What would settle the open questions sooner, where the user may say so."""
    larger = ["tolerance"] * bool(judged.open) + ["separation"] * bool(judged.unsure_ends)
    return f", fewer with a larger {' or '.join(larger)}" if larger else ""


def more_episodes(judged: Judgement) -> float:
    """An estimate of what it takes to settle what is open: widths shrink with the root.

    Readings for the hardest challenger sharpen the others too, so these are not added up.
    """
    hardest = max((_for_one(judged, challenger) for challenger in judged.open), default=0.0)
    rest = (*judged.unsure_ends, *judged.ahead.suspects)
    return hardest + sum(each.count for each in rest)


def _for_one(judged: Judgement, challenger: Challenger) -> float:
    edges = enumerate(challenger.path.edges, start=challenger.level)
    least = min(float(judged.machine.layers[level].count[edge]) for level, edge in edges)
    return 2 * challenger.growth * least


def levels(judged: Judgement) -> tuple[Level, ...]:
    """What each action of the plan rests on; nothing, while there is no whole plan."""
    if not judged.whole:
        return ()
    return tuple(
        _level(judged, level, state, action)
        for level, (state, action) in enumerate(judged.plan.edges)
    )


def _level(judged: Judgement, level: int, state: int, action: int) -> Level:
    here = [challenger for challenger in judged.challengers if challenger.level == level]
    closest = max(here, key=lambda challenger: challenger.excess, default=None)
    return Level(
        level=level,
        action=action,
        estimates=tuple(judged.values.q[level][state].tolist()),
        margin=math.inf if closest is None else closest.margin,
        coverage=0.0,
        samples=int(judged.machine.layers[level].count[state].min()),
        source=_source(closest),
        width=0.0 if closest is None else closest.width,
    )


def _source(challenger: Challenger | None) -> Source:
    return "regression" if challenger is not None and challenger.guessed else "expansion"


def interval(judged: Judgement, terms: Terms) -> tuple[float, float]:
    """Where the optimal value lies, within what rewards allow."""
    low, high = terms.return_range
    if not judged.challengers and len(judged.plan.edges) < terms.shape.horizon:
        return low, high
    above = judged.value + max(judged.loss, 0.0) + judged.width
    return max(low, judged.value - judged.width), min(high, above)
