"""Whether processes outlive the one that started them."""

from __future__ import annotations

import ctypes
import os
import subprocess
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from flaky import Walk
from surepath.system import Actions, Play

PATIENCE = 600.0
"""Seconds after which a test is taken to hang."""


@dataclass
class Stuck(Walk):
    """Starts a process of its own, says who both are, and hangs in C where no thread can run."""

    folder: Path = Path()

    def play(self, actions: Actions, seed: int) -> Play:
        child = subprocess.Popen(["sleep", "3600"])
        for pid in (os.getpid(), child.pid):
            (self.folder / str(pid)).touch()
        ctypes.PyDLL(None).sleep(3600)  # unlike CDLL, it keeps the interpreter's lock
        return super().play(actions, seed)


def alive(pid: int) -> bool:
    """A process that is dead and that nobody has asked about is not alive."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_for(folder: Path, number: int) -> list[int]:
    """The processes that have said who they are, once there are so many."""
    given_up = time.monotonic() + PATIENCE
    while len(pids := [int(path.name) for path in folder.iterdir()]) < number:
        assert time.monotonic() < given_up, "the processes do not begin"
        time.sleep(0.05)
    return pids


def check_end(pids: Iterable[int]) -> float:
    """See that they end; how many seconds that took."""
    began = time.monotonic()
    given_up = began + PATIENCE
    while left := [pid for pid in pids if alive(pid)]:
        assert time.monotonic() < given_up, f"{left} do not end"
        time.sleep(0.05)
    return time.monotonic() - began


def descendants(parent: int) -> list[int]:
    """What a process has started, and what that has started."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            with suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
                status = (path / "status").read_text()
                found = int(status.partition("PPid:")[2].split()[0])
                children.setdefault(found, []).append(int(path.name))
    known = [parent]
    for each in known:
        known += children.get(each, [])
    return known[1:]
