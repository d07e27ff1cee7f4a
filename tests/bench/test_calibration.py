"""The judge of the adaptive certificate, at a size for tests: every part reports what it says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surepath.bench import run_suite
from surepath.bench.families import judging
from surepath.bench.families.case import Case, Family, case_of
from surepath.bench.families.judging import Judged, Trial, judge
from surepath.bench.harness.runs import Crew
from surepath.bench.harness.store import Store, fingerprint
from surepath.bench.suites import calibration
from surepath.builtin_problems.tabular import tabular


def tiny(rng: np.random.Generator) -> Case:
    return case_of(tabular(2, 2, 2, 3, seed=int(rng.integers(100))))


def judged(**changes: Any) -> Judged:
    run = Judged(0.0, 0.0, True, "", (), 10, 20, separation=0.3, cap=100, seconds=0.1)
    return replace(run, **changes)


@pytest.fixture
def two_families(monkeypatch: pytest.MonkeyPatch) -> list[Family]:
    """The suite with a family of which all is true that is assumed, and one that is not covered."""
    families = [
        Family("held", tiny, 5000, declared=1e-6, runs=3),
        Family("not held", tiny, 5000, covered=False, runs=3),
    ]
    # What `learn` is told does not matter here.
    monkeypatch.setattr(Family, "call", lambda family: {"budget": family.cap})
    by_name = {family.name: family for family in families}
    monkeypatch.setattr(judging, "FAMILIES", by_name)
    monkeypatch.setattr(calibration, "FAMILIES", by_name)
    return families


@pytest.mark.usefixtures("two_families")
def test_a_run_is_beside_the_truth_of_its_system() -> None:
    trial = Trial("held", 4, 0.1)
    run = judge(trial)
    assert run.separation == trial.build().separation
    assert run.certified
    assert run.cost == run.episodes
    assert judged(certified=False).cost == 100
    # All but the time it took is the same when it is made again.
    assert replace(judge(trial), seconds=run.seconds) == run


def test_a_chapter_has_a_row_for_every_family_and_delta(two_families: list[Family]) -> None:
    (section,) = calibration.chapter(two_families, Crew())
    assert [row[:3] for row in section.rows] == [
        (family.name, delta, family.declared)
        for family in two_families
        for delta in calibration.DELTAS
    ]
    rows = [dict(zip(section.columns, row, strict=True)) for row in section.rows]
    assert {row["runs"] for row in rows} == {3}
    assert [row["verdict"] for row in rows] == ["holds", "holds", "not covered", "not covered"]


def test_what_is_covered_is_pooled_without_running_it_again(two_families: list[Family]) -> None:
    crew = Crew()
    (section,) = calibration.chapter(two_families, crew)
    (together,) = calibration.pooled(crew)
    held = [row for row in section.rows if row[0] == "held"]
    # The same runs: even the seconds are the same.
    assert [row[3:] for row in together.rows] == [row[3:] for row in held]


@pytest.mark.usefixtures("two_families")
def test_systems_are_fresh_for_every_delta() -> None:
    family = Family("held", tiny, 5000, runs=90)
    low, high = (calibration.trials(family, delta, False) for delta in calibration.DELTAS)
    assert not {trial.seed for trial in low} & {trial.seed for trial in high}
    assert len(calibration.trials(family, 0.2, quick=True)) == 3


def test_a_row_is_broken_when_chance_does_not_explain_it() -> None:
    assert calibration.allowed(300, 0.05) == 24
    family = Family("a", tiny, 100)
    bad, good = judged(loss=0.5), judged()
    assert calibration._verdict(family, [bad] * 24 + [good] * 276, 0.05) == "holds"
    assert calibration._verdict(family, [bad] * 25 + [good] * 275, 0.05) == "BROKEN"
    below = judged(loss=0.5, separation=0.2)
    assert calibration._verdict(family, [below] * 300, 0.05) == "not covered"
    mixed = [below] * 100 + [good] * 200
    assert calibration._verdict(family, mixed, 0.05) == "holds, 200 covered"


def test_on_a_system_that_drifts_a_certificate_without_a_warning_is_false() -> None:
    family = Family("a", tiny, 100, covered=False, must_warn=True)
    silent, warned = judged(), judged(warnings=("it drifts",))
    refused = judged(certified=False)
    assert calibration._false(family, [silent, warned, refused]) == 1
    assert calibration._verdict(family, [silent] * 300, 0.05) == "BROKEN"
    assert calibration._verdict(family, [warned, refused] * 150, 0.05) == "holds"


def test_late_runs_and_those_without_a_certificate_are_not_in_time() -> None:
    late, open_ = judged(episodes=90), judged(certified=False)
    cells = calibration._cells([judged()] * 18 + [late, open_], 0, 0.05)
    named = dict(zip(calibration.COLUMNS[3:-1], cells, strict=True))
    assert named["in time"] == "90%"  # mean cost 18.5
    assert named["certified"] == 19


@pytest.mark.parametrize("part", judging.CHAPTERS)
def test_every_part_reports(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    short = {name: replace(family, cap=400) for name, family in judging.FAMILIES.items()}
    monkeypatch.setattr(judging, "FAMILIES", short)
    monkeypatch.setattr(calibration, "FULL", 300)  # one run of each
    monkeypatch.setattr(calibration, "DELTAS", (0.2,))
    (section,) = run_suite("calibration", Crew(), [part]).sections
    assert "calibration" in section.title
    assert [row[0] for row in section.rows] == [family.name for family in judging.CHAPTERS[part]]
    assert {row[4] for row in section.rows} == {1}


def test_parts_of_the_suite_are_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    row = tuple(range(len(calibration.COLUMNS)))
    parts = {name: lambda crew: [calibration.table([row])] for name in "ab"}
    monkeypatch.setattr("surepath.bench.SUITES", {"calibration": parts})
    (section,) = run_suite("calibration", Crew()).sections
    assert section.rows == [row, row]


def test_a_judged_run_is_kept(tmp_path: Path, two_families: list[Family]) -> None:
    jobs = [Trial(two_families[0].name, 0, 0.2)]
    with Store(tmp_path / "runs.jsonl") as store:
        made = Crew(store=store).spread(judge, jobs, "judge")
    with Store(tmp_path / "runs.jsonl") as store:
        assert Crew(store=store).spread(judge, jobs, "judge") == made
        assert not store.others


def test_a_run_is_made_by_all_families_together() -> None:
    """The module that judges knows the others: a change of any of them is a change of its runs."""
    assert fingerprint(judge) != fingerprint(calibration.chapter)
