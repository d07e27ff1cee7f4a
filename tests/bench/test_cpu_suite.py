"""What runs compute beside their system, and what happens at sizes that could be walls."""

from __future__ import annotations

import pytest

import surepath
from surepath.bench.harness.runs import Crew, Instance
from surepath.bench.suites import cpu, walls

SMALL = Instance("tabular", {"horizon": 3, "states": 2, "actions": 2, "observations": 3, "seed": 0})


def test_what_is_measured_is_the_run_that_a_user_makes() -> None:
    alone = surepath.learn(SMALL.build(), seed=0)
    found = cpu.spent(SMALL)
    assert (found.nodes, found.episodes) == (alone.usage.nodes, alone.episodes)
    assert found.rounds == alone.usage.rounds
    assert found.outside > 0
    assert found.system >= 0


def test_the_time_of_episodes_is_that_of_the_executor() -> None:
    episodes = cpu.Timed()
    result = surepath.learn(SMALL.build(), seed=0, workers=episodes)
    assert result.actions == surepath.learn(SMALL.build(), seed=0).actions
    assert episodes.seconds > 0


def test_ratios_are_to_the_first_row() -> None:
    one = cpu.Spent(outside=1.0, system=0.5, nodes=10, episodes=100, rounds=3, status="optimal")
    more = cpu.Spent(outside=8.0, system=0.5, nodes=20, episodes=200, rounds=3, status="optimal")
    rows = cpu._rows(["one", "more"], [one, more])
    shown = [dict(zip(cpu.COLUMNS, row, strict=True)) for row in rows]
    assert [row["per node, relative"] for row in shown] == [1.0, 4.0]
    assert [row["per episode, relative"] for row in shown] == [1.0, 4.0]


def test_a_wall_says_what_it_took_and_what_came_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    low = walls.Wall(SMALL.build, {"budget": 500}, "small")
    monkeypatch.setattr(walls, "WALLS", {"low": low})
    monkeypatch.setattr(walls, "taken", walls._run)  # a new process would not know of this wall
    [section] = walls.walls(Crew())
    assert not isinstance(section, str)
    row = dict(zip(section.columns, section.rows[0], strict=True))  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
    assert row["wall"] == "low"
    assert 0 < row["episodes"] <= 500
    assert 0.01 < row["GB"] < 64
    assert "optim" in row["result"] or "loses" in row["result"]


def test_a_quick_run_has_no_walls() -> None:
    assert walls.walls(Crew(quick=True)) == ["walls: only in the full run."]
    assert cpu.worlds(Crew(quick=True)) == ["worlds: only in the full run."]
