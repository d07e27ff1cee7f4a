"""How the steps grow with what a problem is made of, for each schedule, beside the theorem.

Fixed schedules are told a gap and a norm; along a sweep of something else both stay as they are, at
values that are true of every instance of the sweep, so that only one thing changes. The adaptive
schedule is told nothing, so there the instances themselves change. Exponents are fitted by least
squares to the logarithms of all runs of a sweep; the interval is Student's, of the exponent over
the sizes that were run: logarithms in the theorem bend it. The theorem is about fixed schedules;
beside the adaptive one its exponents stand to be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from surepath.bench.harness.report import Cell, Figure, Finding, Line, Section, fit, number
from surepath.bench.harness.runs import (
    Crew,
    Instance,
    Job,
    Outcome,
    Part,
    exact_rate,
    geometric,
    play,
)
from surepath.bench.suites.growth import hidden_states
from surepath.builtin_problems.base import Problem

Point: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Axis:
    """What grows, and how it is measured on an instance."""

    name: str
    size: Callable[[Problem], float]
    theorem: Mapping[str, str]  # exponent of the steps, by schedule
    assumed: str = ""  # the option of a fixed schedule that grows, where no instance has to


AXES: Mapping[str, Axis] = {
    "H": Axis(
        "horizon H",
        lambda problem: problem.horizon,
        {"paper": "6", "tight": "3 to 4", "adaptive": "3 to 4"},
    ),
    "A": Axis(
        "actions A",
        lambda problem: problem.n_actions,
        {"paper": "2", "tight": "1 to 2", "adaptive": "1 to 2"},
    ),
    "d": Axis(
        "dimension d = S",
        lambda problem: problem.latent_dimension or problem.dimension,
        {"paper": "2", "tight": "2", "adaptive": "2"},
    ),
    "S": Axis(
        "hidden states S, same d",
        hidden_states,
        {"paper": "0", "tight": "0", "adaptive": "0"},
    ),
    "1/gap": Axis(
        "1 / gap",
        lambda problem: 1 / problem.gap,
        {"paper": "5", "tight": "2", "adaptive": "2"},
        assumed="gap",
    ),
    "norm": Axis(
        "norm",
        lambda problem: problem.norm,
        {"paper": "5", "tight": "2", "adaptive": "2"},
        assumed="norm",
    ),
}


@dataclass(frozen=True, slots=True)
class Sweep:
    """An axis at some points."""

    axis: str
    problem: str
    points: tuple[Point, ...]
    fixed: Point

    def at(self, point: Point, seed: int) -> Instance:
        return Instance(self.problem, {**self.fixed, **point}).numbered(seed)


def _over(name: str, *values: Any) -> tuple[Point, ...]:
    return tuple({name: value} for value in values)


SIZE = {"horizon": 5, "states": 4, "actions": 2, "observations": 6}

ADAPTIVE = (
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

TIGHT = (
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

PAPER = (
    Sweep("H", "tabular", _over("horizon", 2, 3, 4), TINY),
    Sweep("A", "tabular", _over("actions", 2, 3, 4), {**TINY, "gap": 0.3}),
    Sweep("d", "tabular", tuple({"states": d, "observations": d} for d in (2, 3, 4)), TINY),
    Sweep("1/gap", "tabular", _over("share", 1, 0.85, 0.7), TINY),
    Sweep("norm", "tabular", _over("share", 1, 1.2, 1.4), TINY),
)
"""Small, and close together: the paper's constants expand thousands of times."""

SWEEPS: Mapping[str, tuple[Sweep, ...]] = {"adaptive": ADAPTIVE, "tight": TIGHT, "paper": PAPER}


@dataclass(frozen=True, slots=True)
class Scale:
    instances: Mapping[str, int]  # a point, by schedule


FULL = Scale({"adaptive": 12, "tight": 10, "paper": 2})
QUICK = Scale({"adaptive": 4, "tight": 2})


def measure(job: tuple[str, Instance]) -> tuple[float, float, float]:
    """The size of an instance along an axis, its gap and its norm."""
    axis, instance = job
    problem = instance.build()
    return float(AXES[axis].size(problem)), problem.gap, problem.norm


def scaling(crew: Crew, schedule: str) -> list[Finding]:
    scale = QUICK if crew.quick else FULL
    instances = scale.instances.get(schedule, 0)
    if not instances:
        return [f"{schedule}: only in the full run."]
    rows: list[tuple[Cell, ...]] = []
    lines: list[Line] = []
    for sweep in SWEEPS[schedule]:
        sizes, runs = _run(crew, schedule, sweep, instances)
        axis = AXES[sweep.axis]
        fitted = fit(sizes, [run.steps for run in runs])
        starts = range(0, len(runs), instances)
        means = [geometric([run.steps for run in runs[i : i + instances]]) for i in starts]
        places = [geometric(sizes[i : i + instances]) for i in starts]
        spread = f"{number(places[0])} .. {number(places[-1])}"
        rows.append(
            (
                axis.name,
                sweep.problem,
                spread,
                str(fitted),
                axis.theorem[schedule],
                exact_rate(runs),
            )
        )
        relative = [place / places[0] for place in places]
        lines.append(Line(axis.name, tuple(relative), tuple(m / means[0] for m in means)))
    return [
        Section(
            f"{schedule}: exponents of the steps, with 95 % intervals, beside those of the "
            f"theorem (an upper bound for fixed schedules); {instances} instances a point",
            ("grows", "problem", "from .. to", "exponent", "theorem, up to logarithms", "exact"),
            rows,
        ),
        Figure(
            schedule,
            f"{schedule}: growth of the steps",
            "what grows, relative to its first point",
            "steps, relative",
            lines,
        ),
    ]


def _run(
    crew: Crew, schedule: str, sweep: Sweep, instances: int
) -> tuple[list[float], list[Outcome]]:
    """Sizes and runs of all instances, point by point."""
    axis = AXES[sweep.axis]
    title = f"{schedule}, {axis.name}"
    assumed = bool(axis.assumed) and schedule != "adaptive"
    plain: list[Point] = [{} if assumed else point for point in sweep.points]
    drawn = [sweep.at(point, seed) for point in plain for seed in range(instances)]
    measured = crew.spread(measure, [(sweep.axis, one) for one in drawn], title)
    options: list[dict[str, Any]] = [{} for _ in drawn]
    sizes = [size for size, _, _ in measured]
    if schedule != "adaptive":
        # True of every instance of the sweep, so that nothing else changes along it.
        told = {"gap": min(gap for _, gap, _ in measured), "norm": max(n for *_, n in measured)}
        options = [{"schedule": schedule, **told} for _ in drawn]
    if assumed:
        for i, given in enumerate(options):
            given[axis.assumed] *= sweep.points[i // instances]["share"]
            sizes[i] = 1 / given["gap"] if axis.assumed == "gap" else given["norm"]
    jobs = [
        Job(one, i % instances, given)
        for i, (one, given) in enumerate(zip(drawn, options, strict=True))
    ]
    return sizes, crew.spread(play, jobs, title)


PARTS: Mapping[str, Part] = {
    "adaptive": lambda crew: scaling(crew, "adaptive"),
    "tight": lambda crew: scaling(crew, "tight"),
    "paper": lambda crew: scaling(crew, "paper"),
}
