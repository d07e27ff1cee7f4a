"""A journal changed by somebody who makes all of its checksums right again."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from surepath.journal.chain import FAULT_COLUMNS, HEAD, Head, seal, set_entry
from surepath.journal.rows import COLUMNS, checksum
from surepath.journal.tables import SCHEMA

Change = Callable[[sqlite3.Connection], object]


def forged(path: Path, change: Change = lambda database: None) -> None:
    """Change a journal, number its records anew and compute every checksum."""
    with closing(sqlite3.connect(path)) as database, database:
        change(database)
        make_right(database)


def make_right(database: sqlite3.Connection) -> None:
    """Number all records anew and compute every checksum, in a file of this schema."""
    columns = COLUMNS[SCHEMA]
    where = columns.split(", ").index("number")
    rows = database.execute(f"SELECT {columns} FROM readings ORDER BY number").fetchall()
    faults = database.execute(f"SELECT {FAULT_COLUMNS} FROM faults ORDER BY number").fetchall()
    records = [("readings", columns, where, each) for each in rows]
    records += [("faults", FAULT_COLUMNS, 0, each) for each in faults]
    database.execute("DELETE FROM readings")
    database.execute("DELETE FROM faults")
    head = Head()
    for table, names, place, each in sorted(
        records, key=lambda record: _number(record[3][record[2]])
    ):
        values = [*each[:place], head.records + 1, *each[place + 1 : -1]]
        own = checksum(values)
        marks = ", ".join("?" * len(each))
        database.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", [*values, own])
        head = head.after(own)
    for key, text in database.execute("SELECT key, value FROM meta").fetchall():
        set_entry(database, key, text)
    seal(database, head)


def _number(cell: Any) -> float:
    """What a cell counts as; one that is no number comes first."""
    return cell if isinstance(cell, int | float) else -1


def entry(path: Path, key: str) -> Any:
    """An entry of `meta`, as data."""
    with closing(sqlite3.connect(path)) as database:
        (text,) = database.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return json.loads(text)


def with_entry(path: Path, key: str, value: Any) -> None:
    """Put another value under this key; the checksums of entries are right again."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("PRAGMA synchronous = OFF")
        (text,) = database.execute("SELECT value FROM meta WHERE key = ?", (HEAD,)).fetchone()
        set_entry(database, key, json.dumps(value, sort_keys=True))
        seal(database, Head(**json.loads(text)))
