"""Environments nobody here wrote, and what it costs to keep the books.

Certificates at default settings come first: of environments of Gymnasium's registry, with ranges of
rewards that are too wide, and of a recipe whose hidden state no sensor shows. Then the environments
of the examples, at full size: run these from a clone. Each has a noisy sensor, a fixed start, and
an optimum found apart by searching the environment without noise. The rival is what most people
would try first: recurrent PPO (sb3-contrib, with its own defaults), on the same noisy environment,
after as many steps as surepath took until it stopped by itself.
"""

# Gymnasium and sb3-contrib are loaded when they are used, and have few types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from surepath.adapters.gym import as_system
from surepath.api import learn
from surepath.bench.harness import ppo
from surepath.bench.harness.report import Cell, Finding, Section
from surepath.bench.harness.runs import Crew, Part
from surepath.bench.harness.statistics import geometric, rate
from surepath.bench.harness.worlds import Case
from surepath.bench.suites.certificates import certificates, ranges
from surepath.bench.suites.recipe import recipes
from surepath.journal.database import Journal
from surepath.run.runner import Runner
from surepath.system import Request


@dataclass(frozen=True, slots=True)
class Scale:
    certified: int = 10  # seeds, on each environment of the table of certificates
    many: int = 60  # the same, where a run takes seconds and certificates have been false
    widened: int = 3  # seeds, for each range of rewards: a run on Taxi can take minutes
    recipes: int = 20
    seeds: int = 20  # of surepath beside PPO, on each environment
    policies: int = 1  # that PPO is trained for, on each environment: it does 200 steps a second
    episodes: int = 20  # by which a policy is judged
    repeats: int = 40  # pairs of timings


SCALE = Scale()


CASES = (
    Case("MiniGrid-Empty-5x5", "minigrid_key", "MiniGrid-Empty-5x5-v0"),
    Case("MiniGrid-DoorKey-5x5", "minigrid_key", "MiniGrid-DoorKey-5x5-v0"),
    Case("Pendulum", "pendulum"),
    Case("MountainCar", "mountain_car"),
)


@dataclass(frozen=True, slots=True)
class Run:
    exact: bool
    certified: bool
    steps: int


def solve(job: tuple[Case, int]) -> Run:
    case, seed = job
    world = case.build()
    result = learn(world.noisy, world.horizon, seed=seed, **world.options)
    exact = abs(world.returns(result.actions) - world.best) < 1e-9
    return Run(exact, result.certified, result.steps)


def train(job: tuple[Case, int, int, int]) -> float:
    """The share of episodes in which a policy, trained for so many steps, earns the optimum."""
    case, seed, steps, episodes = job
    world = case.build()
    [(model, env)] = ppo.train(world.noisy, world.horizon, [steps], seed)
    earned = [ppo.episode(model, env, seed=10**6 + count)[1] for count in range(episodes)]
    return float(np.mean([abs(total - world.best) < 1e-9 for total in earned]))


def environments(crew: Crew) -> list[Finding]:
    scale = SCALE
    runs: dict[str, list[Run]] = {}
    for case in CASES:
        jobs = [(case, seed) for seed in range(scale.seeds)]
        runs[case.title] = crew.spread(solve, jobs, case.title)
    steps = {title: geometric([run.steps for run in played]) for title, played in runs.items()}
    earned = _trained(crew, steps, scale)
    return [
        Section(
            f"real environments: {scale.seeds} seeds; recurrent PPO after as many steps, "
            f"{scale.policies} seeds x {scale.episodes} episodes",
            ("environment", "optimum found", "certified", "steps", "PPO's episodes that earn it"),
            [_row(title, runs[title], steps[title], earned[title]) for title in runs],
        ),
    ]


def _trained(crew: Crew, steps: Mapping[str, float], scale: Scale) -> dict[str, list[float]]:
    """What PPO's policies earn on each environment, trained for so many steps there."""
    # The longest first, and all environments side by side: none is waited for.
    jobs = [
        (case, seed, int(steps[case.title]), scale.episodes)
        for case in sorted(CASES, key=lambda case: -steps[case.title])
        for seed in range(scale.policies)
    ]
    earned: dict[str, list[float]] = {case.title: [] for case in CASES}
    for (case, *_), share in zip(jobs, crew.spread(train, jobs, "recurrent PPO"), strict=True):
        earned[case.title].append(share)
    return earned


def _row(title: str, runs: list[Run], steps: float, earned: list[float]) -> tuple[Cell, ...]:
    return (
        title,
        rate(sum(run.exact for run in runs), len(runs)),
        rate(sum(run.certified for run in runs), len(runs)),
        steps,
        f"{np.mean(earned):.0%}" if earned else "-",
    )


# ---------------------------------------------------------------- keeping the books


def bookkeeping(_: Crew) -> list[Finding]:
    """Wall time with a journal over a bare loop of reset and step, the same episodes."""
    scale = SCALE
    return [
        Section(
            f"bookkeeping: wall time with a journal, serial / bare loop, {scale.repeats} pairs",
            ("environment", "median ratio", "its quartiles", "total / total"),
            [_overhead(horizon, scale.repeats) for horizon in (8, 20)],
        ),
    ]


def _overhead(horizon: int, repeats: int) -> tuple[Cell, ...]:
    import gymnasium

    rng = np.random.default_rng(0)
    system, env = as_system("CartPole-v1", horizon), gymnasium.make("CartPole-v1")
    times: list[list[float]] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        Journal(Path(folder) / "run.db", {}) as journal,
    ):
        runner = Runner(system, journal=journal, reward_range=(0.0, 1.0))
        for batch in range(repeats):
            sequences = rng.integers(2, size=(4, horizon)).tolist()
            requests = [
                Request(tuple(actions), 512, range(horizon), range(horizon))
                for actions in sequences
            ]
            kept = partial(runner.run, batch, requests, summary=False)
            times.append(take_turns(batch, kept, partial(_bare, env, requests)))
    return f"CartPole, horizon {horizon}", *ratios_of(times)


def take_turns(turn: int, *ways: Callable[[], object]) -> list[float]:
    """Seconds that each way takes. They begin in turn: what else the machine does falls on all."""
    times = [0.0] * len(ways)
    first = (turn + 1) % len(ways)
    for way in (*range(first, len(ways)), *range(first)):
        started = time.perf_counter()
        ways[way]()
        times[way] = time.perf_counter() - started
    return times


def ratios_of(times: Sequence[Sequence[float]]) -> tuple[float, str, float]:
    """Of pairs of times: the median ratio, its quartiles, and the ratio of the totals."""
    firsts, seconds = np.array(times).T
    low, middle, high = (float(q) for q in np.quantile(firsts / seconds, (0.25, 0.5, 0.75)))
    return middle, f"{low:.2f} .. {high:.2f}", float(firsts.sum() / seconds.sum())


def _bare(env: Any, requests: list[Request]) -> None:
    for request in requests:
        for seed in range(request.count):
            env.reset(seed=seed)
            for action in request.actions:
                _, _, terminated, truncated, _ = env.step(action)
                if terminated or truncated:
                    break


PARTS: Mapping[str, Part] = {
    "certificates": lambda crew: [certificates(crew, SCALE.certified, SCALE.many)],
    "ranges": lambda crew: [ranges(crew, SCALE.widened)],
    "recipe": lambda crew: [recipes(crew, SCALE.recipes)],
    "environments": environments,
    "bookkeeping": bookkeeping,
}
