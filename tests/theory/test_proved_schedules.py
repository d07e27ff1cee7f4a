"""What a schedule proves: the failure probability, from its sample sizes."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assumptions import THOROUGH, random_settings, setting
from surepath.theory.expansion_bounds import (
    expansion_bound,
    feature_batches,
    latent_expansion_bound,
    reward_batches,
)
from surepath.theory.schedule import (
    Schedule,
    bounds,
    failure_bound,
    paper,
    tight,
)
from surepath.theory.setting import Setting

# ---------------------------------------------------------------- what is proved


@THOROUGH
@given(s=random_settings(), threshold=st.floats(-1.5, 1))
def test_tight_is_proved(s: Setting, threshold: float) -> None:
    assert failure_bound(tight(s, 10**threshold), s) <= s.delta


@THOROUGH
@given(s=random_settings(for_paper=True))
def test_paper_is_proved(s: Setting) -> None:
    assert failure_bound(paper(s), s) <= s.delta


@pytest.mark.parametrize("ratio", [7.0, 24.0, 100.0])
def test_paper_is_proved_for_large_features(ratio: float) -> None:
    """Long features allow a gap of many norms; eps = Delta / 6 Theta then exceeds 1."""
    s = setting(gap=ratio, norm=1.0, radius=10 * ratio, unique=False)
    assert failure_bound(paper(s), s) <= s.delta


@pytest.mark.parametrize("unique", [True, False])
def test_failure_bound_by_hand(unique: bool) -> None:
    """Rewards in [0, 1] and features of length at most 1: two unions of Hoeffding's inequality."""
    s = setting(unique=unique)
    ridge, eps = 2e-5, 0.8
    n = expansion_bound(s, ridge, eps)
    bias = math.sqrt(ridge) * s.norm * eps
    t = (s.gap / 2 - bias) / (1 + 2 * eps * math.sqrt(n))
    terms = s.horizon if unique else s.horizon**2
    m, m_reward = round(2 * s.norm**2 * 14 / t**2), round(terms * 13 / (2 * t**2))
    proved = bounds(Schedule(ridge, eps, m, m_reward), s)
    features = 2 * s.n_actions * feature_batches(s, n) * math.exp(-14)
    rewards = 2 * reward_batches(s, n) * math.exp(-13)
    assert proved.tolerance == pytest.approx(t, rel=1e-8)
    assert bias + (2 * eps * math.sqrt(n) + 1) * proved.tolerance < s.gap / 2
    assert 0.1 < features / rewards < 10
    assert proved.failure == pytest.approx(features + rewards, rel=1e-4)


def test_failure_bound_counts_the_length_of_the_error() -> None:
    """Unbounded features: the length of every sampled mean's error must stay below 1."""
    s = setting(feature_noise=20.0, norm=0.01, gap=0.3, dimension=900)
    schedule = replace(tight(s), feature_samples=10**6)
    proved = bounds(schedule, s)
    m, f = 10**6, proved.feature_batches
    along = 2 * s.n_actions * f * math.exp(-m * proved.tolerance**2 / (2 * 0.2**2))
    length = f * math.exp(-((math.sqrt(m) / 20 - 30) ** 2) / 2)
    rewards = (
        2
        * proved.reward_batches
        * math.exp(-2 * schedule.reward_samples * proved.tolerance**2 / s.horizon)
    )
    assert length > 100 * (along + rewards)
    assert proved.failure == pytest.approx(along + length + rewards, rel=1e-6)
    shorter = replace(schedule, feature_samples=(20 * 30) ** 2)  # not above the mean length
    assert failure_bound(shorter, s) == 1


@pytest.mark.parametrize("future", [1, 2])
def test_the_latent_count_needs_close_embeddings(future: int) -> None:
    """Every window's share of the error must stay below sqrt(lambda / 8) for that count."""
    s = setting(latent_dimension=1, dimension=400, gap=1.0, norm=1.0, future=future)
    s = replace(s, windows="joint")
    schedule = tight(s, 6.0)
    windows = s.n_actions ** (future - 1)
    each = math.sqrt(schedule.ridge / 8 / windows)
    m = math.ceil(((1 + math.sqrt(2 * 12)) / each) ** 2)  # fails with probability e^-12 a window
    proved = bounds(replace(schedule, feature_samples=m, reward_samples=10**7), s)
    assert proved.expansions == latent_expansion_bound(s, schedule.ridge, 6.0)
    f = proved.feature_batches
    along = 2 * s.n_actions * f * math.exp(-m * proved.tolerance**2 / 2)
    length = f * windows * math.exp(-12)
    assert proved.failure == pytest.approx(along + length, rel=1e-3)
    assert length > 10 * along
    far = replace(schedule, feature_samples=math.floor(1 / each**2), reward_samples=10**7)
    assert failure_bound(far, s) == 1


@pytest.mark.parametrize("name", ["feature_samples", "reward_samples"])
@pytest.mark.parametrize("noise", [None, 0.5])
def test_fewer_samples_prove_less(name: str, noise: float | None) -> None:
    s = setting(feature_noise=noise)
    schedule = tight(s)
    samples = getattr(schedule, name)
    failures = [
        failure_bound(replace(schedule, **{name: max(1, int(samples * part))}), s)
        for part in (1.0, 0.4, 0.36, 0.32, 0.28)
    ]
    assert failures == sorted(set(failures))
    assert failure_bound(replace(schedule, **{name: 1}), s) == 1


@pytest.mark.parametrize(
    ("changes", "threshold"),
    [
        ({"dimension": 30}, 1.0),
        ({"dimension": 30, "latent_dimension": 3}, 1.0),
        ({"dimension": 3, "latent_dimension": 2, "radius": 0.2, "feature_noise": 0.4}, 6.0),
    ],
)
def test_more_samples_never_prove_less(changes: dict[str, Any], threshold: float) -> None:
    """Also where the cheaper of the two counts of expansions changes on the way."""
    s = setting(**({"gap": 0.45, "norm": 1.0} | changes))
    schedule = tight(s, threshold)
    schedule = replace(schedule, reward_samples=10 * schedule.reward_samples)
    failures = [
        failure_bound(replace(schedule, feature_samples=round(schedule.feature_samples * part)), s)
        for part in np.geomspace(1e-2, 10, 400)
    ]
    assert failures[0] == 1
    assert failures[-1] < s.delta
    assert failures == sorted(failures, reverse=True)


def test_nothing_is_proved_with_too_large_a_ridge() -> None:
    """Once sqrt(lambda) Theta eps reaches Delta / 2, samples do not help."""
    s = setting()
    limit = (s.gap / (2 * s.norm)) ** 2
    rich = Schedule(ridge=limit, threshold=1.0, feature_samples=10**15, reward_samples=10**15)
    assert failure_bound(replace(rich, ridge=0.9 * limit), s) < s.delta
    for factor in (1.0, 1.0001, 10.0, 1e6):
        proved = bounds(replace(rich, ridge=factor * limit), s)
        assert proved.failure == 1
        assert proved.tolerance == 0


@THOROUGH
@given(s=random_settings(), shrink=st.floats(0.01, 1), ridge=st.floats(-3, 3))
def test_failure_is_a_probability(s: Setting, shrink: float, ridge: float) -> None:
    base = tight(s)
    schedule = replace(
        base,
        ridge=base.ridge * 10**ridge,
        feature_samples=max(1, int(base.feature_samples * shrink)),
        reward_samples=max(1, int(base.reward_samples * shrink)),
    )
    proved = bounds(schedule, s)
    assert 0 <= proved.failure <= 1
    assert proved.tolerance < s.gap / 2


def test_a_known_latent_dimension_never_hurts() -> None:
    for latent, dimension in product((1, 3, 20), (20, 200)):
        s = setting(dimension=dimension)
        schedule = tight(s)
        known = replace(s, latent_dimension=latent)
        assert failure_bound(schedule, known) <= s.delta
        assert bounds(schedule, known).episodes <= bounds(schedule, s).episodes
