"""Carrying out requests: what a worker does, wherever it is.

A request is split into *units*. The noise of a unit is a function of the run's seed and of the
unit's place in the run, so what is read does not depend on who runs it, when, or beside what.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from surepath.errors import InputError
from surepath.system import (
    Actions,
    Episodes,
    Episodic,
    Play,
    Readings,
    Request,
    Summarising,
    System,
    as_episodes,
)

LARGEST_DRAW = 2**62
"""Counts beyond this do not fit the generators' integers."""

SAME_SEED = 2
"""Attempts at an episode with the same noise: most failures pass. After that others are drawn, for
systems that fail on their own noise."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Some episodes of a request."""

    request: Request
    batch: int  # place of the request in the run
    index: int
    first: int  # number of the first of these episodes in the request
    count: int
    seed: int  # of the run
    summary: bool = False  # whether a sufficient statistic will do
    single: bool = False  # whether the system runs episodes one by one
    attempt: int = 0  # how often they failed
    deaths: int = 0  # how often a worker died of them

    def part(self, start: int, stop: int) -> Unit:
        return replace(self, first=self.first + start, count=stop - start)

    def __str__(self) -> str:
        return f"episode {self.first} of request {self.index} in batch {self.batch}"


@dataclass(frozen=True, slots=True)
class Failure:
    unit: Unit
    error: str


@dataclass(slots=True)
class Report:
    """What came of a unit."""

    done: list[tuple[Unit, Readings]] = field(default_factory=list[tuple[Unit, Readings]])
    failed: list[Failure] = field(default_factory=list[Failure])
    rest: Unit | None = None  # not begun, when time was up
    refusal: tuple[str, str, str] | None = None  # what, got, remedy: no retry can help


def unit_of(
    system: System, batch: int, index: int, request: Request, seed: int, *, summary: bool
) -> Unit:
    """The request as one unit."""
    statistic = isinstance(system, Summarising) and (summary or not request.observations)
    single = isinstance(system, Episodic) and not statistic
    return Unit(request, batch, index, 0, request.count, seed, statistic, single)


def generator(seed: int, *place: int) -> np.random.Generator:
    """The noise of one place in the run: a function of the seed and the place."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=place)))


def seeds_of(unit: Unit) -> list[int]:
    """A seed for each of the unit's episodes."""
    place = (unit.batch, unit.index)
    words = np.random.SeedSequence(unit.seed, spawn_key=place).generate_state(unit.request.count)
    chosen = words[unit.first : unit.first + unit.count]
    if unit.attempt >= SAME_SEED:
        salted = [np.random.SeedSequence([int(w), unit.attempt]).generate_state(1) for w in chosen]
        chosen = np.concatenate(salted)
    return cast(list[int], (chosen >> 1).tolist())  # many systems take 31 bits


def perform(system: System, unit: Unit, seconds: float = math.inf) -> Report:
    """Run the unit's episodes, one by one until the time is up where the system can."""
    report = Report()
    try:
        if unit.single:
            _one_by_one(cast(Episodic, system), unit, seconds, report)
        else:
            report.done.append((unit, _at_once(system, unit)))
    except InputError as error:
        report.refusal = (error.what, str(error.got), error.remedy)
    except Exception as error:  # whatever the user's system raises is for the retries to judge
        report.failed.append(Failure(unit, describe(error)))
    return report


def describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _one_by_one(system: Episodic, unit: Unit, seconds: float, report: Report) -> None:
    started = time.monotonic()
    actions = unit.request.actions
    plays: list[Play] = []

    def keep(stop: int) -> None:
        """The episodes that came since something failed."""
        if not plays:
            return
        part = unit.part(stop - len(plays), stop)
        try:
            report.done.append((part, system.gather(actions, plays)))
        except InputError:
            raise
        except Exception as error:  # as in `perform`
            report.failed.append(Failure(part, describe(error)))
        plays.clear()

    for position, seed in enumerate(seeds_of(unit)):
        try:
            plays.append(system.play(actions, seed))
        except InputError:
            keep(position)
            raise
        except Exception as error:  # as in `perform`
            keep(position)
            report.failed.append(Failure(unit.part(position, position + 1), describe(error)))
        if time.monotonic() - started > seconds and position + 1 < unit.count:
            keep(position + 1)
            report.rest = unit.part(position + 1, unit.count)
            return
    keep(unit.count)


def _at_once(system: System, unit: Unit) -> Readings:
    """The whole unit, as single episodes or as their sufficient statistic."""
    request = unit.request
    salt = (unit.attempt,) if unit.attempt >= SAME_SEED else ()
    rng = generator(unit.seed, unit.batch, unit.index, *salt)
    if unit.summary:
        if request.count > LARGEST_DRAW:
            raise InputError(
                "one batch has more episodes than can be drawn at once",
                got=f"{request.count:.3g} episodes",
                remedy="A larger gap, a smaller norm or a shorter horizon asks for fewer.",
            )
        return cast(Summarising, system).summarise(request, rng)
    return as_episodes(system.rollout(request.actions, request.count, rng))


def joined(actions: Actions, parts: list[tuple[int, Readings]]) -> Readings:
    """The readings of one request from those of its parts, by the number of their first episode."""
    readings = [part for _, part in sorted(parts, key=lambda part: part[0])]
    if len(readings) == 1 and not isinstance(readings[0], Episodes):
        return readings[0]
    # In one order in memory, as they are in a journal: sums depend on it in their last digit.
    return Episodes(
        actions,
        np.ascontiguousarray(np.concatenate([part.observations for part in _episodes(readings)])),
        np.ascontiguousarray(np.concatenate([part.rewards for part in _episodes(readings)])),
    )


def _episodes(readings: list[Readings]) -> Iterator[Episodes]:
    for part in readings:
        assert isinstance(part, Episodes)  # a statistic is never split
        yield part
