"""What a call of `learn` comes down to: everything checked and chosen before the recursion runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, NamedTuple, TypeAlias

from surepath.adapters.gym import as_system, is_gym
from surepath.builtin_problems import make, problems
from surepath.builtin_problems.base import Problem
from surepath.builtin_problems.finite import FiniteProblem
from surepath.errors import InputError
from surepath.features import Features
from surepath.inference.judgement import Terms
from surepath.prepare.features import Resolved, resolve
from surepath.prepare.future import FutureChoice, choose_future
from surepath.prepare.pilot import Pilot, draw_pilot
from surepath.prepare.terms import GUARANTEES, size_of, terms_of
from surepath.readings.embedding import COVARIANCE_LIMIT, KernelMap
from surepath.results.certificate import Sources
from surepath.run.runner import Runner, summarises
from surepath.system import System
from surepath.theory.schedule import Schedule, Setting, Windows, paper, tight
from surepath.validate import between, nearest, whole

SCHEDULES = {"paper": paper, "tight": tight}
"""The fixed ones."""

ADAPTIVE = "adaptive"

ADAPTIVE_LANDMARKS = COVARIANCE_LIMIT
"""Kernels are taken through so few landmarks that the noise of all pairs of them is recorded."""

RANK_SAMPLES, RAW_RANK_SAMPLES = 10**7, 4000
"""Readings a prefix when the ranks of embeddings are compared: statistics, and single episodes."""

Future: TypeAlias = int | Literal["auto"]


@dataclass(frozen=True, slots=True)
class Task:
    runner: Runner
    horizon: int
    features: Features | KernelMap
    expansions: Callable[[float, float], int] | None  # N' by a kernel's information gain
    future: int
    schedule: Schedule | Terms  # a fixed one, or the terms of an adaptive run
    setting: Setting | None  # of a fixed one; None where nothing can be proved
    sources: Sources
    doubt: str  # why nothing can be proved, where there is no setting
    notes: tuple[str, ...]  # what was chosen on the way, and from what
    reward_range: tuple[float, float]
    episodes: int  # spent before the recursion starts
    steps: int

    @property
    def system(self) -> System:
        return self.runner.system


def plan_task(
    env: object,
    horizon: int | None = None,
    *,
    features: object = "auto",
    future: Future = 1,
    schedule: str | Schedule = ADAPTIVE,
    guarantee: str = "calibrated",
    delta: float = 0.05,
    gap: float | None = None,
    norm: float | None = None,
    reward_range: tuple[float, float] = (0.0, 1.0),
    budget: int | None = None,
    seed: int = 0,
    begin: Callable[[System, int], Runner] | None = None,
) -> Task:
    """Check everything, resolve the features, and fix the future and the schedule.

    `begin` is called with the system and the horizon once the call is checked, before anything is
    run: it says who runs it.
    """
    system, levels = _system(env, horizon)
    between("delta", delta, 0, 1)
    whole("seed", seed, least=0)
    _check_range(reward_range)
    _check_schedule(schedule, guarantee)
    for name, value in (("gap", gap), ("norm", norm)):
        if value is not None:
            between(name, value, 0, math.inf)
    if future != "auto":
        whole("future", future, least=1)
    known = system if isinstance(system, Problem) else None
    adaptive = schedule == ADAPTIVE
    if known is None and isinstance(schedule, str) and not adaptive:
        _require(gap, norm)

    runner = Runner(system, seed) if begin is None else begin(system, levels)

    @cache
    def pilot() -> Pilot:
        return draw_pilot(runner, levels, budget)

    samples = schedule.feature_samples if isinstance(schedule, Schedule) else RAW_RANK_SAMPLES
    psi = resolve(features, system, pilot, samples, *([ADAPTIVE_LANDMARKS] if adaptive else []))
    drawn = pilot() if pilot.cache_info().currsize else None
    spent = drawn.episodes if drawn else 0
    left = None if budget is None else budget - spent
    choice = _future(future, runner, levels, psi.features, samples, left)
    rewards = known.reward_range if known else reward_range
    plan = _adaptive_plan if adaptive else _fixed_plan
    held = plan(
        Call(system, levels, features, schedule, guarantee, delta, gap, norm, rewards),
        psi,
        choice.future,
    )
    return Task(
        runner=runner,
        horizon=levels,
        features=psi.features,
        expansions=psi.expansions,
        future=choice.future,
        schedule=held.schedule,
        setting=held.setting,
        sources=held.sources,
        doubt=held.doubt,
        notes=(f"features: {psi.note}", *([f"future: {choice.reason}"] if choice.reason else [])),
        reward_range=rewards,
        episodes=choice.episodes + spent,
        steps=choice.steps + (drawn.steps if drawn else 0),
    )


@dataclass(frozen=True, slots=True)
class Call:
    """What was asked for, once checked."""

    system: System
    horizon: int
    features: object
    schedule: str | Schedule
    guarantee: str
    delta: float
    gap: float | None
    norm: float | None
    reward_range: tuple[float, float]

    @property
    def oracle(self) -> Problem | None:
        """The problem, where it knows gap and norm of what was asked for."""
        if not isinstance(self.system, Problem):
            return None
        natural = self.features in ("auto", self.system.preferred_features)
        return self.system if natural and self.horizon == self.system.horizon else None


class Held(NamedTuple):
    """What a run is held to."""

    schedule: Schedule | Terms
    setting: Setting | None = None
    sources: Sources = Sources("not given", "not given")
    doubt: str = ""


def _fixed_plan(call: Call, psi: Resolved, future: int) -> Held:
    doubt = _doubt(psi, call.schedule, call.gap, call.norm)
    if doubt:
        assert isinstance(call.schedule, Schedule)  # a named one was refused
        return Held(call.schedule, doubt=doubt)
    gap, norm, sources = _gap_and_norm(call.oracle, future, call.gap, call.norm)
    setting = replace(
        _setting(call.system, call.horizon, psi, future, gap, norm, call.delta, call.reward_range),
        windows=_windows(call.schedule),
    )
    if isinstance(call.schedule, Schedule):
        return Held(call.schedule, setting, sources)
    return Held(SCHEDULES[call.schedule](setting), setting, sources)


def _adaptive_plan(call: Call, psi: Resolved, future: int) -> Held:
    norm = call.norm
    if call.guarantee == "proved" and norm is None and call.oracle is not None:
        norm = call.oracle.norm
    return Held(
        terms_of(
            call.system,
            call.horizon,
            psi,
            future,
            guarantee=call.guarantee,
            delta=call.delta,
            gap=call.gap,
            norm=norm,
            reward_range=call.reward_range,
        )
    )


def _system(env: object, horizon: int | None) -> tuple[System, int]:
    if isinstance(env, str) and env in problems():
        env = make(env)
    if not isinstance(env, System) and is_gym(env):
        env = as_system(env, horizon)
    if isinstance(env, type) or not isinstance(env, System):
        called = f" Perhaps you meant {env.__name__}(...)." if isinstance(env, type) else ""
        raise InputError(
            "env must be a system: horizon, n_actions and rollout(actions, n, rng)",
            got=repr(env),
            remedy="Pass a problem from surepath.make(name), a Gymnasium environment, or an object "
            "with those members." + called,
        )
    whole("n_actions", env.n_actions, least=1)
    longest = whole("the system's horizon", env.horizon, least=1)
    levels = longest if horizon is None else whole("horizon", horizon, least=1, most=longest)
    return env, levels


def _check_range(reward_range: tuple[float, float]) -> None:
    if not reward_range[0] < reward_range[1]:
        raise InputError(
            "reward_range must be (low, high) with low < high",
            got=reward_range,
            remedy="Give the smallest and the largest reward the system can pay.",
        )


def _check_schedule(schedule: str | Schedule, guarantee: str) -> None:
    if isinstance(schedule, str) and schedule not in (ADAPTIVE, *SCHEDULES):
        raise InputError(
            f"there is no schedule {schedule!r}",
            got=repr(schedule),
            remedy=nearest(schedule, (ADAPTIVE, *SCHEDULES)),
        )
    if guarantee not in GUARANTEES:
        raise InputError(
            f"there is no guarantee {guarantee!r}",
            got=repr(guarantee),
            remedy=nearest(guarantee, GUARANTEES),
        )
    if guarantee != GUARANTEES[0] and schedule != ADAPTIVE:
        raise InputError(
            "a guarantee is chosen for the adaptive schedule only; the others are proved as they "
            "are",
            got=f"schedule={schedule!r}, guarantee={guarantee!r}",
            remedy='Leave out guarantee, or use schedule="adaptive".',
        )


def _windows(schedule: str | Schedule) -> Windows:
    """How the schedule averages: the paper's by joint windows, and it is judged as such."""
    if isinstance(schedule, Schedule):
        return schedule.windows
    return "joint" if schedule == "paper" else "product"


def _future(
    future: Future,
    runner: Runner,
    levels: int,
    features: Features | KernelMap,
    samples: int,
    budget: int | None,
) -> FutureChoice:
    if future != "auto":
        return FutureChoice(future, "", {})
    if isinstance(features, KernelMap):
        raise InputError(
            'future="auto" compares the ranks of finite-dimensional embeddings',
            got="a kernel that is used exactly",
            remedy='Set future to a number, or use KernelFeatures(kernel, "nystroem").',
        )
    if summarises(runner.system, features.statistics):
        samples = RANK_SAMPLES
    return choose_future(runner, levels, features, samples=samples, budget=budget)


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


def _doubt(psi: Resolved, schedule: str | Schedule, gap: float | None, norm: float | None) -> str:
    """Why nothing can be proved of this run; empty when something can."""
    if psi.fitted and isinstance(schedule, str):
        raise InputError(
            "a fixed schedule proves nothing of features that are fitted on a pilot: their norm "
            "cannot be known in advance",
            got=psi.note,
            remedy="Pass a Schedule of your own; or features that are fixed: one-hot, linear, "
            "Custom(function, dimension, radius), or a kernel with its length scale, used exactly.",
        )
    if psi.fitted:
        return "the features were fitted on a pilot, so no norm can be stated for them"
    if isinstance(schedule, Schedule) and (gap is None or norm is None):
        return "the schedule is not a proved one, and gap and norm were not given to check it with"
    return ""


def _gap_and_norm(
    problem: Problem | None, future: int, gap: float | None, norm: float | None
) -> tuple[float, float, Sources]:
    given, oracle = "as given", "from the problem's oracle"
    sources = Sources(oracle if gap is None else given, oracle if norm is None else given)
    if problem is not None:
        # Where no action is suboptimal the gap is infinite, and any number is a valid one.
        gap = min(problem.gap, float(problem.horizon)) if gap is None else gap
        norm = problem.norm_of(future) if norm is None else norm
    return *_require(gap, norm), sources


def _setting(
    env: System,
    horizon: int,
    psi: Resolved,
    future: int,
    gap: float,
    norm: float,
    delta: float,
    reward_range: tuple[float, float],
) -> Setting:
    radius, noise, dimension = size_of(env, psi, future)
    spread = reward_range[1] - reward_range[0]
    windows = env.n_actions ** (future - 1)
    latent = getattr(env, "latent_dimension", None)
    if isinstance(psi.features, KernelMap) or (future > 1 and not isinstance(env, FiniteProblem)):
        latent = None  # counted by the gain; stated for single observations
    return Setting(
        horizon=horizon,
        n_actions=env.n_actions,
        dimension=dimension**future,
        gap=gap,
        norm=norm,
        delta=delta,
        latent_dimension=None if latent is None else min(latent, dimension**future * windows),
        radius=radius**future,
        feature_noise=noise,
        reward_noise=spread / 2 if math.isfinite(spread) else getattr(env, "reward_noise", spread),
        unique=isinstance(env, Problem) and horizon == env.horizon and env.oracle.unique,
        future=future,
        expansions=psi.expansions if isinstance(psi.features, KernelMap) else None,
    )
