"""SIGKILL at any moment, on every executor, while the journal is copied and verified.

The end is as if there had been none: same plan, same certificate, same counts, nothing lost and
nothing twice; and nothing that a killed run has started outlives it. Of a proved run also the proof
is the same, byte for byte: a block that was cut short is completed before it counts.
"""

from __future__ import annotations

import random
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import count, groupby, takewhile
from pathlib import Path
from typing import Any

import pytest

import surepath
from faults import PROVED, Undisturbed, context, learn_until_killed
from flaky import Content, Walk, content
from kills import CALIBRATED, Kills, check_as_if_never_killed, is_fresh, killed_and_resumed
from surepath.prepare.call import Call
from surepath.run.seeds import episode_seeds


def check_kills(
    kinds: Sequence[str],
    least: int,
    undisturbed: Undisturbed,
    folder: Path,
    seed: int,
    how: Mapping[str, Any] = CALIBRATED,
    **options: Any,
) -> Kills:
    """Kill until it was done so often.

    Every other proved run has come some way with its proof before it is killed for the first time,
    so that kills find all of it, also on a slow machine.
    """
    whole, alone = undisturbed
    kills, proposed = Kills(), before_fresh(content(alone))
    for run in count():
        path = folder / f"{kinds[0]}-{run}.db"
        rng = random.Random(f"{seed} {kinds[0]} {run}")
        if how and run % 2 == 0:
            far = rng.randrange(proposed, whole.episodes)
            surepath.learn(Walk(), journal=path, budget=far, **how)
        killed_and_resumed(path, rng, kills, alone, kinds=kinds, how=how, **options)
        check_as_if_never_killed(path, alone, whole, how)
        if kills.number >= least:
            return kills
    raise AssertionError


def before_fresh(whole: Content) -> int:
    """How many episodes are read before the first proposal."""
    return sum(1 for _ in takewhile(lambda place: not is_fresh(whole[place]), sorted(whole)))


@pytest.mark.parametrize("kind", ["serial", "processes"])
def test_killed_runs_leave_nothing_behind(
    kind: str, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    kills = check_kills([kind], 2, undisturbed, tmp_path, seed=0, watched=True)
    assert kills.number >= 2


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "least"), [("serial", 130), ("processes", 45), ("ray", 25)])
def test_two_hundred_kills(kind: str, least: int, undisturbed: Undisturbed, tmp_path: Path) -> None:
    kills = check_kills([kind], least, undisturbed, tmp_path, seed=1, watched=True)
    print(
        f"{kind}: {kills.number} kills, {kills.orphans} processes left to end, the last after "
        f"{kills.longest:.2f} s; {min(kills.found)} to {max(kills.found)} episodes were recorded"
    )


# ---------------------------------------------------------------- proved runs

OTHERS_EACH_TIME = ["serial", "processes", "process"]


def test_workers_may_be_others_after_each_kill(proved: Undisturbed, tmp_path: Path) -> None:
    kills = check_kills(OTHERS_EACH_TIME, 2, proved, tmp_path, seed=0, how=PROVED, most=3)
    assert kills.number >= 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kinds", "least"), [(["serial"], 30), (["processes"], 20), (OTHERS_EACH_TIME, 12)]
)
def test_sixty_kills_and_the_same_proof(
    kinds: list[str], least: int, proved: Undisturbed, tmp_path: Path
) -> None:
    kills = check_kills(kinds, least, proved, tmp_path, seed=1, how=PROVED, watched=True)
    print(
        f"{', '.join(kinds)}: {kills.number} kills, {kills.fresh} of them while fresh readings "
        f"were recorded, of which {kills.torn} left part of a block; {min(kills.found)} to "
        f"{max(kills.found)} episodes were recorded"
    )
    assert kills.fresh > 0


@pytest.mark.parametrize(("workers", "times"), [(None, 3), (2, 2)])
def test_a_block_that_was_cut_short_counts_only_when_whole(
    workers: int | None, times: int, proved: Undisturbed, tmp_path: Path
) -> None:
    """Killed by episodes of its own, so that on every machine it is inside a block."""
    path, seen, whole = tmp_path / "a.db", tmp_path / "seen", content(proved[1])
    seen.mkdir()
    given = (path, seen, late_in_blocks(whole, times, random.Random(0)), workers)
    kills, known = Kills(), Content()
    while (ended := how_it_ended(learn_until_killed, *given)) != 0:
        assert ended == -signal.SIGKILL
        found = content(path)
        assert known.items() <= found.items() <= whole.items()
        kills.note(found, known, whole)
        check_only_whole_batches_count(path, found, whole, tmp_path / f"{kills.number}.db")
        known = found
    assert kills.torn == kills.number == times
    check_as_if_never_killed(path, proved[1], proved[0], PROVED)


def late_in_blocks(whole: Content, number: int, rng: random.Random) -> frozenset[int]:
    """The seeds of so many fresh episodes, each in the second half of another block."""
    fresh = sorted(place for place in whole if is_fresh(whole[place]))
    blocks = [list(block) for _, block in groupby(fresh, key=lambda place: place[0])]
    drawn = rng.sample([block for block in blocks if len(block) >= 8], number)
    places = [rng.choice(block[len(block) // 2 :]) for block in drawn]
    return frozenset(
        episode_seeds(Call.seed, batch, request, range(episode, episode + 1))[0]
        for batch, request, episode in places
    )


def how_it_ended(target: Callable[..., None], *given: Any) -> int | None:
    process = context().Process(target=target, args=given)
    process.start()
    process.join()
    return process.exitcode


def check_only_whole_batches_count(path: Path, found: Content, whole: Content, copy: Path) -> None:
    """A run that may not spend more than they took is as far as one that never began the rest."""
    batches, all_of_them = (Counter(place[0] for place in held) for held in (found, whole))
    spent = sum(number for batch, number in batches.items() if number == all_of_them[batch])
    copied(path, copy)
    stopped = surepath.learn(Walk(), journal=copy, budget=spent, **PROVED)
    assert stopped.episodes == spent
    assert not stopped.certified
    assert stopped == surepath.learn(Walk(), budget=spent, **PROVED)


def copied(path: Path, to: Path) -> None:
    """With what SQLite still has in its log: the run that wrote it was killed."""
    for end in ("", "-wal"):
        shutil.copy(path.with_name(path.name + end), to.with_name(to.name + end))
