"""`learn`: from a system to a certified plan."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import dataclass

from surepath.certificate import Certificate, assumptions, certify
from surepath.errors import InputError
from surepath.features import Features, resolve
from surepath.learner import Learner
from surepath.problems.base import Problem
from surepath.progress import Progress
from surepath.result import Result
from surepath.run.driver import RAW_BATCH, drive, summarises
from surepath.schedule import Schedule, Setting, paper, tight
from surepath.system import System
from surepath.validate import between, nearest, whole

SCHEDULES = {"paper": paper, "tight": tight}


@dataclass(frozen=True, slots=True)
class Task:
    """What a call of `learn` comes down to."""

    system: System
    horizon: int
    features: Features
    setting: Setting | None  # None for a user's schedule without gap and norm
    sources: str  # where gap and norm come from
    schedule: Schedule
    reward_range: tuple[float, float]


def learn(
    env: object,
    horizon: int | None = None,
    *,
    features: object = "auto",
    schedule: str | Schedule = "tight",
    delta: float = 0.05,
    gap: float | None = None,
    norm: float | None = None,
    reward_range: tuple[float, float] = (0.0, 1.0),
    budget: int | None = None,
    seed: int = 0,
    progress: bool = False,
) -> Result:
    """Find the exact best action sequence of a resettable system, with its certificate.

    env: a system (horizon, n_actions, rollout) or a built-in problem from `surepath.make`.
    horizon: defaults to env's; may be shorter. features: "auto", "onehot", "linear" or a feature
    map such as `Custom`. schedule: "tight", "paper" or a `Schedule`; the named ones are proved and
    need gap and norm, which a built-in problem knows of itself. budget: most episodes to spend;
    when it ends the best plan so far is returned without a certificate.
    """
    task = plan_task(
        env,
        horizon,
        features=features,
        schedule=schedule,
        delta=delta,
        gap=gap,
        norm=norm,
        reward_range=reward_range,
    )
    whole("seed", seed, least=0)
    if budget is not None:
        whole("budget", budget, least=1)
    learner = Learner(
        task.horizon,
        task.system.n_actions,
        task.features,
        task.schedule,
        reward_range=task.reward_range,
        largest_batch=None if summarises(task.system, task.features) else RAW_BATCH,
    )
    with Progress() if progress else nullcontext() as watch:
        finished = drive(learner, task.system, seed=seed, budget=budget, watch=watch)
    return _result(learner, task, delta, finished=finished)


def plan_task(
    env: object,
    horizon: int | None = None,
    *,
    features: object = "auto",
    schedule: str | Schedule = "tight",
    delta: float = 0.05,
    gap: float | None = None,
    norm: float | None = None,
    reward_range: tuple[float, float] = (0.0, 1.0),
) -> Task:
    """Check everything and fix the schedule, before anything is run."""
    if not isinstance(env, System):
        raise InputError(
            "env must be a system: horizon, n_actions and rollout(actions, n, rng)",
            got=repr(env),
            remedy="Pass a problem from surepath.make(name), or an object with those members.",
        )
    whole("n_actions", env.n_actions, least=1)
    levels = _horizon(env, horizon)
    between("delta", delta, 0, 1)
    if not reward_range[0] < reward_range[1]:
        raise InputError(
            "reward_range must be (low, high) with low < high",
            got=reward_range,
            remedy="Give the smallest and the largest reward the system can pay.",
        )
    psi = resolve(features, env)
    known = env if isinstance(env, Problem) else None
    rewards = known.reward_range if known else reward_range
    setting, sources = None, "not given"
    if isinstance(schedule, str) or (gap is not None and norm is not None):
        gap_used, norm_used, sources = _gap_and_norm(
            known if features == "auto" and levels == env.horizon else None, gap, norm
        )
        setting = _setting(env, levels, psi, gap_used, norm_used, delta, rewards)
    if isinstance(schedule, str):
        if schedule not in SCHEDULES:
            raise InputError(
                f"there is no schedule {schedule!r}",
                got=repr(schedule),
                remedy=nearest(schedule, SCHEDULES),
            )
        assert setting is not None
        schedule = SCHEDULES[schedule](setting)
    return Task(env, levels, psi, setting, sources, schedule, rewards)


def _horizon(env: System, horizon: int | None) -> int:
    longest = whole("the system's horizon", env.horizon, least=1)
    if horizon is None:
        return longest
    return whole("horizon", horizon, least=1, most=longest)


def _gap_and_norm(
    problem: Problem | None, gap: float | None, norm: float | None
) -> tuple[float, float, str]:
    if problem is not None and (gap is None or norm is None):
        sources = "from the problem's oracle"
        # Where no action is suboptimal the gap is infinite, and any number is a valid one.
        gap = min(problem.gap, float(problem.horizon)) if gap is None else gap
        norm = problem.norm if norm is None else norm
    else:
        sources = "as given"
    missing = [name for name, value in (("gap", gap), ("norm", norm)) if value is None]
    if gap is None or norm is None:
        raise InputError(
            f"a fixed schedule needs gap and norm, and {' and '.join(missing)} was not given",
            got=f"gap={gap}, norm={norm}",
            remedy="Give both (a smaller gap and a larger norm are always safe, and cost more "
            "episodes), or pass a Schedule of your own.",
        )
    return gap, norm, sources


def _setting(
    env: System,
    horizon: int,
    features: Features,
    gap: float,
    norm: float,
    delta: float,
    reward_range: tuple[float, float],
) -> Setting:
    noise, radius = None, features.radius
    if radius is None:
        noise, radius = getattr(env, "observation_noise", None), getattr(env, "radius", None)
        if noise is None or radius is None:
            raise InputError(
                "a fixed schedule needs a bound on the features, or the noise of the observations",
                got=f"{type(features).__name__} features, and a system without the attributes "
                "observation_noise and radius",
                remedy="Use bounded features, such as Custom(function, dimension, radius=1.0), "
                "or give the system those attributes.",
            )
    spread = reward_range[1] - reward_range[0]
    latent = getattr(env, "latent_dimension", None)
    return Setting(
        horizon=horizon,
        n_actions=env.n_actions,
        dimension=features.dimension,
        gap=gap,
        norm=norm,
        delta=delta,
        latent_dimension=None if latent is None else min(latent, features.dimension),
        radius=radius,
        feature_noise=noise,
        reward_noise=spread / 2 if math.isfinite(spread) else getattr(env, "reward_noise", spread),
        unique=isinstance(env, Problem) and horizon == env.horizon and env.oracle.unique,
    )


def _result(learner: Learner, task: Task, delta: float, *, finished: bool) -> Result:
    certificate = _certificate(learner, task, delta, finished=finished)
    value = math.nan if learner.value is None else learner.value
    low, high = (end * task.horizon for end in task.reward_range)
    if certificate.certified and certificate.bounds is not None:
        # The root's estimate is a sum of reward means along the optimal plan: within t of V*.
        low = max(low, value - certificate.bounds.tolerance)
        high = min(high, value + certificate.bounds.tolerance)
    unknown = task.horizon - len(learner.incumbent)
    return Result(
        actions=learner.incumbent + (0,) * unknown,
        value=value,
        interval=(low, high),
        certificate=certificate,
        usage=learner.usage,
    )


def _certificate(learner: Learner, task: Task, delta: float, *, finished: bool) -> Certificate:
    if finished and learner.plan is not None and task.setting is not None:
        return certify(task.schedule, task.setting, learner.plan, sources=task.sources)
    reason = "the schedule is not a proved one, and gap and norm were not given to check it against"
    if not finished:
        reason = (
            f"the budget ended after {learner.usage.episodes} episodes; the next batch would have "
            f"exceeded it. The first {len(learner.incumbent)} actions are the best known so far"
        )
    return Certificate(
        certified=False,
        claim="none",
        reason=reason,
        delta=delta,
        failure=1.0,
        assumptions=assumptions(task.setting, task.sources) if task.setting else (),
        schedule=task.schedule,
        bounds=None,
        levels=(),
    )
