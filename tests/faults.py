"""What the tests of faults share: how a disturbed run is compared with one that was not."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle

import flaky
import surepath
from flaky import Content, Faulty, Walk, content, kills_its_run, kills_its_worker
from surepath.results.verify import verify
from surepath.run import executors, runner

cloudpickle.register_pickle_by_value(flaky)  # workers need not find this folder

TIMEOUT = 600
"""Seconds after which a script is taken to hang."""


def row(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Says which row of the table a test shows."""
    return lambda test: test


Undisturbed = tuple[surepath.Result, Path]

PROVED: dict[str, Any] = {
    "guarantee": "proved",
    "separation": 0.5,
    "tolerance": 0.2,
    "delta": 0.2,
}
"""How a walk is proved; its places are 0.6 apart. The first attempt fails, so that there are two
attempts whose blocks can be cut short."""


def check_same(result: surepath.Result, path: Path, undisturbed: Undisturbed) -> None:
    whole, recorded = undisturbed
    assert result.actions == whole.actions
    assert result.episodes == whole.episodes
    assert result.certificate.to_dict() == whole.certificate.to_dict()
    assert result.record == whole.record
    assert content(path) == content(recorded)
    assert verify(path).certified


def check_goes_on(path: Path, undisturbed: Undisturbed, *, some: bool | None = True) -> Content:
    """The journal holds part of the undisturbed run, and a sound system ends it."""
    found, whole = content(path), content(undisturbed[1])
    assert some is None or bool(found) == some
    assert {place: whole[place] for place in found} == found
    check_same(surepath.learn(Walk(), journal=path), path, undisturbed)
    return found


def context() -> Any:
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(["surepath"])
    return found


def learn_and_die(path: Path) -> None:
    executors.SLICE = runner.FLUSH_SECONDS = 0.0
    surepath.learn(Faulty(fault=kills_its_worker, share=60), journal=path)


def learn_until_killed(
    path: Path, folder: Path, named: frozenset[int], workers: int | None
) -> None:
    """A proved run that is killed by the episodes with these seeds, once by each of them.

    What was run before is recorded by then, so that a block is cut short at that episode.
    """
    executors.SLICE = runner.FLUSH_SECONDS = 0.0
    system = Faulty(fault=kills_its_run, named=named, folder=folder, run=os.getpid())
    surepath.learn(system, journal=path, workers=workers, **PROVED)


def in_a_process(target: Callable[..., None], *given: Any) -> Any:
    """What the target sends."""
    mine, theirs = context().Pipe()
    process = context().Process(target=target, args=(*given, theirs))
    process.start()
    theirs.close()
    said = mine.recv()
    process.join()
    mine.close()
    return said


def tabular(**other: Any) -> Any:
    return surepath.make(
        "tabular", **{"horizon": 3, "states": 3, "observations": 4, "seed": 1, **other}
    )
