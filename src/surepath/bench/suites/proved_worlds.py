"""Proofs for environments nobody here wrote, and for a sensor whose readings are numbers.

A proof rests on a separation that can be defended, or on nothing where there are few sequences. The
confusion matrix of FrozenLake's sensor says how far apart two places look. Of MiniGrid's view, and
of a sensor of a continuous place, nobody can say that: there the bare tree is proved, and no
reading of a sensor counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from surepath.bench.harness.proofs import Proved, proved
from surepath.bench.harness.registered import MISREAD, Registered
from surepath.bench.harness.report import Cell, Section
from surepath.bench.harness.runs import DELTA, Crew, Instance
from surepath.bench.suites.certificates import FROZEN_LAKE, TURN_OR_GO, built

EMPTY_ROOM = Registered("MiniGrid-Empty-5x5", "MiniGrid-Empty-5x5", 7, actions=TURN_OR_GO)
CONTINUOUS = Instance(
    "continuous",
    {"horizon": 5, "actions": 4, "sensor": "range", "noise": 0.1, "gap": 0.15, "image_size": 16},
)
World: TypeAlias = Registered | Instance

SEEDS, QUICK_SEEDS = 5, 1


@dataclass(frozen=True, slots=True)
class Entry:
    """Something to prove the best plan of."""

    world: World
    separation: float | None  # that the sensor is known to have; None: the bare tree

    @property
    def label(self) -> str:
        return self.world.title if isinstance(self.world, Registered) else self.world.label

    @property
    def told(self) -> dict[str, Any]:
        return {} if self.separation is None else {"separation": self.separation}


ENTRIES = (
    Entry(FROZEN_LAKE, 1 - MISREAD),
    Entry(EMPTY_ROOM, None),
    Entry(CONTINUOUS, None),
)


def attempt(job: tuple[Entry, int]) -> Proved:
    """One run, at default settings but for what its proof rests on."""
    entry, seed = job
    told: dict[str, Any] = {**entry.told, "seed": seed, "delta": DELTA}
    if isinstance(entry.world, Registered):
        world = built(entry.world)
        told |= world.options
        return proved(world.noisy, world.best, world.returns, world.horizon, **told)
    problem = entry.world.numbered(seed).build()
    return proved(problem, problem.oracle.value, problem.expected_return, **told)


def worlds(crew: Crew) -> list[Section]:
    seeds = range(QUICK_SEEDS if crew.quick else SEEDS)
    rows = [
        _row(entry, crew.spread(attempt, [(entry, seed) for seed in seeds], entry.label))
        for entry in ENTRIES
    ]
    columns = (
        "environment", "rests on", "certified", "false", "proofs valid", "plan optimal", "loses "
        "at most", "episodes", "CPU s",
    )  # fmt: skip
    title = f"proved: environments nobody here wrote, and continuous readings; delta {DELTA}"
    return [Section(title, columns, rows)]


def _row(entry: Entry, runs: Sequence[Proved]) -> tuple[Cell, ...]:
    many = len(runs)
    return (
        entry.label,
        "the bare tree" if entry.separation is None else f"separation {entry.separation:g}",
        f"{sum(run.certified for run in runs)}/{many}",
        sum(run.false for run in runs),
        f"{sum(run.valid for run in runs)}/{many}",
        f"{sum(run.optimal for run in runs)}/{many}",
        float(np.mean([run.tolerance for run in runs])),
        float(np.mean([run.episodes for run in runs])),
        float(np.mean([run.seconds for run in runs])),
    )
