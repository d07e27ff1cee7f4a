"""Problems with one thing growing, and runs along the way.

Fixed schedules are told a gap and a norm; along a sweep of something else both stay as they are, at
values that are true of every instance of the sweep, so that only one thing changes. The adaptive
schedule is told nothing, so there the instances themselves change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from surepath.bench.harness.runs import Crew, Instance, Job, Outcome, grouped, mean_steps, play
from surepath.bench.harness.statistics import Exponent, exponent, geometric
from surepath.builtin_problems.base import Problem
from surepath.builtin_problems.mixing import Mixing
from surepath.system import FloatArray

Point: TypeAlias = Mapping[str, Any]
"""What changes along a sweep, at one place of it."""

ADAPTIVE = "adaptive"
"""The schedule that is told nothing."""


@dataclass(frozen=True, slots=True)
class Axis:
    """What grows, and how it is measured on an instance."""

    name: str
    size: Callable[[Problem], float]
    theorem: Mapping[str, str]  # exponent of the steps, by schedule
    assumed: str = ""  # the option of a fixed schedule that grows, where no instance has to


@dataclass(frozen=True, slots=True)
class Sweep:
    """An axis at some points, from the cheapest on."""

    axis: str
    problem: str
    points: tuple[Point, ...]
    fixed: Point

    def at(self, point: Point, seed: int) -> Instance:
        return Instance(self.problem, {**self.fixed, **point}).numbered(seed)


@dataclass(frozen=True, slots=True)
class Reached:
    """A point of a sweep: one size and one run for each of its instances."""

    point: Point
    sizes: list[float]
    runs: list[Outcome]

    @property
    def size(self) -> float:
        """Geometric mean, as that of the steps."""
        return geometric(self.sizes)

    @property
    def steps(self) -> float:
        return mean_steps(self.runs)


def fitted(points: Sequence[Reached]) -> Exponent:
    """The exponent of the steps in the size, over all runs."""
    sizes = [size for at in points for size in at.sizes]
    return exponent(sizes, [run.steps for run in all_runs(points)])


def all_runs(points: Sequence[Reached]) -> list[Outcome]:
    return [run for at in points for run in at.runs]


def hidden_states(problem: Problem) -> float:
    """How many states some action sequence reaches, exactly, over all levels."""
    assert isinstance(problem, Mixing)
    reactor = problem.reactor
    modes, compositions = np.zeros(1, dtype=np.int64), reactor.composition[None]
    # Equal compositions come from the same matrices in the same order, so they are equal in every
    # digit; different ones have different shadows on a direction drawn at random.
    shadow: FloatArray = np.random.default_rng(0).standard_normal(len(reactor.composition))
    total = 1
    for h in range(problem.horizon - 1):
        moved: FloatArray = np.einsum("naij,nj->nai", reactor.stirs[h, modes], compositions)
        compositions = moved.reshape(-1, len(shadow))
        modes = reactor.switches[h, modes].ravel()
        keys: FloatArray = np.round(compositions @ shadow, 12) + 1000 * modes
        kept = np.unique(keys, return_index=True)[1]
        modes, compositions = modes[kept], compositions[kept]
        total += len(kept)
    return float(total)


AXES: Mapping[str, Axis] = {
    "H": Axis(
        "horizon H",
        lambda problem: problem.horizon,
        {"paper": "6", "tight": "3 to 4", ADAPTIVE: "3 to 4"},
    ),
    "A": Axis(
        "actions A",
        lambda problem: problem.n_actions,
        {"paper": "2", "tight": "1 to 2", ADAPTIVE: "1 to 2"},
    ),
    "d": Axis(
        "dimension d = S",
        lambda problem: problem.latent_dimension or problem.dimension,
        {"paper": "2", "tight": "2", ADAPTIVE: "2"},
    ),
    "S": Axis(
        "hidden states S, same d",
        hidden_states,
        {"paper": "0", "tight": "0", ADAPTIVE: "0"},
    ),
    "1/gap": Axis(
        "1 / gap",
        lambda problem: 1 / problem.gap,
        {"paper": "5", "tight": "2", ADAPTIVE: "2"},
        assumed="gap",
    ),
    "norm": Axis(
        "norm",
        lambda problem: problem.norm,
        {"paper": "5", "tight": "2", ADAPTIVE: "2"},
        assumed="norm",
    ),
}


def run_sweep(crew: Crew, schedule: str, sweep: Sweep, instances: int) -> list[Reached]:
    """A run on every instance of the sweep, point by point."""
    axis = AXES[sweep.axis]
    title = f"{schedule}, {axis.name}"
    assumed = axis.assumed if schedule != ADAPTIVE else ""
    points = [point for point in sweep.points for _ in range(instances)]
    seeds = [seed for _ in sweep.points for seed in range(instances)]
    drawn = [sweep.at({} if assumed else p, s) for p, s in zip(points, seeds, strict=True)]
    options: list[dict[str, Any]] = [{} for _ in drawn]
    if schedule != ADAPTIVE:
        told = _true_of_all(crew, drawn, title)
        options = [{"schedule": schedule, **told} for _ in drawn]
    if assumed:
        for given, point in zip(options, points, strict=True):
            given[assumed] *= point["share"]
        sizes = [1 / given["gap"] if assumed == "gap" else given["norm"] for given in options]
    else:
        sizes = crew.spread(size_of, [(sweep.axis, one) for one in drawn], title)
    runs = crew.spread(play, list(map(Job, drawn, seeds, options)), title)
    groups = zip(sweep.points, grouped(sizes, instances), grouped(runs, instances), strict=True)
    return [Reached(*group) for group in groups]


def _true_of_all(crew: Crew, drawn: Sequence[Instance], title: str) -> dict[str, float]:
    """A gap and a norm that hold for every instance."""
    known = crew.spread(gap_and_norm, drawn, title)
    return {"gap": min(gap for gap, _ in known), "norm": max(norm for _, norm in known)}


def size_of(job: tuple[str, Instance]) -> float:
    """The size of an instance along an axis, by its name: functions do not travel."""
    axis, instance = job
    return float(AXES[axis].size(instance.build()))


def gap_and_norm(instance: Instance) -> tuple[float, float]:
    problem = instance.build()
    return problem.gap, problem.norm
