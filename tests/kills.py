"""Runs that are killed at random moments, again and again, while others look at their journal."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import random
import shutil
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cloudpickle

import flaky
import surepath
from commands import invoke
from flaky import Content, Walk, content
from surepath.errors import JournalError
from surepath.journal.database import Journal
from surepath.journal.rows import Origin
from surepath.results.result import restored
from surepath.results.verify import verify
from surepath.run import executors, runner
from surepath.run.ray import RayCluster
from survivors import check_end, descendants

LATEST = {"serial": 0.5, "process": 3.0, "processes": 3.0, "ray": 6.0}
"""Seconds in which each kind of run is still starting."""

WORKERS = {"serial": None, "process": 1, "processes": 2}

CALIBRATED: Mapping[str, Any] = {}
"""What a run is called with beside its system: nothing."""

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


def learn_slowly(path: Path, kind: str, watched: bool, how: Mapping[str, Any]) -> None:
    """One attempt, in a process of its own: episodes take a while and are recorded often."""
    runner.FLUSH_SECONDS, executors.SLICE = 0.03, 0.01
    if watched:
        threading.Thread(target=look, args=(path, "here"), daemon=True).start()
    with ExitStack() as opened:
        workers: Any = WORKERS.get(kind)
        if kind == "ray":
            os.environ.update(QUIET_RAY)
            workers = opened.enter_context(begun(workers=2))
        while True:
            try:
                surepath.learn(Walk(pause=0.001), journal=path, workers=workers, **how)
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
    fresh: int = 0  # of runs that had come to record fresh readings
    torn: int = 0  # of those, the ones that left part of a block

    def note(self, found: Content, known: Content, whole: Content) -> None:
        """found: what the journal holds now. known: before this run went on. whole: at the end."""
        self.number += 1
        self.found.append(len(found))
        last = max((place[0] for place in found), default=0)
        if any(is_fresh(found[place]) for place in found.keys() - known.keys()):
            self.fresh += 1
            self.torn += sum(p[0] == last for p in found) < sum(p[0] == last for p in whole)


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


def is_fresh(held: tuple[object, ...]) -> bool:
    """Whether an episode was read to prove something."""
    return str(held[0]).startswith(Origin.FRESH)


def killed_and_resumed(
    path: Path,
    rng: random.Random,
    kills: Kills,
    alone: Path,
    *,
    kinds: Sequence[str] = ("serial",),
    watched: bool = False,
    how: Mapping[str, Any] = CALIBRATED,
    most: int = 6,
) -> None:
    """Start and kill the run up to so many times, then let it end by itself.

    The moments are drawn, and wherever a kill finds the run, it holds part of the journal of the
    run that was left alone, and the end has to be the same.
    kinds: who runs the episodes, by turns.
    watched: copy and verify the journal all the time, in the same process and in another.
    """
    looking = context().Process(target=look, args=(path, "elsewhere"), daemon=True)
    if watched:
        looking.start()
    known, whole = recorded(path), content(alone)
    for times in itertools.count():
        kind = kinds[times % len(kinds)]
        process = context().Process(target=learn_slowly, args=(path, kind, watched, how))
        process.start()
        if times < most:
            wait(process, path, rng, kind)
        else:
            process.join()
        orphans = descendants(process.pid)
        process.kill()
        process.join()
        kills.longest = max(kills.longest, check_end(orphans))
        found = recorded(path)
        assert known.items() <= found.items() <= whole.items()
        if process.exitcode == 0:
            break
        assert process.exitcode == -9
        kills.note(found, known, whole)
        kills.orphans += len(orphans)
        known = found
    if watched:
        looking.kill()
        looking.join()


def check_as_if_never_killed(
    path: Path, alone: Path, whole: surepath.Result, how: Mapping[str, Any] = CALIBRATED
) -> None:
    assert content(path) == content(alone)
    with Journal(path) as journal:
        kept = restored(journal.get("result"))
    again = surepath.learn(Walk(), journal=path, **how)
    for result in (kept, again):
        assert result == whole
        assert result.certificate.to_dict() == whole.certificate.to_dict()
        assert result.record == whole.record
        assert result.proof == whole.proof
    assert verify(path).certified
    if whole.proof is not None:
        assert written_proof(path) == written_proof(alone)


def written_proof(path: Path) -> bytes:
    """The file that `surepath proof` makes of a journal."""
    to = path.with_suffix(".jsonl")
    done = invoke("proof", str(path), str(to))
    assert done.exit_code == 0, done.output
    return to.read_bytes()
