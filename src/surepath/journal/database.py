"""The record of every episode ever paid for: one SQLite file.

What is in it is data: arrays as bytes with their types and shapes, everything else as JSON. Each
row has a checksum. Rows are committed together, once they are on the disk, and a run that is killed
finds all of them again. One process at a time has the file.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sqlite3
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from surepath.errors import JournalError
from surepath.system import (
    Actions,
    Counts,
    Episodes,
    Moments,
    Readings,
    RewardMoments,
    Summary,
)

SCHEMA = 1
"""Of the file; newer ones are refused, older ones are read."""

PILOT = 2**32
"""Batches from here on came before the run proper, and are in no prefix's readings."""

SYNC_SECONDS = 1.0
"""A killed process loses nothing that was committed. Waiting for the disk, which a power failure
makes necessary, takes longer than many an episode, and is done this often at most."""

APPLICATION = 0x73757265
"""Says that a SQLite file is one of ours."""

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE readings (
    batch INTEGER NOT NULL,     -- place of the request in the run
    request INTEGER NOT NULL,
    first INTEGER NOT NULL,     -- number of the first of these episodes in the request
    count INTEGER NOT NULL,     -- episodes
    actions TEXT NOT NULL,      -- JSON
    kind TEXT NOT NULL,         -- 'episodes' or 'summary'
    header TEXT NOT NULL,       -- JSON: names, types and shapes of the arrays
    arrays BLOB NOT NULL,       -- their bytes, one after the other
    checksum BLOB NOT NULL,
    PRIMARY KEY (batch, request, first)
) WITHOUT ROWID;
CREATE TABLE faults (
    batch INTEGER NOT NULL,
    request INTEGER NOT NULL,
    episode INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    error TEXT NOT NULL
);
"""


@dataclass(frozen=True, slots=True)
class Row:
    """Recorded readings, and their place in the run."""

    batch: int
    request: int
    first: int
    readings: Readings


@dataclass(frozen=True, slots=True)
class Fault:
    """An attempt at an episode that failed."""

    batch: int
    request: int
    episode: int
    attempt: int
    error: str


def is_journal(path: str | Path) -> bool:
    """Whether the file is a database, and so no saved result."""
    with Path(path).open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"


class Journal:
    """A journal that is open, and locked against others; a context manager."""

    def __init__(self, path: str | Path, configuration: Mapping[str, Any] | None = None) -> None:
        """Continue the journal at the path, or begin one with this configuration.

        A journal of another configuration is refused. Without one, the file must exist, and is
        only read.
        """
        self.path = Path(path)
        self._synced = -math.inf
        fresh = self._is_fresh()
        if fresh and configuration is None:
            raise JournalError(
                "there is no such journal",
                got=str(path),
                remedy="Give the path of an existing one.",
            )
        if configuration is not None:
            self._check_folder()
        if not fresh and not (self.path.is_file() and is_journal(self.path)):
            # Said here because SQLite takes very short files for empty ones.
            raise JournalError(
                f"{self.path} is not a journal",
                got="a folder" if self.path.is_dir() else "a file of something else",
                remedy="Give another path.",
            )
        with self._explained():
            place = self.path.resolve().as_uri() + (
                self._only_read() if configuration is None else ""
            )
            self._database = sqlite3.connect(place, uri=True, isolation_level=None, timeout=0.2)
        try:
            if configuration is not None:
                self._lock()
                if not self._check_format():
                    self._create(configuration)
            elif not self._check_format():
                raise JournalError(_UNBEGUN[0], got=f"{self.path}: it is empty", remedy=_UNBEGUN[1])
            self._check()
            if configuration is not None:
                self._compare(configuration)
        except BaseException:
            self.close()
            raise

    # ------------------------------------------------------------ opening

    def _is_fresh(self) -> bool:
        try:
            return not self.path.exists() or self.path.stat().st_size == 0
        except OSError as error:  # a folder on the way to it is closed
            what, remedy = _ERRORS["SQLITE_CANTOPEN"]
            raise JournalError(what, got=str(error), remedy=remedy) from error

    def _check_folder(self) -> None:
        """That files can be made there: SQLite keeps a log beside the journal."""
        folder = self.path.resolve().parent
        if not folder.is_dir():
            raise JournalError(
                "the folder of a journal must exist",
                got=str(self.path),
                remedy=f"Create {folder}, or write elsewhere.",
            )
        if not os.access(folder, os.W_OK):
            raise JournalError(
                "the folder of a journal must be writable",
                got=str(self.path),
                remedy=f"Check the rights of {folder}, or write elsewhere.",
            )

    def _only_read(self) -> str:
        """How SQLite is told so; its own locks need a file beside, which not every folder takes."""
        log = self.path.with_name(self.path.name + "-wal")
        closed = not log.exists() or not log.stat().st_size
        writable = os.access(self.path.resolve().parent, os.W_OK)
        return "?immutable=1" if closed and not writable else "?mode=ro"

    def _lock(self) -> None:
        """Keep others out, for as long as the file is open or the process lives."""
        with self._explained():
            self._database.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._database.execute("BEGIN IMMEDIATE")
            self._database.execute("COMMIT")

    def _check_format(self) -> bool:
        """Whether the file is a journal already; refuses what is neither that nor empty."""
        with self._explained():
            (application,) = self._database.execute("PRAGMA application_id").fetchone()
            (schema,) = self._database.execute("PRAGMA user_version").fetchone()
            (tables,) = self._database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if not tables and not application:
            return False
        if application != APPLICATION:
            raise JournalError(
                f"{self.path} is not a journal",
                got="a database of something else",
                remedy="Give another path.",
            )
        if schema > SCHEMA:
            raise JournalError(
                f"{self.path} was written by a newer version",
                got=f"schema {schema}, known up to {SCHEMA}",
                remedy="Install that version of surepath.",
            )
        return True

    def _create(self, configuration: Mapping[str, Any]) -> None:
        with self._explained():
            self._database.execute("PRAGMA journal_mode = WAL")
        with self._transaction():
            for statement in _TABLES.split(";\n"):
                self._database.execute(statement)
            self._database.execute(f"PRAGMA application_id = {APPLICATION}")
            self._database.execute(f"PRAGMA user_version = {SCHEMA}")
            self._set("configuration", configuration)

    def _check(self) -> None:
        """That SQLite finds the file whole, and every row is as it was written."""
        with self._explained():
            (found,) = self._database.execute("PRAGMA quick_check(1)").fetchone()
            if found != "ok":
                raise sqlite3.DatabaseError(found)
            for row in self._database.execute(f"SELECT {_COLUMNS} FROM readings"):
                _check_sum(row)

    def _compare(self, configuration: Mapping[str, Any]) -> None:
        """Refuse to go on with another run."""
        ours, theirs = json.loads(_json(configuration)), self.configuration
        differences = [
            f"{name}: {theirs.get(name)!r} in the journal, {ours.get(name)!r} now"
            for name in sorted(ours.keys() | theirs.keys())
            if ours.get(name) != theirs.get(name)
        ]
        if differences:
            raise JournalError(
                f"{self.path} is the journal of another run",
                got="; ".join(differences),
                remedy="Call it as it was begun, or give a new path for a new run.",
            )

    # ------------------------------------------------------------ reading

    @property
    def configuration(self) -> dict[str, Any]:
        return self.get("configuration") or {}

    def get(self, key: str) -> Any:
        """A value that was put; None where there is none."""
        with self._explained():
            found = self._database.execute(
                "SELECT value FROM meta WHERE key = ?", (key,)
            ).fetchone()
            try:
                return None if found is None else json.loads(found[0])
            except ValueError as error:
                raise sqlite3.DatabaseError(f"the {key} cannot be read") from error

    def batch(self, number: int) -> list[Row]:
        """What was recorded of a batch."""
        query = f"SELECT {_COLUMNS} FROM readings WHERE batch = ? ORDER BY request, first"
        with self._explained():
            return [_row(row) for row in self._database.execute(query, (number,))]

    def rows(self) -> Iterator[Row]:
        """Everything recorded, in the order of the run."""
        query = f"SELECT {_COLUMNS} FROM readings ORDER BY batch, request, first"
        with self._explained():
            for row in self._database.execute(query):
                yield _row(row)

    def count(self) -> tuple[int, int]:
        """Episodes and faults recorded."""
        with self._explained():
            # Their sum may be more than SQLite's integers hold.
            episodes = sum(n for (n,) in self._database.execute("SELECT count FROM readings"))
            (faults,) = self._database.execute("SELECT count(*) FROM faults").fetchone()
        return episodes, faults

    # ------------------------------------------------------------ writing

    def put(self, key: str, value: Any) -> None:
        with self._transaction():
            self._set(key, value)

    def add(self, rows: Sequence[Row], faults: Sequence[Fault] = ()) -> None:
        """Record all of these, or none. A result of less than all is one no more."""
        with self._transaction():
            if rows:
                self._database.execute("DELETE FROM meta WHERE key = 'result'")
            self._database.executemany(
                f"INSERT INTO readings ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [_encode(row) for row in rows],
            )
            self._database.executemany(
                "INSERT INTO faults VALUES (?, ?, ?, ?, ?)",
                [(f.batch, f.request, f.episode, f.attempt, f.error) for f in faults],
            )

    def _set(self, key: str, value: Any) -> None:
        self._database.execute(
            "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, _json(value))
        )

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    @contextmanager
    def _transaction(self) -> Generator[None]:
        with self._explained():
            now = time.monotonic()
            if late := now - self._synced > SYNC_SECONDS:
                self._synced = now
            self._database.execute(f"PRAGMA synchronous = {'FULL' if late else 'NORMAL'}")
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:  # a full disk has rolled it back already
                    self._database.execute("ROLLBACK")
                raise

    @contextmanager
    def _explained(self) -> Generator[None]:
        """SQLite's errors in words that say what to do."""
        try:
            yield
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", None) or "SQLITE_CORRUPT"
            known = (said for start, said in _ERRORS.items() if name.startswith(start))
            what, remedy = next(known, ("the journal cannot be used", "Check file and folder."))
            raise JournalError(what, got=f"{self.path}: {error}", remedy=remedy) from error


_UNBEGUN = (
    "the journal was not begun",
    "Nothing is recorded in it: run again with it, or give another path.",
)

_ERRORS = {
    "SQLITE_BUSY": (
        "another process has this journal open",
        "One process at a time can use a journal: wait for it to end, or give another path.",
    ),
    "SQLITE_LOCKED": ("another process has this journal open", "Wait for it to end."),
    "SQLITE_FULL": (
        "the disk is full",
        "All that was recorded before is kept: free some space and run again with this journal.",
    ),
    "SQLITE_IOERR": (
        "the disk refused to read or write the journal",
        "All that was recorded before is kept: check disk and quota, and run again with it.",
    ),
    "SQLITE_READONLY_ROLLBACK": _UNBEGUN,  # a run was killed while it made the tables
    "SQLITE_READONLY": ("the journal cannot be written", "Check the rights of file and folder."),
    "SQLITE_CANTOPEN": ("the journal cannot be opened", "Check the path and its rights."),
    "SQLITE_NOTADB": ("the file is not a journal", "Give another path."),
    "SQLITE_CORRUPT": (
        "the journal is damaged",
        "Nothing was changed. Restore the file from a copy, or begin a new one.",
    ),
}


# ---------------------------------------------------------------- rows as data

_COLUMNS = "batch, request, first, count, actions, kind, header, arrays, checksum"


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=_plain)


def _plain(value: Any) -> Any:
    """What JSON does not know, in its terms."""
    if isinstance(value, np.generic | np.ndarray):
        return cast(Any, value).tolist()
    raise JournalError(
        "a journal holds numbers, texts, lists and dictionaries of them",
        got=f"{type(value).__name__} {value!r}",
        remedy="Describe the system with such data in its `identity`.",
    )


def _encode(row: Row) -> tuple[Any, ...]:
    readings = row.readings
    kind = "episodes" if isinstance(readings, Episodes) else "summary"
    arrays = _arrays(readings)
    header = [[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()]
    data = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays.values())
    fields = (row.batch, row.request, row.first, readings.count, _json(readings.actions), kind)
    return _summed((*fields, _json(header), data))


def _summed(fields: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*fields, _digest(fields))


def _digest(fields: Sequence[Any]) -> bytes:
    state = hashlib.blake2b(digest_size=16)
    for value in fields:
        data = value if isinstance(value, bytes) else str(value).encode()
        state.update(len(data).to_bytes(8, "little") + data)
    return state.digest()


def _check_sum(row: Sequence[Any]) -> None:
    if _digest(row[:-1]) != row[-1]:
        raise sqlite3.DatabaseError(
            f"the checksum of batch {row[0]}, request {row[1]}, episode {row[2]} does not fit"
        )


def _arrays(readings: Readings) -> dict[str, NDArray[Any]]:
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
    for step, reward in readings.rewards.items():
        arrays[f"reward {step}"] = np.array([reward.mean, reward.scatter])
    return arrays


def _row(row: Sequence[Any]) -> Row:
    _check_sum(row)
    batch, request, first, count, actions, kind, header, data, _ = row
    arrays: dict[str, NDArray[Any]] = {}
    offset = 0
    for name, kind_of, shape in json.loads(header):
        dtype = np.dtype(kind_of)
        size = dtype.itemsize * math.prod(shape)
        part = np.frombuffer(data, dtype, count=math.prod(shape), offset=offset)
        arrays[name] = part.reshape(shape).copy()  # as it was: it can be written to
        offset += size
    played = tuple(json.loads(actions))
    if kind == "episodes":
        return Row(batch, request, first, Episodes(played, **arrays))
    return Row(batch, request, first, _summary(played, count, arrays))


def _summary(actions: Actions, count: int, arrays: Mapping[str, NDArray[Any]]) -> Summary:
    observations: dict[int, Counts | Moments] = {}
    rewards: dict[int, RewardMoments] = {}
    for name, array in arrays.items():
        what, step = name.split()
        if what == "counts":
            observations[int(step)] = Counts(array)
        elif what == "mean":
            observations[int(step)] = Moments(count, array, arrays[f"scatter {step}"])
        elif what == "reward":
            rewards[int(step)] = RewardMoments(count, float(array[0]), float(array[1]))
    return Summary(actions, count, observations, rewards)
