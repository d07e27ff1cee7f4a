"""What a certificate costs, against what it cost an older engine on the same instances.

The older engine's runs are recorded in the package: every one with its instance, its seed and what
it came to, at the same failure probability and otherwise default arguments. Here the same instances
are run with the same seeds by the code as it is now.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from surepath.bench.harness.report import Cell, Section
from surepath.bench.harness.runs import DELTA, Crew, Instance, Job, Outcome, play
from surepath.bench.harness.statistics import geometric

OLDER = "3fe96ef"
"""The commit of the older engine."""

MOST = 10
"""A run may take so many times the episodes of the older engine's longest run on the same size; one
that is not certified by then counts with all of them."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """The older engine's runs on the instances of one size."""

    size: Instance
    options: Mapping[str, Any]  # of `learn`, beside the failure probability
    seeds: tuple[int, ...]  # of the instance, and of the run on it
    best: tuple[float, ...]  # value of each instance's optimal plan
    runs: tuple[Outcome, ...]


@cache
def recorded() -> tuple[Recorded, ...]:
    """All that the older engine was run on."""
    asset = files("surepath.bench").joinpath("assets", f"adaptive_{OLDER}.json")
    kept = json.loads(asset.read_text(encoding="utf-8"))
    assert kept["delta"] == DELTA
    return tuple(
        Recorded(
            Instance(row["problem"], row["parameters"]),
            row["options"],
            tuple(run["seed"] for run in row["runs"]),
            tuple(run["best"] for run in row["runs"]),
            tuple(map(_outcome, row["runs"])),
        )
        for row in kept["rows"]
    )


def _outcome(run: Mapping[str, Any]) -> Outcome:
    """The older engine always claimed the optimum; its words were not kept."""
    return Outcome(
        loss=run["loss"],
        tolerance=0.0,
        certified=run["certified"],
        reason="",
        warnings=(),
        episodes=run["episodes"],
        steps=run["steps"],
    )


def against_older(crew: Crew, runs: int) -> Section:
    """Episodes now over episodes then, for every size and over all of them."""
    rows: list[tuple[Cell, ...]] = []
    ratios: list[float] = []
    for row in recorded():
        then, now = row.runs[:runs], _played(crew, row, runs, row.options)
        ratios.append(_episodes(now) / _episodes(then))
        rows.append(_row(row.size.label + _told(row.options), then, now))
        if row.options:
            unaided = _played(crew, row, runs, {})
            rows.append(_row(f"{row.size.label}, nothing told (not in the mean)", then, unaided))
    mean = geometric(ratios)
    rows.append(("geometric mean of the rows", "", "", mean, "", "", "", ""))
    return Section(
        f"cost: episodes now / those of the engine of {OLDER}, same instances and seeds, "
        f"delta {DELTA}, up to {runs} runs a row; at most {MOST} times the longest run then",
        (
            "problem",
            "episodes then",
            "episodes now",
            "ratio",
            "exact then",
            "exact now",
            "certified then",
            "certified now",
        ),
        rows,
    )


def _played(crew: Crew, row: Recorded, runs: int, options: Mapping[str, Any]) -> list[Outcome]:
    most = int(MOST * max(run.episodes for run in row.runs))
    given = {"delta": DELTA, "budget": most, **options}
    jobs = [Job(row.size.numbered(seed), seed, given) for seed in row.seeds[:runs]]
    played = crew.spread(play, jobs, row.size.label + _told(options))
    return [run if run.certified else replace(run, episodes=most) for run in played]


def _told(options: Mapping[str, Any]) -> str:
    return "".join(f", {name} {value}" for name, value in options.items())


def _row(label: str, then: Sequence[Outcome], now: Sequence[Outcome]) -> tuple[Cell, ...]:
    return (
        label,
        _episodes(then),
        _episodes(now),
        _episodes(now) / _episodes(then),
        *(f"{sum(run.optimal for run in runs)}/{len(runs)}" for runs in (then, now)),
        *(f"{sum(run.certified for run in runs)}/{len(runs)}" for runs in (then, now)),
    )


def _episodes(runs: Sequence[Outcome]) -> float:
    """Geometric mean."""
    return geometric([run.episodes for run in runs])
