"""What ties the records of a journal together, so that a change of any of them shows, and where.

Every row, every fault and every entry of `meta` has a checksum of its own, which says *where*
something was changed. The checksums of rows and faults are chained in the order of writing, and the
entry `head` holds their number, the end of the chain and a digest of all other entries. It is
written anew in every transaction. So nothing can be missing, added, or taken from another state of
the same file.

This finds damage. Who forges a file computes its checksums anew; what that cannot hide is for
`surepath verify` to find, which replays the run.
"""

from __future__ import annotations

import hashlib
import sqlite3
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any

import numpy as np

from surepath.decoding import limits
from surepath.decoding.kinds import Between
from surepath.decoding.text import parsed
from surepath.decoding.typed import decoded
from surepath.journal.rows import (
    COLUMNS,
    SIZE,
    Fault,
    Row,
    check_record,
    check_row,
    checksum,
    encode,
    json_text,
)
from surepath.journal.untrusted import check_pages, guarded, text_of

HEAD = "head"
"""The entry of `meta` that ends the chain."""

FAULT_COLUMNS = "number, batch, request, episode, attempt, error, checksum"


@dataclass(frozen=True, slots=True)
class Head:
    """How far the records go, and what they come down to."""

    records: Annotated[int, Between(0, limits.RECORDS)] = 0  # rows and faults
    chain: str = ""  # their checksums, one into the other; hexadecimal, like the next
    entries: str = ""  # the checksums of all other entries of `meta`

    def after(self, own: bytes) -> Head:
        """The head when a record with this checksum has followed."""
        linked = hashlib.blake2b(bytes.fromhex(self.chain) + own, digest_size=SIZE)
        return replace(self, records=self.records + 1, chain=linked.hexdigest())


# ---------------------------------------------------------------- writing


def write_rows(database: sqlite3.Connection, head: Head, rows: Iterable[Row]) -> Head:
    """Add the rows to the table and to the chain."""
    places = ", ".join("?" * len(COLUMNS[2].split(",")))
    insert = f"INSERT INTO readings ({COLUMNS[2]}) VALUES ({places})"
    for row in rows:
        values = encode(row, head.records + 1)
        database.execute(insert, values)
        head = head.after(values[-1])
    return head


def write_faults(database: sqlite3.Connection, head: Head, faults: Iterable[Fault]) -> Head:
    """Add the faults to the table and to the chain."""
    insert = f"INSERT INTO faults ({FAULT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"
    for fault in faults:
        place = (fault.batch, fault.request, fault.episode, fault.attempt)
        values = (head.records + 1, *place, fault.error)
        own = checksum(values)
        database.execute(insert, (*values, own))
        head = head.after(own)
    return head


def set_entry(database: sqlite3.Connection, key: str, text: str) -> None:
    """Put an entry of `meta` in place of an older one."""
    database.execute(
        "INSERT OR REPLACE INTO meta (key, value, checksum) VALUES (?, ?, ?)",
        (key, text, checksum((key, text))),
    )


def seal(database: sqlite3.Connection, head: Head) -> None:
    """Write the head: the last thing that a transaction does."""
    set_entry(database, HEAD, json_text(asdict(replace(head, entries=_entries(database)))))


def _entries(database: sqlite3.Connection) -> str:
    own = guarded(database, "meta", "checksum")
    others = f"SELECT {own} FROM meta WHERE key != ? ORDER BY key"
    return checksum([each for (each,) in database.execute(others, (HEAD,))]).hex()


# ---------------------------------------------------------------- reading


def entry(database: sqlite3.Connection, key: str, *, schema: int) -> Any:
    """The value of an entry, None where there is none; an error where it is not as written."""
    text = text_of(database, key)
    if text is None:
        return None
    if schema > 1:
        own = f"SELECT {guarded(database, 'meta', 'checksum')} FROM meta WHERE key = ?"
        check_record((key, text, *database.execute(own, (key,)).fetchone()), f"the entry {key}")
    try:
        return parsed(text.decode(), constants=True)
    except ValueError as error:
        raise sqlite3.DatabaseError(f"the {key} cannot be read: {error}") from error


def head_of(database: sqlite3.Connection) -> Head:
    """The head as it was written last."""
    found = entry(database, HEAD, schema=2)
    if found is None:
        raise sqlite3.DatabaseError("the end of the chain of checksums is missing")
    try:
        head = decoded(Head, found, f"the {HEAD}")
        bytes.fromhex(head.chain)  # which the next record is chained to
    except ValueError as error:
        raise sqlite3.DatabaseError(f"the end of the chain cannot be read: {error}") from error
    return head


def check(database: sqlite3.Connection, *, schema: int) -> None:
    """Refuse a file of which anything is not as it was written; the error says what.

    Every row is read and hashed, which takes seconds for a million of them.
    """
    check_pages(database, thoroughly=True)
    for (key,) in database.execute(f"SELECT {guarded(database, 'meta', 'key')} FROM meta"):
        if key is None:
            raise sqlite3.DatabaseError("the name of an entry is not a text, or too long")
        entry(database, key, schema=schema)
    numbers, checksums = array("q"), bytearray()
    for number, own in _records(database, schema):
        numbers.append(number)
        checksums += own
    if schema > 1:
        _check_chain(database, np.array(numbers), bytes(checksums))


def _records(database: sqlite3.Connection, schema: int) -> Iterator[tuple[int, bytes]]:
    """Number and checksum of everything recorded, each compared with what it is the checksum of."""
    columns = guarded(database, "readings", COLUMNS[schema])
    for values in database.execute(f"SELECT {columns} FROM readings"):
        check_row(values)
        yield (values[-2] if schema > 1 else 0), values[-1]
    if schema == 1:
        return
    columns = guarded(database, "faults", FAULT_COLUMNS)
    for values in database.execute(f"SELECT {columns} FROM faults"):
        place = "batch {1}, request {2}, episode {3}".format(*values)
        check_record(values, f"a failed attempt at {place}")
        yield values[0], values[-1]


def _check_chain(database: sqlite3.Connection, numbers: Any, checksums: bytes) -> None:
    said, found = head_of(database), Head(entries=_entries(database))
    order = np.argsort(numbers, kind="stable")
    gaps = np.flatnonzero(numbers[order] != np.arange(1, len(numbers) + 1))
    if len(gaps) or len(numbers) != said.records:
        place = int(gaps[0]) + 1 if len(gaps) else min(len(numbers), said.records) + 1
        raise sqlite3.DatabaseError(
            f"the records are not those that were written: {said.records} were, and there are "
            f"{len(numbers)}; the first that differs is number {place}"
        )
    for index in order.tolist():
        found = found.after(checksums[SIZE * index : SIZE * (index + 1)])
    for name in ("chain", "entries"):
        if getattr(found, name) != getattr(said, name):
            what = "rows and failed attempts" if name == "chain" else "entries"
            raise sqlite3.DatabaseError(
                f"the {what} are not of one state of this file: each fits its own checksum, and "
                "all together do not fit the last"
            )
