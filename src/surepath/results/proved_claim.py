"""From an attempt to a certificate: what fresh readings have proved, or why nothing is yet."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from surepath.inference.attempt import Attempt
from surepath.inference.judgement import Judgement
from surepath.inference.path_evidence import by_action
from surepath.inference.proposal import Route
from surepath.inference.separation import as_total_variation
from surepath.inference.terms import Terms
from surepath.results.adaptive_claim import conclude, interval, rounded_up
from surepath.results.assumptions import of_proved, sure_of
from surepath.results.certificate import Certificate, Level, Status


def conclude_proved(
    attempt: Attempt | None,
    judged: Judgement,
    terms: Terms,
    *,
    episodes: int,
    under_way: str = "",
    doubts: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
    warnings: tuple[str, ...] = (),
) -> Certificate:
    """The certificate of a run that is to be proved.

    attempt: the one that succeeded. judged: what all readings show, fresh or not; under_way: how
    far the attempt is that goes on.
    """
    base = conclude(
        judged, terms.proposing(), episodes=episodes, doubts=doubts, notes=notes, warnings=warnings
    )
    common = {"delta": terms.delta, "guarantee": terms.guarantee, "terms": terms, "audit": None}
    common |= {"assumptions": of_proved(terms, None if attempt is None else attempt.proposal.rules)}
    if attempt is None or doubts:
        refused = base.status is Status.REFUSED
        reason = base.reason if refused or not under_way else under_way
        return replace(
            base,
            status=Status.REFUSED if refused else Status.OPEN,
            tolerance=None,
            claim="none",
            reason=reason,
            failure=1.0,
            rests_on=(),
            excluded_separation=None,
            **common,
        )
    tolerance = 0.0 if attempt.optimal else rounded_up(attempt.paths.loss)
    merged = len(attempt.proposal.merges)
    return replace(
        base,
        status=Status.OPTIMAL if attempt.optimal else Status.WITHIN,
        tolerance=tolerance,
        claim=_claim(attempt, tolerance),
        reason=_reason(attempt),
        failure=terms.delta,
        levels=_levels(attempt),
        rests_on=("merging",) if merged else (),
        excluded_separation=_excluded(attempt),
        **common,
    )


def _claim(attempt: Attempt, tolerance: float) -> str:
    close = "optimal" if attempt.optimal else f"within {tolerance:.3g} of optimal"
    sure = f"with probability at least {sure_of(attempt.proposal.rules.delta)}, proved"
    grounds = {
        Route.TREE: "without taking any two prefixes for one",
        Route.SEPARATION: "by a separation",
        Route.NORM: "by a norm",
    }[attempt.proposal.rules.route]
    return f"these {attempt.proposal.horizon} actions are {close} {sure} {grounds}"


def _reason(attempt: Attempt) -> str:
    rules, merged = attempt.proposal.rules, len(attempt.proposal.merges)
    blocks = f"{len(attempt.blocks)} blocks of fresh readings, {attempt.episodes} episodes"
    ruled_out = f"{blocks}, rule out every other plan"
    merges = f" and settle {merged} merges" if merged else ""
    return f"{ruled_out}{merges}: attempt {rules.attempt}, at level {rules.share:.3g}"


def _excluded(attempt: Attempt) -> float | None:
    """As a total variation where that is what was declared."""
    rules, found = attempt.proposal.rules, attempt.merges.excluded
    if found is None or rules.route is Route.NORM or rules.observed is None:
        return None
    noisy = rules.observed.type == "noisy"
    return as_total_variation(found / rules.observed.scale) if noisy else found


def _levels(attempt: Attempt) -> tuple[Level, ...]:
    """What each action of the plan rests on, by fresh readings and what was known before them."""
    proposal, paths = attempt.proposal, attempt.paths
    means = by_action(proposal, paths.guess().mean + proposal.slack)
    found = list[Level]()
    for level, (action, estimates) in enumerate(zip(proposal.plan, means, strict=True)):
        others = [q for a, q in enumerate(estimates) if a != action]
        margin = estimates[action] - max(others, default=-math.inf)
        edge = proposal.plan_edges[level]
        first = edge - action
        counts = paths.read.count[first : first + proposal.n_actions]
        width = margin + paths.loss if others else 0.0
        found.append(
            Level(
                level,
                action,
                tuple(estimates),
                margin,
                coverage=0.0,
                samples=int(counts.min()),
                source="expansion",
                width=max(width, 0.0),
            )
        )
    return tuple(found)


def proved_interval(
    attempt: Attempt | None, judged: Judgement, terms: Terms
) -> tuple[float, float]:
    """Where the optimal value lies, within what rewards allow.

    Of a proof: by Hoeffding's inequality for the plan's own fresh readings. An estimate beside the
    claim: how many there are depends on what was read.
    """
    if attempt is None:
        return interval(judged, terms.proposing())
    proposal = attempt.proposal
    counts = attempt.paths.read.count[proposal.plan_edges]
    spread = float(np.sum(terms.reward_noise**2 / counts))
    spread *= proposal.horizon if terms.shared_noise else 1
    width = math.sqrt(2 * math.log(2 / terms.delta) * spread)
    low, high = terms.return_range
    return (
        max(low, attempt.value - width),
        min(high, attempt.value + width + attempt.paths.loss),
    )
