"""What a proved certificate says, and where the value lies."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import surepath
from playing import small
from proposals import NOISY, duel, meeting, normed, paid, rules, separated, tree
from surepath.inference.attempt import Attempt
from surepath.inference.judgement import judge
from surepath.inference.proposal import Rules
from surepath.inference.separation import as_total_variation
from surepath.prepare.call import Call
from surepath.prepare.proved_run import ProvedRun
from surepath.prepare.start import start
from surepath.results.proved_claim import _claim, _excluded, conclude_proved, proved_interval
from surepath.run.driver import drive
from surepath.run.runner import Runner


def finished(seed: int = 4, **options: Any) -> ProvedRun:
    call = Call.of(small(seed), seed=seed, guarantee="proved", **{"separation": 0.3} | options)
    run = start(call)
    assert isinstance(run, ProvedRun)
    drive(run.learner, Runner(call.system, seed))
    return run


RUN = finished()


def proved(said: Rules, mean: float = 0.9) -> Attempt:
    """One step, a hundred readings of each action."""
    attempt = Attempt(duel(said))
    attempt.proposal.known.count[:] = 50.0
    attempt.proposal.known.total[:] = attempt.proposal.known.squares[:] = [50 * mean, 5.0]
    attempt.begin([((0,), 100), ((1,), 100)])
    coins = (np.arange(100) < 100 * mean).astype(float)[:, None]
    attempt.tell([paid((0,), coins), paid((1,), np.zeros((100, 1)))])
    assert attempt.proved
    return attempt


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (rules(), "without taking any two prefixes for one"),
        (separated(), "by a separation"),
        (normed(), "by a norm"),
    ],
)
def test_the_claim_names_its_grounds(said: Rules, words: str) -> None:
    attempt = proved(said)
    assert _claim(attempt, 0.0) == (
        f"these 1 actions are optimal with probability at least 0.8, proved {words}"
    )
    attempt.paths.loss = 0.0123
    assert "are within 0.0124 of optimal with" in _claim(attempt, 0.0124)


def test_the_certificate_is_what_was_proved() -> None:
    result, attempt = RUN.result(), RUN.learner.attempt
    assert attempt is not None
    certificate = result.certificate
    assert certificate.certified
    assert certificate.guarantee == "proved"
    assert certificate.delta == certificate.failure == 0.05
    assert certificate.status == ("optimal" if attempt.optimal else "within")
    assert certificate.tolerance is not None
    assert certificate.tolerance >= (0.0 if attempt.optimal else attempt.paths.loss)
    assert certificate.rests_on == (("merging",) if attempt.proposal.merges else ())
    assert result.actions == attempt.proposal.plan
    assert result.value == attempt.value
    assert f"{len(attempt.blocks)} blocks of fresh readings" in certificate.reason
    assert f"{attempt.episodes} episodes" in certificate.reason
    levels = certificate.levels
    assert tuple(level.action for level in levels) == attempt.proposal.plan
    for level, found in enumerate(levels):
        edge = attempt.proposal.plan_edges[level] - found.action
        counts = attempt.paths.read.count[edge : edge + attempt.proposal.n_actions]
        assert found.samples == counts.min()
        others = [q for a, q in enumerate(found.estimates) if a != found.action]
        assert found.margin == pytest.approx(found.estimates[found.action] - max(others))


def test_nothing_is_claimed_of_an_attempt_that_goes_on_or_where_there_are_doubts() -> None:
    attempt = RUN.learner.attempt
    proposer = RUN.learner.proposer
    judged = judge(proposer.root, proposer.terms)
    terms = RUN._terms()
    going = conclude_proved(None, judged, terms, episodes=100, under_way="it goes on")
    assert (going.status, going.reason, going.claim) == ("open", "it goes on", "none")
    assert going.failure == 1.0
    doubted = conclude_proved(attempt, judged, terms, episodes=100, doubts=("it drifts",))
    assert doubted.status == "refused"
    assert not doubted.certified
    assert doubted.claim == "none"


@pytest.mark.parametrize("shared", [False, True])
def test_the_interval_is_hoeffdings_for_the_plan(shared: bool) -> None:
    """Where steps may depend on each other it is wider by the root of their number."""
    attempt = Attempt(tree(rules(), 2))
    attempt.begin([((0, 0), 40), ((0, 1), 60)])
    attempt.tell([paid((0, 0), np.full((40, 2), 0.5)), paid((0, 1), np.full((60, 2), 0.5))])
    attempt.paths.loss = 0.01
    terms = replace(RUN.terms, delta=0.2, shared_noise=shared)
    judged: Any = None  # of a proof it is not needed
    low, high = proved_interval(attempt, judged, terms)
    spread = (0.25 / 100 + 0.25 / 40) * (2 if shared else 1)
    width = math.sqrt(2 * math.log(2 / 0.2) * spread)
    assert (low, high) == pytest.approx((1.0 - width, 1.0 + width + 0.01))


def test_the_interval_holds_the_value_of_the_plan() -> None:
    """In more than a share 1 - delta of the runs, at the counts that blocks end with."""
    missed, runs = 0, 20
    for seed in range(runs):
        problem = small(seed, horizon=2)
        result = surepath.learn(problem, guarantee="proved", separation=0.3, delta=0.2, seed=seed)
        low, high = result.interval
        missed += result.certified and not low <= problem.optimum[1] <= high
    assert missed <= 0.2 * runs


def test_the_excluded_separation_is_said_in_the_units_of_the_declared_one() -> None:
    symbols = Attempt(meeting(separated()))
    assert _excluded(symbols) is None  # nothing was read
    symbols.merges.tests[1, ()].excluded = 0.37
    assert _excluded(symbols) == 0.37
    noisy = Attempt(meeting(separated(observed=NOISY)))
    noisy.merges.tests[1, ()].excluded = 0.4
    assert _excluded(noisy) == pytest.approx(as_total_variation(0.4 / NOISY.scale))
    assert _excluded(Attempt(tree(rules(), 2))) is None
    assert _excluded(Attempt(meeting(normed()))) is None
