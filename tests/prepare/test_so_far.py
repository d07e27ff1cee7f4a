"""What a run has found by now follows from its journal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surepath
from flaky import Gauge, Walk
from surepath.features import Custom
from surepath.journal.database import Journal
from surepath.journal.snapshot import snapshot
from surepath.prepare.so_far import so_far


@pytest.mark.parametrize(
    ("system", "budget", "options"),
    [
        (Walk(), 250, {}),
        (Gauge(), 700, {}),
        (Walk(), 300, {"guarantee": "proved", "separation": 0.5}),
    ],
    ids=["symbols", "kernel", "proved"],
)
def test_it_is_what_the_run_would_have_said(
    system: Any, budget: int, options: dict[str, Any], tmp_path: Path
) -> None:
    path, found = tmp_path / "a.db", list[surepath.Result]()

    def look(told: surepath.Round) -> None:
        with snapshot(path) as (journal, _):
            seen = so_far(journal)
        assert seen is not None
        assert seen.episodes <= told.episodes  # a checkpoint is of before the last batch
        found.append(seen)

    surepath.learn(system, journal=path, budget=budget, callback=look, **options)
    for each in (found[2], found[-1]):
        again = surepath.learn(system, budget=each.episodes, **options)
        assert (again.actions, again.value) == (
            each.actions,
            each.value,
        ) or again.value != again.value
        assert again.certificate.reason == each.certificate.reason


def test_a_loop_of_ask_and_tell_is_replayed(tmp_path: Path) -> None:
    system, path, rng = Walk(), tmp_path / "a.db", np.random.default_rng(0)
    with surepath.AskTell(3, 2, n_observations=4, journal=path) as loop:
        for _ in range(6):
            asked = loop.ask()
            loop.tell([system.rollout(each.actions, each.count, rng) for each in asked])
        with snapshot(path) as (journal, running):
            seen = so_far(journal)
        assert running
        assert seen == loop.result()


def test_nothing_is_said_where_the_file_does_not_tell(tmp_path: Path) -> None:
    own = Custom(lambda batch: np.eye(4)[np.asarray(batch)], 4, 1.0)
    path = tmp_path / "a.db"
    surepath.learn(Walk(), features=own, journal=path, budget=100)
    with Journal(path) as journal:
        assert so_far(journal) is None
