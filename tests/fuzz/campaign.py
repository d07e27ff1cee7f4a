"""Many cases of one target: what was read, what was refused, and what should never have happened.

A case may take two seconds of computing, counted in the time of this process so that a busy machine
does not matter.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType

import numpy as np

from fuzz.targets import TARGETS, Case

SECONDS = 2.0
"""Of computing, that a case may take."""

MEGABYTES = 500
"""That a process may take."""

KEPT = 20
"""Findings with a traceback that are kept."""


class Hung(BaseException):
    """No `except Exception` of what is tested keeps it."""


@dataclass
class Found:
    """What a campaign came to."""

    kind: str
    cases: int = 0
    read: int = 0
    refused: int = 0
    failed: int = 0  # ended otherwise: an error that is not ours, or too much time
    tracebacks: list[str] = field(default_factory=list)
    megabytes: float = 0.0

    def line(self) -> str:
        told = {name: each for name, each in asdict(self).items() if name != "tracebacks"}
        return "  ".join(f"{name} {each}" for name, each in told.items())


def campaign(
    kind: str, seed: int, cases: int, seconds: float = float("inf"), keep: Path | None = None
) -> Found:
    """Try so many cases, or for so long. `keep`: where files that failed are copied to."""
    found = Found(kind)
    rng = random.Random(f"{kind} {seed}")
    end = time.monotonic() + seconds
    before = signal.signal(signal.SIGPROF, _too_long)
    try:
        with tempfile.TemporaryDirectory(dir=_memory()) as name, np.errstate(all="ignore"):
            tries = TARGETS[kind](Path(name), rng)
            while found.cases < cases and time.monotonic() < end:
                _try(found, tries, Path(name), keep)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    found.megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return found


def limited(kind: str, seed: int, seconds: float, keep: Path, result: Connection) -> None:
    """A campaign with a process of its own, whose memory is limited by the operating system."""
    most = MEGABYTES * 2**20
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    result.send(campaign(kind, seed, sys.maxsize, seconds, keep))


def _try(found: Found, tries: Iterator[Case], folder: Path, keep: Path | None) -> None:
    case = next(tries)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        read, refused = case()
        found.read += read
        found.refused += refused
        found.cases += read + refused
    except (Exception, Hung):  # whatever it is, it is what is looked for
        signal.setitimer(signal.ITIMER_PROF, 0)
        found.cases += 1
        found.failed += 1
        if len(found.tracebacks) < KEPT:
            found.tracebacks.append(traceback.format_exc())
            if keep is not None:
                for file in folder.glob("mutated*"):
                    shutil.copy(file, keep / f"{found.kind}-{found.failed}-{file.name}")
    signal.setitimer(signal.ITIMER_PROF, 0)


def _memory() -> str | None:
    """A folder in memory, where there is one: a campaign writes thousands of files."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _too_long(_signal: int, _frame: FrameType | None) -> None:
    raise Hung(f"more than {SECONDS:g} s of computing")
