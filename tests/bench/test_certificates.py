"""The table of certificates and that of ranges, at a size for tests."""

from __future__ import annotations

from dataclasses import replace

import pytest

from surepath.bench import run_suite
from surepath.bench.harness.registered import Registered
from surepath.bench.harness.runs import Crew, Outcome
from surepath.bench.suites import certificates, real
from surepath.bench.suites.certificates import Entry, Run

SHORT = Registered(
    "a short lake",
    "FrozenLake",
    horizon=4,
    actions=(1, 2),
    arguments=(("desc", ("SFF", "FHF", "FFG")), ("is_slippery", False)),
)
"""Three by three: the goal is four steps away, around a hole."""

PAID = replace(SHORT, paid=(-1.0, 1.0))


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real, "SCALE", real.Scale(certified=1, many=2, widened=2))
    entries = (Entry(SHORT, 5000), Entry(replace(SHORT, title="starved"), 1, many=True))
    monkeypatch.setattr(certificates, "ENTRIES", entries)
    monkeypatch.setattr(certificates, "WIDENED", (Entry(PAID, 5000),))


def test_a_row_says_what_came_of_the_runs() -> None:
    (section,) = run_suite("real", Crew(), ["certificates"]).sections
    solved, starved = (dict(zip(section.columns, row, strict=True)) for row in section.rows)
    assert solved["environment"] == "a short lake"
    assert solved["optimum"] == "1"
    assert solved["plan optimal"] == solved["certified"] == "1/1"
    assert solved["FALSE"] == 0
    assert solved["commonest reason where not certified"] == "-"
    assert starved["environment"] == "starved"
    assert starved["certified"] == "0/2"
    assert str(starved["commonest reason where not certified"]).startswith("2/2: the run stopped")


def test_wider_ranges_are_set_against_the_true_one() -> None:
    (section,) = run_suite("real", Crew(), ["ranges"]).sections
    rows = [dict(zip(section.columns, row, strict=True)) for row in section.rows]
    assert [row["declared range"] for row in rows] == ["-1 .. 1", "-10 .. 10", "-100 .. 100"]
    assert rows[0]["same plan"] == "2/2"
    assert rows[0]["ratio"] == 1
    for row in rows:
        assert row["FALSE"] == 0
        assert row["ratio"] == pytest.approx(float(row["episodes"]) / float(rows[0]["episodes"]))


def test_false_is_worse_than_the_certificate_admits() -> None:
    """Of five runs one is certified and loses more than its tolerance, one is not certified."""
    entry = Entry(SHORT, 100)
    drawn = [(0.0, 0.0, True), (0.1, 0.1, True), (0.2, 0.1, True), (0.5, 0.0, False)]
    runs = [
        Run(Outcome(loss, tolerance, certified, "why", (), 10, 40), (0, 0, 0, 0), 1.0)
        for loss, tolerance, certified in drawn
    ]
    row = certificates._row(entry, runs)
    assert row[4:10] == ("1/4", "3/4", 1, pytest.approx(40), pytest.approx(1), "1/1: why")


def test_every_entry_is_an_environment_of_its_own_with_a_budget() -> None:
    labels = [entry.label for entry in certificates.ENTRIES]
    assert len(set(labels)) == len(labels)
    assert all(entry.budget > 0 for entry in certificates.ENTRIES)
