"""Beyond states that can be listed, and how the cost grows with what a problem is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from surepath.bench.harness.report import Cell, Section, rate, slope
from surepath.bench.harness.runs import (
    Crew,
    Instance,
    Job,
    certified_rate,
    exact_rate,
    geometric,
    play,
)
from surepath.builtin_problems.base import Problem
from surepath.builtin_problems.mixing import Mixing
from surepath.system import FloatArray

BEYOND = (
    Instance("mixing", {"horizon": 12, "actions": 4}),
    Instance("continuous", {}),
)


@dataclass(frozen=True, slots=True)
class Sweep:
    """A problem with one thing growing."""

    name: str
    problem: str
    points: tuple[Mapping[str, Any], ...]  # what changes, from the cheapest on
    fixed: Mapping[str, Any]
    size: Callable[[Problem], float]  # what grows, measured on the instance
    claim: str  # exponent of the theorem, or what is asked for

    def at(self, point: Mapping[str, Any]) -> Instance:
        return Instance(self.problem, {**self.fixed, **point})


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


SWEEPS = (
    Sweep(
        "hidden states S, at the same d",
        "mixing",
        tuple({"stirs": stirs} for stirs in (1, 2, 3, 4)),
        {"horizon": 8, "actions": 4},
        hidden_states,
        "0 (asked: < 0.1)",
    ),
    Sweep(
        "horizon H",
        "lock",
        tuple({"horizon": horizon} for horizon in (3, 6, 12, 24)),
        {"actions": 4, "observations": 6},
        lambda problem: problem.horizon,
        "3 to 4",
    ),
    Sweep(
        "actions A",
        "tabular",
        tuple({"actions": actions} for actions in (2, 3, 4, 6)),
        {"horizon": 5, "states": 4, "observations": 6},
        lambda problem: problem.n_actions,
        "1 to 2",
    ),
    Sweep(
        "dimension d = S",
        "tabular",
        tuple({"states": d, "observations": d + 2} for d in (2, 4, 6, 8)),
        {"horizon": 5, "actions": 3},
        lambda problem: problem.latent_dimension or problem.dimension,
        "2",
    ),
    Sweep(
        "1 / gap",
        "tabular",
        tuple({"gap": gap} for gap in (0.4, 0.2, 0.1, 0.05)),
        {"horizon": 5, "states": 4, "actions": 2, "observations": 6},
        lambda problem: 1 / problem.gap,
        "2",
    ),
)


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
                geometric([run.steps for run in played]),
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
    for number, sweep in enumerate(SWEEPS):
        sizes, steps = list[float](), list[float]()
        for point in sweep.points[:points]:
            drawn = [sweep.at(point).numbered(seed) for seed in range(instances)]
            title = f"{sweep.problem} {_text(point)}"
            measured = crew.spread(_measure, [(number, one) for one in drawn], title)
            played = crew.spread(play, [Job(one, s) for s, one in enumerate(drawn)], title)
            exact = exact_rate(played)
            sizes.append(geometric(measured))
            steps.append(geometric([run.steps for run in played]))
            rows.append((sweep.name, sweep.problem, _text(point), sizes[-1], steps[-1], exact))
        exponents.append((sweep.name, slope(sizes, steps), sweep.claim))
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


def _measure(job: tuple[int, Instance]) -> float:
    """The size of an instance, by the number of its sweep: functions do not travel."""
    number, instance = job
    return float(SWEEPS[number].size(instance.build()))


def _text(point: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in point.items())
