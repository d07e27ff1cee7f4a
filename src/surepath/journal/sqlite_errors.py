"""SQLite's errors in words that say what happened to a journal and what to do about it."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from surepath.errors import JournalError

NOT_BEGUN = (
    "the journal was not begun",
    "Nothing is recorded in it: run again with it, or give another path.",
)
CANNOT_OPEN = ("the journal cannot be opened", "Check the path and its rights.")

_WORDS = {  # by how SQLite's name of the error begins: what happened, and what to do
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
    "SQLITE_READONLY_ROLLBACK": NOT_BEGUN,  # a run was killed while it made the tables
    "SQLITE_READONLY": ("the journal cannot be written", "Check the rights of file and folder."),
    "SQLITE_CANTOPEN": CANNOT_OPEN,
    "SQLITE_NOTADB": ("the file is not a journal", "Give another path."),
    "SQLITE_CORRUPT": (
        "the journal is damaged",
        "Nothing was changed. Restore the file from a copy, or begin a new one.",
    ),
}


@contextmanager
def explained(path: Path) -> Generator[None]:
    """Turn SQLite's errors about the journal at `path` into a JournalError.

    Errors that have no name of SQLite's are our own, and say that something is damaged.
    """
    try:
        yield
    except UnicodeDecodeError as error:  # SQLite's message quotes bytes of the file as they are
        what, remedy = _WORDS["SQLITE_CORRUPT"]
        raise JournalError(what, got=f"{path}: a text in it is no UTF-8", remedy=remedy) from error
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", None) or "SQLITE_CORRUPT"
        known = (words for start, words in _WORDS.items() if name.startswith(start))
        what, remedy = next(known, ("the journal cannot be used", "Check file and folder."))
        raise JournalError(what, got=f"{path}: {error}", remedy=remedy) from error
