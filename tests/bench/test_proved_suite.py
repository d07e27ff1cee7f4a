"""The suite of the proved guarantee: what a row is made of."""

from __future__ import annotations

import pytest

from surepath.bench.harness.runs import Crew
from surepath.bench.suites import proved
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
    assert len(proved.PARTS) == 1 + len(proved.SYMBOLS)
