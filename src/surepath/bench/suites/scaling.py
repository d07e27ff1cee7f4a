"""How the steps grow with what a problem is made of, for each schedule, beside the theorem.

Exponents are fitted by least squares to the logarithms of all runs of a sweep; the interval is
Student's, of the exponent over the sizes that were run: logarithms in the theorem bend it. The
theorem is about fixed schedules; beside the adaptive one its exponents stand to be compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from surepath.bench.harness.report import Cell, Figure, Finding, Line, Section, number
from surepath.bench.harness.runs import Crew, Part, exact_rate
from surepath.bench.harness.sweeps import AXES, Point, Reached, Sweep, all_runs, fitted, run_sweep


def _over(name: str, *values: Any) -> tuple[Point, ...]:
    return tuple({name: value} for value in values)


SIZE = {"horizon": 5, "states": 4, "actions": 2, "observations": 6}

ADAPTIVE_SWEEPS = (
    Sweep("H", "lock", _over("horizon", 3, 6, 12, 24), {"actions": 4, "observations": 6}),
    Sweep("A", "tabular", _over("actions", 2, 3, 4, 6), {**SIZE, "actions": 2}),
    Sweep(
        "d",
        "tabular",
        tuple({"states": d, "observations": d + 2} for d in (2, 4, 6, 8)),
        {"horizon": 5, "actions": 3},
    ),
    Sweep("S", "mixing", _over("stirs", 1, 2, 3, 4), {"horizon": 8, "actions": 4}),
    Sweep("1/gap", "tabular", _over("gap", 0.4, 0.2, 0.1, 0.05), SIZE),
    Sweep("norm", "tabular", _over("singular_value", 0.9, 0.6, 0.3, 0.15), SIZE),
)

TIGHT_SWEEPS = (
    Sweep("H", "tabular", _over("horizon", 2, 4, 8, 16), {**SIZE, "gap": 0.2}),
    Sweep("A", "tabular", _over("actions", 2, 3, 4, 6), {**SIZE, "gap": 0.1}),
    Sweep(
        "d",
        "tabular",
        tuple({"states": d, "observations": d} for d in (2, 4, 8, 16)),
        {"horizon": 4, "actions": 2, "gap": 0.2},
    ),
    Sweep("S", "mixing", _over("stirs", 1, 2, 3, 4), {"horizon": 6, "actions": 4}),
    Sweep("1/gap", "tabular", _over("share", 1, 1 / 2, 1 / 4, 1 / 8), {**SIZE, "gap": 0.2}),
    Sweep("norm", "tabular", _over("share", 1, 2, 4, 8), {**SIZE, "gap": 0.2}),
)

TINY = {"horizon": 2, "states": 2, "actions": 2, "observations": 2, "gap": 0.4}

PAPER_SWEEPS = (
    Sweep("H", "tabular", _over("horizon", 2, 3, 4), TINY),
    Sweep("A", "tabular", _over("actions", 2, 3, 4), {**TINY, "gap": 0.3}),
    Sweep("d", "tabular", tuple({"states": d, "observations": d} for d in (2, 3, 4)), TINY),
    Sweep("1/gap", "tabular", _over("share", 1, 0.85, 0.7), TINY),
    Sweep("norm", "tabular", _over("share", 1, 1.2, 1.4), TINY),
)
"""Small, and close together: the paper's constants expand thousands of times."""

SWEEPS: Mapping[str, tuple[Sweep, ...]] = {
    "adaptive": ADAPTIVE_SWEEPS,
    "tight": TIGHT_SWEEPS,
    "paper": PAPER_SWEEPS,
}


@dataclass(frozen=True, slots=True)
class Scale:
    instances: Mapping[str, int]  # a point, by schedule


FULL = Scale({"adaptive": 12, "tight": 10, "paper": 2})
QUICK = Scale({"adaptive": 4, "tight": 2})


def scaling(crew: Crew, schedule: str) -> list[Finding]:
    scale = QUICK if crew.quick else FULL
    instances = scale.instances.get(schedule, 0)
    if not instances:
        return [f"{schedule}: only in the full run."]
    reached = [(sweep, run_sweep(crew, schedule, sweep, instances)) for sweep in SWEEPS[schedule]]
    return [
        Section(
            f"{schedule}: exponents of the steps, with 95 % intervals, beside those of the "
            f"theorem (an upper bound for fixed schedules); {instances} instances a point",
            ("grows", "problem", "from .. to", "exponent", "theorem, up to logarithms", "exact"),
            [_row(schedule, sweep, points) for sweep, points in reached],
        ),
        Figure(
            schedule,
            f"{schedule}: growth of the steps",
            "what grows, relative to its first point",
            "steps, relative",
            [_line(sweep, points) for sweep, points in reached],
        ),
    ]


def _row(schedule: str, sweep: Sweep, points: Sequence[Reached]) -> tuple[Cell, ...]:
    return (
        AXES[sweep.axis].name,
        sweep.problem,
        f"{number(points[0].size)} .. {number(points[-1].size)}",
        str(fitted(points)),
        AXES[sweep.axis].theorem[schedule],
        exact_rate(all_runs(points)),
    )


def _line(sweep: Sweep, points: Sequence[Reached]) -> Line:
    """Both axes relative to the first point."""
    return Line(
        AXES[sweep.axis].name,
        tuple(point.size / points[0].size for point in points),
        tuple(point.steps / points[0].steps for point in points),
    )


PARTS: Mapping[str, Part] = {
    "adaptive": lambda crew: scaling(crew, "adaptive"),
    "tight": lambda crew: scaling(crew, "tight"),
    "paper": lambda crew: scaling(crew, "paper"),
}
