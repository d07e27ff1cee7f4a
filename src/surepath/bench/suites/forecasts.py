"""What the doctor says a run will take, beside what it took."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from surepath.api import learn
from surepath.bench.families.sick import some_machine
from surepath.bench.harness.report import Cell, Section
from surepath.bench.harness.runs import Crew
from surepath.bench.harness.statistics import geometric, rate
from surepath.builtin_problems.tabular import Tabular
from surepath.builtin_problems.truth import separation
from surepath.doctor.diagnose import diagnose

PROBLEMS = {"calibrated": 100, "proved": 50}
"""Random problems for each guarantee; a quick suite takes one in ten."""

BUDGET = 200_000
"""Episodes after which a run is stopped, and is not compared."""

APART = 0.2
"""Total variation between states, at least, that a run is told which proves."""


@dataclass(frozen=True, slots=True)
class Guess:
    """A forecast, and what the run took."""

    forecast: float
    low: float
    high: float
    episodes: int
    ended: bool


def guess(job: tuple[str, int]) -> Guess:
    guarantee, seed = job
    rng = np.random.default_rng([seed, 13])
    machine = some_machine(rng, 5)
    options: dict[str, Any] = {}
    if guarantee == "proved":
        machine = _told_apart(machine, rng)
        options = {"guarantee": guarantee, "separation": APART}
    said = {each.guarantee: each for each in diagnose(machine, seed=seed, **options).forecasts}
    run = learn(machine, seed=seed + 1, budget=BUDGET, **options)
    told = said[guarantee]
    return Guess(told.episodes, told.low, told.high, run.episodes, run.certified)


def _told_apart(machine: Tabular, rng: np.random.Generator) -> Tabular:
    """The first whose states are as far apart as is declared."""
    while separation(machine) < APART:
        machine = some_machine(rng, 5)
    return machine


def forecast(crew: Crew) -> list[Section]:
    """Forecasts beside what the runs took."""
    rows: list[tuple[Cell, ...]] = []
    for guarantee, most in PROBLEMS.items():
        jobs = [(guarantee, seed) for seed in range(most // (10 if crew.quick else 1))]
        rows.append((guarantee, *_row(crew.spread(guess, jobs, f"{guarantee} forecasts"))))
    columns = (
        "guarantee",
        "runs",
        "ended",
        "within a factor of 3",
        "in the interval",
        "taken / said",
        "never",
    )
    return [Section("forecast: episodes of runs that ended", columns, rows)]


def _row(played: list[Guess]) -> tuple[Cell, ...]:
    runs = [run for run in played if run.ended]
    ratios = [run.episodes / run.forecast for run in runs]
    return (
        len(played),
        len(runs),
        rate(sum(1 / 3 <= ratio <= 3 for ratio in ratios), len(runs)),
        rate(sum(run.low <= run.episodes <= run.high for run in runs), len(runs)),
        geometric(ratios),
        sum(not math.isfinite(run.forecast) for run in runs),
    )
