"""Against the method for states that can be listed.

The rival (`baselines.merging`) is told what nobody knows: how far apart the states look, and the
fewest samples with which it is right. Ours is told nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import count

from surepath.baselines.merging import Merging, true_separation
from surepath.bench.harness.report import Cell, Section
from surepath.bench.harness.runs import (
    DELTA,
    Crew,
    Instance,
    Job,
    Outcome,
    certified_rate,
    exact_rate,
    grouped,
    mean_steps,
    play,
)
from surepath.bench.harness.statistics import geometric
from surepath.bench.harness.success import WANTED
from surepath.builtin_problems.tabular import Tabular
from surepath.features import OneHot
from surepath.run.driver import drive
from surepath.run.runner import Runner

SIZES = (
    Instance("tabular", {"horizon": 3, "states": 3, "actions": 2, "observations": 4}),
    Instance("tabular", {"horizon": 5, "states": 4, "actions": 2, "observations": 6}),
    Instance("tabular", {"horizon": 8, "states": 5, "actions": 3, "observations": 8}),
    Instance("lock", {"horizon": 20, "actions": 4, "observations": 6}),
)

FEWEST, RATIO, STRIDE = 4, 1.2, 4
"""The grid of samples: its first point, its ratio, and how many points the search strides over."""

TUNING = 10**6
"""Run seeds from here on choose the rival's samples; the report uses others."""


@dataclass(frozen=True, slots=True)
class MergingRun:
    """One run of the rival."""

    instance: Instance
    samples: int
    seed: int


@dataclass(frozen=True, slots=True)
class SampleSearch:
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
        return [mean_steps(mine) / mean_steps(theirs) for mine, theirs in pairs]


def against_merging(crew: Crew, instances: int, runs: int, tuning: int) -> list[Section]:
    """Ours against the rival: exactness and steps, for every size."""
    matches = [_match(crew, size, instances, runs, tuning) for size in SIZES]
    runs_each = f"{instances} instances x {runs} runs"
    return [
        Section(
            f"rival: exact answers, {runs_each}; N is the rival's samples an edge, the fewest "
            f"that make it exact in {WANTED:.0%} of its runs",
            ("problem", "ours", "ours certified", "rival's N", "rival", "rival, N by instance"),
            [_exact_row(match) for match in matches],
        ),
        Section(
            "rival: steps (geometric means) and ratio ours / rival, by instance",
            ("problem", "our steps", "rival's", "ratio", "largest", "ratio, N by instance"),
            [_steps_row(match) for match in matches],
        ),
    ]


def _exact_row(match: Match) -> tuple[Cell, ...]:
    return (
        match.size.label,
        exact_rate(_together(match.ours)),
        certified_rate(_together(match.ours)),
        match.samples,
        exact_rate(_together(match.rival)),
        exact_rate(_together(match.knowing)),
    )


def _steps_row(match: Match) -> tuple[Cell, ...]:
    ratios = match.ratios(match.rival)
    return (
        match.size.label,
        geometric([mean_steps(runs) for runs in match.ours]),
        geometric([mean_steps(runs) for runs in match.rival]),
        geometric(ratios),
        max(ratios),
        geometric(match.ratios(match.knowing)),
    )


def _match(crew: Crew, size: Instance, instances: int, runs: int, tuning: int) -> Match:
    drawn = [size.numbered(seed) for seed in range(instances)]
    together, alone = tuple(drawn), [(one,) for one in drawn]
    searches = [SampleSearch(group, tuning) for group in (together, *alone)]
    samples, *own = crew.spread(fewest_samples, searches, f"{size.label}: rival's samples")
    seeds = range(runs)
    ours = [Job(one, seed, {"delta": DELTA}) for one in drawn for seed in seeds]
    fair = [MergingRun(one, samples, seed) for one in drawn for seed in seeds]
    knowing = [
        MergingRun(one, n, seed) for one, n in zip(drawn, own, strict=True) for seed in seeds
    ]
    return Match(
        size,
        samples,
        grouped(crew.spread(play, ours, f"{size.label}: ours"), runs),
        grouped(crew.spread(merge, fair, f"{size.label}: rival"), runs),
        grouped(crew.spread(merge, knowing, f"{size.label}: rival, N by instance"), runs),
    )


def merge(job: MergingRun) -> Outcome:
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
    return Outcome(
        loss=problem.oracle.value - problem.expected_return(learner.incumbent),
        tolerance=0.0,
        certified=False,
        reason="",
        warnings=(),
        episodes=learner.usage.episodes,
        steps=learner.usage.steps,
    )


def fewest_samples(search: SampleSearch) -> int:
    """The smallest point of the grid with which enough runs are exact.

    Found by strides, then point by point: more samples are taken to be no worse.
    """
    points = (math.ceil(FEWEST * RATIO ** (STRIDE * k)) for k in count())
    coarse = next(k for k, samples in enumerate(points) if _suffices(search, samples))
    fine = (STRIDE * (coarse - 1) + k for k in range(1, STRIDE + 1))
    grid = [math.ceil(FEWEST * RATIO**k) for k in fine]
    return next((n for n in grid[:-1] if _suffices(search, n)), grid[-1])


def _suffices(search: SampleSearch, samples: int) -> bool:
    """Whether enough runs are exact; gives up as soon as too many are not."""
    allowed = math.floor((1 - WANTED) * len(search.instances) * search.runs + 1e-9)
    for run in range(search.runs):
        for instance in search.instances:
            allowed -= not merge(MergingRun(instance, samples, TUNING + run)).optimal
            if allowed < 0:
                return False
    return True


def _together(groups: list[list[Outcome]]) -> list[Outcome]:
    return [run for runs in groups for run in runs]
