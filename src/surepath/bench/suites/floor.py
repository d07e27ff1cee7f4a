"""Against what no method can beat.

The floor is the fewest episodes that any learner needs which is right often enough. It knows
transitions and sensors; only the rewards are left to be learned.
"""

from __future__ import annotations

import numpy as np

from surepath.bench.harness.report import Cell, Section
from surepath.bench.harness.runs import DELTA, Crew, Instance, Job, exact_rate, grouped, play
from surepath.bench.harness.statistics import geometric, rate
from surepath.builtin_problems.finite import FiniteProblem

SIZES = (
    Instance("tabular", {"horizon": 3, "states": 3, "actions": 2, "observations": 4}),
    Instance("tabular", {"horizon": 4, "states": 3, "actions": 2, "observations": 4}),
)


def against_floor(crew: Crew, instances: int, runs: int) -> Section:
    """Mean episodes over the fewest that any learner needs."""
    return Section(
        f"floor: mean episodes / fewest episodes of any learner (delta {DELTA}, transitions and "
        f"sensors known to it), {instances} instances x {runs} runs",
        ("problem", "floor", "ratio", "median", "largest", "within 10", "within 3", "exact"),
        [_row(crew, size, instances, runs) for size in SIZES],
    )


def _row(crew: Crew, size: Instance, instances: int, runs: int) -> tuple[Cell, ...]:
    drawn = [size.numbered(seed) for seed in range(instances)]
    floors = crew.spread(floor_of, drawn, f"{size.label}: floor")
    jobs = [Job(one, seed, {"delta": DELTA}) for one in drawn for seed in range(runs)]
    played = crew.spread(play, jobs, f"{size.label}: ours")
    episodes = np.array([[run.episodes for run in mine] for mine in grouped(played, runs)])
    ratios = episodes.mean(axis=1) / floors
    return (
        size.label,
        geometric(floors),
        geometric(ratios.tolist()),
        float(np.median(ratios)),
        float(ratios.max()),
        rate(int((ratios <= 10).sum()), instances),
        rate(int((ratios <= 3).sum()), instances),
        exact_rate(played),
    )


def floor_of(instance: Instance) -> float:
    problem = instance.build()
    assert isinstance(problem, FiniteProblem)
    return problem.floor(DELTA).episodes
