"""How much a run computes beside running its system, and how that grows with the trie.

The CPU time of whole runs, less that of their episodes. Times of one machine mean nothing on
another: what counts is how they grow, in the nodes of the trie, and how they compare within one
table. Runs are made one after the other where `--workers 1` is given; side by side they slow each
other down, all of them alike.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from surepath.api import learn
from surepath.bench.harness.report import Cell, Finding, Section
from surepath.bench.harness.runs import Crew, Instance, Part
from surepath.bench.harness.statistics import exponent
from surepath.bench.harness.worlds import Case
from surepath.bench.suites.walls import walls
from surepath.run.executors import Serial
from surepath.run.work import Unit, UnitReport
from surepath.system import System

LOCKS = (10, 20, 40, 80, 160)
"""Horizons of a lock with 4 actions."""

TABLES = (5, 10, 20, 40, 80)
"""States a level of a tabular problem with 8 levels and 3 actions."""

QUICK = 3
"""Sizes of each in the run that takes a minute: no worlds and no walls."""

WORLDS = (
    Case("MiniGrid-Empty-5x5", "minigrid_key", "MiniGrid-Empty-5x5-v0"),
    Case("MiniGrid-DoorKey-5x5", "minigrid_key", "MiniGrid-DoorKey-5x5-v0"),
)

SWEEPS: Mapping[str, tuple[Instance, ...]] = {
    "lock": tuple(Instance("lock", {"horizon": h, "actions": 4, "seed": 0}) for h in LOCKS),
    "tabular": tuple(
        Instance(
            "tabular",
            {"horizon": 8, "states": s, "actions": 3, "observations": s + 2, "seed": 0},
        )
        for s in TABLES
    ),
}


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run took."""

    outside: float  # seconds of CPU time, but for those of its episodes
    system: float  # those of its episodes
    nodes: int
    episodes: int
    rounds: int
    status: str


class Timed(Serial):
    """Runs episodes in this process, and says how much CPU time they took."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0.0

    def run(self, system: System, units: Iterable[Unit]) -> Iterator[UnitReport]:
        reports = super().run(system, units)
        while True:
            started = time.process_time()
            report = next(reports, None)
            self.seconds += time.process_time() - started
            if report is None:
                return
            yield report


def spent(job: Instance | Case) -> Spent:
    """One run, at default settings but for what an example is run with."""
    options: dict[str, Any] = {}
    if isinstance(job, Instance):
        env: object = job.build()
    else:
        world = job.build()
        env, options = world.noisy, {"horizon": world.horizon, **world.options}
    episodes = Timed()
    started = time.process_time()
    result = learn(env, seed=0, workers=episodes, **options)
    whole = time.process_time() - started
    return Spent(
        outside=whole - episodes.seconds,
        system=episodes.seconds,
        nodes=result.usage.nodes,
        episodes=result.episodes,
        rounds=result.usage.rounds,
        status=result.certificate.status.value,
    )


def sweep(crew: Crew, name: str) -> list[Finding]:
    spent(Instance("lock", {"horizon": 3, "actions": 2, "seed": 0}))  # loads what is loaded once
    sizes = SWEEPS[name][: QUICK if crew.quick else None]
    runs = crew.spread(spent, sizes, name)
    nodes = [float(run.nodes) for run in runs]
    whole = exponent(nodes, [run.outside for run in runs])
    each = exponent(nodes, [run.outside / run.episodes for run in runs])
    return [
        Section(
            f"{name}: CPU time outside the system; its exponent in the nodes, with 95 % interval: "
            f"of a run {whole}, per episode {each}",
            COLUMNS,
            _rows([size.label for size in sizes], runs),
        )
    ]


def worlds(crew: Crew) -> list[Finding]:
    if crew.quick:
        return ["worlds: only in the full run."]
    runs = crew.spread(spent, WORLDS, "worlds")
    rows = _rows([world.title for world in WORLDS], runs)
    return [Section("worlds: CPU time outside the system", COLUMNS, rows)]


COLUMNS = (
    "problem", "nodes", "episodes", "rounds", "seconds outside", "per node, relative",
    "per episode, relative", "in the system", "status",
)  # fmt: skip


def _rows(labels: Sequence[str], runs: Sequence[Spent]) -> list[tuple[Cell, ...]]:
    """Ratios are to the first row."""
    first = runs[0]
    return [
        (
            label,
            run.nodes,
            run.episodes,
            run.rounds,
            run.outside,
            run.outside / run.nodes / (first.outside / first.nodes),
            run.outside / run.episodes / (first.outside / first.episodes),
            run.system,
            run.status,
        )
        for label, run in zip(labels, runs, strict=True)
    ]


PARTS: Mapping[str, Part] = {
    "lock": lambda crew: sweep(crew, "lock"),
    "tabular": lambda crew: sweep(crew, "tabular"),
    "worlds": worlds,
    "walls": walls,
}
