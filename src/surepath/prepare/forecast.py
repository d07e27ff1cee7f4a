"""What it takes to prove the best plan of a built-in problem, before anything is run.

A proved run forecasts its fresh episodes from what it proposes. Here its proposer is told what it
would read in so many episodes that no noise is left, so that it proposes the problem's own machine
and plan; the rest is what a run does before its first block.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surepath.builtin_problems.finite import FiniteProblem
from surepath.builtin_problems.truth import separation
from surepath.errors import InputError
from surepath.inference.attempt import Attempt
from surepath.inference.consistency import read_differently
from surepath.inference.judgement import Judgement
from surepath.inference.proposal import Proposal, Route
from surepath.inference.terms import EXACT, Terms
from surepath.learners.adaptive import Adaptive
from surepath.learners.allocation import Allocation, likely
from surepath.learners.base import Answer
from surepath.learners.propose import propose
from surepath.prepare.call import Call
from surepath.prepare.proved_run import ProvedRun, task_of
from surepath.system import Counts, FloatArray, Request, Summary

MANY = 10**9
"""Episodes behind everything that the proposer is told: so many that their noise does not show."""

MOST_ROUNDS = 500
"""Of the proposer: what is not settled by then differs too little to be ever settled by a run."""

UNSEEN = Counts(np.array([MANY]))
"""In place of observations that nobody looks at."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """The fresh episodes that a proof is expected to take."""

    proposal: Proposal  # of the right machine and plan
    merges: int  # episodes that its merges take
    paths: int  # and those that all other plans take beside them
    apart: float | None  # where a separation is declared: how far apart its states really look

    @property
    def episodes(self) -> int:
        return self.merges + self.paths


def forecast(call: Call) -> Forecast:
    """What the first attempt of the call's run will take, if it proposes what is true."""
    problem = call.problem
    if not isinstance(problem, FiniteProblem):
        raise InputError(
            "a proof is forecast for built-in problems with finitely many hidden states",
            got=type(call.system).__name__,
            remedy="Use for example tabular, gaussian, lock, overcomplete or touch; of other "
            "systems learn forecasts it as soon as it has something to propose.",
        )
    run = ProvedRun.of(task_of(call, None))
    proposal, noise = _right_proposal(run, problem)
    allocation = Allocation(Attempt(proposal), noise)
    allocation.requests(0)
    whole, merges = likely(max(allocation.forecast, 1)), likely(allocation.for_merges())
    apart = separation(problem, proposal.rules.future) if proposal.rules.separation else None
    return Forecast(proposal, merges, whole - merges, apart)


def _right_proposal(run: ProvedRun, problem: FiniteProblem) -> tuple[Proposal, FloatArray]:
    """What the run's proposer proposes when nothing that it reads is noisy."""
    proposer = run.learner.proposer
    looks = run.terms.route is not Route.TREE
    while (asked := proposer.ask()) and proposer.usage.rounds < MOST_ROUNDS:
        told = [_without_noise(problem, request, looks=looks) for request in asked]
        proposer.pool(asked, [_answer(proposer, *pair) for pair in zip(asked, told, strict=True)])
        proposer.reconsider()
    judged = proposer.judgement
    assert judged is not None  # it asks until everything was judged
    _check_proposed(judged, run.terms, settled=not asked)
    return propose(judged, run(proposer, judged, attempt=1))


def _without_noise(problem: FiniteProblem, request: Request, *, looks: bool) -> Summary:
    """What is read in many episodes; the same wherever the law is the same.

    looks: whether observations are looked at.
    """
    states, actions = problem.path(request.actions), request.actions
    laws = {step: problem.observation_law(step, states[step]) for step in request.observations}
    return Summary(
        actions,
        MANY,
        {step: law.summary(MANY, _same()) if looks else UNSEEN for step, law in laws.items()},
        {
            step: problem.reward_law(step, states[step], actions[step]).summary(MANY, _same())
            for step in request.rewards
        },
    )


def _same() -> np.random.Generator:
    return np.random.default_rng(0)


def _answer(proposer: Adaptive, request: Request, told: Summary) -> Answer:
    digests = proposer.embedding.read(told, request.observations)
    return Answer(digests, {step: told.reward(step) for step in request.rewards}, told)


def _check_proposed(judged: Judgement, terms: Terms, *, settled: bool) -> None:
    """Refuse to forecast what a run would not come to propose, or could not prove."""
    if not settled:
        raise InputError(
            "the best plans of this problem are too close together",
            got=f"tolerance={judged.tolerance:g}",
            remedy="Give a larger tolerance.",
        )
    if judged.too_short:
        raise InputError(
            "what is looked at does not tell the states of this problem apart",
            got=judged.too_short,
            remedy="Give separation=, with which a run looks further ahead, or neither.",
        )
    if terms.separation == EXACT and (noisy := read_differently(judged.machine)) is not None:
        raise InputError(
            "the readings of this problem are not exact",
            got=f"readings after {noisy} that differ from each other",
            remedy="Give a number as separation.",
        )
