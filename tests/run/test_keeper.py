"""A keeper kills what was entrusted to it when its parent is gone, and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from surepath.run.keeper import Keeper, kill_group
from survivors import alive, check_end


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process that leads a group, as a worker does."""
    with subprocess.Popen(["sleep", "3600"], process_group=0) as process:
        yield process
        process.kill()


def test_what_was_forgotten_is_left_alone(sleeper: subprocess.Popen[bytes]) -> None:
    keeper = Keeper()
    keeper.watch(sleeper.pid)
    keeper.forget(sleeper.pid)
    keeper.close()
    assert alive(sleeper.pid)


def test_what_is_still_entrusted_to_it_is_killed(sleeper: subprocess.Popen[bytes]) -> None:
    keeper = Keeper()
    keeper.watch(sleeper.pid)
    keeper.close()
    assert sleeper.wait() == -signal.SIGKILL


def test_a_stopped_process_is_killed_too(sleeper: subprocess.Popen[bytes]) -> None:
    keeper = Keeper()
    sleeper.send_signal(signal.SIGSTOP)
    keeper.watch(sleeper.pid)
    keeper.close()
    assert sleeper.wait() == -signal.SIGKILL


def test_a_keeper_that_was_killed_is_not_missed(sleeper: subprocess.Popen[bytes]) -> None:
    keeper = Keeper()
    keeper._process.kill()
    keeper._process.wait()
    keeper.watch(sleeper.pid)
    keeper.close()
    assert alive(sleeper.pid)


FORKED = """
import os, subprocess, time
from surepath.run.keeper import Keeper
keeper, sleeper = Keeper(), subprocess.Popen(["sleep", "3600"], stdout=subprocess.DEVNULL)
keeper.watch(sleeper.pid)
forked = os.fork()
if forked:
    print(sleeper.pid, forked, flush=True)
time.sleep(3600)
"""


def test_a_forked_process_that_holds_the_pipe_changes_nothing() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", FORKED], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        sleeper, forked = map(int, parent.stdout.readline().split())
        parent.kill()
    check_end([sleeper])
    assert alive(forked)
    os.kill(forked, signal.SIGKILL)


def test_a_group_that_is_gone_is_no_error(sleeper: subprocess.Popen[bytes]) -> None:
    kill_group(sleeper.pid)
    sleeper.wait()
    kill_group(sleeper.pid)
