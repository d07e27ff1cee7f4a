"""Axes have round marks, and everything finite has its place."""

from __future__ import annotations

import math

import pytest

from surepath.results.report.scale import Scale


@pytest.mark.parametrize(
    ("values", "marks"),
    [
        ([0.0, 1.0], [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        ([0.31, 0.97], [0.4, 0.6, 0.8]),
        ([-3.0, 12.0], [0, 5, 10]),
        ([5.0], [3, 4, 5, 6, 7]),
    ],
)
def test_marks_are_round(values: list[float], marks: list[float]) -> None:
    assert Scale.over(values, 0, 100).marks() == marks


def test_powers_have_the_same_distance() -> None:
    scale = Scale.over([1.0, 10_000.0], 0, 100, logarithmic=True)
    assert scale.marks() == [1, 10, 100, 1000, 10_000]
    assert [scale(mark) for mark in scale.marks()] == [0, 25, 50, 75, 100]


@pytest.mark.parametrize(("values", "marks"), [([62.0, 89.0], [70, 80]), ([3.0], [2, 5])])
def test_an_axis_has_two_marks_at_least(values: list[float], marks: list[float]) -> None:
    assert Scale.over(values, 0, 100, logarithmic=True).marks() == marks


def test_what_is_not_finite_or_outside_lies_at_an_end() -> None:
    scale = Scale.over([0.0, math.inf, math.nan, 2.0], 10, 20)
    assert (scale(-5), scale(1), scale(99)) == (10, 15, 20)
    assert Scale.over([], 0, 1).marks()
