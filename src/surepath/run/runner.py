"""From requests to readings: those in the journal are taken from it, the others are run.

What an executor runs is checked and recorded before anybody uses it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from surepath.errors import JournalError
from surepath.journal.database import Journal
from surepath.journal.rows import GIVEN, Fault, Origin, Row, joined, requests_of
from surepath.learners.base import sound
from surepath.run.executors import Executor, Serial
from surepath.run.work import Failure, Unit, unit_of
from surepath.system import Declared, Episodes, Readings, Request, Summarising, System

FLUSH_SECONDS = 0.5
"""Finished episodes wait at most so long until they are written to the journal."""


def summarises(system: System, statistics: tuple[type, ...]) -> bool:
    """Whether the system can draw one of these sufficient statistics in place of episodes."""
    if not isinstance(system, Summarising):
        return False
    return system.statistic in statistics or Declared(system).window_statistic in statistics


class Runner:
    """Runs requests on a system.

    The same seed and requests give the same readings, whatever the executor, and however often the
    run was stopped and continued with its journal. Rewards outside `reward_range` are refused.
    """

    def __init__(
        self,
        system: System,
        seed: int = 0,
        *,
        executor: Executor | None = None,
        journal: Journal | None = None,
        reward_range: tuple[float, float] | None = None,
        check: Callable[[Readings], None] | None = None,
        origin: Callable[[int], Origin] = Origin.of,
    ) -> None:
        """check: refuses what else cannot have been read. origin: what the rows of a batch say."""
        self.system = system
        self.seed = seed
        self.retries = 0 if journal is None else journal.faults()  # attempts that failed
        self._executor = executor or Serial()
        self.journal = journal
        self._reward_range = reward_range or (-np.inf, np.inf)
        self._check = check
        self._origin = origin

    @property
    def replaced(self) -> int:
        """Workers that died or took too long, and were replaced by new ones."""
        return self._executor.replaced

    def run(
        self,
        batch: int,
        requests: Sequence[Request],
        *,
        summary: bool,
        fresh: tuple[int, int] | None = None,
    ) -> list[Readings]:
        """The readings of every request of a batch, in their order.

        summary: whether the system may answer with a sufficient statistic. fresh: attempt and block
        of readings that are to prove a proposal.
        """
        origin = self._origin(batch)
        if origin is Origin.ASKED and fresh is not None:
            origin = Origin.FRESH
        says = (origin, fresh if origin is Origin.FRESH else None)
        units = [
            unit_of(self.system, batch, index, request, self.seed, summary=summary)
            for index, request in enumerate(requests)
        ]
        found: list[list[tuple[int, Readings]]] = [[] for _ in requests]
        for row in self.journal.batch(batch) if self.journal else ():
            if (row.origin, row.fresh) != says or not _fits(row, units, found):
                raise _other_run(row)
            found[row.request].append((row.first, self._sound(row.readings)))
        missing = [
            part for unit, known in zip(units, found, strict=True) for part in _missing(unit, known)
        ]
        with _Recorder(self.journal, says) as recorder:
            for report in self._executor.run(self.system, missing) if missing else ():
                for unit, read in report.done:
                    readings = self._sound(read)
                    found[unit.index].append((unit.first, readings))
                    recorder.keep(unit, readings)
                self.retries += len(report.failed)
                recorder.note(report.failed)
                report.raise_refusal()
        pairs = zip(requests, found, strict=True)
        return [joined(request.actions, parts) for request, parts in pairs]

    def unasked(self, batch: int) -> list[Readings]:
        """What a run whose episodes come from outside was told beside this batch."""
        if self.journal is None or self._origin(batch) is not Origin.GIVEN:
            return []
        return [readings for _, readings in requests_of(self.journal.batch(GIVEN + 1 + batch))]

    def _sound(self, readings: Readings) -> Readings:
        good = sound(readings, self._reward_range)
        if self._check is not None:
            self._check(good)
        return good


def _fits(row: Row, units: Sequence[Unit], found: Sequence[Sequence[tuple[int, Readings]]]) -> bool:
    """Whether the row answers one of the requests, and comes after what was found of it before."""
    if not 0 <= row.request < len(units):
        return False
    unit, before, readings = units[row.request], found[row.request], row.readings
    start = before[-1][0] + before[-1][1].count if before else 0
    placed = start <= row.first and row.first + readings.count <= unit.count
    # Whoever tells readings may tell a statistic; surepath knows which of them it drew itself.
    drawn = row.origin is Origin.GIVEN or isinstance(readings, Episodes) != unit.summary
    return readings.actions == unit.request.actions and placed and drawn


def _other_run(row: Row) -> JournalError:
    return JournalError(
        "the journal does not fit this run",
        got=f"{row.readings.count} episodes ({row.says}) of {row.readings.actions} in batch "
        f"{row.batch}, request {row.request}, where others are asked for",
        remedy="Continue it with the version of surepath and its dependencies that began it, or "
        "begin a new one.",
    )


def _missing(unit: Unit, found: Iterable[tuple[int, Readings]]) -> list[Unit]:
    """The parts of a unit that are not among the found ones: (number of the first, readings)."""
    parts: list[Unit] = []
    start = 0
    for first, readings in sorted(found, key=lambda part: part[0]):
        if first > start:
            parts.append(unit.part(start, first))
        start = first + readings.count
    if start < unit.count:
        parts.append(unit.part(start, unit.count))
    return parts


class _Recorder:
    """Collects readings and faults, and writes them to the journal many at a time.

    What it has collected is also written when the run is stopped by an error, unless that is the
    journal's own.
    """

    def __init__(
        self, journal: Journal | None, says: tuple[Origin, tuple[int, int] | None]
    ) -> None:
        """says: what the rows say to be."""
        self._journal = journal
        self._says = says
        self._rows: list[Row] = []
        self._faults: list[Fault] = []
        self._written = time.monotonic()

    def keep(self, unit: Unit, readings: Readings) -> None:
        if self._journal is not None:
            self._rows.append(Row(unit.batch, unit.index, unit.first, readings, *self._says))
            self._flush_if_late()

    def note(self, failed: Iterable[Failure]) -> None:
        self._faults += [
            Fault(f.unit.batch, f.unit.index, f.unit.first, f.unit.attempt, f.error) for f in failed
        ]

    def _flush_if_late(self) -> None:
        if time.monotonic() - self._written > FLUSH_SECONDS:
            self._flush()

    def _flush(self) -> None:
        if self._journal is not None and (self._rows or self._faults):
            self._journal.add(self._rows, self._faults)
        self._rows, self._faults, self._written = [], [], time.monotonic()

    def __enter__(self) -> _Recorder:
        return self

    def __exit__(self, kind: type[BaseException] | None, *raised: object) -> None:
        if kind is None or not issubclass(kind, JournalError):
            self._flush()
