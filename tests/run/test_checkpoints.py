"""A resumed run decides nothing twice, and ends as if it had never stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import surepath
from faults import tabular
from flaky import Gauge, Walk
from forging import entry, with_entry
from surepath.errors import InputError, JournalError
from surepath.learners import adaptive
from surepath.run import checkpoints

PROVED: dict[str, Any] = {"guarantee": "proved", "separation": 0.5}

RUNS: dict[str, tuple[Any, int, dict[str, Any]]] = {
    "symbols": (Walk(), 150, {}),
    "kernel": (Gauge(), 700, {}),
    "summaries": (tabular(), 80, {}),
    "futures": (surepath.make("touch"), 300, {}),
    "predictions": (surepath.make("continuous", seed=0), 2000, {}),
    "before an attempt": (Walk(), 300, PROVED),
    "after a failed attempt": (Walk(), 2000, PROVED),
    "the tree": (tabular(), 2000, {"guarantee": "proved"}),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_that_skips_ends_as_one_that_does_not(name: str, tmp_path: Path) -> None:
    (system, budget, options), path = RUNS[name], tmp_path / "a.db"
    for share in (0.4, 0.5, 0.7, 1):
        resumed = surepath.learn(system, journal=path, budget=int(share * budget), **options)
    whole = surepath.learn(system, budget=budget, **options)
    assert resumed == whole
    assert resumed.saved() == whole.saved(), name
    assert surepath.verify(path).differences == ()


@pytest.mark.parametrize("options", [{}, PROVED], ids=["calibrated", "proved"])
def test_what_was_decided_is_not_decided_again(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = list[object]()
    judge = adaptive.judge
    monkeypatch.setattr(adaptive, "judge", lambda *a, **k: (judged.append(a), judge(*a, **k))[1])
    path = tmp_path / "a.db"
    first = surepath.learn(Walk(), journal=path, **options)
    once = len(judged)
    judged.clear()
    assert surepath.learn(Walk(), journal=path, **options) == first
    assert once > 10
    assert len(judged) <= 3  # before anything is told, and of the last batch


def test_a_smaller_budget_than_the_checkpoint_ends_where_it_says(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    surepath.learn(Walk(), journal=path)
    for budget in (1, 60, 150):
        assert surepath.learn(Walk(), journal=path, budget=budget) == surepath.learn(
            Walk(), budget=budget
        )


def test_rows_that_do_not_fit_the_checkpoint_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    surepath.learn(Walk(), journal=path)
    with_entry(path, checkpoints.CHECKPOINT, {**entry(path, "checkpoint"), "episodes": 7})
    with pytest.raises(JournalError, match=r"does not fit its checkpoint.*where 7 were"):
        surepath.learn(Walk(), journal=path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batch": "1"}, r"checkpoint\.batch must be a whole number"),
        ({"more": 1}, "checkpoint must be an object of batch"),
        ({"decided": {}}, "does not fit its checkpoint.*KeyError"),
        ({"decided": [1]}, r"checkpoint\.decided must be an object"),
    ],
)
def test_a_checkpoint_that_was_made_up_is_refused(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.db"
    surepath.learn(Walk(), journal=path)
    with_entry(path, checkpoints.CHECKPOINT, {**entry(path, "checkpoint"), **change})
    with pytest.raises((InputError, JournalError), match=message):
        surepath.learn(Walk(), journal=path)
