"""Beyond states that can be listed, and how the cost grows with what a problem is made of."""

from __future__ import annotations

from dataclasses import replace

from surepath.bench.harness.report import Cell, Section
from surepath.bench.harness.runs import (
    Crew,
    Instance,
    Job,
    certified_rate,
    exact_rate,
    mean_steps,
    play,
)
from surepath.bench.harness.statistics import exponent, geometric, rate
from surepath.bench.harness.sweeps import ADAPTIVE, AXES, Point, run_sweep
from surepath.bench.suites.scaling import ADAPTIVE_SWEEPS

BEYOND = (
    Instance("mixing", {"horizon": 12, "actions": 4}),
    Instance("continuous", {}),
)

SWEEPS = tuple(sweep for sweep in ADAPTIVE_SWEEPS if sweep.axis != "norm")


def beyond_tabular(crew: Crew, instances: int) -> Section:
    """Problems in which no two action sequences reach the same state."""
    rows: list[tuple[Cell, ...]] = []
    for kind in BEYOND:
        jobs = [Job(kind.numbered(seed), seed) for seed in range(instances)]
        played = crew.spread(play, jobs, kind.label)
        rows.append(
            (
                kind.label,
                exact_rate(played),
                certified_rate(played),
                rate(sum(run.wrong for run in played), sum(run.certified for run in played)),
                geometric([run.episodes for run in played]),
                mean_steps(played),
            )
        )
    return Section(
        f"beyond tabular: {instances} instances each, nothing told",
        ("problem", "exact", "certified", "certified, wrong", "episodes", "steps"),
        rows,
    )


def growth(crew: Crew, instances: int, points: int) -> list[Section]:
    """Steps along each sweep, and the exponents fitted to them."""
    rows: list[tuple[Cell, ...]] = []
    exponents: list[tuple[Cell, ...]] = []
    for sweep in SWEEPS:
        axis = AXES[sweep.axis]
        reached = run_sweep(crew, ADAPTIVE, replace(sweep, points=sweep.points[:points]), instances)
        rows += [
            (axis.name, sweep.problem, _text(at.point), at.size, at.steps, exact_rate(at.runs))
            for at in reached
        ]
        grown = exponent([at.size for at in reached], [at.steps for at in reached])
        exponents.append((axis.name, grown.value, axis.theorem[ADAPTIVE]))
    return [
        Section(
            f"growth: steps (geometric mean) along sweeps, {instances} instances a point",
            ("grows", "problem", "point", "size", "steps", "exact"),
            rows,
        ),
        Section(
            "growth: fitted exponents of the steps, beside the theorem's (an upper bound)",
            ("grows", "exponent", "theorem"),
            exponents,
        ),
    ]


def _text(point: Point) -> str:
    return ", ".join(f"{name}={value}" for name, value in point.items())
