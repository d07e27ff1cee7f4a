"""The simulation of many close decisions: what it shows, and that it simulates the rule itself."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from surepath.bench.harness.runs import Crew
from surepath.bench.suites import close_decisions


def test_one_width_is_not_enough_for_many_and_wider_ties_are() -> None:
    rng, runs, delta = np.random.default_rng(0), 400, 0.05
    one, many = close_decisions.false_rates(80, 2, delta, 1.0, runs, rng)
    assert one * runs > stats.binom.ppf(0.999, runs, delta)
    assert many * runs <= stats.binom.ppf(0.999, runs, delta)
    alone = close_decisions.false_rates(1, 2, delta, 1.0, runs, rng)
    assert alone[0] == alone[1]  # there are no others


def test_the_most_is_that_of_all_sets() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        leads, noise = rng.random((1, 6)), rng.random((1, 6))
        sets = (np.arange(64)[:, None] >> np.arange(6)) & 1
        lead, width = sets @ leads[0], np.sqrt(2 * 0.3 * (sets @ noise[0]))
        expected = np.where(width < lead, 0.0, 1.5 * width - lead).max()
        found = close_decisions._most(leads, noise, 0.3, np.array([1.5]))[0]
        assert found == pytest.approx(expected, rel=0.05)  # greedy: exact but for the last decision
        assert found <= expected + 1e-12


def test_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(close_decisions, "DECISIONS", (1, 40))
    monkeypatch.setattr(close_decisions, "ACTIONS", (2,))
    (section,) = close_decisions.close_decisions(Crew(quick=True))
    assert [row[:2] for row in section.rows] == [(1, 2), (40, 2)]
    assert len(section.columns) == 6
