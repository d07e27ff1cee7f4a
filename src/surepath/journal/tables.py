"""The tables of a journal, as this version writes them and as an older one did."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from surepath.journal.chain import Head, seal, set_entry, write_faults, write_rows
from surepath.journal.rows import COLUMNS, Fault, Origin, decode, json_text
from surepath.journal.untrusted import guarded

SCHEMA = 2
"""Version of the tables below. Files of a newer version are refused, older ones are read: 1 did not
say where a row comes from, and only rows had checksums, which were not chained."""

_SCHEMA_1 = """
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

_SCHEMA_2 = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL, checksum BLOB NOT NULL);
CREATE TABLE readings (
    batch INTEGER NOT NULL,     -- place of the request in the run
    request INTEGER NOT NULL,
    first INTEGER NOT NULL,     -- number of the first of these episodes in the request
    count INTEGER NOT NULL,     -- episodes
    actions TEXT NOT NULL,      -- JSON
    kind TEXT NOT NULL,         -- 'episodes' or 'summary'
    header TEXT NOT NULL,       -- JSON: names, types and shapes of the arrays
    arrays BLOB NOT NULL,       -- their bytes, one after the other
    origin TEXT NOT NULL,       -- 'pilot', 'asked', 'fresh' or 'given'
    number INTEGER NOT NULL,    -- in the order of writing; rows and faults are counted together
    checksum BLOB NOT NULL,
    PRIMARY KEY (batch, request, first)
) WITHOUT ROWID;
CREATE TABLE faults (
    number INTEGER PRIMARY KEY,
    batch INTEGER NOT NULL,
    request INTEGER NOT NULL,
    episode INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    error TEXT NOT NULL,
    checksum BLOB NOT NULL
);
"""

TABLES = {1: _SCHEMA_1, 2: _SCHEMA_2}
"""The statements that made a file, by its schema: whatever else a file holds is not ours."""


def create(database: sqlite3.Connection) -> None:
    """Make the tables, in the transaction of the caller."""
    for statement in TABLES[SCHEMA].split(";\n"):
        database.execute(statement)
    database.execute(f"PRAGMA user_version = {SCHEMA}")
    seal(database, Head())


def upgrade(database: sqlite3.Connection, configuration: Mapping[str, Any]) -> None:
    """Write the content of a file of schema 1 as this schema has it, in the caller's transaction.

    Its rows are checked on the way. They are numbered in the order of the run: in which order they
    were written is not known. The configuration takes the place of the file's, which says less.
    """
    for table in ("meta", "readings", "faults"):
        database.execute(f"ALTER TABLE {table} RENAME TO old_{table}")
    create(database)
    # A result is not kept: it says less than this version's, and whoever opens a file to write ends
    # with another.
    set_entry(database, "configuration", json_text(configuration))
    told = "elsewhere" in configuration["system"]  # to `AskTell`
    columns = guarded(database, "old_readings", COLUMNS[1])
    old = f"SELECT {columns} FROM old_readings ORDER BY batch, request, first"
    rows = (decode(values) for values in database.execute(old))
    if told:
        rows = (replace(row, origin=Origin.GIVEN) for row in rows)
    head = write_rows(database, Head(), rows)
    columns = guarded(database, "old_faults", "batch, request, episode, attempt, error")
    faults = database.execute(f"SELECT {columns} FROM old_faults")
    head = write_faults(database, head, [Fault(*values) for values in faults])
    for table in ("meta", "readings", "faults"):
        database.execute(f"DROP TABLE old_{table}")
    seal(database, head)
