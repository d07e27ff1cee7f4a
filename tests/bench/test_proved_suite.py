"""The suite of the proved guarantee: what a row is made of."""

from __future__ import annotations

import pytest

from surepath.bench.harness.registered import Registered
from surepath.bench.harness.runs import Crew
from surepath.bench.suites import proved, proved_worlds
from surepath.bench.suites.cost import recorded


def test_costs_are_compared_on_the_same_instances(monkeypatch: pytest.MonkeyPatch) -> None:
    first = recorded()[0]
    monkeypatch.setattr(proved, "recorded", lambda: (first,))
    monkeypatch.setattr(proved, "FULL", len(first.runs) // 2)
    (section,) = proved.cost(Crew())
    columns = section.columns
    for row, route in zip(section.rows, ("separation", "tree"), strict=True):
        cells = dict(zip(columns, row, strict=True))
        assert cells["route"] == route
        assert cells["certified"] == cells["proofs valid"] == "2/2"
        assert cells["false"] == 0
        then = sum(run.episodes for run in first.runs[:2]) / 2
        assert cells["episodes then"] == pytest.approx(then)


def test_every_family_of_symbols_is_one_of_calibration() -> None:
    assert set(proved.SYMBOLS) <= set(proved.FAMILIES)
    assert len(proved.PARTS) == 2 + len(proved.SYMBOLS)


def test_worlds_are_proved_by_what_is_known_of_their_sensor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small = Registered(
        "FrozenLake 4x4", "FrozenLake", horizon=6, arguments=(("is_slippery", False),)
    )
    entries = (proved_worlds.Entry(small, 0.9), proved_worlds.Entry(proved_worlds.CONTINUOUS, None))
    monkeypatch.setattr(proved_worlds, "ENTRIES", entries)
    (section,) = proved_worlds.worlds(Crew(quick=True))
    for row, rests_on in zip(section.rows, ("separation 0.9", "the bare tree"), strict=True):
        cells = dict(zip(section.columns, row, strict=True))
        assert cells["rests on"] == rests_on
        assert cells["certified"] == cells["proofs valid"] == cells["plan optimal"] == "1/1"
        assert cells["false"] == 0
