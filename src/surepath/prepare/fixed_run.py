"""A run of a schedule that is fixed in advance: what it is told, its learner and its result."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

from surepath.builtin_problems import Problem
from surepath.builtin_problems.finite import FiniteProblem
from surepath.errors import InputError
from surepath.features import WindowFeatures
from surepath.learners.recursion import Learner
from surepath.prepare.call import Call
from surepath.prepare.feature_sizes import size_of
from surepath.prepare.resolved import Resolved
from surepath.prepare.task import Task
from surepath.readings.embedding import KernelMap, embed
from surepath.results.assumptions import Sources, of_fixed
from surepath.results.certificate import Certificate, Status
from surepath.results.fixed_claim import certify, interval, nothing_tried, uncertified
from surepath.results.result import Result
from surepath.run.driver import RAW_BATCH
from surepath.run.runner import summarises
from surepath.system import Declared, System
from surepath.theory.own_counts import STAGED, Stage
from surepath.theory.schedule import SCHEDULES, Schedule
from surepath.theory.setting import Setting

UNKNOWN_SOURCES = Sources("not given", "not given")


def check_told_enough(call: Call) -> None:
    """Refuse, before any episode, a named schedule that nobody tells gap and norm."""
    if call.own_schedule is None and call.problem is None:
        _require(call.gap, call.norm)


@dataclass(frozen=True)
class FixedRun:
    task: Task
    stages: tuple[Stage, ...]
    setting: Setting | None  # what is known beforehand; None where nothing can be proved
    sources: Sources
    unproved: str  # why nothing can be proved, where there is no setting

    @classmethod
    def of(cls, task: Task) -> FixedRun:
        call, own = task.call, task.call.own_schedule
        unproved = _unproved(call, task.psi)
        if unproved and own is not None:
            return cls(task, _single(own, call.delta), None, UNKNOWN_SOURCES, unproved)
        gap, norm, sources = _gap_and_norm(call, task.future)
        setting = _setting(task, gap, norm)
        stages = _named(str(call.schedule), setting) if own is None else _single(own, call.delta)
        # The schedule says how windows are averaged (`paper` joins them): it is judged by that.
        setting = replace(setting, windows=stages[0].schedule.windows)
        return cls(task, stages, setting, sources, "")

    @property
    def schedule(self) -> Schedule:
        """The one that the run is at."""
        return self.stage.schedule

    @property
    def stage(self) -> Stage:
        return self.stages[self.learner.usage.starts - 1]

    @cached_property
    def learner(self) -> Learner:
        task, system = self.task, self.task.call.system
        first = self.stages[0]
        embedding = embed(task.features, system.n_actions, task.future, first.schedule.windows)
        learner = Learner(
            task.call.horizon,
            system.n_actions,
            task.features,
            first.schedule,
            most=first.most,
            later=self.stages[1:],
            future=task.future,
            reward_range=task.call.rewards,
            largest_batch=None if summarises(system, embedding.statistics) else RAW_BATCH,
        )
        task.charge(learner.usage)
        return learner

    def result(self) -> Result:
        """What the learner has found, at the end or before."""
        learner, horizon = self.learner, self.task.call.horizon
        certificate = self._certificate()
        value = math.nan if learner.value is None else learner.value
        low, high = (end * horizon for end in self.task.call.rewards)
        return Result(
            actions=learner.incumbent + (0,) * (horizon - len(learner.incumbent)),
            value=value,
            interval=interval(certificate, value, learner.usage, (low, high)),
            certificate=certificate,
            usage=learner.usage,
        )

    def _certificate(self) -> Certificate:
        learner, notes = self.learner, self.task.notes
        decided = learner.plan or ()
        warnings = nothing_tried(self.schedule, decided, learner.usage)
        if learner.done and self.setting is not None:
            return certify(
                self.stage,
                self.setting,
                decided,
                learner.usage,
                sources=self.sources,
                notes=notes,
                warnings=warnings,
            )
        return uncertified(
            Status.UNPROVED if learner.done else Status.OPEN,
            self.unproved if learner.done else self._out_of_budget(),
            self.schedule,
            decided,
            delta=self.task.call.delta,
            assumptions=of_fixed(self.setting, self.sources) if self.setting else (),
            notes=notes,
            warnings=warnings,
        )

    def _out_of_budget(self) -> str:
        learner = self.learner
        return (
            f"the run stopped after {learner.usage.episodes} episodes; the next batch takes "
            f"{sum(request.count for request in learner.ask())}. The first "
            f"{len(learner.incumbent)} actions are the best known so far, the rest are placeholders"
        )


def _single(schedule: Schedule, delta: float) -> tuple[Stage, ...]:
    return (Stage(schedule, None, delta),)


def _named(name: str, setting: Setting) -> tuple[Stage, ...]:
    staged = STAGED.get(name)
    return staged(setting) if staged else _single(SCHEDULES[name](setting), setting.delta)


def _unproved(call: Call, psi: Resolved) -> str:
    """Why nothing can be proved of this run; empty when something can."""
    if psi.fitted and call.own_schedule is None:
        raise InputError(
            "a fixed schedule proves nothing of features that are fitted on a pilot: their norm "
            "cannot be known in advance",
            got=psi.note,
            remedy="Pass a Schedule of your own; or features that are fixed: one-hot, linear, "
            "Custom(function, dimension, radius), or a kernel with its length scale, used exactly.",
        )
    if psi.fitted:
        return "the features were fitted on a pilot, so no norm can be stated for them"
    if call.own_schedule is not None and (call.gap is None or call.norm is None):
        return "the schedule is not a proved one, and gap and norm were not given to check it with"
    return ""


def _require(gap: float | None, norm: float | None) -> tuple[float, float]:
    missing = [name for name, value in (("gap", gap), ("norm", norm)) if value is None]
    if gap is None or norm is None:
        raise InputError(
            f"a fixed schedule needs gap and norm; not given: {' and '.join(missing)}",
            got=f"gap={gap}, norm={norm}",
            remedy="Give both (a smaller gap and a larger norm are always safe, and cost more "
            "episodes), or choose the sample sizes yourself: schedule=Schedule(ridge, threshold, "
            "feature_samples, reward_samples), on the command line --ridge, --feature-samples and "
            "--reward-samples. With kernels, which real-valued readings get by default, that is "
            "the only way.",
        )
    return gap, norm


def _gap_and_norm(call: Call, future: int) -> tuple[float, float, Sources]:
    gap, norm, problem = call.gap, call.norm, call.informed_problem
    given, known = "as given", "from the problem's oracle"
    sources = Sources(known if gap is None else given, known if norm is None else given)
    if problem is not None:
        # Where no action is suboptimal the gap is infinite, and any number is a valid one.
        gap = min(problem.gap, float(problem.horizon)) if gap is None else gap
        norm = problem.norm_of(future) if norm is None else norm
    return *_require(gap, norm), sources


def _setting(task: Task, gap: float, norm: float) -> Setting:
    call, psi, future = task.call, task.psi, task.future
    system = call.system
    radius, noise, window = size_of(system, psi, future)
    return Setting(
        horizon=call.horizon,
        n_actions=system.n_actions,
        dimension=window,
        gap=gap,
        norm=norm,
        delta=call.delta,
        latent_dimension=_latent(system, window, future),
        radius=radius,
        diameter=psi.diameter,  # of features of length 1, and so of their products, too
        feature_noise=noise,
        reward_noise=call.reward_noise,
        unique=_unique(call.problem, call.horizon),
        future=future,
        windows="joint" if isinstance(psi.features, WindowFeatures) else "product",
        expansions=psi.expansions if isinstance(psi.features, KernelMap) else None,
        gain=psi.gain,
    )


def _latent(system: System, window: int | None, future: int) -> int | None:
    """Dimension of the span of the embeddings of a level.

    What a system declares is stated for single observations; only of finite problems, where it is
    the number of states, does it hold for windows too.
    """
    latent = Declared(system).latent_dimension
    if latent is None or (future > 1 and not isinstance(system, FiniteProblem)):
        return None
    if window is None:
        return latent
    return min(latent, window * system.n_actions ** (future - 1))


def _unique(problem: Problem | None, horizon: int) -> bool:
    return problem is not None and horizon == problem.horizon and problem.oracle.unique
