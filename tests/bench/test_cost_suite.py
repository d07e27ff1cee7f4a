"""What the older engine's runs were, and how the runs of today are set against them."""

from __future__ import annotations

import pytest

from surepath.bench import run_suite
from surepath.bench.harness.runs import Crew
from surepath.bench.harness.statistics import geometric
from surepath.bench.suites import adaptive, cost

OVERCOMPLETE = next(row for row in cost.recorded() if row.size.name == "overcomplete")


@pytest.mark.parametrize("row", cost.recorded(), ids=lambda row: row.size.label)
def test_the_recorded_instances_are_those_that_are_built_today(row: cost.Recorded) -> None:
    """An instance that was drawn otherwise would have another optimum."""
    for seed, best in list(zip(row.seeds, row.best, strict=True))[::7]:
        assert row.size.numbered(seed).build().oracle.value == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("row", cost.recorded(), ids=lambda row: row.size.label)
def test_the_record_is_whole(row: cost.Recorded) -> None:
    runs = {"continuous": 10, "mixing": 20}
    assert len(row.runs) == runs.get(row.size.name, 24)
    assert row.seeds == tuple(range(len(row.runs)))
    assert row.options == ({"future": 2} if row is OVERCOMPLETE else {})
    assert all(run.steps >= run.episodes > 0 for run in row.runs)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = (cost.recorded()[0], OVERCOMPLETE)
    monkeypatch.setattr(cost, "recorded", lambda: kept)
    monkeypatch.setattr(adaptive, "SCALE", adaptive.Scale(recorded=2))


@pytest.mark.usefixtures("few")
def test_rows_weigh_the_same_and_the_unaided_one_is_not_counted() -> None:
    (section,) = run_suite("adaptive", Crew(), ["cost"]).sections
    tabular, told, unaided, mean = section.rows
    assert told[0] == "overcomplete H5 S6 A2 O3, future 2"
    assert "not in the mean" in str(unaided[0])
    assert mean[3] == pytest.approx(geometric([float(tabular[3]), float(told[3])]))
    then = geometric([run.episodes for run in OVERCOMPLETE.runs[:2]])
    for row in (told, unaided):
        assert row[1] == pytest.approx(then)
        assert float(row[3]) == pytest.approx(float(row[2]) / then)


@pytest.mark.usefixtures("few")
def test_a_run_that_is_stopped_costs_all_that_it_might_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cost, "MOST", 0.05)
    (section,) = run_suite("adaptive", Crew(), ["cost"]).sections
    row, recorded = section.rows[0], cost.recorded()[0]
    assert row[-1] == "0/2"
    assert row[2] == pytest.approx(0.05 * max(run.episodes for run in recorded.runs), abs=1)
