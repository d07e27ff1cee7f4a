"""The course of a run is in its journal, the same however often the run was stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surepath
from faults import tabular
from flaky import Walk
from forging import entry, with_entry
from surepath.errors import InputError
from surepath.journal import course
from surepath.journal.course import Point, Purpose, course_in
from surepath.journal.database import Journal

PROVED: dict[str, Any] = {"guarantee": "proved", "separation": 0.5}


def recorded(path: Path) -> list[Point]:
    with Journal(path) as journal:
        return course_in(journal)


@pytest.mark.parametrize("options", [{}, PROVED], ids=["calibrated", "proved"])
def test_a_stopped_run_records_the_same_course(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(course, "PART", 5)  # several entries
    whole, stopped = tmp_path / "a.db", tmp_path / "b.db"
    result = surepath.learn(Walk(), journal=whole, **options)
    for share in (0.2, 0.5, 0.8, 1):
        surepath.learn(Walk(), journal=stopped, budget=int(share * result.episodes), **options)
    points = recorded(whole)
    assert len(points) > 10
    assert recorded(stopped) == points
    assert [point["batch"] for point in points] == list(range(len(points)))
    assert points[-1]["episodes"] == result.episodes
    assert sum(sum(point["spent"]) for point in points) == result.episodes
    for path in (whole, stopped):
        assert surepath.verify(path).differences == ()


def test_the_course_says_what_a_callback_is_told(tmp_path: Path) -> None:
    told = list[surepath.Round]()
    surepath.learn(Walk(), journal=tmp_path / "a.db", callback=told.append)
    points = recorded(tmp_path / "a.db")
    assert [(p["episodes"], p["bound"], p["states"]) for p in points] == [
        (each.episodes, each.bound, each.states) for each in told
    ]
    states = [point["states"] or 0 for point in points]
    assert states[-1] > 3
    assert points[-1]["open_questions"] == 0


def test_episodes_are_spent_on_all_purposes_of_a_run(tmp_path: Path) -> None:
    surepath.learn(surepath.make("lock", horizon=6), journal=tmp_path / "a.db")
    kept = [point["spent"] for point in recorded(tmp_path / "a.db")]
    spent = [sum(each) for each in zip(*kept, strict=True)]
    assert len(spent) == len(Purpose)
    assert min(spent) > 0


def test_ask_and_tell_records_its_course(tmp_path: Path) -> None:
    system, path, rng = Walk(), tmp_path / "a.db", np.random.default_rng(0)
    for budget in (150, 10**9):
        sizes = (system.horizon, system.n_actions)
        with surepath.AskTell(*sizes, n_observations=system.n_observations, journal=path) as loop:
            while (asked := loop.ask()) and loop.result().episodes < budget:
                loop.tell([system.rollout(each.actions, each.count, rng) for each in asked])
            done = loop.result()
    assert done.certified
    points = recorded(path)
    assert points[-1]["episodes"] == done.episodes
    assert [point["batch"] for point in points] == list(range(len(points)))


def test_a_course_that_was_made_up_is_found(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    surepath.learn(tabular(), journal=path)
    points = entry(path, "course 0")
    with_entry(path, "course 0", [{**points[0], "bound": 0.125}, *points[1:]])
    assert "course[0].bound: the file says 0.125" in surepath.verify(path).differences[0]
    with_entry(path, "course 0", [{**points[0], "bound": "<b>"}])
    with pytest.raises(InputError, match=r"course 0\[0\]\.bound must be a number"):
        recorded(path)


def test_an_older_journal_has_none(tmp_path: Path) -> None:
    path = Path(__file__).parents[1] / "assets" / "journal_engine_5.db"
    copy = tmp_path / "a.db"
    copy.write_bytes(path.read_bytes())
    assert recorded(copy) == []
