"""Small changes of bytes, of plain data and of the cells of a journal, drawn at random."""

from __future__ import annotations

import copy
import json
import random
import sqlite3
from pathlib import Path
from typing import Any

from forging import make_right
from surepath.journal.rows import COLUMNS, checksum
from surepath.journal.tables import SCHEMA

HOSTILE: list[Any] = [
    None, True, False, 0, 1, -1, 2, 255, 2**31, 2**40, 2**63 - 1, 2**63, 10**29, -(10**29), 10**400,
    0.5, -0.5, 1e-320, 1e29, 1e150, 1e308, -1e308, float("nan"), float("inf"), -float("inf"),
    "", "a", "0", "exact", "proved", "optimal", "within", "refused", "\ud800", "\x1b[2J", "=1+1",
    "é" * 50, "x" * 5000, "AAAA", "[", [], [[]], [0], [2**40, 0], [None], ["a"], {}, {"a": 1},
]  # fmt: skip

DEEP = 5000
"""Nested lists, when lists are nested: more than any parser follows."""


LARGEST = 2**1000
"""Whole numbers beyond are not multiplied: no floating-point number is as large."""


def changed_bytes(data: bytes, rng: random.Random) -> bytes:
    """With one to four places changed, cut, doubled or filled with noise."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        start = rng.randrange(len(data) + 1)
        stop = min(len(data), start + rng.choice((1, 1, 2, 8, 64, 1024)))
        noise = rng.randbytes(stop - start)
        flipped = bytes(byte ^ (1 << rng.randrange(8)) for byte in data[start:stop])
        put = rng.choice((b"", noise, flipped, flipped, 2 * data[start:stop], bytes(stop - start)))
        data = data[:start] + put + data[stop:]
    return data


def changed_data(data: Any, rng: random.Random) -> Any:
    """With one to three values replaced, removed, added, or exchanged for others of the data."""
    data = copy.deepcopy(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        places = [place for place in _places(data) if place[0]]
        if not places:
            return value(rng)
        way, old = rng.choice(places)
        inside: Any = data
        for step in way[:-1]:
            inside = inside[step]
        _change(inside, way[-1], old, rng, rng.choice(places)[1])
    return data


def value(rng: random.Random) -> Any:
    """A value that somebody who means harm might write."""
    return copy.deepcopy(rng.choice(HOSTILE))


def _change(inside: Any, last: Any, old: Any, rng: random.Random, other: Any) -> None:
    how = rng.randrange(10)
    if how == 0:
        del inside[last]
    elif how == 1 and isinstance(inside, list):
        inside.insert(rng.randrange(len(inside) + 1), value(rng))
    elif how == 1:
        inside[rng.choice(("", "schema", "certified", "x"))] = value(rng)
    elif how == 2:
        inside[last] = copy.deepcopy(other)
    elif how <= 4 and (type(old) is float or (type(old) is int and abs(old) < LARGEST)):
        inside[last] = old * rng.choice((-1, 0, 2, 1e6, 0.999)) + rng.choice((0, 1, -1))
    elif how <= 4 and isinstance(old, str) and old:
        place = rng.randrange(len(old))
        inside[last] = old[:place] + rng.choice("A/=0\x00é ") + old[place + 1 :]
    else:
        inside[last] = value(rng)


def _places(data: Any, way: tuple[Any, ...] = ()) -> list[tuple[tuple[Any, ...], Any]]:
    found = [(way, data)]
    if isinstance(data, dict):
        for key, each in data.items():
            found += _places(each, (*way, key))
    elif isinstance(data, list):
        for place, each in enumerate(data):
            found += _places(each, (*way, place))
    return found


def text_of(data: Any, rng: random.Random) -> str:
    """As JSON, now and then with lists nested far too deeply."""
    text = json.dumps(data)
    if rng.randrange(200) == 0:
        return text[:-1] + ', "deep": ' + "[" * DEEP + "]" * DEEP + "}"
    return text


# ---------------------------------------------------------------- journals


def change_cells(path: Path, rng: random.Random) -> None:
    """Change a cell or two of a journal, or its tables; mostly with checksums that are right."""
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode = DELETE")
    database.execute("PRAGMA synchronous = OFF")
    try:
        for _ in range(rng.choice((1, 1, 2))):
            rng.choice((_change_row, _change_row, _change_row, _change_meta, _change_tables))(
                database, rng
            )
        if rng.randrange(8):
            _seal(database)
    except (sqlite3.Error, OverflowError, UnicodeEncodeError):
        return  # what SQLite does not take cannot be in a file of it
    finally:
        database.close()


def _change_row(database: sqlite3.Connection, rng: random.Random) -> None:
    columns = COLUMNS[_schema(database)].split(", ")
    column = rng.choice([name for name in columns if name != "checksum"])
    rows = database.execute("SELECT batch, request, first FROM readings").fetchall()
    if not rows:
        return
    place = rng.choice(rows)
    where = "WHERE batch = ? AND request = ? AND first = ?"
    (old,) = database.execute(f"SELECT {column} FROM readings {where}", place).fetchone()
    if column in ("actions", "header") and rng.randrange(8):
        new: Any = json.dumps(changed_data(_loaded(old), rng))
    elif isinstance(old, bytes) and rng.randrange(8):
        new = changed_bytes(old, rng)
    else:
        new = _cell(rng)
    database.execute(f"UPDATE readings SET {column} = ? {where}", (new, *place))


def _change_meta(database: sqlite3.Connection, rng: random.Random) -> None:
    rows = database.execute("SELECT key, value FROM meta").fetchall()
    if not rows:
        return
    key, old = rng.choice(rows)
    new = text_of(changed_data(_loaded(old), rng), rng) if rng.randrange(10) else _cell(rng)
    database.execute("UPDATE meta SET value = ? WHERE key = ?", (new, key))


def _loaded(text: Any) -> Any:
    """What was changed before may not be JSON any more."""
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return []


def _cell(rng: random.Random) -> Any:
    found = value(rng)
    return found if isinstance(found, int | float | str | None) else rng.randbytes(20)


def _change_tables(database: sqlite3.Connection, rng: random.Random) -> None:
    database.execute(
        rng.choice(
            (
                "DROP TABLE faults",
                "DELETE FROM meta",
                "DELETE FROM readings",
                "CREATE INDEX i ON readings (count)",
                "CREATE TRIGGER t AFTER INSERT ON readings BEGIN DELETE FROM readings; END",
                "CREATE VIEW v AS SELECT * FROM readings",
                "ALTER TABLE readings RENAME COLUMN kind TO sort",
                "ALTER TABLE meta ADD COLUMN more",
                f"PRAGMA user_version = {rng.choice((-1, 0, 1, 2, 3, 2**31 - 1))}",
                "PRAGMA application_id = 0",
            )
        )
    )


def _seal(database: sqlite3.Connection) -> None:
    """Make every checksum right; files of an older schema have only those of rows."""
    if _schema(database) == SCHEMA:
        make_right(database)
        return
    for row in database.execute(f"SELECT {COLUMNS[1]} FROM readings").fetchall():
        database.execute(
            "UPDATE readings SET checksum = ? WHERE batch IS ? AND request IS ? AND first IS ?",
            (checksum(row[:-1]), *row[:3]),
        )


def _schema(database: sqlite3.Connection) -> int:
    """Of the tables, whatever the file says that it is."""
    columns = database.execute("SELECT name FROM pragma_table_info('readings')").fetchall()
    return SCHEMA if ("origin",) in columns else 1
