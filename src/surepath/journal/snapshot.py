"""A journal to look at while another process writes it: a copy of one moment.

The writer keeps others out of the file, but not from copying its bytes. New pages go to SQLite's
log beside the file, each with a checksum, and from there into the file now and then. So a copy of
both is of one moment if the file itself did not change meanwhile; a torn end of the log is passed
over when it is opened.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from surepath.errors import JournalError
from surepath.journal.database import Journal

ATTEMPTS = 20
"""At a copy of one moment: pages are moved into the file once in many transactions."""


@contextmanager
def snapshot(path: Path) -> Generator[tuple[Journal, bool]]:
    """The journal at the path, opened to be read, and whether another process is writing it."""
    try:
        journal, folder = Journal(path), None
    except JournalError as error:
        if not _log(path).exists():
            raise
        folder = tempfile.TemporaryDirectory(prefix="surepath-")
        try:
            journal = Journal(_copied(path, Path(folder.name), error))
        except BaseException:
            folder.cleanup()
            raise
    try:
        with journal:
            yield journal, folder is not None
    finally:
        if folder is not None:
            folder.cleanup()


def _copied(path: Path, folder: Path, refused: JournalError) -> Path:
    copy = folder / path.name
    for _ in range(ATTEMPTS):
        try:
            before = _state(path)
            shutil.copyfile(path, copy)
            shutil.copyfile(_log(path), _log(copy))
            if _state(path) == before:
                return copy
        except FileNotFoundError:  # the run has ended, and its log with it
            raise refused from None
    raise refused


def _log(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def _state(path: Path) -> tuple[int, int, bytes]:
    """Changes when pages are moved into the file: the beginning of the log is then another."""
    said = path.stat()
    with _log(path).open("rb") as log:
        return said.st_size, said.st_mtime_ns, log.read(32)
