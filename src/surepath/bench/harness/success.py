"""How many steps runs took until enough of them were right."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from surepath.bench.harness.attempt import EXACT, Trace
from surepath.bench.harness.statistics import bootstrap_interval
from surepath.system import FloatArray

WANTED = 0.95
"""Share of runs that are to be right."""


def checkpoints(cap: int, per_octave: int = 4) -> tuple[float, ...]:
    """Steps at which runs are compared, the cap last."""
    count = math.ceil(per_octave * math.log2(cap / 8))
    return tuple(cap * 2 ** (-k / per_octave) for k in range(count, -1, -1))


def success(traces: Sequence[Trace], steps: Sequence[float]) -> list[float]:
    """Share of the runs whose answer was optimal after so many steps."""
    return right(traces, steps).mean(axis=0).tolist()


def right(traces: Sequence[Trace], steps: Sequence[float]) -> NDArray[np.bool_]:
    """Whether each run's answer was optimal after so many steps: [runs, steps]."""
    return np.array([[trace.exact_at(s) for s in steps] for trace in traces])


def ever_right(traces: Sequence[Trace]) -> bool:
    """Whether any run had an optimal plan for an answer at any time."""
    return any(loss <= EXACT for trace in traces for loss in trace.losses)


def steps_to(traces: Sequence[Trace], cap: int, wanted: float = WANTED) -> float:
    """The first checkpoint from which on the share stays as wanted; infinity if there is none."""
    points = checkpoints(cap)
    return _first_lasting(points, right(traces, points).mean(axis=0), wanted)


def _first_lasting(points: Sequence[float], shares: FloatArray, wanted: float) -> float:
    missed = np.flatnonzero(shares < wanted)
    first = missed[-1] + 1 if len(missed) else 0
    return points[first] if first < len(points) else math.inf


def ratio_interval(
    ours: Sequence[Trace], theirs: Sequence[Trace], cap: int, wanted: float = WANTED
) -> tuple[float, float]:
    """95 % bootstrap interval of the ratio of steps to a share of successes.

    Runs are resampled in pairs, because both are on the same instance. Whoever does not get there
    within the cap is taken to do so at the cap.
    """
    points = checkpoints(cap)
    both = np.stack([right(ours, points), right(theirs, points)])  # [2, runs, points]

    def ratio(chosen: NDArray[np.int64]) -> float:
        mine, other = (
            min(_first_lasting(points, shares, wanted), cap)
            for shares in both[:, chosen].mean(axis=1)
        )
        return mine / other

    return bootstrap_interval(ratio, len(ours))
