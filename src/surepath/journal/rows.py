"""One row of a journal: readings with their place in the run, as bytes and back.

A row holds data only: its arrays as bytes with their types and shapes, everything else as JSON. It
says where it comes from, and ends with a checksum of all its other columns.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from surepath.errors import InputError, JournalError
from surepath.journal.packed import readings_of
from surepath.system import Actions, Counts, Episodes, Readings
from surepath.validate import plain

PILOT = 2**32
"""Batches with this number or a larger one were run before the learner's first request: the pilot,
and what else helps to prepare a run. Of these the pilot itself, which has this number, is what an
adaptive learner is told first; the rest is part of no prefix's readings."""

GIVEN = 2**40
"""The batch of what a run was told before its first request. What it was told unasked while it
waited for batch b has the number GIVEN + 1 + b."""

_OLD_COLUMNS = "batch, request, first, count, actions, kind, header, arrays, checksum"
COLUMNS = {1: _OLD_COLUMNS, 2: _OLD_COLUMNS.replace("checksum", "origin, number, checksum")}
"""The columns of the table of readings by the schema of the file, as `decode` takes them."""

SIZE = 16
"""Bytes of a checksum."""


class Origin(StrEnum):
    """Where recorded readings come from, which decides what they may be used for."""

    PILOT = "pilot"  # before the first request of a learner: for features, their scales, a future
    ASKED = "asked"  # a learner asked for them
    FRESH = "fresh"  # read after a proposal, to prove it; followed by its attempt and its block
    GIVEN = "given"  # told from outside: surepath did not run them

    @classmethod
    def of(cls, batch: int) -> Origin:
        """Of readings that surepath ran by itself."""
        if batch >= GIVEN:
            return cls.GIVEN
        return cls.PILOT if batch >= PILOT else cls.ASKED


@dataclass(frozen=True, slots=True)
class Row:
    """Recorded readings, and their place in the run."""

    batch: int  # number of the batch in the run
    request: int  # number of the request in the batch
    first: int  # number of the first of these episodes in the request
    readings: Readings
    origin: Origin = Origin.ASKED
    fresh: tuple[int, int] | None = None  # attempt and block, of fresh readings

    @property
    def of_pilot(self) -> bool:
        """Whole episodes of the pilot, which are readings like those that are asked for."""
        return self.batch == PILOT

    @property
    def says(self) -> str:
        """What the row says to be."""
        return " ".join([self.origin, *map(str, self.fresh or ())])


@dataclass(frozen=True, slots=True)
class Fault:
    """An attempt at an episode that failed, and so has no readings."""

    batch: int
    request: int
    episode: int  # number of the episode in the request
    attempt: int  # how often the episode had failed before
    error: str


def json_text(value: Any) -> str:
    """A value as JSON, the same text for equal values; refuses what JSON has no form for."""
    return json.dumps(plain(value, _refuse), sort_keys=True)


def _refuse(value: Any) -> NoReturn:
    raise JournalError(
        "a journal holds numbers, texts, lists and dictionaries of them",
        got=f"{type(value).__name__} {value!r}",
        remedy="Describe the system with such data in its `identity`.",
    )


# ---------------------------------------------------------------- to bytes


def encode(row: Row, number: int) -> tuple[Any, ...]:
    """The row as values for the columns, the checksum last; its number is its place in the file."""
    readings = row.readings
    kind = "episodes" if isinstance(readings, Episodes) else "summary"
    arrays = _named_arrays(readings)
    header = [[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()]
    data = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays.values())
    place = (row.batch, row.request, row.first)
    content = (readings.count, json_text(readings.actions), kind, json_text(header), data)
    values = (*place, *content, row.says, number)
    return (*values, checksum(values))


def checksum(values: Sequence[Any]) -> bytes:
    """A digest of these values: of all columns but the last, which holds it."""
    state = hashlib.blake2b(digest_size=SIZE)
    for value in values:
        data = value if isinstance(value, bytes) else str(value).encode()
        state.update(len(data).to_bytes(8, "little") + data)
    return state.digest()


def _named_arrays(readings: Readings) -> dict[str, NDArray[Any]]:
    """All numbers of the readings as arrays; those of a summary are named by what and which step.

    `packed.readings_of` is the way back.
    """
    if isinstance(readings, Episodes):
        if readings.observations.dtype.hasobject or readings.observations.dtype.names:
            raise JournalError(
                "a journal holds arrays of numbers",
                got=f"observations of type {readings.observations.dtype}",
                remedy="Return observations as an array of numbers, such as a flattened Dict.",
            )
        return {"observations": readings.observations, "rewards": readings.rewards}
    arrays: dict[str, NDArray[Any]] = {}
    for step, sample in readings.observations.items():
        if isinstance(sample, Counts):
            arrays[f"counts {step}"] = sample.counts
        else:
            arrays[f"mean {step}"] = sample.mean
            arrays[f"scatter {step}"] = sample.scatter
    for step, window in readings.windows.items():
        arrays[f"windows {step}"] = window.counts
    for step, reward in readings.rewards.items():
        arrays[f"reward {step}"] = np.array([reward.mean, reward.scatter])
    return arrays


# ---------------------------------------------------------------- and back


def decode(values: Sequence[Any]) -> Row:
    """The row that was encoded as these values."""
    check_row(values)
    batch, request, first, count, actions, kind, header, data, *written, _ = values
    try:
        readings = readings_of(count, actions, kind, header, data)
        origin, fresh = _origin(written[0]) if written else (Origin.of(batch), None)
    except InputError as error:
        raise sqlite3.DatabaseError(f"{_place(values)}: {error.what}: {error.got}") from error
    except ValueError as error:  # no origin has this name
        raise sqlite3.DatabaseError(f"{_place(values)}: {error}") from error
    return Row(batch, request, first, readings, origin, fresh)


def _origin(text: str) -> tuple[Origin, tuple[int, int] | None]:
    """What a row says to be; schema 1 did not say it."""
    name, *numbers = text.split(" ")
    origin = Origin(name)
    if origin is not Origin.FRESH and not numbers:
        return origin, None
    attempt, block = map(int, numbers if len(numbers) == 2 else (0, 0))
    if text != f"{Origin.FRESH} {attempt} {block}" or min(attempt, block) < 1:
        raise ValueError(f"no row says that it is {text[:40]!r}")
    return origin, (attempt, block)


def check_row(values: Sequence[Any]) -> None:
    """Compare the checksum of a row."""
    check_record(values, _place(values))


def check_record(values: Sequence[Any], what: str) -> None:
    """Compare the checksum; the error is SQLite's own for a damaged file, and explained like it."""
    if None in values:
        raise sqlite3.DatabaseError(f"a value of {what} is of a wrong type, or too long")
    if checksum(values[:-1]) != values[-1]:
        raise sqlite3.DatabaseError(f"the checksum of {what} does not fit")


def _place(values: Sequence[Any]) -> str:
    batch, request, first = values[:3]
    return f"batch {batch}, request {request}, episode {first}"


# ---------------------------------------------------------------- rows that belong together


def as_told(rows: Iterable[Row], *, pilot: bool) -> Iterator[Row]:
    """The rows of a learner in the order in which it was told them: pilot and given ones are last.

    pilot: whether it was told the pilot.
    """
    own, first, given = list[Row](), list[Row](), dict[int, list[Row]]()
    for row in rows:
        if row.batch >= GIVEN:
            given.setdefault(row.batch - GIVEN - 1, []).append(row)
        elif row.origin is not Origin.PILOT:
            own.append(row)
        elif row.of_pilot and pilot:
            first.append(row)
    yield from first
    yield from given.pop(-1, ())
    for batch, several in groupby(own, key=lambda row: row.batch):
        yield from given.pop(batch, ())
        yield from several
    for rest in given.values():  # of a batch that was not told
        yield from rest


def requests_of(rows: Iterable[Row]) -> Iterator[tuple[Row, Readings]]:
    """The readings of every request, whole, each with its first row; the rows are in order."""
    for _, group in groupby(rows, key=lambda row: (row.batch, row.request)):
        parts = list(group)
        readings = [(row.first, row.readings) for row in parts]
        yield parts[0], joined(parts[0].readings.actions, readings)


def joined(actions: Actions, parts: list[tuple[int, Readings]]) -> Readings:
    """The readings of a request from its parts, each with the number of its first episode."""
    readings = [part for _, part in sorted(parts, key=lambda part: part[0])]
    if len(readings) == 1 and not isinstance(readings[0], Episodes):
        return readings[0]
    episodes = [part for part in readings if isinstance(part, Episodes)]
    try:
        if len(episodes) < len(readings):
            raise ValueError("a statistic is never split, and here it is one of several parts")
        # Contiguous, as they come out of a journal: the last digit of a sum depends on the order in
        # memory, and a run that is continued must find the same sums.
        return Episodes(
            actions,
            np.ascontiguousarray(np.concatenate([part.observations for part in episodes])),
            np.ascontiguousarray(np.concatenate([part.rewards for part in episodes])),
        )
    except (TypeError, ValueError) as error:
        raise InputError(
            "the parts of a request do not fit together",
            got=str(error),
            remedy="A system returns observations of one shape and type; a journal in which they "
            "differ is not as it was written.",
        ) from error
