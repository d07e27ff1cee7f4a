"""Time without a real clock: what is timed can be checked exactly, and only what hangs is late."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from surepath.run import fleet
from surepath.run.fleet import Worker
from surepath.run.processes import Processes


class Clock:
    """In place of the module `time`: stands still until somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class PatientProcesses(Processes):
    """Time passes for it when all workers that could speak hang, and not before.

    hung: the folder in which every episode that hangs leaves a file.
    """

    def __init__(
        self, workers: int, *, hung: Path, monkeypatch: pytest.MonkeyPatch, **options: Any
    ) -> None:
        super().__init__(workers, **options)
        self._hung, self._clock = hung, Clock()
        monkeypatch.setattr(fleet, "time", self._clock)

    def _ready(self, workers: Sequence[Worker], seconds: float) -> Sequence[Worker]:
        while True:
            stuck = len(list(self._hung.iterdir())) - self.replaced == len(workers)
            if ready := super()._ready(workers, 0.05):
                return ready
            if stuck:
                self._clock.sleep(seconds)
                return ()
