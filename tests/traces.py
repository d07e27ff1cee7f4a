"""Two problems to compete on, and runs made by hand, for the tests of the bench."""

from __future__ import annotations

from surepath.bench.harness.attempt import Trace
from surepath.bench.harness.runs import Instance

SMALL = Instance("tabular", {"horizon": 3, "states": 2, "actions": 2, "observations": 3, "seed": 1})
CONTINUOUS = Instance("continuous", {"horizon": 2, "seed": 0})


def trace(*points: tuple[int, float], total: int = 1000, stopped: bool = True) -> Trace:
    steps, losses = zip(*points, strict=True) if points else ((), ())
    return Trace(steps, losses, total, stopped)
