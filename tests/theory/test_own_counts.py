"""What a schedule can afford, and schedules that are chosen by it."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given

from assumptions import THOROUGH, random_settings, setting
from surepath.theory.expansion_bounds import feature_batches, has_count, reward_batches
from surepath.theory.own_counts import STAGES, allowance, by_counts, stages
from surepath.theory.schedule import Count, Schedule, bounds, bounds_at
from surepath.theory.setting import SQRT2, Setting


@THOROUGH
@given(s=random_settings())
def test_the_allowance_is_the_largest_that_delta_pays_for(s: Setting) -> None:
    schedule = by_counts(s, 5, s.delta)
    allowed = allowance(schedule, s, s.delta)
    assert allowed is not None
    assert allowed.expansions >= 5
    assert allowed.failure <= s.delta
    more = bounds_at(schedule, s, allowed.expansions + 1, Count.OWN)
    assert more.failure > s.delta or s.tested_levels == 0
    assert allowance(schedule, s, allowed.failure * 0.999999) != allowed


def test_the_failure_for_so_many_expansions_by_hand() -> None:
    """Two unions of Hoeffding's inequality; no dimension, no length, no closeness enters."""
    s = setting(dimension=None, norm=2.0)
    schedule = Schedule(ridge=1e-5, threshold=1.25, feature_samples=200_000, reward_samples=150_000)
    n = 7
    t = (s.gap / 2 - math.sqrt(1e-5) * 2.0 * 1.25) / (2 * 1.25 * math.sqrt(n) + 1)
    features = 2 * s.n_actions * feature_batches(s, n) * math.exp(-200_000 * t**2 / (2 * 2.0**2))
    rewards = 2 * reward_batches(s, n) * math.exp(-2 * 150_000 * t**2 / s.horizon)
    found = bounds_at(schedule, s, n, Count.OWN)
    assert found.failure == pytest.approx(features + rewards, rel=1e-4)
    assert 1e-6 < found.failure < 1


def test_features_at_right_angles_afford_more() -> None:
    """A schedule that is just enough for a diameter of sqrt(2) is not for one of 2."""
    narrow, wide = setting(diameter=SQRT2), setting()
    schedule = by_counts(narrow, 6, 0.05)
    afforded, less = allowance(schedule, narrow, 0.05), allowance(schedule, wide, 0.05)
    assert afforded is not None
    assert less is not None
    assert less.expansions < 6 <= afforded.expansions


def test_a_schedule_that_affords_nothing() -> None:
    s = setting()
    assert allowance(Schedule(1e-6, 1.0, 10, 10), s, s.delta) is None
    assert allowance(Schedule(1.0, 1.0, 10**15, 10**15), s, s.delta) is None


@THOROUGH
@given(s=random_settings())
def test_stages_share_delta_and_grow(s: Setting) -> None:
    found = stages(s)
    assert sum(stage.delta for stage in found) == pytest.approx(s.delta)
    for stage, following in pairwise(found):
        assert stage.most is not None
        assert following.most is None or following.most == 2 * stage.most
        assert stage.schedule.feature_samples <= following.schedule.feature_samples
        assert stage.schedule.windows == s.windows
        allowed = allowance(stage.schedule, s, stage.delta)
        assert allowed is not None
        assert allowed.expansions >= stage.most
    assert found[-1].most is None


@THOROUGH
@given(s=random_settings())
def test_the_last_stage_suffices_where_features_are_bounded(s: Setting) -> None:
    s = replace(s, feature_noise=None)
    last = stages(s)[-1]
    if len(stages(s)) < STAGES:
        assert bounds(last.schedule, replace(s, latent_dimension=None)).failure <= last.delta


def test_stages_of_a_kernel_of_which_nothing_is_known() -> None:
    s = setting(dimension=None)
    assert not has_count(s)
    assert len(stages(s)) == STAGES
