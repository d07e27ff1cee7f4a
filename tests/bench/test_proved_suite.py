"""The suite of the proved guarantee: what a row is made of."""

from __future__ import annotations

import copy
import json
import random

import pytest

import surepath
from surepath.bench.families.judging import Judged, Trial, told_to_prove
from surepath.bench.harness.registered import Registered
from surepath.bench.harness.runs import Crew
from surepath.bench.suites import proof_attacks, proved, proved_worlds
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
    assert len(proved.PARTS) == 4 + len(proved.SYMBOLS)


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


def test_no_changed_proof_is_accepted() -> None:
    (section,) = proof_attacks.attacks(Crew(), ["near ties"])
    cells = dict(zip(section.columns, section.rows[0], strict=True))
    assert cells["honest one accepted"] == "yes"
    assert cells["accepted: a byte changed"] == f"0/{proof_attacks.BYTES}"
    assert cells["which"] == "-"


def test_every_kind_of_change_changes_something() -> None:
    """Otherwise it would be refused or accepted for nothing."""
    case = Trial("near ties", 0, 0.2).build()
    told = told_to_prove(Trial("near ties", 0, 0.2), case)
    proof = surepath.learn(case.system, guarantee="proved", **told).proof
    assert proof is not None
    honest = [json.loads(line) for line in proof]
    for name, change in proof_attacks.CHANGES.items():
        changed = copy.deepcopy(honest)
        change(changed, random.Random(0))
        assert changed != honest, name


def test_all_families_together_are_the_sum_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Judged(0.0, 0.0, True, "", (), 10, 20, separation=0.3, cap=100, seconds=0.1)
    monkeypatch.setattr(proved, "try_family", lambda trial: made)
    (section,) = proved.false_claims(Crew(quick=True), "both", ("needles", "near ties"))
    assert [row[:5] for row in section.rows] == [
        ("both", 0.05, 20, 20, 0),
        ("both", 0.2, 20, 20, 0),
    ]
