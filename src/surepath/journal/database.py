"""The record of every episode ever paid for: one SQLite file.

Rows are committed together, once they are on the disk, and a run that is killed finds all of them
again. One process at a time has the file. What a row looks like is in `rows`, what ties them
together in `chain`.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, cast

from surepath.errors import JournalError
from surepath.journal import chain, tables
from surepath.journal.lock import Lock, Owned
from surepath.journal.rows import COLUMNS, Fault, Row, decode, json_text
from surepath.journal.sqlite_errors import CANNOT_OPEN, NOT_BEGUN, explained
from surepath.journal.untrusted import check_pages, check_schema, guard, guarded

SYNC_SECONDS = 1.0
"""How often, at most, a transaction waits until the disk has it. Nothing that was committed is lost
when a process is killed, whether it waited or not; only a power failure can undo what was committed
since the last wait. A wait takes longer than many an episode."""

APPLICATION = 0x73757265
"""The number in a SQLite file that says that it is one of ours."""


def is_journal(path: str | Path) -> bool:
    """Whether the file is a SQLite database: a saved result, which is text, is not."""
    with Path(path).open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"


def is_begun(path: str | Path) -> bool:
    """Whether there is a journal already; other files are refused when it is to be continued."""
    return Path(path).is_file() and is_journal(path)


class Journal:
    """An open journal; a context manager that closes it.

    With a configuration it can be written to, and no other process can open it meanwhile. Without
    one it can only be read.
    """

    def __init__(self, path: str | Path, configuration: Mapping[str, Any] | None = None) -> None:
        """Open the journal at the path.

        configuration: what the run was called with (`identity.configuration`). Where there is no
        file yet, one is begun with it. A file that was begun with another configuration is refused.
        None: the file must exist, and is only read.
        """
        self.path = Path(path)
        self._synced = -math.inf  # when a transaction last waited for the disk
        self.schema = tables.SCHEMA  # of the file
        only_read = configuration is None
        self._check_path(only_read=only_read)
        self._owned = Owned(Lock(self.path, shared=only_read))
        try:
            with self._explained():
                self._database = self._owned.database = sqlite3.connect(
                    self._address(only_read=only_read),
                    uri=True,
                    isolation_level=None,
                    timeout=0.2,
                )
                guard(self._database)
            self._begin_or_continue(configuration)
        except BaseException:
            self.close()
            raise

    # ------------------------------------------------------------ opening

    def _check_path(self, *, only_read: bool) -> None:
        """Refuse paths that can be seen to be wrong before SQLite opens them."""
        fresh = self._is_fresh()
        if fresh and only_read:
            raise JournalError(
                "there is no such journal",
                got=str(self.path),
                remedy="Give the path of an existing one.",
            )
        if not only_read:
            self._check_folder()
        if not fresh and not (self.path.is_file() and is_journal(self.path)):
            # Said here because SQLite takes very short files for empty ones.
            raise JournalError(
                f"{self.path} is not a journal",
                got="a folder" if self.path.is_dir() else "a file of something else",
                remedy="Give another path.",
            )

    def _is_fresh(self) -> bool:
        """Whether there is nothing yet: no file, or an empty one."""
        try:
            return not self.path.exists() or self.path.stat().st_size == 0
        except OSError as error:  # a folder on the way to it is closed
            what, remedy = CANNOT_OPEN
            raise JournalError(what, got=str(error), remedy=remedy) from error

    def _check_folder(self) -> None:
        """Refuse a folder that takes no new files: SQLite keeps a log beside the journal."""
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

    def _address(self, *, only_read: bool) -> str:
        """The path as SQLite's URI, which also says whether the file is only read.

        A reader of SQLite locks the file by another one beside it. Where the folder takes no new
        files, the journal is opened as one that does not change, which needs no lock. That is only
        right when all of it is in the file, and nothing in SQLite's log beside it.
        """
        address = self.path.resolve().as_uri()
        if not only_read:
            return address
        log = self.path.with_name(self.path.name + "-wal")
        complete = not log.exists() or not log.stat().st_size
        writable = os.access(self.path.resolve().parent, os.W_OK)
        return address + ("?immutable=1" if complete and not writable else "?mode=ro")

    def _begin_or_continue(self, configuration: Mapping[str, Any] | None) -> None:
        if configuration is not None:
            self._lock()
        begun = self._check_format()
        if not begun and configuration is None:
            what, remedy = NOT_BEGUN
            raise JournalError(what, got=f"{self.path}: it is empty", remedy=remedy)
        if not begun and configuration is not None:
            self._create(configuration)
        self._check_structure()
        if configuration is not None:
            self._compare(configuration)
            self._upgrade(configuration)

    def _lock(self) -> None:
        """Keep other processes out, for as long as the file is open or this process lives."""
        with self._explained():
            self._database.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._database.execute("BEGIN IMMEDIATE")
            self._database.execute("COMMIT")

    def _check_format(self) -> bool:
        """Whether the file is a journal already; refuses what is neither that nor empty."""
        with self._explained():
            (application,) = self._database.execute("PRAGMA application_id").fetchone()
            (schema,) = self._database.execute("PRAGMA user_version").fetchone()
            (made,) = self._database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if not made and not application:
            return False
        if application != APPLICATION:
            raise JournalError(
                f"{self.path} is not a journal",
                got="a database of something else",
                remedy="Give another path.",
            )
        if schema not in COLUMNS:
            raise JournalError(
                f"{self.path} was written by a newer version",
                got=f"schema {schema}, known up to {tables.SCHEMA}",
                remedy="Install that version of surepath.",
            )
        self.schema = schema
        with self._explained():
            check_schema(self._database, tables.TABLES[schema])
        return True

    def _create(self, configuration: Mapping[str, Any]) -> None:
        with self._explained():
            self._database.execute("PRAGMA journal_mode = WAL")
        with self._transaction():
            tables.create(self._database)
            self._database.execute(f"PRAGMA application_id = {APPLICATION}")
            self._set("configuration", configuration)

    def _upgrade(self, configuration: Mapping[str, Any]) -> None:
        """Bring a file of an older schema to this one, before anything is added to it."""
        if self.schema < tables.SCHEMA:
            with self._transaction():
                tables.upgrade(self._database, configuration)
            self.schema = tables.SCHEMA

    def _check_structure(self) -> None:
        """Refuse a file that SQLite finds damaged. What it holds is checked when it is read."""
        with self._explained():
            check_pages(self._database)

    def _compare(self, configuration: Mapping[str, Any]) -> None:
        """Refuse the journal of a run that was called with something else."""
        ours, theirs = json.loads(json_text(configuration)), self.configuration
        if ours.get("engine") != theirs.get("engine"):
            raise JournalError(
                f"{self.path} was begun by another version of surepath, which draws other random "
                "numbers: no run can go on with it now",
                got=f"engine {theirs.get('engine', 1)} in the journal, {ours.get('engine', 1)} now",
                remedy="Give a new path for a new run, or go on with the version that began it. "
                "What it has recorded can still be read, verified and exported.",
            )
        differences = [
            f"{name}: {theirs.get(name)!r} in the journal, {ours.get(name)!r} now"
            for name in sorted(ours.keys() | theirs.keys())
            if ours.get(name) != theirs.get(name)
            and not (self.schema == 1 and name == "declared")  # which it did not write down
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
        """What the run was called with when it began the journal."""
        found = self.get("configuration")
        if found is not None and not isinstance(found, dict):
            with self._explained():
                raise sqlite3.DatabaseError("the configuration is not an object")
        return cast(dict[str, Any], found or {})

    def get(self, key: str) -> Any:
        """The value that was `put` under this key; None where there is none."""
        with self._explained():
            return chain.entry(self._database, key, schema=self.schema)

    def keys(self, word: str) -> list[str]:
        """The keys of which this is the first word."""
        with self._explained():
            column = guarded(self._database, "meta", "key")
            found = self._database.execute(f"SELECT {column} FROM meta ORDER BY key")
            return [key for (key,) in found if key is not None and key.split(" ")[0] == word]

    def check(self) -> None:
        """Refuse a file of which anything is not as it was written: every checksum is compared."""
        with self._explained():
            chain.check(self._database, schema=self.schema)

    def batch(self, number: int) -> list[Row]:
        """What was recorded of a batch, in the order of its requests and their episodes."""
        with self._explained():
            return [decode(values) for values in self._select("WHERE batch = ?", number)]

    def rows(self) -> Iterator[Row]:
        """Everything recorded, in the order of the run."""
        with self._explained():
            for values in self._select():
                yield decode(values)

    def _select(self, where: str = "", *given: int) -> Iterator[tuple[Any, ...]]:
        columns = guarded(self._database, "readings", COLUMNS[self.schema])
        query = f"SELECT {columns} FROM readings {where} ORDER BY batch, request, first"
        return self._database.execute(query, given)

    def count(self) -> tuple[int, int]:
        """Episodes and faults recorded."""
        with self._explained():
            counts = f"SELECT {guarded(self._database, 'readings', 'count')} FROM readings"
            # Added up here: the sum may be more than SQLite's integers hold.
            episodes = sum(n or 0 for (n,) in self._database.execute(counts))
        return episodes, self.faults()

    def faults(self) -> int:
        """Faults recorded."""
        with self._explained():
            return self._database.execute("SELECT count(*) FROM faults").fetchone()[0]

    # ------------------------------------------------------------ writing

    def put(self, key: str, value: Any) -> None:
        """Keep a value of JSON's kinds under this key, in place of an older one."""
        with self._transaction():
            self._set(key, value)

    def add(self, rows: Sequence[Row], faults: Sequence[Fault] = ()) -> None:
        """Record all of these rows and faults; none of them where one cannot be recorded.

        New rows remove a result that was put before: it was found without them.
        """
        with self._transaction():
            if rows:
                self._database.execute("DELETE FROM meta WHERE key = 'result'")
            head = chain.write_rows(self._database, chain.head_of(self._database), rows)
            head = chain.write_faults(self._database, head, faults)
            chain.seal(self._database, head)

    def _set(self, key: str, value: Any) -> None:
        chain.set_entry(self._database, key, json_text(value))
        chain.seal(self._database, chain.head_of(self._database))

    def close(self) -> None:
        """Give the file back; another process can then open it."""
        self._owned.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    @contextmanager
    def _transaction(self) -> Generator[None]:
        """All that is executed inside is committed together, or undone when an error is raised."""
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

    def _explained(self) -> AbstractContextManager[None]:
        self._owned.check(self.path)
        return explained(self.path)
