"""What the constants cost: the paper's parameters beside the sharpened ones, on one instance.

The instance is small (H=3, S=3, A=2, O=4) because the paper's constants ask for about 10^15 steps
even there. Sufficient statistics make that countable; every step is charged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from surepath.bench.harness.report import Cell, Finding, Section
from surepath.bench.harness.runs import Crew
from surepath.bench.harness.statistics import exponent
from surepath.builtin_problems.base import Problem
from surepath.builtin_problems.tabular import tabular
from surepath.features import OneHot
from surepath.learners.recursion import Learner
from surepath.prepare.call import Call
from surepath.prepare.fixed_run import FixedRun
from surepath.prepare.task import plan_task
from surepath.run.driver import drive
from surepath.run.runner import Runner
from surepath.theory.expansion_bounds import expansion_bound
from surepath.theory.schedule import Rule, Schedule, bounds, paper, tight
from surepath.theory.setting import Setting

SWEEP = (1.0, 0.85, 0.7)
"""Assumed gaps, as shares of the true one: a smaller gap is a valid assumption that costs more."""

ASYMPTOTIC_GAPS = (1e-1, 1e-2, 1e-3, 1e-4)


def paper_with_square(setting: Setting) -> Schedule:
    """The paper's schedule with epsilon^2 where its proof wrote epsilon (both are valid)."""
    printed = paper(setting)
    n = expansion_bound(setting, printed.ridge, printed.threshold)
    loose, exact = max(n * printed.threshold, 0.25), max(n * printed.threshold**2, 0.25)
    return replace(
        printed,
        feature_samples=math.ceil(printed.feature_samples * exact / loose),
        reward_samples=math.ceil(printed.reward_samples * exact / loose),
        name="paper, epsilon^2",
    )


def unpooled(setting: Setting) -> Schedule:
    return replace(tight(setting), pool=False, name="tight, fresh samples")


def wide(setting: Setting) -> Schedule:
    return replace(tight(setting, threshold=1.98), name="tight, threshold 1.98")


RULES: Mapping[str, Rule] = {
    "paper": paper,
    "paper, eps^2": paper_with_square,
    "tight, fresh": unpooled,
    "tight, eps 1.98": wide,
    "tight": tight,
}


def instance() -> Problem:
    return tabular(horizon=3, states=3, actions=2, observations=4, gap=0.28, seed=21)


@dataclass(frozen=True, slots=True)
class Run:
    """What a schedule asked for, and what it used."""

    feature_samples: int
    reward_samples: int
    expanded: int  # most expansions of a level
    episodes: int
    steps: int
    optimal: bool


def run(job: tuple[str, float]) -> Run:
    """A schedule, by its name, that assumes so much of the true gap."""
    name, share = job
    problem = instance()
    learner = Learner(
        problem.horizon, problem.n_actions, OneHot(problem.dimension), RULES[name](assumed(share))
    )
    drive(learner, Runner(problem, 0))
    return Run(
        learner.schedule.feature_samples,
        learner.schedule.reward_samples,
        max(learner.usage.expansions),
        learner.usage.episodes,
        learner.usage.steps,
        problem.is_optimal(learner.incumbent),
    )


def assumed(share: float) -> Setting:
    """What the instance says of itself, but so much of its gap."""
    setting = FixedRun.of(plan_task(Call.of(instance(), schedule="tight"))).setting
    assert setting is not None  # a built-in problem knows its gap and norm
    return replace(setting, gap=setting.gap * share)


def constants(crew: Crew) -> list[Finding]:
    jobs = [(name, share) for name in RULES for share in SWEEP]
    runs = dict(zip(jobs, crew.spread(run, jobs, "constants"), strict=True))
    setting = assumed(SWEEP[0])
    whole = {name: runs[name, SWEEP[0]] for name in RULES}
    reference = whole["tight"].steps
    return [
        Section(
            f"H=3, S=3, A=2, O=4, gap {setting.gap:.3f}, norm {setting.norm:.3f}, "
            f"delta {setting.delta:g}",
            COLUMNS,
            [(name, *_row(name, setting, used, reference)) for name, used in whole.items()],
        ),
        _slopes(runs),
        f"tight uses {whole['paper'].steps / reference:.3g} times fewer steps than paper.",
    ]


COLUMNS = ("schedule", "N'", "expanded", "M", "M'", "episodes", "steps", "bound", "/ tight",
           "optimal")  # fmt: skip


def _row(name: str, setting: Setting, used: Run, reference: int) -> tuple[Cell, ...]:
    most = bounds(RULES[name](setting), setting)
    return (
        most.expansions,
        used.expanded,
        used.feature_samples,
        used.reward_samples,
        used.episodes,
        used.steps,
        most.steps,
        used.steps / reference,
        used.optimal,
    )


def _slopes(runs: Mapping[tuple[str, float], Run]) -> Section:
    """Exponents in norm / gap: of the steps used on the instance, and of the bound far out."""
    settings = [assumed(share) for share in SWEEP]
    ratios = [s.norm / s.gap for s in settings]
    far = [replace(settings[0], gap=gap) for gap in ASYMPTOTIC_GAPS]
    rows: list[tuple[Cell, ...]] = [
        (
            name,
            exponent(ratios, [runs[name, share].steps for share in SWEEP]).value,
            exponent([s.norm / s.gap for s in far], [bounds(rule(s), s).steps for s in far]).value,
        )
        for name, rule in RULES.items()
    ]
    return Section(
        f"exponent of the steps in norm/gap (used: {ratios[0]:.1f} to {ratios[-1]:.1f}; "
        f"bound: gap {ASYMPTOTIC_GAPS[0]:g} to {ASYMPTOTIC_GAPS[-1]:g})",
        ("schedule", "steps used", "steps bound"),
        rows,
    )
