"""What runs say, sorted by kind."""

from __future__ import annotations

from surepath.bench.harness.reasons import by_kind


def test_the_commonest_kind_comes_first_with_the_first_that_was_said() -> None:
    said = ["prefix (1, 2) does not fit", "ended after 5", "ended after 7", "ended after 5"]
    assert by_kind(said) == [(3, "ended after 5"), (1, "prefix (1, 2) does not fit")]


def test_nothing_was_said() -> None:
    assert by_kind([]) == []
