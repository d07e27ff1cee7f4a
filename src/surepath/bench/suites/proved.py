"""The proved guarantee: how often its claims are false, what they cost, and where they can be had.

*False*: families of `surepath bench calibration` whose observations are symbols, told the true
separation or less. *Cost*: episodes over those of an older calibrated engine on the same instances,
by separation and on the bare tree. *Worlds*: environments nobody here wrote, and readings that are
numbers. Every proof is given to the checker too. *Attacks*: proofs that were changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from surepath.bench.families.judging import (
    FAMILIES,
    LARGEST_SEPARATION,
    Judged,
    Trial,
    told_to_prove,
)
from surepath.bench.harness.proofs import Proved, proved
from surepath.bench.harness.report import Cell, Section
from surepath.bench.harness.runs import DELTA, Crew, Instance, Outcome, Part
from surepath.bench.suites.calibration import DELTAS, IN_TIME, allowed, trials
from surepath.bench.suites.cost import OLDER, Recorded, recorded
from surepath.bench.suites.proof_attacks import attacks
from surepath.bench.suites.proved_worlds import worlds
from surepath.builtin_problems.finite import FiniteProblem
from surepath.builtin_problems.truth import separation

TREE_SEQUENCES = 100
"""Problems with at most so many sequences are also proved on the bare tree."""

FULL, QUICK = 1, 30
"""A full and a quick suite make one of so many runs."""

BUDGET = 8
"""Times the episodes that a calibrated run of a family may take."""

SYMBOLS = (
    "needles", "needles, told 0.2", "close laws", "aliased, 2 looks", "lotteries", "near ties",
    "late payoff", "never paid", "many states", "long horizons", "tabular", "overcomplete",
)  # fmt: skip
"""Families of calibration whose observations are symbols."""


def try_family(trial: Trial) -> Judged:
    """One run on a system of a family, told the true separation or less."""
    case, cap = trial.build(), BUDGET * FAMILIES[trial.family].cap
    told = {**told_to_prove(trial, case), "budget": cap}
    found = proved(case.system, case.best, case.value, **told)
    if found.certified and not found.valid:
        raise AssertionError(f"the proof of {trial} is not valid")
    base = {name: value for name, value in asdict(found).items() if name != "valid"}
    return Judged(**base, separation=case.separation, cap=cap)


def false_claims(crew: Crew, name: str, families: Sequence[str]) -> list[Section]:
    """How often claims are false on some families, taken together."""
    rows: list[tuple[Cell, ...]] = []
    for delta in DELTAS:
        played = [
            run
            for family in families
            for run in crew.spread(
                try_family,
                trials(FAMILIES[family], delta, crew.quick),
                f"{family}, delta {delta}",
            )
        ]
        late = IN_TIME * float(np.mean([run.cost for run in played]))
        in_time = sum(run.certified and run.episodes <= late for run in played)
        rows.append(
            (
                name,
                delta,
                len(played),
                sum(run.certified for run in played),
                sum(run.false for run in played),
                allowed(len(played), delta),
                float(np.mean([run.episodes for run in played])),
                f"{in_time / len(played):.0%}",
                float(np.mean([run.seconds for run in played])),
            )
        )
    columns = (
        "family", "delta", "runs", "certified", "false", "allowed", "episodes", "in time", "CPU s",
    )  # fmt: skip
    title = "proved: false claims; told the true separation or less; every proof was checked"
    return [Section(title, columns, rows)]


@dataclass(frozen=True, slots=True)
class Attempted:
    """A run of one of the recorded instances."""

    instance: Instance
    seed: int
    tree: bool
    future: int | None


def prove(job: Attempted) -> Proved:
    problem = job.instance.build()
    told: dict[str, Any] = {}
    if not job.tree:
        assert isinstance(problem, FiniteProblem)  # those that are compared are
        told = {"separation": min(separation(problem, job.future or 1), LARGEST_SEPARATION)}
        told |= {} if job.future is None else {"future": job.future}
    best, value = problem.optimum[1], problem.expected_return
    return proved(problem, best, value, delta=DELTA, seed=job.seed, **told)


def cost(crew: Crew) -> list[Section]:
    """Episodes over those of the older calibrated engine."""
    rows: list[tuple[Cell, ...]] = []
    for row in recorded():
        if row.size.name in ("tabular", "lock", "overcomplete", "gaussian"):
            rows.append(_cost_row(crew, row, tree=False))
            sequences = row.size.parameters["actions"] ** row.size.parameters["horizon"]
            if sequences <= TREE_SEQUENCES:
                rows.append(_cost_row(crew, row, tree=True))
    columns = (
        "problem", "route", "episodes then", "episodes now", "mean ratio", "ratio of means",
        "certified", "false", "proofs valid", "CPU s",
    )  # fmt: skip
    title = (
        f"proved: episodes / those of the calibrated engine of {OLDER}, same instances and seeds, "
        f"delta {DELTA}, at the true separation"
    )
    return [Section(title, columns, rows)]


def _cost_row(crew: Crew, row: Recorded, *, tree: bool) -> tuple[Cell, ...]:
    count = max(1, len(row.runs) // (QUICK if crew.quick else FULL))
    then: Sequence[Outcome] = row.runs[:count]
    jobs = [
        Attempted(row.size.numbered(seed), seed, tree, row.options.get("future"))
        for seed in row.seeds[:count]
    ]
    route = "tree" if tree else "separation"
    now = crew.spread(prove, jobs, f"{row.size.label}, {route}")
    before, after = (np.array([run.episodes for run in runs], float) for runs in (then, now))
    return (
        row.size.label,
        route,
        float(before.mean()),
        float(after.mean()),
        float((after / before).mean()),
        float(after.mean() / before.mean()),
        f"{sum(run.certified for run in now)}/{count}",
        sum(run.false for run in now),
        f"{sum(run.valid for run in now)}/{count}",
        float(np.mean([run.seconds for run in now])),
    )


PARTS: Mapping[str, Part] = {
    "cost": cost,
    "worlds": worlds,
    "attacks": partial(attacks, families=SYMBOLS),
    **{
        name.replace(", ", "-").replace(" ", "-"): partial(
            false_claims, name=name, families=(name,)
        )
        for name in SYMBOLS
    },
    "pooled": partial(false_claims, name="all of these", families=SYMBOLS),
}
