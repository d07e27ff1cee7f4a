"""Who has a journal: one writer at a time, on a lock of its own.

SQLite locks its file by POSIX locks, and those die when the process closes the file by any other
descriptor: reading it, copying it, opening it twice. This lock belongs to one open descriptor of a
file beside the journal, `run.db.lock`. It ends with that descriptor: when the journal is closed, or
its process dies, however it dies. A file that is left behind locks nothing.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import sqlite3
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from surepath.errors import JournalError


class Lock:
    """Held from the moment it is made until `release`; refuses while another is held."""

    _descriptor: int | None = None  # also where making it was refused

    def __init__(self, journal: Path, *, shared: bool) -> None:
        """shared: for a reader. It locks only where a writer has left or holds the lock file."""
        self.path = journal.resolve().with_name(journal.resolve().name + ".lock")
        self._shared = shared
        self._descriptor = self._taken()

    def _taken(self) -> int | None:
        while True:
            try:
                flags = os.O_RDONLY if self._shared else os.O_RDWR | os.O_CREAT
                descriptor = os.open(self.path, flags | os.O_CLOEXEC, 0o666)
            except OSError as error:
                if self._shared:  # no writer was here, or nobody may lock
                    return None
                raise JournalError(
                    "the journal cannot be locked",
                    got=str(error),
                    remedy="Check the rights of its folder, and whether the disk is full.",
                ) from error
            try:
                kind = fcntl.LOCK_SH if self._shared else fcntl.LOCK_EX
                fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            except OSError as error:
                owner = os.read(descriptor, 20).decode("ascii", "replace").strip()
                os.close(descriptor)
                raise self._refusal(owner) from error
            if self._is_there(descriptor):
                break
            os.close(descriptor)  # a writer that closed removed the file after it was opened here
        if not self._shared:
            os.ftruncate(descriptor, 0)
            with suppress(OSError):  # on a full disk the number is missing from a message
                os.write(descriptor, f"{os.getpid()}\n".encode())
        return descriptor

    def _is_there(self, descriptor: int) -> bool:
        try:
            there = self.path.stat()
        except OSError:
            return False
        mine = os.fstat(descriptor)
        return (mine.st_dev, mine.st_ino) == (there.st_dev, there.st_ino)

    def _refusal(self, owner: str) -> JournalError:
        mine = owner == str(os.getpid())
        return JournalError(
            "another process has this journal open" if not mine else "this journal is open already",
            got=f"{self.path.with_suffix('')}, in use by process {owner or '?'}",
            remedy="One process at a time can use a journal: wait for it to end, or give another "
            "path."
            if not mine
            else "Close it first, or give another path.",
        )

    def release(self) -> None:
        if self._descriptor is None:
            return
        if not self._shared:
            self.path.unlink(missing_ok=True)
        self.forget()

    def __del__(self) -> None:
        # A journal that nobody closed and nobody has any more, as SQLite's own connections do.
        self.release()

    def forget(self) -> None:
        """Close the descriptor and leave the file: in a process that was forked from the owner."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class Owned:
    """What belongs to the process that opened it: a forked child must leave it alone."""

    _open: ClassVar[weakref.WeakSet[Owned]] = weakref.WeakSet()

    def __init__(self, lock: Lock) -> None:
        self.lock = lock
        self.database: sqlite3.Connection | None = None
        self._process = os.getpid()
        self._open.add(self)

    def check(self, path: Path) -> None:
        if self._process != os.getpid():
            raise JournalError(
                "a journal belongs to the process that opened it",
                got=f"{path}, opened by process {self._process}, used by process {os.getpid()}",
                remedy="Open it after the fork, in one of the two.",
            )

    def close(self) -> None:
        if self._process == os.getpid():
            if self.database is not None:
                self.database.close()
            self.lock.release()

    @classmethod
    def leave_alone(cls) -> None:
        """In a forked child: give up the locks, and never close the parent's databases.

        A connection that is closed believes that it is the last one, and removes SQLite's log,
        which the parent still writes. So it must outlive even the end of the interpreter.
        """
        for each in list(cls._open):
            each.lock.forget()
            if each.database is not None:
                keep: Any = ctypes.py_object(each.database)
                ctypes.pythonapi.Py_IncRef(keep)


os.register_at_fork(after_in_child=Owned.leave_alone)
