"""A run of the adaptive schedule: the terms it is held to, its learner and its result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from surepath.features import Features
from surepath.inference.judgement import judge
from surepath.inference.terms import Terms
from surepath.learners.adaptive import Adaptive
from surepath.prepare.task import Task
from surepath.prepare.terms import finite_features, terms_of
from surepath.readings.record import record_of
from surepath.results.adaptive_claim import conclude, interval
from surepath.results.hints import hints
from surepath.results.result import Result
from surepath.results.usage import tried_by_level
from surepath.run.driver import RAW_BATCH
from surepath.run.runner import summarises
from surepath.run.seeds import choices
from surepath.validate import plain


@dataclass(frozen=True)
class AdaptiveRun:
    task: Task
    features: Features  # at the beginning, like the terms; those of the learner may grow
    terms: Terms

    @classmethod
    def of(cls, task: Task) -> AdaptiveRun:
        features = finite_features(task.psi)
        return cls(task, features, terms_of(task.call, task.psi, features, task.future))

    @cached_property
    def learner(self) -> Adaptive:
        call = self.task.call
        whole = summarises(call.system, self.features.statistics)
        learner = Adaptive(
            self.features,
            self.terms,
            choices(call.seed),
            future_grows=call.future_grows,
            may_use_tree=call.future_grows,
            largest_batch=None if whole else RAW_BATCH,
            at_once=call.at_once,
        )
        self.task.begin(learner)
        return learner

    def result(self) -> Result:
        """What the learner has found, at the end or before."""
        learner, terms, growth = self.learner, self.learner.terms, self.learner.growth
        tests = (learner.dependence, learner.dependence.succession, learner.drift)
        judged = judge(learner.root, terms, columns=learner.columns)
        doubts = tuple(doubt for test in tests if (doubt := test.doubt()))
        doubts += growth.doubts(judged.machine) if growth else ()
        known, usage = learner.known, learner.usage
        if judged.complete:  # the learner may not have judged what it was told last
            known, tried = judged.known, tried_by_level(judged.machine)
            usage = replace(usage, expansions=tried[0], covered=tried[1])
        return Result(
            actions=known + (0,) * (terms.shape.horizon - len(known)),
            value=judged.worth,
            interval=terms.return_range if doubts else interval(judged, terms),
            certificate=conclude(
                judged,
                terms,
                episodes=learner.usage.episodes,
                audit=learner.auditor.passed,
                doubts=doubts,
                notes=self.task.notes
                + learner.grown
                + (growth.notes() if growth else ())
                + hints(judged.machine, terms),
                warnings=tuple(warning for test in tests if (warning := test.warning())),
            ),
            usage=usage,
            record=record_of(learner.root),
            call=plain(self.task.call.recorded()),
        )
