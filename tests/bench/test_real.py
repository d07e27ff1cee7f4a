"""The suite of real environments, at a size for tests."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from surepath.bench import run_suite
from surepath.bench.harness.runs import Crew
from surepath.bench.suites.real import CASES, Scale
from surepath.errors import InputError, MissingExtraError

TINY = Scale(seeds=1, rivals=0, trials=1, repeats=1, sleepers=1)


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module("surepath.bench.suites.real")
    monkeypatch.setattr(module, "SCALE", TINY)
    monkeypatch.setattr(module, "CASES", [case for case in CASES if case.title == "MountainCar"])


def test_environments_are_solved_as_the_search_solves_them() -> None:
    (section,) = run_suite("real", Crew(), ["environments"]).sections
    (row,) = section.rows
    assert str(row[1]).startswith("1/1")
    assert str(row[2]).startswith("1/1")


def test_the_books_are_timed() -> None:
    (section,) = run_suite("real", Crew(), ["bookkeeping"]).sections
    assert all(0.5 < float(ratio) < 20 for _, ratio, *_ in section.rows)


def test_without_a_clone_the_suite_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(import_module("surepath.bench.harness.worlds"), "EXAMPLES", tmp_path)
    with pytest.raises(InputError, match="examples of a clone"):
        run_suite("real", Crew(), ["environments"])


def test_a_missing_rival_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sb3_contrib", None)
    with pytest.raises(MissingExtraError, match=r"surepath\[rivals\]"):
        import_module("surepath.bench.suites.real").train((CASES[3], 0, 1, 1))


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(InputError, match="no part of the suite real, 'envs'"):
        run_suite("real", Crew(), ["envs"])
