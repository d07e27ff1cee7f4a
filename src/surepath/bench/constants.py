"""What the constants cost: the paper's parameters beside the sharpened ones, on one instance.

The instance is small (H=3, S=3, A=2, O=4) because the paper's constants ask for about 10^15 steps
even there. Sufficient statistics make that countable; every step is charged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

from surepath.bench.report import Cell, Report, Section, slope, tracked
from surepath.errors import SurepathError
from surepath.learner import Learner
from surepath.problems.base import Problem
from surepath.problems.tabular import tabular
from surepath.run.driver import drive
from surepath.run.runner import Runner
from surepath.schedule import Schedule, Setting, bounds, expansion_bound, paper, tight
from surepath.task import plan_task

Rule = Callable[[Setting], Schedule]

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


def constants() -> Report:
    problem = instance()
    task = plan_task(problem, schedule="tight")
    if task.setting is None:
        raise SurepathError("the instance does not know its gap and norm")
    settings = [replace(task.setting, gap=task.setting.gap * share) for share in SWEEP]
    runs: dict[tuple[str, float], Learner] = {}
    for name, setting in tracked([(name, s) for name in RULES for s in settings], "constants"):
        learner = Learner(problem.horizon, problem.n_actions, task.features, RULES[name](setting))
        drive(learner, Runner(problem, 0))
        runs[name, setting.gap] = learner
    setting = settings[0]
    whole = {name: runs[name, setting.gap] for name in RULES}
    reference = whole["tight"].usage.steps
    saved = whole["paper"].usage.steps / reference
    return Report(
        "constants",
        [
            Section(
                f"H=3, S=3, A=2, O=4, gap {setting.gap:.3f}, norm {setting.norm:.3f}, "
                f"delta {setting.delta:g}",
                COLUMNS,
                [
                    (name, *_row(problem, setting, learner, reference))
                    for name, learner in whole.items()
                ],
            ),
            _slopes(settings, runs),
        ],
        [f"tight uses {saved:.3g} times fewer steps than paper."],
    )


COLUMNS = ("schedule", "N'", "expanded", "M", "M'", "episodes", "steps", "bound", "/ tight",
           "optimal")  # fmt: skip


def _row(problem: Problem, setting: Setting, learner: Learner, reference: int) -> tuple[Cell, ...]:
    most = bounds(learner.schedule, setting)
    return (
        most.expansions,
        max(learner.usage.expansions),
        learner.schedule.feature_samples,
        learner.schedule.reward_samples,
        learner.usage.episodes,
        learner.usage.steps,
        most.steps,
        learner.usage.steps / reference,
        problem.is_optimal(learner.incumbent),
    )


def _slopes(settings: list[Setting], runs: Mapping[tuple[str, float], Learner]) -> Section:
    """Exponents in norm / gap: of the steps used on the instance, and of the bound far out."""
    ratios = [s.norm / s.gap for s in settings]
    far = [replace(settings[0], gap=gap) for gap in ASYMPTOTIC_GAPS]
    rows: list[tuple[Cell, ...]] = [
        (
            name,
            slope(ratios, [runs[name, s.gap].usage.steps for s in settings]),
            slope([s.norm / s.gap for s in far], [bounds(rule(s), s).steps for s in far]),
        )
        for name, rule in RULES.items()
    ]
    return Section(
        f"exponent of the steps in norm/gap (used: {ratios[0]:.1f} to {ratios[-1]:.1f}; "
        f"bound: gap {ASYMPTOTIC_GAPS[0]:g} to {ASYMPTOTIC_GAPS[-1]:g})",
        ("schedule", "steps used", "steps bound"),
        rows,
    )
