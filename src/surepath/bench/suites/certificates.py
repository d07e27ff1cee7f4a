"""Certificates on environments nobody here wrote, at default settings.

`learn` is told the horizon, the range of the rewards where it is not [0, 1], and nothing else.
Every environment has a fixed start, a noisy sensor and an optimum found apart, by searching it
without noise. A budget ends the runs that would take longer than a minute or two.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeAlias

from surepath.api import learn
from surepath.bench.harness.reasons import by_kind
from surepath.bench.harness.registered import Registered
from surepath.bench.harness.report import Cell, Section, number
from surepath.bench.harness.runs import Crew, Outcome, mean_steps, outcome
from surepath.bench.harness.statistics import geometric
from surepath.bench.harness.worlds import Case, World
from surepath.system import Actions

TURN_OR_GO = (0, 1, 2)
"""MiniGrid: left, right, forward."""

PICK_UP, TOGGLE = 3, 5
"""MiniGrid, beside these."""

FROZEN_LAKE = Registered(
    "FrozenLake 8x8",
    "FrozenLake",
    horizon=15,
    arguments=(("map_name", "8x8"), ("is_slippery", False)),
)
CLIFF_WALKING = Registered("CliffWalking", "CliffWalking", horizon=15, paid=(-100.0, 0.0))
TAXI = Registered("Taxi", "Taxi", horizon=10, start=2, paid=(-10.0, 20.0))

MINIGRIDS = (
    Registered("MiniGrid-Empty-8x8", "MiniGrid-Empty-8x8", 11, actions=TURN_OR_GO),
    Registered(
        "MiniGrid-SimpleCrossingS9N1",
        "MiniGrid-SimpleCrossingS9N1",
        13,
        start=1,
        actions=TURN_OR_GO,
    ),
    Registered("MiniGrid-LavaGapS5", "MiniGrid-LavaGapS5", 8, start=1, actions=TURN_OR_GO),
    Registered("MiniGrid-FourRooms", "MiniGrid-FourRooms", 6, start=1, actions=TURN_OR_GO),
    Registered(
        "MiniGrid-Unlock",
        "MiniGrid-Unlock",
        8,
        start=2,
        actions=(*TURN_OR_GO, PICK_UP, TOGGLE),
    ),
)
"""With layouts whose goal is within reach of the horizon."""

ACROBOT = Registered(
    "Acrobot, started in motion",  # from rest the goal takes more actions than can all be tried
    "Acrobot",
    horizon=6,
    paid=(-4.0, 0.0),
    hold=4,
    noise=(0.05, 0.05, 0.05, 0.05, 0.3, 0.5),
    beginning=(("low", 1.0), ("high", 1.4)),
)
CART_POLE = Registered(
    "CartPole", "CartPole", horizon=7, paid=(0.0, 5.0), hold=5, noise=(0.05, 0.1, 0.01, 0.15)
)

Environment: TypeAlias = Registered | Case


@dataclass(frozen=True, slots=True)
class Entry:
    """An environment of the table."""

    environment: Environment
    budget: int  # of episodes
    many: bool = (
        False  # runs take seconds, and certificates have been false: there are more of them
    )

    @property
    def label(self) -> str:
        return self.environment.title


ENTRIES = (
    *(Entry(world, 30_000 if world.horizon < 7 else 20_000) for world in MINIGRIDS),
    Entry(FROZEN_LAKE, 60_000),
    Entry(CLIFF_WALKING, 60_000),
    Entry(TAXI, 60_000),
    Entry(ACROBOT, 100_000),
    Entry(CART_POLE, 100_000),
    Entry(Case("Pendulum", "pendulum"), 100_000),
    Entry(Case("MountainCar", "mountain_car"), 100_000, many=True),
)


@dataclass(frozen=True, slots=True)
class Run:
    outcome: Outcome
    actions: Actions
    seconds: float  # of this process


@cache
def built(environment: Environment) -> World:
    """The environment, searched once for all runs of a process."""
    return environment.build()


def certify(job: tuple[Entry, int]) -> Run:
    """One run at default settings."""
    entry, seed = job
    world = built(entry.environment)
    began = time.process_time()
    result = learn(
        world.noisy,
        world.horizon,
        budget=entry.budget,
        seed=seed,
        **world.options,
    )
    seconds = time.process_time() - began
    loss = world.best - world.returns(result.actions)
    return Run(outcome(result, loss), result.actions, seconds)


# ---------------------------------------------------------------- the table


def certificates(crew: Crew, seeds: int, many: int) -> Section:
    rows: list[tuple[Cell, ...]] = []
    for entry in ENTRIES:
        jobs = [(entry, seed) for seed in range(many if entry.many else seeds)]
        rows.append(_row(entry, crew.spread(certify, jobs, entry.label)))
    return Section(
        f"certificates: {seeds} seeds, default settings; at most so many episodes; false: worse "
        "than the certificate admits",
        (
            "environment",
            "horizon",
            "budget",
            "optimum",
            "plan optimal",
            "certified",
            "FALSE",
            "steps",
            "CPU s",
            "commonest reason where not certified",
        ),
        rows,
    )


def _row(entry: Entry, runs: Sequence[Run]) -> tuple[Cell, ...]:
    world = built(entry.environment)
    outcomes = [run.outcome for run in runs]
    return (
        entry.label,
        world.horizon,
        entry.budget,
        f"{world.best:.6g}",
        _share([run.optimal for run in outcomes]),
        _share([run.certified for run in outcomes]),
        sum(run.false for run in outcomes),
        mean_steps(outcomes),
        geometric([run.seconds for run in runs]),
        _commonest([run.reason for run in outcomes if not run.certified]),
    )


def _share(held: Sequence[bool]) -> str:
    return f"{sum(held)}/{len(held)}"


def _commonest(reasons: Sequence[str]) -> str:
    if not reasons:
        return "-"
    count, example = by_kind(reasons)[0]
    return f"{count}/{len(reasons)}: {example}"


# ---------------------------------------------------------------- ranges that are too wide


WIDENED = (
    Entry(CLIFF_WALKING, 60_000),
    Entry(TAXI, 60_000),
    Entry(FROZEN_LAKE, 60_000),
)

FACTORS = (1, 10, 100)


def ranges(crew: Crew, seeds: int) -> Section:
    """The same environments with a declared range that is true, and ever wider ones."""
    rows: list[tuple[Cell, ...]] = []
    for entry in WIDENED:
        played = [
            crew.spread(
                certify, [(wide, seed) for seed in range(seeds)], f"{wide.label}, {factor}x"
            )
            for factor in FACTORS
            for wide in [widened(entry, factor)]
        ]
        rows += [
            _range_row(widened(entry, factor), runs, played[0])
            for factor, runs in zip(FACTORS, played, strict=True)
        ]
    return Section(
        f"ranges: the declared range of rewards as it is, and too wide; {seeds} seeds, default "
        "settings; episodes / those with the true range",
        (
            "environment",
            "declared range",
            "budget",
            "same plan",
            "plan optimal",
            "certified",
            "FALSE",
            "tolerance",
            "episodes",
            "ratio",
        ),
        rows,
    )


def widened(entry: Entry, factor: float) -> Entry:
    """The entry with both ends of its range so many times as far from 0."""
    assert isinstance(entry.environment, Registered)
    low, high = entry.environment.paid
    return replace(
        entry, environment=replace(entry.environment, paid=(factor * low, factor * high))
    )


def _range_row(entry: Entry, runs: Sequence[Run], tight: Sequence[Run]) -> tuple[Cell, ...]:
    assert isinstance(entry.environment, Registered)
    low, high = entry.environment.paid
    outcomes = [run.outcome for run in runs]
    tolerances = [run.tolerance for run in outcomes if run.certified]
    return (
        entry.label,
        f"{low:g} .. {high:g}",
        entry.budget,
        _share([one.actions == other.actions for one, other in zip(runs, tight, strict=True)]),
        _share([run.optimal for run in outcomes]),
        _share([run.certified for run in outcomes]),
        sum(run.false for run in outcomes),
        f"{number(min(tolerances))} .. {number(max(tolerances))}" if tolerances else "-",
        _episodes(runs),
        _episodes(runs) / _episodes(tight),
    )


def _episodes(runs: Sequence[Run]) -> float:
    """Geometric mean."""
    return geometric([run.outcome.episodes for run in runs])
