"""Who runs the episodes: this process, or others.

An executor is given units and yields reports of them as they come, in any order. What fails is run
again, a bounded number of times and after a pause that doubles.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol, Self, runtime_checkable

from surepath.errors import EpisodeError, InputError
from surepath.results.usage import shorten
from surepath.run.work import Failure, Unit, UnitReport, perform
from surepath.system import System
from surepath.validate import between, whole

SLICE = 0.25
"""Seconds after which finished episodes are handed over, so that they can be recorded."""


@dataclass(frozen=True, slots=True)
class Retries:
    """What to do about episodes that fail."""

    most: int = 4  # attempts after the first
    pause: float = 0.05  # seconds before the first of them; doubled for each further one

    def __post_init__(self) -> None:
        whole("retries", self.most, least=0)
        between("pause", self.pause, 0, 3600, closed=(True, True))

    def again(self, failure: Failure) -> tuple[Unit, float]:
        """The unit to run again, and the seconds to wait before; an error when it was enough."""
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
    replaced: int  # workers that died or hung

    def run(self, system: System, units: Iterable[Unit]) -> Iterator[UnitReport]: ...

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *raised: object) -> None: ...


class Serial:
    """Runs everything here, one after the other."""

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


def refuse(report: UnitReport) -> None:
    """Raise what no retry can help."""
    if report.refusal is not None:
        what, got, remedy = report.refusal
        raise InputError(what, got=got, remedy=remedy)
