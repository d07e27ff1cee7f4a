"""Files that commands write: checked before a run is paid for, whole or not there.

A file is written under another name beside its place and then renamed: whoever looks sees the old
one or the new one. What ends the writing early (a full disk, Ctrl-C) leaves the old one.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from surepath.errors import InputError
from surepath.journal.database import is_journal


def check_output(path: Path, *others: Path | None) -> None:
    """Refuse a file that cannot be written, a journal, and the others that the command uses."""
    folder = path.resolve().parent
    if not folder.is_dir():
        raise InputError(
            "the folder of an output file must exist",
            got=str(path),
            remedy=f"Create {folder}, or write elsewhere.",
        )
    if path.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        raise InputError(
            "an output file must be writable",
            got=f"{path}, a folder" if path.is_dir() else str(path),
            remedy="Check its rights and those of its folder, or write elsewhere.",
        )
    if any(other is not None and path.resolve() == other.resolve() for other in others):
        raise InputError(
            "a file cannot be two things at once",
            got=f"{path}, which the command uses for something else too",
            remedy="Give every file a name of its own.",
        )
    if path.is_file() and is_journal(path):
        raise InputError(
            "a journal is never written over",
            got=f"{path}, which is a journal or another database",
            remedy="Write elsewhere; to be rid of a journal, delete it yourself.",
        )


@contextmanager
def replaced(path: Path) -> Generator[Path]:
    """Where to write what is to be at the path when all of it is there."""
    check_output(path)
    place = path.resolve()  # of a link, what it points to
    beside = place.with_name(f".{place.stem}.{os.getpid()}.part{place.suffix}")
    try:
        yield beside
        with beside.open("rb") as file:
            os.fsync(file.fileno())
        beside.replace(place)
    except OSError as error:
        raise InputError(
            f"{path} cannot be written; what was there before is as it was",
            got=str(error),
            remedy="Free some space or check the rights, and write it again.",
        ) from error
    finally:
        beside.unlink(missing_ok=True)
