"""Parts of a run stand out where what is paid changed, and only there."""

from __future__ import annotations

import numpy as np

from surepath.results.report.steadiness import LIMIT, PARTS, Paid, windows_of
from surepath.system import Episodes


def paid(shift: float) -> list[Paid]:
    """Sixty requests of two sequences in turn; from the fortieth on they pay more."""
    rng, told = np.random.default_rng(0), list[Paid]()
    for number in range(60):
        mean = number % 2 + (shift if number >= 40 else 0.0)
        rewards = rng.normal(mean, 1.0, size=(50, 2))
        told.append(Paid.of(Episodes((number % 2, 0), np.zeros((50, 2)), rewards)))
    return told


def test_a_steady_system_stays_within_the_limit() -> None:
    windows = windows_of(paid(0.0))
    assert 10 < len(windows) <= PARTS
    assert (windows[0].first, windows[-1].last) == (1, 3000)
    assert max(abs(window.score) for window in windows) < LIMIT


def test_a_change_stands_out() -> None:
    windows = windows_of(paid(0.5))
    late = [window.score for window in windows if window.first > 2000]
    assert len(late) > 3
    assert min(late) > LIMIT


def test_too_little_is_no_course() -> None:
    assert windows_of(paid(0.0)[:2]) == []
    still = Paid.of(Episodes((0,), np.zeros((5, 1)), np.ones((5, 1))))
    assert windows_of([still] * 40) == []
