"""The suite of real environments, at a size for tests."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from clocks import Clock
from surepath.bench import run_suite
from surepath.bench.harness import worlds
from surepath.bench.harness.runs import Crew
from surepath.bench.suites import real
from surepath.errors import InputError, MissingExtraError
from surepath.run.runner import Runner
from surepath.system import Request

TINY = real.Scale(seeds=1, policies=0, episodes=1, repeats=1)
PENDULUM = next(case for case in real.CASES if case.title == "Pendulum")


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real, "SCALE", TINY)
    monkeypatch.setattr(real, "CASES", [PENDULUM])


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    stopped = Clock()
    monkeypatch.setattr(real, "time", stopped)
    return stopped


def test_environments_are_solved_as_the_search_solves_them() -> None:
    (section,) = run_suite("real", Crew(), ["environments"]).sections
    (row,) = section.rows
    assert str(row[1]).startswith("1/1")
    assert str(row[2]).startswith("1/1")


def test_the_books_are_kept_beside_a_bare_loop() -> None:
    (section,) = run_suite("real", Crew(), ["bookkeeping"]).sections
    assert [row[0] for row in section.rows] == ["CartPole, horizon 8", "CartPole, horizon 20"]
    assert {len(row) for row in section.rows} == {len(section.columns)}


def test_both_ways_are_timed_and_begin_in_turn(clock: Clock) -> None:
    order: list[str] = []

    def way(name: str, seconds: float) -> Callable[[], None]:
        return lambda: order.append(name) or clock.sleep(seconds)

    ways = way("journal", 3.0), way("bare", 2.0)
    assert [real.take_turns(turn, *ways) for turn in range(2)] == [[3.0, 2.0], [3.0, 2.0]]
    assert order == ["bare", "journal", "journal", "bare"]


def test_ratios_of_pairs_of_times() -> None:
    """Ratios 1, 2, 3, 4 and 10; in all 25 seconds over 7."""
    times = [[1, 1], [4, 2], [6, 2], [4, 1], [10, 1]]
    middle, quartiles, total = real.ratios_of(times)
    assert middle == pytest.approx(3)
    assert quartiles == "2.00 .. 4.00"
    assert total == pytest.approx(25 / 7)


def test_the_same_episodes_with_a_journal_over_without(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[Request]] = []

    def journaled(_: Runner, batch: int, requests: list[Request], *, summary: bool) -> None:
        asked.append(requests)
        clock.sleep(3.0)

    def bare(env: object, requests: list[Request]) -> None:
        asked.append(requests)
        clock.sleep(2.0)

    monkeypatch.setattr(Runner, "run", journaled)
    monkeypatch.setattr(real, "_bare", bare)
    assert real._overhead(8, 2) == ("CartPole, horizon 8", 1.5, "1.50 .. 1.50", 1.5)
    assert len(asked) == 4
    assert asked[0] == asked[1] != asked[2] == asked[3]


def test_without_a_clone_the_suite_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(worlds, "EXAMPLES", tmp_path)
    with pytest.raises(InputError, match="examples of a clone"):
        run_suite("real", Crew(), ["environments"])


def test_a_missing_rival_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sb3_contrib", None)
    with pytest.raises(MissingExtraError, match=r"surepath\[rivals\]"):
        real.train((PENDULUM, 0, 1, 1))


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(InputError, match="no part of the suite real, 'envs'"):
        run_suite("real", Crew(), ["envs"])
