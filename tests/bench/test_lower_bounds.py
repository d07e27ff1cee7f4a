"""What becomes of the samples when an assumption is dropped."""

from __future__ import annotations

import math
from typing import Any

import pytest

from surepath.bench.harness.report import Figure, Section
from surepath.bench.harness.runs import Crew
from surepath.bench.suites import lower_bounds


@pytest.mark.parametrize("part", ["few-actions", "tunable-gap"])
def test_the_gap_costs_what_it_costs(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proved schedule: the inverse square, up to logarithms; never below the floor."""
    scale = lower_bounds.Scale(instances=2, games=1, stakes=(0.25, 0.125), eps=(0.8, 0.2))
    monkeypatch.setattr(lower_bounds, "FULL", scale)
    along = lower_bounds._along

    def only_tight(crew: Crew, title: str, points: Any, _: Any, seeds: int) -> Any:
        return along(crew, title, points, ["tight"], seeds)  # adaptive games take minutes

    monkeypatch.setattr(lower_bounds, "_along", only_tight)
    table, figure = lower_bounds.PARTS[part](Crew())
    assert isinstance(table, Section)
    assert isinstance(figure, Figure)
    tight = next(row for row in table.rows if row[0] == "tight")
    assert float(str(tight[-2]).split()[0]) == pytest.approx(2, abs=0.3)
    for row in table.rows[1:]:
        assert float(str(row[1])) < float(str(tight[1]))


def test_the_floor_of_the_tunable_gap_grows_with_its_inverse_square() -> None:
    few, many = lower_bounds.fewest_steps(0.02), lower_bounds.fewest_steps(0.01)
    assert many / few == pytest.approx(4, rel=0.01)
    # Three draws an episode, each worth 2 gap^2 near 1/2; kl(0.05, 0.95) = 0.9 ln 19.
    assert many == pytest.approx(4 * 0.9 * math.log(19) / (6 * (0.01 / 4) ** 2), rel=0.01)
