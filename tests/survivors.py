"""Whether processes outlive the one that started them."""

from __future__ import annotations

import ctypes
import os
import subprocess
import time
from collections.abc import Iterable
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


def check_end(pids: Iterable[int]) -> None:
    given_up = time.monotonic() + PATIENCE
    while left := [pid for pid in pids if alive(pid)]:
        assert time.monotonic() < given_up, f"{left} do not end"
        time.sleep(0.05)
