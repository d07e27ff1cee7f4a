"""SIGKILL at any moment, on every executor, while the journal is copied and verified.

The end is as if there had been none: same plan, same certificate, same counts, nothing lost and
nothing twice; and nothing that a killed run has started outlives it.
"""

from __future__ import annotations

import random
from itertools import count
from pathlib import Path

import pytest

from faults import Undisturbed
from kills import Kills, check_as_if_never_killed, killed_and_resumed


def check_kills(kind: str, least: int, undisturbed: Undisturbed, folder: Path, seed: int) -> Kills:
    """Kill until it was done so often."""
    kills = Kills()
    for run in count():
        path = folder / f"{kind}-{run}.db"
        rng = random.Random(f"{seed} {kind} {run}")
        killed_and_resumed(path, rng, kills, kind=kind, watched=True)
        check_as_if_never_killed(path, undisturbed[1], undisturbed[0])
        if kills.number >= least:
            return kills
    raise AssertionError


@pytest.mark.parametrize("kind", ["serial", "processes"])
def test_killed_runs_leave_nothing_behind(
    kind: str, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    kills = check_kills(kind, 2, undisturbed, tmp_path, seed=0)
    assert kills.number >= 2


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "least"), [("serial", 130), ("processes", 45), ("ray", 25)])
def test_two_hundred_kills(kind: str, least: int, undisturbed: Undisturbed, tmp_path: Path) -> None:
    kills = check_kills(kind, least, undisturbed, tmp_path, seed=1)
    print(
        f"{kind}: {kills.number} kills, {kills.orphans} processes left to end, the last after "
        f"{kills.longest:.2f} s; {min(kills.found)} to {max(kills.found)} episodes were recorded"
    )
