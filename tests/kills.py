"""Runs that are killed at random moments, again and again, while others look at their journal."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import random
import shutil
import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cloudpickle

import flaky
import surepath
from flaky import Content, Walk, content
from surepath.errors import JournalError
from surepath.journal.database import Journal
from surepath.results.result import restored
from surepath.results.verify import verify
from surepath.run import executors, runner
from surepath.run.ray import RayCluster
from survivors import check_end, descendants

LATEST = {"serial": 0.5, "processes": 3.0, "ray": 6.0}
"""Seconds in which each kind of run is still starting."""

cloudpickle.register_pickle_by_value(flaky)  # workers need not find this folder

QUIET_RAY = {
    "RAY_AUTH_MODE": "disabled",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


def begun(*, workers: int = 4, address: str | None = None) -> RayCluster:
    """A cluster of this machine; on a busy one, Ray may give up before its own processes run."""
    while True:
        try:
            return RayCluster(workers, cpus=0.1, address=address)
        except Exception as error:
            if "timed out during startup" not in str(error):
                raise


def learn_slowly(path: Path, kind: str, watched: bool) -> None:
    """One attempt, in a process of its own: episodes take a while and are recorded often."""
    runner.FLUSH_SECONDS, executors.SLICE = 0.03, 0.01
    if watched:
        threading.Thread(target=look, args=(path, "here"), daemon=True).start()
    with ExitStack() as opened:
        workers: Any = {"serial": None, "processes": 2}.get(kind)
        if kind == "ray":
            os.environ.update(QUIET_RAY)
            workers = opened.enter_context(begun(workers=2))
        while True:
            try:
                surepath.learn(Walk(pause=0.001), journal=path, workers=workers)
                return
            except JournalError as error:
                if "another process has this journal open" not in str(error):
                    raise
                time.sleep(0.01)  # somebody verifies it


def look(path: Path, name: str) -> None:
    """Copy and verify the journal for ever; most of the time it is refused, as it is in use."""
    copy = path.with_name(f"{path.name}.{name}")
    while True:
        with suppress(FileNotFoundError):
            shutil.copy(path, copy)
        for each in (path, copy):
            with suppress(JournalError, surepath.InputError, FileNotFoundError):
                verify(each)
        time.sleep(0.02)


def recorded(path: Path) -> Content:
    """What the journal holds; nothing where the run was killed before or while it began one."""
    if not path.exists() or not path.stat().st_size:
        return {}
    try:
        return content(path)
    except JournalError as error:
        if "Nothing is recorded" not in str(error):
            raise
        return {}


@dataclass
class Kills:
    """What was killed, and how long what it had started outlived it."""

    number: int = 0
    orphans: int = 0
    longest: float = 0.0  # seconds; to be told, not compared
    found: list[int] = field(default_factory=list[int])  # episodes in the journal at each kill


def context() -> Any:
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(["surepath"])
    return found


def wait(process: Any, path: Path, rng: random.Random, kind: str) -> None:
    """Until a moment while it starts, or one after it has begun to record, or it has ended."""
    if rng.random() < 0.3:
        process.join(rng.uniform(0.05, LATEST[kind]))
        return
    before = written(path)
    while process.exitcode is None and written(path) == before:
        process.join(0.01)
    process.join(rng.uniform(0.0, 0.4))


def written(path: Path) -> list[int]:
    """Changes when something is recorded."""
    files = (path, path.with_name(path.name + "-wal"))
    return [each.stat().st_mtime_ns for each in files if each.exists()]


def killed_and_resumed(
    path: Path, rng: random.Random, kills: Kills, *, kind: str = "serial", watched: bool = False
) -> None:
    """Start and kill the run up to six times, then let it end by itself.

    The moments are drawn, and wherever a kill finds the run, the end has to be the same.
    watched: copy and verify the journal all the time, in the same process and in another.
    """
    looking = context().Process(target=look, args=(path, "elsewhere"), daemon=True)
    if watched:
        looking.start()
    known: Content = {}
    for times in itertools.count():
        process = context().Process(target=learn_slowly, args=(path, kind, watched))
        process.start()
        if times < 6:
            wait(process, path, rng, kind)
        else:
            process.join()
        orphans = descendants(process.pid)
        process.kill()
        process.join()
        kills.longest = max(kills.longest, check_end(orphans))
        found = recorded(path)
        assert {place: found[place] for place in known} == known
        known = found
        if process.exitcode == 0:
            break
        assert process.exitcode == -9
        kills.number, kills.orphans = kills.number + 1, kills.orphans + len(orphans)
        kills.found.append(len(found))
    if watched:
        looking.kill()
        looking.join()


def check_as_if_never_killed(path: Path, alone: Path, whole: surepath.Result) -> None:
    assert content(path) == content(alone)
    with Journal(path) as journal:
        kept = restored(journal.get("result"))
    again = surepath.learn(Walk(), journal=path)
    for result in (kept, again):
        assert result == whole
        assert result.certificate.to_dict() == whole.certificate.to_dict()
        assert result.record == whole.record
    assert verify(path).certified
