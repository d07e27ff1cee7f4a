"""A database that a stranger may have made: nothing in it is run, and little of it is believed.

What https://www.sqlite.org/security.html advises for such files. Pages are looked through when a
file is opened; what its rows hold is checked where they are read.
"""

from __future__ import annotations

import sqlite3
from functools import cache

from surepath.decoding import limits
from surepath.decoding.text import limited
from surepath.errors import InputError

_SETTINGS = (
    "PRAGMA trusted_schema = OFF",  # the schema calls no function
    "PRAGMA cell_size_check = ON",
    "PRAGMA mmap_size = 0",  # a file that shrinks meanwhile is an error, not the end of the process
)

_LIMITS = {  # what our own statements and tables need, with some room
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 10_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 32,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 20,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 3,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 25_000,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 8,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 50,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 32,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}


def guard(database: sqlite3.Connection) -> None:
    """Make a fresh connection distrust its file; before anything else is executed."""
    for category, most in _LIMITS.items():
        database.setlimit(category, most)
    for statement in _SETTINGS:
        database.execute(statement)
    if hasattr(database, "setconfig"):  # of Python 3.12: nothing can write to the file's own pages
        database.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)  # pyright: ignore


def check_schema(database: sqlite3.Connection, tables: str) -> None:
    """Refuse a file that holds anything but these tables: a view or a trigger would be run."""
    expected, found = _made_by(tables), _schema(database)
    for name in sorted(expected.keys() | found.keys()):
        if found.get(name) != expected.get(name):
            what = "is missing" if name not in found else "is not as it was made"
            raise sqlite3.DatabaseError(
                f"the {name[0]} {name[1]} " + ("is not ours" if name not in expected else what)
            )


@cache
def _made_by(tables: str) -> dict[tuple[str, str], str | None]:
    database = sqlite3.connect(":memory:")
    try:
        database.executescript(tables)
        return _schema(database)
    finally:
        database.close()


def _schema(database: sqlite3.Connection) -> dict[tuple[str, str], str | None]:
    """By type and name, the statement that made it."""
    rows = database.execute("SELECT type, name, sql FROM sqlite_master LIMIT 100").fetchall()
    return {(str(kind), str(name)): sql for kind, name, sql in rows}


_GUARDED = {  # by the type that a column was declared with: SQLite stores any value in any column
    "INTEGER": "CASE WHEN typeof({0}) = 'integer' THEN {0} END",
    "TEXT": "CASE WHEN typeof({0}) = 'text' AND length(CAST({0} AS BLOB)) <= {1} THEN {0} END",
    "BLOB": "CASE WHEN typeof({0}) = 'blob' THEN {0} END",
}


def guarded(database: sqlite3.Connection, table: str, columns: str) -> str:
    """The columns for a SELECT that gives NULL, and loads nothing, for what cannot be right.

    That is a value of another type than was declared, or a text that is too long.
    """
    declared = {row[1]: row[2] for row in database.execute(f"PRAGMA table_info({table})")}
    return ", ".join(
        _GUARDED[declared[name]].format(name, limits.CELL_BYTES) for name in columns.split(", ")
    )


def check_pages(database: sqlite3.Connection, *, thoroughly: bool = False) -> None:
    """Refuse a file whose pages contradict each other. All of it is read.

    thoroughly: indices are also compared with their tables.
    """
    kind = "integrity" if thoroughly else "quick"
    (found,) = database.execute(f"PRAGMA {kind}_check(1)").fetchone()
    if found != "ok":
        raise sqlite3.DatabaseError(found)


def text_of(database: sqlite3.Connection, key: str) -> bytes | None:
    """The text that the table `meta` has under the key, encoded; None where it has nothing.

    It is read in pieces: how long it is, is known before it is held in memory.
    """
    found = database.execute("SELECT rowid, typeof(value) FROM meta WHERE key = ?", (key,))
    row = found.fetchone()
    if row is None:
        return None
    if row[1] != "text":
        raise sqlite3.DatabaseError(f"the {key} is not a text")
    try:
        with database.blobopen("meta", "value", row[0], readonly=True) as blob:
            return limited(blob, f"the {key}")
    except InputError as error:
        raise sqlite3.DatabaseError(f"{error.what}: {error.got}") from error
