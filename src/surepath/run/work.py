"""Carrying out requests: what a worker does, wherever it is.

A request is split into *units*. The noise of a unit is a function of the run's seed and of the
unit's place in the run (see `seeds`), so what is read does not depend on who runs it, when, or
beside what.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from surepath.errors import InputError
from surepath.run import seeds
from surepath.system import (
    Episodic,
    Play,
    Readings,
    Request,
    Summarising,
    System,
    as_episodes,
)

LARGEST_DRAW = 2**62
"""Most episodes whose statistic is drawn at once: NumPy's generators count in 64 bits."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Some episodes of a request, or all of them: what a worker is given at a time."""

    request: Request
    batch: int  # number of the batch in the run
    index: int  # number of the request in the batch
    first: int  # number of the first of these episodes in the request
    count: int
    seed: int  # of the run
    summary: bool = False  # whether the system draws their sufficient statistic
    single: bool = False  # whether the system runs them one by one
    attempt: int = 0  # how often they have failed
    deaths: int = 0  # how often a worker has died while it ran them

    def part(self, start: int, stop: int) -> Unit:
        """The episodes from `start` up to `stop`, counted from the first of this unit."""
        return replace(self, first=self.first + start, count=stop - start)

    def episode_seeds(self) -> list[int]:
        """A seed for each of these episodes, where they are run one by one."""
        numbers = range(self.first, self.first + self.count)
        return seeds.episode_seeds(self.seed, self.batch, self.index, numbers, self.attempt)

    def noise(self) -> np.random.Generator:
        """The noise of all these episodes, where they are run at once."""
        return seeds.noise(self.seed, self.batch, self.index, self.attempt)

    def __str__(self) -> str:
        return f"episode {self.first} of request {self.index} in batch {self.batch}"


@dataclass(frozen=True, slots=True)
class Failure:
    """A unit that the system could not run, and its error in words."""

    unit: Unit
    error: str


@dataclass(slots=True)
class UnitReport:
    """What has come of a unit."""

    done: list[tuple[Unit, Readings]] = field(default_factory=list[tuple[Unit, Readings]])
    failed: list[Failure] = field(default_factory=list[Failure])
    rest: Unit | None = None  # episodes that were not begun because the time was up
    refusal: tuple[str, str, str] | None = None  # an InputError's parts: no retry can help

    def raise_refusal(self) -> None:
        """Raise the InputError where the system refused the unit."""
        if self.refusal is not None:
            what, got, remedy = self.refusal
            raise InputError(what, got=got, remedy=remedy)


def unit_of(
    system: System, batch: int, index: int, request: Request, seed: int, *, summary: bool
) -> Unit:
    """All episodes of a request as one unit.

    summary: whether the sufficient statistic of the observations can take their place.
    """
    statistic = isinstance(system, Summarising) and (summary or not request.observations)
    single = isinstance(system, Episodic) and not statistic
    return Unit(request, batch, index, 0, request.count, seed, statistic, single)


LONGEST_ERROR = 10_000
"""Characters of an error that are kept: a journal refuses texts that are far too long."""

FAILURES = (Exception, SystemExit)
"""What a user's code may raise: an environment that calls sys.exit has failed, and ends no run."""


def perform(system: System, unit: Unit, seconds: float = math.inf) -> UnitReport:
    """Run the unit's episodes.

    Where they are run one by one, no further one is begun once so many seconds have passed.
    """
    report = UnitReport()
    try:
        if unit.single:
            _one_by_one(cast(Episodic, system), unit, seconds, report)
        else:
            report.done.append((unit, _at_once(system, unit)))
    except InputError as error:
        report.refusal = (error.what, str(error.got), error.remedy)
    except FAILURES as error:  # whatever the user's system raises is for the retries to judge
        report.failed.append(Failure(unit, error_text(error)))
    return report


def error_text(error: BaseException) -> str:
    """An error on one line: its type, and what it says where it says something, cut where long."""
    said = str(error)[:LONGEST_ERROR]
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _one_by_one(system: Episodic, unit: Unit, seconds: float, report: UnitReport) -> None:
    started = time.monotonic()
    actions = unit.request.actions
    plays: list[Play] = []  # since the last episode that failed
    for position, seed in enumerate(unit.episode_seeds()):
        try:
            plays.append(system.play(actions, seed))
        except InputError:
            _gather(system, unit, plays, position, report)
            raise
        except FAILURES as error:  # as in `perform`
            _gather(system, unit, plays, position, report)
            plays = []
            failed = unit.part(position, position + 1)
            report.failed.append(Failure(failed, error_text(error)))
        if time.monotonic() - started > seconds and position + 1 < unit.count:
            _gather(system, unit, plays, position + 1, report)
            report.rest = unit.part(position + 1, unit.count)
            return
    _gather(system, unit, plays, unit.count, report)


def _gather(system: Episodic, unit: Unit, plays: list[Play], stop: int, report: UnitReport) -> None:
    """Report the plays as the episodes of the unit that end before `stop`."""
    if not plays:
        return
    part = unit.part(stop - len(plays), stop)
    try:
        report.done.append((part, system.gather(unit.request.actions, plays)))
    except InputError:
        raise
    except FAILURES as error:  # as in `perform`
        report.failed.append(Failure(part, error_text(error)))


def _at_once(system: System, unit: Unit) -> Readings:
    """All episodes of the unit by one call: as single episodes, or as their statistic."""
    request = unit.request
    if not unit.summary:
        return as_episodes(system.rollout(request.actions, request.count, unit.noise()))
    if request.count > LARGEST_DRAW:
        raise InputError(
            "one batch has more episodes than can be drawn at once",
            got=f"{request.count:.3g} episodes",
            remedy="A larger gap, a smaller norm or a shorter horizon asks for fewer.",
        )
    return cast(Summarising, system).summarise(request, unit.noise())
