"""`learn`: from a system to a certified plan."""

from __future__ import annotations

import math
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from surepath.builtin_problems.base import Problem
from surepath.errors import InputError
from surepath.inference.judgement import Judgement, Terms, judge
from surepath.journal.database import Journal
from surepath.journal.identity import configuration
from surepath.learners.adaptive import Adaptive
from surepath.learners.recursion import Learner
from surepath.prepare.task import Future, Task, plan_task
from surepath.readings.embedding import KernelMap, embed
from surepath.readings.record import record_of
from surepath.results.adaptive import conclude, interval
from surepath.results.certificate import Certificate, assumptions, certify, level_of
from surepath.results.result import Result
from surepath.run.driver import RAW_BATCH, drive
from surepath.run.executors import Executor, Serial
from surepath.run.processes import Processes
from surepath.run.progress import Progress
from surepath.run.ray import RayCluster
from surepath.run.runner import Runner, summarises
from surepath.system import System
from surepath.theory.schedule import Schedule
from surepath.validate import whole


def learn(
    env: object,
    horizon: int | None = None,
    *,
    features: object = "auto",
    future: Future = 1,
    schedule: str | Schedule = "adaptive",
    guarantee: str = "calibrated",
    delta: float = 0.05,
    gap: float | None = None,
    norm: float | None = None,
    reward_range: tuple[float, float] = (0.0, 1.0),
    budget: int | None = None,
    journal: str | Path | None = None,
    workers: int | str | Executor | None = None,
    seed: int = 0,
    progress: bool = False,
) -> Result:
    """Find the exact best action sequence of a resettable system, with its certificate.

    env: a system (horizon, n_actions, rollout), a built-in problem from `surepath.make`, or a
    Gymnasium environment: the environment, its id or spec, or a function that makes one.
    horizon: defaults to env's, where it has one; may be shorter.
    features: "auto", "onehot", "linear", "rbf", "matern", a scikit-learn transformer or
    Gaussian-process kernel, or a function from observations [n, ...] to features [n, d].
    future: how many observations one embedding looks ahead, or "auto" to let ranks decide.
    schedule: "adaptive" needs to know nothing: it reads where the answer depends on it and stops
    when it is settled. "tight" and "paper" are fixed in advance and proved; they need gap and norm,
    which a built-in problem knows of itself. Or a `Schedule` of your own.
    guarantee: of the adaptive schedule. "calibrated" uses estimated variances and is validated, not
    proved; "proved" holds for every system that satisfies the assumptions with the given norm.
    gap: least loss of a suboptimal plan, where known. norm: bound on the weights of Q*.
    reward_range: the smallest and the largest reward that can be paid.
    budget: most episodes to spend; when it ends, the best plan so far is returned uncertified.
    journal: a file that records every episode before it is used. An existing one is continued: the
    run goes on where it was stopped or killed, and ends as if it never had been.
    workers: so many processes, "ray" for a Ray cluster, or an executor (`surepath.Serial`,
    `surepath.Processes`, `surepath.RayCluster`) with time limit and retries of your own. What is
    found does not depend on it.
    """
    if budget is not None:
        whole("budget", budget, least=1)
    call: dict[str, Any] = {
        "features": features,
        "future": future,
        "schedule": schedule,
        "guarantee": guarantee,
        "delta": delta,
        "gap": gap,
        "norm": norm,
        "reward_range": reward_range,
        "seed": seed,
    }
    with ExitStack() as opened:
        record: list[Journal] = []

        def begin(system: System, levels: int) -> Runner:
            if journal is not None:
                asked = configuration(system, horizon=levels, **call)
                record.append(opened.enter_context(Journal(journal, asked)))
            return Runner(
                system,
                seed,
                executor=_executor(workers, opened),
                journal=record[0] if record else None,
                reward_range=system.reward_range if isinstance(system, Problem) else reward_range,
            )

        task = plan_task(env, horizon, **call, budget=budget, begin=begin)
        learner = learner_of(task, seed)
        watch = opened.enter_context(Progress()) if progress else None
        finished = drive(learner, task.runner, budget=budget, watch=watch)
        result = result_of(learner, task, delta, finished=finished)
        for written in record:
            written.put("result", result.saved())
    return result


def _executor(workers: int | str | Executor | None, opened: ExitStack) -> Executor:
    """Whom `workers` stands for; those that are started here are ended with the run."""
    if workers is None:
        return Serial()
    if isinstance(workers, int) and not isinstance(workers, bool):
        return opened.enter_context(Processes(workers))
    if workers == "ray":
        return opened.enter_context(RayCluster())
    if isinstance(workers, Executor):
        return workers
    raise InputError(
        'workers is a number of processes, "ray", or an executor',
        got=repr(workers),
        remedy="Write for example workers=4, or workers=surepath.Processes(4, time_limit=10).",
    )


def learner_of(task: Task, seed: int = 0) -> Learner | Adaptive:
    """The learner of a task, with what the task has cost already."""
    learner = _build(task, seed)
    learner.usage.episodes = learner.usage.pilot_episodes = task.episodes
    learner.usage.steps = learner.usage.pilot_steps = task.steps
    return learner


def _build(task: Task, seed: int) -> Learner | Adaptive:
    if isinstance(task.schedule, Terms):
        assert not isinstance(task.features, KernelMap)  # refused when the task was planned
        whole = summarises(task.system, task.features.statistics)
        return Adaptive(
            task.features, task.schedule, largest_batch=None if whole else RAW_BATCH, seed=seed
        )
    embedding = embed(task.features, task.system.n_actions, task.future, task.schedule.windows)
    return Learner(
        task.horizon,
        task.system.n_actions,
        task.features,
        task.schedule,
        future=task.future,
        reward_range=task.reward_range,
        largest_batch=None if summarises(task.system, embedding.statistics) else RAW_BATCH,
    )


def result_of(learner: Learner | Adaptive, task: Task, delta: float, *, finished: bool) -> Result:
    """What a learner has found of its task, at the end or before."""
    if isinstance(learner, Adaptive):
        return _adaptive_result(learner, task)
    return _result(learner, task, delta, finished=finished)


def _adaptive_result(learner: Adaptive, task: Task) -> Result:
    doubt, warning = learner.dependence.doubt(), learner.dependence.warning()
    found = judge(learner.root, learner.terms, learner.incumbent or None)
    judged = found if isinstance(found, Judgement) else None
    certificate = conclude(
        judged,
        learner.terms,
        episodes=learner.usage.episodes,
        doubts=(doubt,) if doubt else (),
        notes=task.notes + ((f"warning: {warning}",) if warning else ()),
    )
    known = learner.incumbent if judged is None else judged.plan.actions
    actions = known + (0,) * (task.horizon - len(known))
    low, high = (end * task.horizon for end in task.reward_range)
    return Result(
        actions=actions,
        value=math.nan if judged is None else judged.value,
        interval=interval(judged, actions, learner.terms)
        if judged is not None and not doubt
        else (low, high),
        certificate=certificate,
        usage=learner.usage,
        record=record_of(learner.root),
    )


def _result(learner: Learner, task: Task, delta: float, *, finished: bool) -> Result:
    certificate = _certificate(learner, task, delta, finished=finished)
    value = math.nan if learner.value is None else learner.value
    low, high = (end * task.horizon for end in task.reward_range)
    if certificate.certified and certificate.bounds is not None:
        # Once all actions of the root were tried, the estimate is a sum of reward means along the
        # optimal plan and within t of V*; before that it is a prediction.
        tried = learner.usage.expansions[0] or certificate.levels[0].source == "expansion"
        width = certificate.bounds.tolerance if tried else certificate.levels[0].width
        low, high = max(low, value - width), min(high, value + width)
    unknown = task.horizon - len(learner.incumbent)
    return Result(
        actions=learner.incumbent + (0,) * unknown,
        value=value,
        interval=(low, high),
        certificate=certificate,
        usage=learner.usage,
    )


def _certificate(learner: Learner, task: Task, delta: float, *, finished: bool) -> Certificate:
    notes = task.notes + _warnings(learner, task)
    if finished and learner.plan is not None and task.setting is not None:
        return certify(
            _fixed(task),
            task.setting,
            learner.plan,
            learner.usage,
            sources=task.sources,
            notes=notes,
        )
    reason = task.doubt
    if not finished:
        reason = (
            f"the budget ended after {learner.usage.episodes} episodes; the next batch takes "
            f"{sum(request.count for request in learner.ask())}. The first "
            f"{len(learner.incumbent)} actions are the best known so far, the rest are placeholders"
        )
    return Certificate(
        certified=False,
        claim="none",
        reason=reason,
        delta=delta,
        failure=1.0,
        assumptions=assumptions(task.setting, task.sources) if task.setting else (),
        notes=notes,
        schedule=_fixed(task),
        levels=tuple(level_of(decision) for decision in learner.plan or ()),
    )


def _fixed(task: Task) -> Schedule:
    assert isinstance(task.schedule, Schedule)
    return task.schedule


def _warnings(learner: Learner, task: Task) -> tuple[str, ...]:
    """What a user should know of a run that looks finished but learned nothing."""
    idle = learner.plan is not None and learner.plan[0].source == "regression"
    if not idle or sum(learner.usage.expansions):
        return ()
    schedule = _fixed(task)
    least = schedule.threshold * math.sqrt(schedule.ridge)
    return (
        f"warning: nothing was tried: the first embedding is shorter than threshold * sqrt(ridge) "
        f"= {least:.3g} and so counts as covered; use a smaller ridge or longer features",
    )
