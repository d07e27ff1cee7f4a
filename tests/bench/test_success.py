"""How many steps it took until enough runs were right."""

from __future__ import annotations

import math

import numpy as np
import pytest

from surepath.bench.harness.attempt import Trace
from surepath.bench.harness.success import (
    checkpoints,
    ever_right,
    ratio_interval,
    steps_to,
    success,
)
from traces import trace


def test_checkpoints_end_at_the_cap() -> None:
    points = checkpoints(1000)
    assert points[-1] == 1000
    assert points[0] == pytest.approx(8, rel=0.2)
    assert np.allclose(np.diff(np.log2(points)), 0.25)


def test_success_has_to_last() -> None:
    good, late = trace((5, 0.0)), trace((5, 0.3), (500, 0.0))
    lucky = trace((5, 0.0), (900, 0.4))
    assert steps_to([good] * 20, 1000) == pytest.approx(checkpoints(1000)[0])
    assert 500 <= steps_to([good, late], 1000) <= 600
    assert steps_to([good] * 18 + [late] * 2, 1000) >= 500
    assert steps_to([good] * 19 + [late], 1000) < 20
    assert steps_to([lucky], 1000) == math.inf
    assert success([good, late], [10, 600]) == [0.5, 1.0]
    assert steps_to([good, late], 1000, wanted=0.5) < 20


def test_a_ratio_comes_with_its_interval() -> None:
    def runs(*steps: int) -> list[Trace]:
        return [trace((each, 0.0)) for each in steps]

    low, high = ratio_interval(runs(*[50] * 20), runs(*[500] * 20), 1000)
    assert low == high == pytest.approx(0.1, rel=0.1)
    mixed = runs(*range(50, 850, 40))
    low, high = ratio_interval(mixed, runs(*[500] * 20), 1000)
    ratio = steps_to(mixed, 1000) / steps_to(runs(500), 1000)
    assert low < ratio
    assert high == pytest.approx(ratio)  # no resample takes longer than the longest run
    low, high = ratio_interval(mixed, mixed, 1000)
    assert low == high == 1  # in pairs: the same instances are hard for both
    half = runs(*[50] * 12, *[900] * 8)
    low, high = ratio_interval(half, runs(*[500] * 20), 1000, wanted=0.5)
    assert low == pytest.approx(0.1, rel=0.1)
    assert high <= 900 / 500 * 1.2
    assert ratio_interval(runs(500), [trace()], 1000)[0] == pytest.approx(0.5, rel=0.2)


def test_right_for_a_moment_is_right_at_some_time() -> None:
    assert not ever_right([trace((5, 0.2)), trace((1, 0.3), (9, 0.1))])
    assert ever_right([trace((5, 0.2)), trace((1, 0.0), (9, 0.1))])
    assert not ever_right([])
