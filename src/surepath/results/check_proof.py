"""Whether the proof in a result is valid, and whether it proves what the result claims."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Protocol, cast

from surepath.inference.attempt import Attempt
from surepath.inference.judgement import Judgement
from surepath.inference.proposal import Route, Rules
from surepath.inference.separation import in_noise_units
from surepath.inference.terms import EXACT, ONE_HOT, UNUSED_RADIUS, Terms
from surepath.results import checker
from surepath.results.proof import attempt_of
from surepath.results.proved_claim import proved_interval
from surepath.results.result import Result


class Verdict(Protocol):
    """What the checker says of a proof."""

    valid: bool
    line: int  # the first that is not valid
    message: str


check = cast(Callable[[Iterable[str]], Verdict], cast(Any, checker).check)
"""The checker shares nothing with surepath, its types included."""


def proof_in(result: Result) -> tuple[Attempt | None, tuple[str, ...]]:
    """The attempt that the proof tells of, where it is valid; and what speaks against it."""
    claimed, lines = result.certificate, result.proof
    if lines is None:
        missing = ("a proved certificate needs its proof, and there is none",)
        return None, missing if claimed.certified else ()
    verdict = check(lines)
    if not verdict.valid:
        return None, (f"line {verdict.line} of the proof: {verdict.message}",)
    attempt = attempt_of(lines)
    assert claimed.terms is not None  # checked with the readings
    return attempt, _other_terms(attempt, claimed.terms)


def _other_terms(attempt: Attempt, terms: Terms) -> tuple[str, ...]:
    """Where the proof is not one under these terms."""
    proposal, rules = attempt.proposal, attempt.proposal.rules
    follow = {
        "horizon": (proposal.horizon, terms.shape.horizon),
        "actions": (proposal.n_actions, terms.shape.n_actions),
        "route": (rules.route, terms.route),
        "delta": (rules.delta, terms.delta),
        "rewards": (rules.rewards, terms.reward_range),
        "noise of rewards": (rules.reward_noise, terms.reward_noise),
        "shared noise": (rules.shared, terms.shared_noise),
        "norm": (rules.norm, terms.norm),
        "gap": (rules.gap, terms.gap),
        "separation": (rules.separation, _separation(rules, terms)),
        "future": (rules.future, min(terms.shape.future, terms.shape.horizon)),
        "features": (_sizes(rules), (terms.radius, terms.feature_noise)),
    }
    if terms.tolerance is not None:
        follow["tolerance"] = (rules.tolerance, terms.tolerance)
    return tuple(
        f"{name}: the proof says {said!r}, the terms come down to {asked!r}"
        for name, (said, asked) in follow.items()
        if said != asked
    )


def _sizes(rules: Rules) -> tuple[float, float | None]:
    """Radius and noise of the features that are compared, as terms say them."""
    observed = rules.observed
    if observed is None or observed.type == "noisy":
        return UNUSED_RADIUS, None if observed is None else observed.scale
    return ONE_HOT if observed.type == "symbols" else observed.scale / 2, None


def _separation(rules: Rules, terms: Terms) -> float | None:
    if terms.route is not Route.SEPARATION or terms.separation is None:
        return None
    if terms.separation == EXACT:
        return math.inf
    observed = rules.observed
    if observed is not None and observed.type == "noisy":
        return in_noise_units(terms.separation) * observed.scale
    return terms.separation


def proved_differently(
    attempt: Attempt, judged: Judgement, terms: Terms, result: Result
) -> tuple[str, ...]:
    """Where plan, value, interval or cost are not what was proved."""
    interval = terms.return_range if result.certificate.doubts else None
    shown = {
        "plan": (result.actions, attempt.proposal.plan),
        "value": (result.value, attempt.value),
        "interval": (result.interval, interval or proved_interval(attempt, judged, terms)),
    }
    found = [
        f"{name}: the file says {said}, its proof shows {proved}"
        for name, (said, proved) in shown.items()
        if said != proved
    ]
    if attempt.episodes > result.episodes:
        found.append(
            f"the proof has {attempt.episodes} episodes, the file says {result.episodes} in all"
        )
    return tuple(found)
