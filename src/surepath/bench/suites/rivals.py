"""Against the method for states that can be listed, and against what no method can beat.

The rival (`baselines.merging`) is told what nobody knows: how far apart the states look, and the
fewest samples with which it is right. Ours is told nothing. The floor knows transitions and
sensors; only the rewards are left to be learned.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

from surepath.baselines.merging import Merging, true_separation
from surepath.bench.harness.report import Cell, Section, rate
from surepath.bench.harness.runs import (
    Crew,
    Instance,
    Job,
    Outcome,
    certified_rate,
    exact_rate,
    geometric,
    play,
)
from surepath.builtin_problems.finite import FiniteProblem
from surepath.builtin_problems.tabular import Tabular
from surepath.features import OneHot
from surepath.run.driver import drive
from surepath.run.runner import Runner

DELTA = 0.05

SIZES = (
    Instance("tabular", {"horizon": 3, "states": 3, "actions": 2, "observations": 4}),
    Instance("tabular", {"horizon": 5, "states": 4, "actions": 2, "observations": 6}),
    Instance("tabular", {"horizon": 8, "states": 5, "actions": 3, "observations": 8}),
    Instance("lock", {"horizon": 20, "actions": 4, "observations": 6}),
)

FLOORS = (
    Instance("tabular", {"horizon": 3, "states": 3, "actions": 2, "observations": 4}),
    Instance("tabular", {"horizon": 4, "states": 3, "actions": 2, "observations": 4}),
)

FEWEST, RATIO, STRIDE = 4, 1.2, 4
"""The grid of samples: its first point, its ratio, and how many points the search strides over."""

WANTED = 0.95
"""Share of its runs in which the rival has to be exact."""

TUNING = 10**6
"""Run seeds from here on choose the rival's samples; the report uses others."""


@dataclass(frozen=True, slots=True)
class Rival:
    """One run of the rival."""

    instance: Instance
    samples: int
    seed: int


@dataclass(frozen=True, slots=True)
class Tuning:
    """The instances that one number of samples has to do for, and the runs of each to try it on."""

    instances: tuple[Instance, ...]
    runs: int


@dataclass(frozen=True, slots=True)
class Match:
    """All runs of one size, by instance."""

    size: Instance
    samples: int  # of the rival, on all instances
    ours: list[list[Outcome]]
    rival: list[list[Outcome]]
    knowing: list[list[Outcome]]  # the rival with the samples of each instance

    def ratios(self, rival: list[list[Outcome]]) -> list[float]:
        """Steps of ours over the rival's, one for each instance."""
        pairs = zip(self.ours, rival, strict=True)
        return [steps_of(mine) / steps_of(theirs) for mine, theirs in pairs]


def against_merging(crew: Crew, instances: int, runs: int, tuning: int) -> list[Section]:
    """Ours against the rival: exactness and steps, for every size."""
    matches = [_match(crew, size, instances, runs, tuning) for size in SIZES]
    runs_each = f"{instances} instances x {runs} runs"
    return [
        Section(
            f"rival: exact answers, {runs_each}; N is the rival's samples an edge, the fewest "
            f"that make it exact in {WANTED:.0%} of its runs",
            ("problem", "ours", "ours certified", "rival's N", "rival", "rival, N by instance"),
            [
                (
                    match.size.label,
                    _exact(match.ours),
                    _certified(match.ours),
                    match.samples,
                    _exact(match.rival),
                    _exact(match.knowing),
                )
                for match in matches
            ],
        ),
        Section(
            "rival: steps (geometric means) and ratio ours / rival, by instance",
            ("problem", "our steps", "rival's", "ratio", "largest", "ratio, N by instance"),
            [_steps_row(match) for match in matches],
        ),
    ]


def _steps_row(match: Match) -> tuple[Cell, ...]:
    ratios = match.ratios(match.rival)
    return (
        match.size.label,
        geometric([steps_of(runs) for runs in match.ours]),
        geometric([steps_of(runs) for runs in match.rival]),
        geometric(ratios),
        max(ratios),
        geometric(match.ratios(match.knowing)),
    )


def _match(crew: Crew, size: Instance, instances: int, runs: int, tuning: int) -> Match:
    drawn = [size.numbered(seed) for seed in range(instances)]
    tunings = [Tuning(tuple(drawn), tuning)] + [Tuning((one,), tuning) for one in drawn]
    samples, *own = crew.spread(tune, tunings, f"{size.label}: rival's samples")
    seeds = range(runs)
    ours = [Job(one, seed, {"delta": DELTA}) for one in drawn for seed in seeds]
    fair = [Rival(one, samples, seed) for one in drawn for seed in seeds]
    knowing = [Rival(one, n, seed) for one, n in zip(drawn, own, strict=True) for seed in seeds]
    return Match(
        size,
        samples,
        grouped(crew.spread(play, ours, f"{size.label}: ours"), runs),
        grouped(crew.spread(merge, fair, f"{size.label}: rival"), runs),
        grouped(crew.spread(merge, knowing, f"{size.label}: rival, N by instance"), runs),
    )


def merge(job: Rival) -> Outcome:
    problem = job.instance.build()
    assert isinstance(problem, Tabular)
    learner = Merging(
        problem.horizon,
        problem.n_actions,
        OneHot(problem.emissions.shape[2]),
        true_separation(problem),
        job.samples,
    )
    drive(learner, Runner(problem, job.seed))
    loss = problem.oracle.value - problem.expected_return(learner.incumbent)
    return Outcome(
        loss=loss,
        tolerance=0.0,
        certified=False,
        reason="",
        warnings=(),
        episodes=learner.usage.episodes,
        steps=learner.usage.steps,
    )


def tune(job: Tuning) -> int:
    """The smallest point of the grid with which enough runs are exact.

    Found by strides, then point by point: more samples are taken to be no worse.
    """
    points = (math.ceil(FEWEST * RATIO ** (STRIDE * k)) for k in count())
    coarse = next(k for k, samples in enumerate(points) if _suffices(job, samples))
    fine = (STRIDE * (coarse - 1) + k for k in range(1, STRIDE + 1))
    grid = [math.ceil(FEWEST * RATIO**k) for k in fine]
    return next((n for n in grid[:-1] if _suffices(job, n)), grid[-1])


def _suffices(job: Tuning, samples: int) -> bool:
    """Whether enough runs are exact; gives up as soon as too many are not."""
    allowed = math.floor((1 - WANTED) * len(job.instances) * job.runs + 1e-9)
    for run in range(job.runs):
        for instance in job.instances:
            allowed -= not merge(Rival(instance, samples, TUNING + run)).optimal
            if allowed < 0:
                return False
    return True


def grouped(values: list[Outcome], size: int) -> list[list[Outcome]]:
    """By instance, as the jobs were laid out."""
    return [values[start : start + size] for start in range(0, len(values), size)]


def steps_of(runs: Sequence[Outcome]) -> float:
    return geometric([run.steps for run in runs])


def _exact(groups: list[list[Outcome]]) -> str:
    return exact_rate([run for runs in groups for run in runs])


def _certified(groups: list[list[Outcome]]) -> str:
    return certified_rate([run for runs in groups for run in runs])


def against_floor(crew: Crew, instances: int, runs: int) -> Section:
    """Mean episodes over the fewest that any learner needs."""
    rows: list[tuple[Cell, ...]] = []
    for size in FLOORS:
        drawn = [size.numbered(seed) for seed in range(instances)]
        floors = crew.spread(floor_of, drawn, f"{size.label}: floor")
        jobs = [Job(one, seed, {"delta": DELTA}) for one in drawn for seed in range(runs)]
        played = grouped(crew.spread(play, jobs, f"{size.label}: ours"), runs)
        ratios = np.array(
            [
                np.mean([run.episodes for run in mine]) / floor
                for mine, floor in zip(played, floors, strict=True)
            ]
        )
        rows.append(
            (
                size.label,
                geometric(floors),
                geometric(ratios.tolist()),
                float(np.median(ratios)),
                float(ratios.max()),
                rate(int((ratios <= 10).sum()), instances),
                rate(int((ratios <= 3).sum()), instances),
                _exact(played),
            )
        )
    return Section(
        f"floor: mean episodes / fewest episodes of any learner (delta {DELTA}, transitions and "
        f"sensors known to it), {instances} instances x {runs} runs",
        ("problem", "floor", "ratio", "median", "largest", "within 10", "within 3", "exact"),
        rows,
    )


def floor_of(instance: Instance) -> float:
    problem = instance.build()
    assert isinstance(problem, FiniteProblem)
    return problem.floor(DELTA).episodes
