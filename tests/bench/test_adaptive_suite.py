"""The adaptive suite, at a size for tests: every part reports what it says."""

from __future__ import annotations

from importlib import import_module

import pytest

from surepath.bench import run_suite
from surepath.bench.harness.runs import Crew
from surepath.bench.suites import growth, merging, ties
from surepath.bench.suites.adaptive import PARTS, Scale
from surepath.errors import InputError

TINY = Scale(
    instances=1, runs=2, tuning=2, repeats=1, beyond=1, points=2,
    broken=2, recorded=1, slow=1, step_seconds=1e-6,
)  # fmt: skip


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("surepath.bench.suites.adaptive"), "SCALE", TINY)
    monkeypatch.setattr(merging, "SIZES", merging.SIZES[:2])
    monkeypatch.setattr(growth, "BEYOND", growth.BEYOND[:1])
    monkeypatch.setattr(ties, "SIZES", ties.SIZES[:1])
    monkeypatch.setattr(ties, "SLOW", ties.SLOW[:1])


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.usefixtures("tiny")
def test_every_part_reports(part: str) -> None:
    report = run_suite("adaptive", Crew(), [part])
    assert report.sections
    for section in report.sections:
        assert part in section.title
        assert section.rows
        assert {len(row) for row in section.rows} == {len(section.columns)}


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(InputError, match="rival"):
        run_suite("adaptive", Crew(), ["rivals"])
