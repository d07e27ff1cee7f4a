"""Actions that do exactly the same, and what a run costs beside the system it runs on."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from surepath.api import learn
from surepath.bench.harness.report import Cell, Section
from surepath.bench.harness.runs import (
    Crew,
    Instance,
    Job,
    Outcome,
    certified_rate,
    exact_rate,
    grouped,
    outcome,
    play,
)
from surepath.bench.harness.statistics import geometric, rate
from surepath.builtin_problems.finite import Dynamics
from surepath.builtin_problems.tabular import Tabular
from surepath.system import Actions, Episodes

SIZES = (
    Instance("tabular", {"horizon": 5, "states": 4, "actions": 2, "observations": 6}),
    Instance("tabular", {"horizon": 8, "states": 5, "actions": 3, "observations": 8}),
)

SLOW = (
    Instance("tabular", {"horizon": 8, "states": 5, "actions": 3, "observations": 8}),
    Instance("lock", {"horizon": 20, "actions": 4, "observations": 6}),
)

STEP_SECONDS = 1e-3


def ties(crew: Crew, instances: int, runs: int) -> Section:
    """Cost with ties at half of all states over cost without, on the same machine."""
    return Section(
        f"ties: at half of all states all actions do the same; {instances} instances x {runs} "
        "runs, steps with ties / without",
        ("problem", "ratio", "largest", "exact, ties", "certified, ties", "exact, no ties"),
        [_ties_row(crew, size, instances, runs) for size in SIZES],
    )


def _ties_row(crew: Crew, size: Instance, instances: int, runs: int) -> tuple[Cell, ...]:
    jobs = [Job(size.numbered(i), seed) for i in range(instances) for seed in range(runs)]
    tied = crew.spread(play_tied, jobs, f"{size.label}: ties")
    plain = crew.spread(play, jobs, f"{size.label}: no ties")
    ratios = [one.steps / other.steps for one, other in zip(tied, plain, strict=True)]
    by_instance = [geometric(group) for group in grouped(ratios, runs)]
    return (
        size.label,
        geometric(by_instance),
        max(by_instance),
        exact_rate(tied),
        certified_rate(tied),
        exact_rate(plain),
    )


def play_tied(job: Job) -> Outcome:
    problem = job.instance.build()
    assert isinstance(problem, Tabular)
    tied = tie(problem, job.instance.parameters["seed"])
    result = learn(tied, seed=job.seed, **job.options)
    return outcome(result, tied.oracle.value - tied.expected_return(result.actions))


def tie(problem: Tabular, seed: int) -> Tabular:
    """The machine with every action of half the states of each level doing what the best does."""
    rng = np.random.default_rng([seed, 2])
    transitions, rewards = problem.dynamics.transitions.copy(), problem.dynamics.rewards.copy()
    nodes = rng.permutation(problem.horizon * problem.n_states)
    for node in nodes[: len(nodes) // 2]:
        level, state = divmod(int(node), problem.n_states)
        best = int(problem.q[level, state].argmax())
        transitions[level, state] = transitions[level, state, best]
        rewards[level, state] = rewards[level, state, best]
    return Tabular(Dynamics(transitions, rewards), problem.emissions)


class Slow:
    """A machine that takes its time for every step, and gives single episodes only."""

    def __init__(self, machine: Tabular, seconds: float) -> None:
        self.machine, self.seconds = machine, seconds
        self.horizon, self.n_actions = machine.horizon, machine.n_actions
        self.n_observations = machine.n_observations
        self.busy = 0.0  # seconds spent in it

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        started = time.perf_counter()
        episodes = self.machine.rollout(actions, n, rng)
        time.sleep(self.seconds * episodes.observations.shape[0] * episodes.observations.shape[1])
        self.busy += time.perf_counter() - started
        return episodes


@dataclass(frozen=True, slots=True)
class Timing:
    seconds: float
    busy: float
    steps: int
    optimal: bool


def time_slow(job: Job) -> Timing:
    problem = job.instance.build()
    assert isinstance(problem, Tabular)
    system, started = Slow(problem, job.options["seconds"]), time.perf_counter()
    result = learn(system, seed=job.seed)
    seconds = time.perf_counter() - started
    return Timing(seconds, system.busy, result.steps, problem.is_optimal(result.actions))


def overhead(crew: Crew, runs: int, seconds: float = STEP_SECONDS) -> Section:
    """Share of the wall time that is not the system's."""
    rows: list[tuple[Cell, ...]] = []
    for size in SLOW:
        jobs = [Job(size.numbered(seed), seed, {"seconds": seconds}) for seed in range(runs)]
        timed = crew.spread(time_slow, jobs, f"{size.label}: slow system")
        shares = [1 - run.busy / run.seconds for run in timed]
        rows.append(
            (
                size.label,
                geometric([run.seconds for run in timed]),
                geometric([run.steps for run in timed]),
                f"{float(np.mean(shares)):.2%}",
                f"{max(shares):.2%}",
                rate(sum(run.optimal for run in timed), runs),
            )
        )
    return Section(
        f"overhead: share of wall time outside a system that takes {1000 * seconds:g} ms a step, "
        f"{runs} runs",
        ("problem", "seconds", "steps", "outside", "largest", "exact"),
        rows,
    )
