"""A run that proves what it finds: its route, its learner and its result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from surepath.errors import InputError
from surepath.features import Features, Nothing
from surepath.features.growing import Growing
from surepath.features.maps import Approximated
from surepath.inference.fresh_block import Totals
from surepath.inference.judgement import Judgement, judge
from surepath.inference.proposal import Observed, Route, Rules
from surepath.inference.separation import in_noise_units
from surepath.inference.terms import EXACT, MOST_SEQUENCES, Terms
from surepath.learners.adaptive import Adaptive
from surepath.learners.proving import Proving
from surepath.prepare.call import Call
from surepath.prepare.resolved import Resolved
from surepath.prepare.task import Task, plan_task
from surepath.prepare.terms import finite_features, terms_of
from surepath.readings.record import record_of
from surepath.results.proof import proof_lines
from surepath.results.proved_claim import conclude_proved, proved_interval
from surepath.results.result import Result
from surepath.results.usage import tried_by_level
from surepath.run.driver import RAW_BATCH
from surepath.run.runner import Runner, summarises
from surepath.run.seeds import choices
from surepath.system import FloatArray, Sample
from surepath.validate import plain

FARTHEST = 1e6
"""Ranges that rewards may be away from 0: their squares have sixteen digits, and the twelve that
this takes away leave enough."""

BELOW_GAP = 0.999
"""A plan that loses no more than this share of the gap loses nothing."""


def task_of(call: Call, runner: Runner | None) -> Task:
    """The task of a proved run; on the tree nothing is looked at, and nothing has to be chosen."""
    low, high = call.rewards
    if np.isfinite(high - low) and max(abs(low), abs(high)) > FARTHEST * (high - low):
        raise InputError(
            "rewards so far from 0, beside their range, are not exact enough for a proof",
            got=f"a reward range from {low!r} to {high!r}",
            remedy="Subtract the least reward from all of them; a plan that was best stays so.",
        )
    if call.declared_separation is not None and call.norm is not None:
        raise InputError(
            'guarantee="proved" rests on a separation or on a norm, not on both',
            got=f"separation={call.separation}, norm={call.norm:g}",
            remedy="Leave out one of them; with neither, no two prefixes are taken for one.",
        )
    if call.declared_separation is not None or call.norm is not None:
        return plan_task(call, runner)
    sequences = call.system.n_actions**call.horizon
    if sequences > MOST_SEQUENCES:
        raise InputError(
            'guarantee="proved" without separation reads every sequence by itself, and there are '
            "too many",
            got=f"{call.system.n_actions} actions, horizon {call.horizon}: {sequences:.3g} "
            f"sequences, each of which takes some ten episodes or more",
            remedy="Give separation= (how far apart the readings of two hidden states are at "
            "least), so that prefixes may be taken for one state; or a shorter horizon.",
        )
    psi = Resolved(Nothing(), "none: no two prefixes are taken for one")
    runner = runner or Runner(call.system, call.seed)
    return Task(call, runner, psi, 1, (f"features: {psi.note}",))


@dataclass(frozen=True)
class ProvedRun:
    task: Task
    features: Features
    terms: Terms

    @classmethod
    def of(cls, task: Task) -> ProvedRun:
        features = finite_features(task.psi)
        terms = terms_of(task.call, task.psi, features, task.future)
        if terms.route is Route.NORM and terms.shape.future > 1:
            raise InputError(
                "a proof by a norm needs a future of 1",
                got=f"future={task.future}",
                remedy="Give separation= instead of norm=.",
            )
        if terms.route is Route.NORM and (task.psi.fitted or isinstance(features, Approximated)):
            raise InputError(
                "no norm can be stated for features that come from readings, or stand in for a "
                "kernel's own",
                got=task.psi.note,
                remedy="Give separation= instead of norm=; or features that are fixed: one-hot, "
                "linear, or Custom(function, dimension, radius).",
            )
        if terms.shared_noise and terms.shape.future > 1:
            raise InputError(
                "what several steps show together is not compared where they share noise",
                got=f"future={task.future}, shared_noise=True",
                remedy="Use a future of 1, or a system whose steps are independent.",
            )
        if terms.separation == EXACT and not terms.shape.symbols:
            raise InputError(
                "a proof from exact readings needs symbols",
                got=task.psi.note,
                remedy="Number the readings of the system, or give a number as separation.",
            )
        return cls(task, features, terms)

    @cached_property
    def learner(self) -> Proving:
        call = self.task.call
        largest = None if summarises(call.system, self.features.statistics) else RAW_BATCH
        proposer = Adaptive(
            self.features,
            self.terms.proposing(),
            choices(call.seed),
            future_grows=call.future_grows and not self.terms.shared_noise,
            audits_merges=False,  # what is wrong with a proposal shows when it is to be proved
            largest_batch=largest,
            at_once=call.at_once,
        )
        self.task.begin(proposer)
        return Proving(proposer, self, largest_batch=largest, at_once=call.at_once)

    # ------------------------------------------------------------ what an attempt is held to

    def __call__(self, proposer: Adaptive, judged: Judgement, attempt: int) -> Rules:
        terms, call = self.terms, self.task.call
        observed = self._observed(proposer)
        future = min(proposer.terms.shape.future, terms.shape.horizon)  # beyond, nothing is merged
        return Rules(
            route=terms.route,
            rewards=terms.reward_range,
            reward_noise=terms.reward_noise,
            delta=terms.delta,
            attempt=attempt,
            shared=terms.shared_noise,
            observed=observed,
            future=future if terms.route is Route.SEPARATION else 1,
            separation=None if observed is None else self._separation(observed),
            norm=terms.norm,
            tolerance=judged.tolerance if call.gap is None else BELOW_GAP * call.gap,
            gap=call.gap,
        )

    def _observed(self, proposer: Adaptive) -> Observed | None:
        terms, features = self.terms, proposer.embedding_features
        if terms.route is Route.TREE:
            return None
        if terms.shape.symbols and terms.route is Route.SEPARATION:
            return Observed("symbols", features.dimension, 0.0, "")
        size, note = features.dimension, self.task.psi.note
        if isinstance(features, Growing):
            size = features.nystroem.dimension
            note += f"; its kernel alone, {features.landmarks} landmarks"
        if terms.feature_noise is not None:
            return Observed("noisy", size, terms.feature_noise, note)
        return Observed("bounded", size, 2 * terms.radius, note)

    def _separation(self, observed: Observed) -> float | None:
        """In the units in which ends of edges are compared."""
        said = self.terms.separation
        if said is None:
            return None
        if said == EXACT:
            return np.inf
        return in_noise_units(said) * observed.scale if observed.type == "noisy" else said

    def totals(self, proposer: Adaptive) -> Totals | None:
        observed, features = self._observed(proposer), proposer.embedding_features
        if observed is None:
            return None
        symbols, size = observed.type == "symbols", observed.size

        def total(sample: Sample) -> FloatArray:
            count = len(sample) if isinstance(sample, np.ndarray) else sample.count
            found = count * features.mean(sample)
            return np.rint(found) if symbols else found[:size]

        return total

    # ------------------------------------------------------------ what came of it

    def proof(self) -> list[str]:
        """The lines of the proof; those of the attempt that goes on, where there is none yet."""
        learner = self.learner
        return [] if learner.attempt is None else proof_lines(learner.attempt, learner.totals)

    def result(self) -> Result:
        """What the learner has found, at the end or before."""
        learner, proposer = self.learner, self.learner.proposer
        terms, growth = self._terms(), proposer.growth
        judged = judge(proposer.root, proposer.terms, columns=proposer.columns)
        if judged.complete:
            usage = learner.usage
            usage.expansions, usage.covered = tried_by_level(judged.machine)
        # Steps that are declared to share noise are no reason for doubt.
        tests = (proposer.dependence,) * (not terms.shared_noise)
        tests += (proposer.dependence.succession, proposer.drift)
        doubts = tuple(doubt for test in tests if (doubt := test.doubt()))
        attempt = learner.attempt if learner.attempt and learner.attempt.proved else None
        certificate = conclude_proved(
            attempt,
            judged,
            terms,
            episodes=learner.usage.episodes,
            under_way=learner.progress(),
            doubts=doubts,
            notes=self.task.notes
            + proposer.grown
            + (growth.notes() if growth else ())
            + learner.notes(),
            warnings=tuple(warning for test in tests if (warning := test.warning())),
        )
        known = judged.known if judged.complete else proposer.known
        if attempt is not None:
            known = attempt.proposal.plan
        return Result(
            actions=known + (0,) * (terms.shape.horizon - len(known)),
            value=judged.worth if attempt is None else attempt.value,
            interval=terms.return_range if doubts else proved_interval(attempt, judged, terms),
            certificate=certificate,
            usage=learner.usage,
            record=record_of(proposer.root),
            call=plain(self.task.call.recorded()),
            proof=None if attempt is None else proof_lines(attempt),
        )

    def _terms(self) -> Terms:
        """With the future and the features that the proposer came to."""
        shape = self.learner.proposer.terms.shape
        future = 1 if self.terms.route is Route.TREE else shape.future
        return replace(self.terms, shape=replace(shape, future=future))
