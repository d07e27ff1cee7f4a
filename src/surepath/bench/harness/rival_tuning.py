"""How the settings of each rival are chosen: by what they do on training instances."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from surepath.bench.harness.arena import Stage, numbered
from surepath.bench.harness.attempt import Trace, Trial, attempt
from surepath.bench.harness.rivals import Settings, settings_of
from surepath.bench.harness.runs import Crew
from surepath.bench.harness.success import checkpoints, ever_right, steps_to, success

TRAINING = 1000
"""Instances and runs from this seed on choose settings; reports use those from 0."""


FINALISTS = 3
"""Settings of a rival that are tried on all training instances; the others on a quarter of them."""


def tune(
    crew: Crew, methods: Iterable[str], stage: Stage, cap: int, training: int, title: str
) -> dict[str, tuple[Settings, ...]]:
    """The settings of each rival that take the fewest steps on the training instances, best first.

    Where none, or several, are right often enough, those that are right most of the time. A rival
    that was right at no time, whatever its settings, is not tried on more instances.
    """
    choice = {method: settings_of(method, numbered(stage, TRAINING)) for method in methods}
    runs: dict[tuple[str, Settings], list[Trace]] = {}
    for first, end in pairwise((0, math.ceil(training / 4), training)):
        hopeful = [
            method
            for method, offered in choice.items()
            if not first or any(ever_right(runs[method, settings]) for settings in offered)
        ]
        trials = [
            Trial(numbered(stage, TRAINING + run), method, settings, cap, TRAINING + run)
            for method in hopeful
            for settings in choice[method]
            for run in range(first, end)
        ]
        traces = crew.spread(attempt, trials, f"{title}: tuning")
        for trial, trace in zip(trials, traces, strict=True):
            runs.setdefault((trial.method, trial.settings), []).append(trace)
        for method in hopeful:
            offered = choice[method]
            merits = {settings: _merit(runs[method, settings], cap) for settings in offered}
            best = sorted(offered, key=lambda settings: merits[settings], reverse=True)
            choice[method] = tuple(best[:FINALISTS])
    return choice


def _merit(traces: Sequence[Trace], cap: int) -> tuple[float, float, bool]:
    """Fewest steps first, then success over all checkpoints; what could not be run comes last."""
    mean = float(np.mean(success(traces, checkpoints(cap))))
    return -steps_to(traces, cap), mean, not any(trace.refused for trace in traces)
