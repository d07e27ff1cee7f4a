"""How often a certificate is false: it must not be more often than it says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from surepath.bench.harness.report import Cell, Section
from surepath.bench.harness.runs import Crew, Instance, Job, Outcome, play
from surepath.bench.harness.statistics import geometric, rate

DELTAS = (0.2, 0.1, 0.05, 0.01)
PROVED_DELTA = 0.1


def _sizes(rng: np.random.Generator) -> dict[str, Any]:
    return {"horizon": int(rng.integers(2, 8)), "actions": int(rng.integers(2, 4))}


def _states(rng: np.random.Generator, symbols: str) -> dict[str, Any]:
    states = int(rng.integers(2, 6))
    return {"states": states, symbols: states + int(rng.integers(0, 4))}


def _tabular(rng: np.random.Generator) -> dict[str, Any]:
    return _sizes(rng) | _states(rng, "observations")


def _gaussian(rng: np.random.Generator) -> dict[str, Any]:
    return _sizes(rng) | _states(rng, "dimension")


def _overcomplete(rng: np.random.Generator) -> dict[str, Any]:
    return {"horizon": int(rng.integers(3, 6))}


def _mixing(rng: np.random.Generator) -> dict[str, Any]:
    modes, components = int(rng.integers(1, 4)), int(rng.integers(2, 4))
    more = int(rng.integers(0, 4))
    return _sizes(rng) | {
        "modes": modes, "components": components, "observations": modes * components + more,
    }  # fmt: skip


FAMILIES: Mapping[str, Callable[[np.random.Generator], dict[str, Any]]] = {
    "tabular": _tabular,
    "gaussian": _gaussian,
    "overcomplete": _overcomplete,
    "mixing": _mixing,
}

PROVED = ("tabular", "gaussian")


def calibration(crew: Crew, instances: int) -> Section:
    """Failures among certified answers; fresh instances of random sizes for every delta."""
    rows: list[tuple[Cell, ...]] = []
    for d, delta in enumerate(DELTAS):
        everything: list[Outcome] = []
        for family in FAMILIES:
            jobs = [_job(family, d * instances + i, delta) for i in range(instances)]
            played = crew.spread(play, jobs, f"delta {delta}: {family}")
            rows.append((delta, family, *_cells(played)))
            everything += played
        rows.append((delta, "all", *_cells(everything)))
    return Section(
        "calibration: false certificates must be rarer than delta; random sizes, nothing told",
        ("delta", "family", "certified", "certified, wrong", "episodes"),
        rows,
    )


def proved(crew: Crew, instances: int) -> Section:
    """The same with the guarantee that is proved for every system: none may fail."""
    rows: list[tuple[Cell, ...]] = []
    for family in PROVED:
        played = crew.spread(play_proved, list(_small(family, instances)), f"proved: {family}")
        rows.append((PROVED_DELTA, family, *_cells(played)))
    return Section(
        f"proved guarantee: small problems, norm known, delta {PROVED_DELTA}",
        ("delta", "family", "certified", "certified, wrong", "episodes"),
        rows,
    )


def _job(family: str, seed: int, delta: float) -> Job:
    rng = np.random.default_rng([seed, list(FAMILIES).index(family)])
    options: dict[str, Any] = {"delta": delta}
    if family == "overcomplete":
        options["future"] = 2
    return Job(Instance(family, FAMILIES[family](rng) | {"seed": seed}), seed, options)


def _small(family: str, instances: int) -> list[Job]:
    symbols = "observations" if family == "tabular" else "dimension"
    jobs: list[Job] = []
    for seed in range(instances):
        rng = np.random.default_rng([seed, 99])
        states = int(rng.integers(2, 4))
        sizes = {"horizon": int(rng.integers(2, 4)), "actions": 2, "states": states}
        instance = Instance(family, sizes | {symbols: states + 1, "gap": 0.2, "seed": seed})
        jobs.append(Job(instance, seed, {"delta": PROVED_DELTA}))
    return jobs


def play_proved(job: Job) -> Outcome:
    """The norm has to be told, and only the problem knows it."""
    options = {**job.options, "guarantee": "proved", "norm": job.instance.build().norm}
    return play(Job(job.instance, job.seed, options))


def _cells(played: list[Outcome]) -> tuple[Cell, ...]:
    certified = sum(run.certified for run in played)
    return (
        rate(certified, len(played), 3),
        rate(sum(run.wrong for run in played), certified, 3),
        geometric([run.episodes for run in played]),
    )
