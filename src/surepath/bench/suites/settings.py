"""Every setting of the paper at work: windows at its own constants, kernels on continuous sensors,
certificates by own counts, and what a run computes.

The other suites compare methods; this one shows that each part of the paper runs, is certified and
is right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from surepath.api import learn
from surepath.bench.harness.report import Cell, Finding, Section
from surepath.bench.harness.runs import Crew
from surepath.bench.harness.statistics import geometric, rate
from surepath.bench.suites.operations import operations
from surepath.builtin_problems import Problem, make
from surepath.builtin_problems.finite import FiniteProblem
from surepath.builtin_problems.gaussian import least_norm
from surepath.learners.recursion import Learner
from surepath.prepare.call import Call
from surepath.prepare.fixed_run import FixedRun
from surepath.prepare.kernel_features import KernelFeatures
from surepath.prepare.task import plan_task
from surepath.results.result import Result
from surepath.run.driver import drive
from surepath.run.runner import Runner
from surepath.theory.kernel_matrix import gram
from surepath.theory.schedule import bounds, tight

WINDOWS, SPACES, COUNTS = 20, 50, 100
"""Instances of each part."""

WINDOW_GAP = 0.25
"""Gap of the instances that the paper's constants are run on: 10^13 to 10^15 steps."""

BEFORE = 20
"""Of the instances of a family, those that are also run with what is proved beforehand."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run, and the truth about it."""

    certified: bool
    exact: bool
    steps: int
    starts: int
    within: bool  # of its certificate's own bounds
    counted: str  # what the number of expansions rests on


def judged(result: Result, problem: Problem) -> Outcome:
    most, usage = result.certificate.bounds, result.usage
    within = most is not None and (
        max(usage.expansions) <= most.expansions
        and usage.feature_batches <= most.feature_batches
        and usage.reward_batches <= most.reward_batches
    )
    counted = "" if most is None else str(most.counted)
    exact = problem.is_optimal(result.actions)
    return Outcome(result.certified, exact, result.steps, usage.starts, within, counted)


# ---------------------------------------------------------------- windows at the paper's constants


def window_problem(seed: int) -> Problem:
    return make(
        "overcomplete", horizon=3, states=3, actions=2, observations=2, gap=WINDOW_GAP,
        singular_value=0.1, seed=seed,
    )  # fmt: skip


def run_windows(seed: int) -> Outcome:
    problem = window_problem(seed)
    return judged(learn(problem, schedule="paper", future=2, seed=seed), problem)


def windows(crew: Crew) -> list[Finding]:
    found = crew.spread(run_windows, range(WINDOWS), "windows")
    return [_table("paper, K=2: overcomplete, H=3, S=3, A=2, O=2, joint windows", found)]


# ---------------------------------------------------------------- kernels on continuous sensors


def run_space(seed: int) -> Outcome:
    problem = make("rkhs", seed=seed)
    return judged(learn(problem, schedule="tight", seed=seed), problem)


def spaces(crew: Crew) -> list[Finding]:
    found = crew.spread(run_space, range(SPACES), "rkhs")
    return [_table("tight, RBF kernel on a continuous sensor: rkhs, H=3, S=3, A=2", found)]


# ---------------------------------------------------------------- certificates by own counts


@dataclass(frozen=True, slots=True)
class Case:
    """A problem, and what a call has to be told of it."""

    problem: FiniteProblem
    options: Mapping[str, Any]


def tabular_case(seed: int) -> Case:
    return Case(_sized("tabular", seed, "observations"), {})


def gaussian_case(seed: int) -> Case:
    return Case(_sized("gaussian", seed, "dimension"), {})


def kernel_case(seed: int) -> Case:
    """An RBF kernel on symbols: as features of the machine above, with the norm they make."""
    from sklearn.gaussian_process.kernels import RBF  # pyright: ignore[reportMissingTypeStubs]

    problem = _sized("tabular", seed, "observations")
    kernel: Any = RBF(0.5)
    symbols = np.arange(problem.dimension, dtype=np.float64)[:, None]
    matrix = gram(kernel, symbols, symbols)
    norm = max(
        least_norm(laws @ matrix @ laws.T, problem.q[h, states])
        for h, states in enumerate(problem.reachable)
        for laws in [problem.embeddings[h, states]]
    )
    features = KernelFeatures(kernel, "exact")
    return Case(problem, {"features": features, "gap": problem.gap, "norm": norm})


def _sized(name: str, seed: int, width: str) -> FiniteProblem:
    rng = np.random.default_rng([31, seed])
    states = int(rng.integers(2, 5))
    problem = make(
        name, horizon=int(rng.integers(2, 7)), states=states, actions=int(rng.integers(2, 4)),
        gap=float(rng.uniform(0.08, 0.25)), seed=seed,
        **{width: states + int(rng.integers(0, 4))},
    )  # fmt: skip
    assert isinstance(problem, FiniteProblem)
    return problem


CASES: Mapping[str, Callable[[int], Case]] = {
    "tabular": tabular_case,
    "gaussian": gaussian_case,
    "kernel": kernel_case,
}


def run_counts(job: tuple[str, int]) -> tuple[Outcome, int]:
    """By own counts; and the steps of what is proved beforehand, 0 where it is not run."""
    name, seed = job
    case = CASES[name](seed)
    problem, options = case.problem, dict(case.options)
    now = judged(learn(problem, schedule="tight", seed=seed, **options), problem)
    return now, steps_before(case) if seed < BEFORE else 0


def steps_before(case: Case) -> int:
    """Of `tight` as it is proved beforehand: by the dimension or, of kernels, the information gain;
    features taken to be as far apart as their length allows.
    """
    run = FixedRun.of(plan_task(Call.of(case.problem, schedule="tight", **case.options)))
    assert run.setting is not None
    latent = run.setting.latent_dimension if run.setting.dimension else None
    setting = replace(run.setting, diameter=None, latent_dimension=latent)
    schedule = tight(setting)
    assert bounds(schedule, setting).failure <= setting.delta
    learner = Learner(
        case.problem.horizon,
        case.problem.n_actions,
        run.task.features,
        schedule,
        reward_range=case.problem.reward_range,
    )
    drive(learner, Runner(case.problem, 0))
    return learner.usage.steps


def counts(crew: Crew) -> list[Finding]:
    jobs = [(name, seed) for name in CASES for seed in range(COUNTS)]
    found = dict(zip(jobs, crew.spread(run_counts, jobs, "own counts"), strict=True))
    rows = [_counts_row(name, [found[name, seed] for seed in range(COUNTS)]) for name in CASES]
    columns = ("family", "certified", "exact if certified", "began again", "steps now",
               "steps before", "before / now", "least", "most")  # fmt: skip
    return [
        Section("tight: certified by own counts, and as it is proved beforehand", columns, rows),
        f"H 2 to 6, S 2 to 4, A 2 to 3, gap 0.08 to 0.25; steps are geometric means; before: of "
        f"the first {BEFORE} instances, all of which were proved beforehand.",
    ]


def _counts_row(name: str, runs: Sequence[tuple[Outcome, int]]) -> tuple[Cell, ...]:
    certified = [now for now, _ in runs if now.certified]
    both = [(now.steps, before) for now, before in runs if before]
    ratios = [before / now for now, before in both]
    return (
        name,
        rate(len(certified), len(runs)),
        rate(sum(now.exact for now in certified), len(certified)),
        sum(now.starts > 1 for now, _ in runs),
        geometric([now for now, _ in both]),
        geometric([before for _, before in both]),
        geometric(ratios),
        min(ratios),
        max(ratios),
    )


def _table(title: str, found: Sequence[Outcome]) -> Section:
    certified = sum(one.certified for one in found)
    row: tuple[Cell, ...] = (
        rate(certified, len(found)),
        rate(sum(one.exact for one in found), len(found)),
        rate(sum(one.within for one in found), len(found)),
        ", ".join(sorted({one.counted for one in found})),
        geometric([one.steps for one in found]),
        max(one.steps for one in found),
    )
    return Section(
        title, ("certified", "exact", "within bounds", "counted by", "steps", "most steps"), [row]
    )


PARTS = {"windows": windows, "rkhs": spaces, "counts": counts, "operations": operations}
