"""Processes end with the one that started them, whatever they are doing.

Twofold, because either alone has a hole. A process asks the kernel to be killed with its parent,
which only Linux can do, and only once the process has begun. Beside them runs a *keeper*: a small
process that outlives its parent for a moment, and then kills what was entrusted to it, with all
processes that these have started. It asks nothing of them, so they may be stuck or stopped.

What has left the process group of its worker (a daemon does) is out of reach of both.

The keeper runs this file as a script, by the standard library alone: it starts in no time.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress

CHECK_SECONDS = 1.0
"""How often a keeper looks whether its parent lives. The pipe between them says it at once, unless
a process that the parent has forked holds the other end."""

SET_PARENT_DEATH_SIGNAL = 1
"""Linux's number for that option of prctl."""


def end_with(parent: int) -> None:
    """Have this process killed when its parent is, and let it lead a group of its own.

    parent: the process that started this one; when it is gone already, this one ends here. The
    kernel watches the thread that did it, which therefore must not end before the process does.

    A group is not a session: the leader of a session that opens a serial port would get it as its
    terminal, and be ended when the line is cut.
    """
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def kill_group(leader: int) -> None:
    """Kill all processes of the group that this one leads, or has led."""
    with suppress(ProcessLookupError, PermissionError):  # macOS refuses where all are dead
        os.killpg(leader, signal.SIGKILL)


class Keeper:
    """Kills the processes that are entrusted to it when this one has ended without doing so."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            bufsize=0,
            process_group=0,  # a Ctrl-C in the terminal is not for it
        )

    def watch(self, process: int) -> None:
        self._tell(process)

    def forget(self, process: int) -> None:
        """The process has ended: its number may soon be another's."""
        self._tell(-process)

    def _tell(self, number: int) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # somebody has killed the keeper: the kernel is still there
            self._process.stdin.write(b"%d\n" % number)

    def close(self) -> None:
        """End the keeper, which kills what is still entrusted to it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def keep(parent: int) -> None:
    """What a keeper does: read numbers until the parent has ended, then kill."""
    for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.SIG_IGN)  # it ends when its parent does
    kept: set[int] = set()
    told = b""
    while True:
        gone = os.getppid() != parent  # asked first: what it told before that is still read
        if not select.select([0], [], [], 0 if gone else CHECK_SECONDS)[0]:
            if gone:
                break
            continue
        if not (read := os.read(0, 4096)):
            break
        *lines, told = (told + read).split(b"\n")
        for number in map(int, lines):
            if number > 0:
                kept.add(number)
            else:
                kept.discard(-number)
    for process in kept:
        kill_group(process)
        with suppress(ProcessLookupError):  # one that has not begun yet leads no group
            os.kill(process, signal.SIGKILL)


if __name__ == "__main__":
    keep(int(sys.argv[1]))
