"""Ours against the floor."""

from __future__ import annotations

from surepath.bench.suites import floor


def test_the_floor_is_that_of_the_instance() -> None:
    assert 1 < floor.floor_of(floor.SIZES[0].numbered(0)) < 1e5
