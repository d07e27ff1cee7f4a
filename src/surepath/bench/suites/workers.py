"""Many workers, or many benches: how long a run takes then, and what it costs more.

By a clock that counts episodes: all take one unit of time, so many run at once, and a round lasts
until its last one is done, because the next is decided after it. What a run does is the same
whatever the machine does beside it. Then, by a real clock, a system that sleeps, in this process
and on Ray.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from surepath.adapters.gym import as_system
from surepath.api import learn
from surepath.bench.harness.arena import lock
from surepath.bench.harness.registered import Registered
from surepath.bench.harness.report import Cell, Finding, Section, number
from surepath.bench.harness.runs import Crew, Instance, Part, grouped
from surepath.bench.harness.statistics import geometric, rate
from surepath.bench.suites.certificates import TURN_OR_GO
from surepath.builtin_problems import Problem
from surepath.results.result import Result
from surepath.results.round import Round
from surepath.run.executors import Executor, Serial
from surepath.run.ray import RayCluster
from surepath.run.runner import Runner
from surepath.system import Actions, Episodes, Request

TABULAR = Instance("tabular", {"horizon": 8, "states": 5, "actions": 3, "observations": 8})

FOUR_ROOMS = Registered("MiniGrid-FourRooms", "MiniGrid-FourRooms", 6, start=1, actions=TURN_OR_GO)


@dataclass(frozen=True, slots=True)
class Scale:
    runs: Mapping[str, int]  # by title of what is learned
    sizes: tuple[int, ...] = (1, 8, 64, 256)  # episodes that run at once
    sleepers: int = 8  # Ray workers


LEARNED: Mapping[str, Instance | Registered] = {
    "lock H=80": lock(80),
    "lock H=20": lock(20),
    "tabular": TABULAR,
    "MiniGrid-FourRooms": FOUR_ROOMS,
}

FULL = Scale({"lock H=80": 3, "lock H=20": 10, "tabular": 20, "MiniGrid-FourRooms": 3})
QUICK = Scale({"lock H=20": 2, "tabular": 5}, sizes=(1, 8, 64))


@dataclass(frozen=True, slots=True)
class Shared:
    """One run whose rounds are shared out."""

    what: Instance | Registered
    at_once: int
    seed: int


@dataclass(frozen=True, slots=True)
class Clocked:
    """What came of it."""

    batches: tuple[int, ...]  # episodes of every round
    steps: int
    exact: bool
    certified: bool

    def time(self, slots: int) -> int:
        """Units of time that the rounds take where so many episodes run at once."""
        return sum(math.ceil(batch / slots) for batch in self.batches)

    def busy(self, slots: int) -> float:
        """The share of that time in which a slot runs something."""
        return sum(self.batches) / (slots * self.time(slots))


def clocked(job: Shared) -> Clocked:
    """Run it, and note how many episodes every round has."""
    ends = [0]

    def watch(found: Round) -> None:
        ends.append(found.episodes)

    if isinstance(job.what, Instance):
        problem = job.what.numbered(job.seed).build()
        found = learn(problem, seed=job.seed, at_once=job.at_once, callback=watch)
        exact = problem.is_optimal(found.actions)
    else:
        world = job.what.build()
        found = learn(
            as_system(world.noisy, world.horizon),
            seed=job.seed,
            at_once=job.at_once,
            callback=watch,
            **world.options,
        )
        exact = world.returns(found.actions) >= world.best - 1e-9
    batches = tuple(int(count) for count in np.diff(ends))
    return Clocked(batches, found.steps, exact, found.certified)


def rounds(crew: Crew) -> list[Finding]:
    """Rounds, time, busy share and steps by how many episodes run at once."""
    scale = QUICK if crew.quick else FULL
    rows: list[tuple[Cell, ...]] = []
    for title, runs in scale.runs.items():
        jobs = [Shared(LEARNED[title], size, seed) for size in scale.sizes for seed in range(runs)]
        found = grouped(crew.spread(clocked, jobs, title), runs)
        for size, mine in zip(scale.sizes, found, strict=True):
            rows.append((title, *_row(size, mine, found[0])))
    return [
        Section(
            "rounds: at_once = so many episodes that run at the same time; one of them takes one "
            "unit of time, and a round lasts until its last one is done (geometric means)",
            ("learned", "at_once", "rounds", "time", "time where at_once is 1", "busy",
             "least busy run", "steps", "over steps of 1", "exact", "certified"),
            rows,
        )
    ]  # fmt: skip


def _row(size: int, runs: Sequence[Clocked], alone: Sequence[Clocked]) -> tuple[Cell, ...]:
    steps, before = (geometric([run.steps for run in each]) for each in (runs, alone))
    busy = [run.busy(size) for run in runs]
    return (
        size,
        number(geometric([len(run.batches) for run in runs])),
        number(geometric([run.time(size) for run in runs])),
        number(geometric([run.time(size) for run in alone])),
        f"{np.mean(busy):.0%}",
        f"{min(busy):.0%}",
        number(steps),
        f"{steps / before:.2f}",
        rate(sum(run.exact for run in runs), len(runs)),
        rate(sum(run.certified for run in runs), len(runs)),
    )


# ---------------------------------------------------------------- by a real clock

SLEEP = 0.001
"""Seconds that a step of the slow system takes."""


@dataclass
class Sleepy:
    """A problem that takes its time, and only has `rollout`."""

    problem: Problem
    sleep: float = SLEEP
    horizon: int = field(init=False)
    n_actions: int = field(init=False)
    n_observations: int | None = field(init=False)

    def __post_init__(self) -> None:
        self.horizon, self.n_actions = self.problem.horizon, self.problem.n_actions
        self.n_observations = self.problem.n_observations

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        found = self.problem.rollout(actions, n, rng)
        time.sleep(self.sleep * found.observations.shape[0] * found.observations.shape[1])
        return found


def throughput(crew: Crew) -> list[Finding]:
    """Seconds that a whole run takes on Ray, and those of the same run in this process."""
    sleepers = (QUICK if crew.quick else FULL).sleepers
    at_once = sleepers
    system = Sleepy(TABULAR.numbered(0).build())
    with RayCluster(sleepers, cpus=0.01) as cluster:
        _warm(system, cluster, sleepers)
        apart, found = _timed(system, cluster, at_once)
    alone, same = _timed(system, Serial(), at_once)
    return [
        Section(
            f"throughput: a run on a system that sleeps {1000 * SLEEP:g} ms a step and only has "
            f"rollout, {same.steps} steps, at_once={at_once}",
            ("workers", "seconds", "serial over it", "same result"),
            [
                ("this process", alone, 1.0, True),
                (f"{sleepers} on Ray", apart, alone / apart, found == same),
            ],
        ),
    ]


def _warm(system: Sleepy, executor: Executor, workers: int) -> None:
    """Everybody is up and running when the clock starts."""
    request = Request((0,), 1, range(2), range(1))
    for _ in range(2):
        Runner(system, executor=executor).run(0, [request] * 4 * workers, summary=False)


def _timed(system: Sleepy, executor: Executor, at_once: int) -> tuple[float, Result]:
    started = time.perf_counter()
    found = learn(system, workers=executor, at_once=at_once)
    return time.perf_counter() - started, found


PARTS: Mapping[str, Part] = {"rounds": rounds, "throughput": throughput}
