"""Executors: they run the episodes, in this process or in others.

An executor is given units and yields a report whenever something has come of one, in any order. An
episode that fails is run again: a bounded number of times, each after twice the pause of the last.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol, Self, runtime_checkable

from surepath.errors import EpisodeError
from surepath.results.usage import shorten
from surepath.run.work import Failure, Unit, UnitReport, perform
from surepath.system import System
from surepath.validate import between, whole

SLICE = 0.25
"""Seconds that a unit may take before its finished episodes are reported, so that they can be
recorded; the rest of it is run after that."""


@dataclass(frozen=True, slots=True)
class Retries:
    """How often and how soon an episode that failed is run again."""

    most: int = 4  # attempts after the first
    pause: float = 0.05  # seconds before the second attempt; doubled before each further one

    def __post_init__(self) -> None:
        whole("retries", self.most, least=0)
        between("pause", self.pause, 0, 3600, closed=(True, True))

    def again(self, failure: Failure) -> tuple[Unit, float]:
        """The unit as it is to be run again, and the seconds to wait before that.

        EpisodeError when it has failed too often.
        """
        unit = failure.unit
        if unit.attempt >= self.most:
            raise EpisodeError(
                f"an episode failed {unit.attempt + 1} times",
                got=f"{failure.error} ({unit}, actions {shorten(unit.request.actions)})",
                remedy="What was recorded before is kept: repair the system and run again with the "
                "same journal, or allow more retries.",
            )
        return replace(unit, attempt=unit.attempt + 1), self.pause * 2**unit.attempt


@runtime_checkable
class Executor(Protocol):
    """Runs units on a system; a context manager that closes it."""

    replaced: int  # workers that died or took too long, and were replaced by new ones

    def run(self, system: System, units: Iterable[Unit]) -> Iterator[UnitReport]:
        """Run every episode of the units once, and again where it fails; the reports as they come.

        EpisodeError when an episode fails too often.
        """
        ...

    def close(self) -> None:
        """End the workers, where there are some."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *raised: object) -> None: ...


class Serial:
    """Runs all episodes in this process, one unit after the other."""

    def __init__(self, retries: int = 4, pause: float = 0.05) -> None:
        self.retries = Retries(retries, pause)
        self.replaced = 0

    def run(self, system: System, units: Iterable[Unit]) -> Iterator[UnitReport]:
        queue = deque(units)
        while queue:
            report = perform(system, queue.popleft(), SLICE)
            if report.rest is not None:
                queue.appendleft(report.rest)
            yield report
            for failure in report.failed:
                unit, pause = self.retries.again(failure)
                time.sleep(pause)
                queue.append(unit)

    def close(self) -> None:
        """Nothing to give back."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()
