"""The paper's table: what is said of a method."""

from __future__ import annotations

import math

from surepath.bench.suites import table1


def test_a_verdict_is_an_exponent_or_where_it_ended() -> None:
    def need(size: float, steps: float, *, refused: bool = False, **settings: float) -> table1.Need:
        return table1.Need(size, steps, tuple(settings.items()), refused)

    assert table1.verdict("H", [need(4, 10), need(8, 40)]) == "yes, 2.0"
    assert table1.verdict("H", [need(4, 10), need(8, 40, share=1.0)]) == "yes"
    assert table1.verdict("H", [need(4, 10), need(6, math.inf)]) == "no, from H=6"
    stuck = need(8, math.inf, refused=True)
    assert table1.verdict("H", [need(4, 10), stuck]) == "cannot be run, from H=8"
