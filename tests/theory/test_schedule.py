"""The theorem's numbers: sample sizes of the schedules."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assumptions import THOROUGH, setting
from surepath.errors import InputError
from surepath.theory.expansion_bounds import (
    expansion_bound,
    feature_batches,
    latent_expansion_bound,
    reward_batches,
)
from surepath.theory.schedule import (
    SCHEDULES,
    Rule,
    Schedule,
    bounds,
    failure_bound,
    paper,
    tight,
)
from surepath.theory.setting import SQRT2, Setting

# ---------------------------------------------------------------- sample sizes


def log_term(s: Setting, n: int, statements: int = 4) -> float:
    count = max(s.n_actions * feature_batches(s, n), reward_batches(s, n))
    return math.log(statements * count / s.delta)


@THOROUGH
@given(
    h=st.integers(1, 30),
    a=st.integers(1, 8),
    d=st.integers(1, 50),
    log_ratio=st.floats(-0.3, 4),
    unique=st.booleans(),
)
def test_tight_sample_sizes(h: int, a: int, d: int, log_ratio: float, unique: bool) -> None:
    gap = 0.2
    s = setting(
        horizon=h, n_actions=a, dimension=d, gap=gap, norm=gap * 10**log_ratio, unique=unique
    )
    schedule = tight(s)
    assert schedule.threshold == 1
    assert schedule.ridge == pytest.approx((gap / (6 * s.norm)) ** 2)
    n = expansion_bound(s, schedule.ridge, 1.0)
    unit = n * log_term(s, n) / gap**2
    terms = h if unique else h**2
    assert schedule.feature_samples == pytest.approx(288 * s.norm**2 * unit, rel=1e-9, abs=1)
    assert schedule.reward_samples == pytest.approx(72 * terms * unit, rel=1e-9, abs=1)
    assert schedule.pool


@pytest.mark.parametrize("threshold", [0.3, 1.0, 1.98, 10.0])
def test_tight_with_another_threshold(threshold: float) -> None:
    s = setting(reward_noise=2.0, radius=3.0)
    schedule = tight(s, threshold)
    ridge = (s.gap / (6 * s.norm * threshold)) ** 2
    n = expansion_bound(s, ridge, threshold)
    unit = 288 * threshold**2 * n * log_term(s, n) / s.gap**2
    assert schedule.ridge == pytest.approx(ridge)
    assert schedule.feature_samples == pytest.approx(9 * s.norm**2 * unit, rel=1e-6)
    assert schedule.reward_samples == pytest.approx(4 * s.horizon * unit, rel=1e-6)


def test_tight_with_sub_gaussian_features() -> None:
    """M = max(288 noise^2 Theta^2 N' L / Delta^2, noise^2 (sqrt d + sqrt(2 L))^2)."""
    for noise, norm, d in ((0.7, 4.0, 5), (30.0, 0.011, 400)):
        s = setting(feature_noise=noise, norm=norm, dimension=d, gap=0.2)
        schedule = tight(s)
        n = expansion_bound(s, schedule.ridge, 1.0)
        log = log_term(s, n, 6)
        along = 288 * (noise * norm) ** 2 * n * log / s.gap**2
        length = noise**2 * (math.sqrt(d) + math.sqrt(2 * log)) ** 2
        assert (length > along) == (d == 400)
        assert schedule.feature_samples == pytest.approx(max(along, length), rel=1e-3)


def test_tight_by_the_latent_dimension() -> None:
    """M = max(288 N'_s L, 288 (1 + sqrt(2 L))^2) Theta^2 / Delta^2, free of d."""
    s = setting(latent_dimension=3, dimension=4000)
    schedule = tight(s)
    n = latent_expansion_bound(s, schedule.ridge, 1.0)
    assert n < expansion_bound(s, schedule.ridge, 1.0)
    log = log_term(s, n, 6)
    unit = max(n * log, (1 + math.sqrt(2 * log)) ** 2)
    assert schedule.feature_samples == pytest.approx(288 * unit * (s.norm / s.gap) ** 2, rel=1e-3)
    assert bounds(schedule, s).expansions == n
    assert tight(replace(s, dimension=8000)) == schedule


def test_tight_with_windows() -> None:
    """A^(K-1) windows share the distance, and each of them may fail."""
    s = setting(
        latent_dimension=3, dimension=4000, future=5, horizon=8, n_actions=3, windows="joint"
    )
    windows = s.n_actions**4
    schedule = tight(s)
    log = log_term(s, latent_expansion_bound(s, schedule.ridge, 1.0), 6)
    length = (1 + math.sqrt(2 * (log + math.log(windows)))) ** 2 * windows
    assert schedule.feature_samples == pytest.approx(8 * length / schedule.ridge, rel=1e-3)


def test_products_of_node_means_are_no_noisier_than_joint_windows() -> None:
    """Episodes of a window's own make it an average of joint windows over all pairings."""
    s = setting(future=3, horizon=6, n_actions=3, latent_dimension=2, radius=0.5)
    product, joint = tight(s), tight(replace(s, windows="joint"))
    assert product == replace(joint, windows="product")
    n = bounds(product, s).expansions
    assert n == latent_expansion_bound(s, product.ridge, 1.0)
    assert failure_bound(product, s) == failure_bound(joint, s)


@pytest.mark.parametrize("rule", [tight, paper])
def test_features_at_right_angles_need_half_the_readings(rule: Rule) -> None:
    """Their diameter is sqrt(2), not 2: <theta, psi> lies in an interval as much shorter."""
    wide, narrow = rule(setting()), rule(setting(diameter=SQRT2))
    assert narrow.feature_samples == pytest.approx(wide.feature_samples / 2, rel=1e-6)
    assert narrow.reward_samples == wide.reward_samples


def test_a_diameter_is_never_more_than_twice_the_radius() -> None:
    assert tight(setting(diameter=2.5)) == tight(setting())


def test_tight_takes_the_cheaper_count() -> None:
    s = setting(dimension=4)
    assert tight(replace(s, latent_dimension=4)) == tight(s)
    many = replace(s, dimension=4000)
    cost = bounds(tight(many), many).episodes
    known = replace(many, latent_dimension=3)
    assert bounds(tight(known), known).episodes < cost / 1000


@THOROUGH
@given(
    h=st.integers(1, 30),
    a=st.integers(1, 8),
    d=st.integers(1, 50),
    log_ratio=st.floats(-0.3, 4),
    unique=st.booleans(),
)
def test_paper_sample_sizes(h: int, a: int, d: int, log_ratio: float, unique: bool) -> None:
    """lambda = 1, eps = Delta / 6 Theta, with the explicit constants of Hoeffding's inequality."""
    gap = 0.2
    s = setting(
        horizon=h, n_actions=a, dimension=d, gap=gap, norm=gap * 10**log_ratio, unique=unique
    )
    schedule = paper(s)
    eps = gap / (6 * s.norm)
    n = expansion_bound(s, 1.0, eps)
    along = min(gap / 6, gap / (12 * math.sqrt(n * eps)))
    log = log_term(s, n)
    assert (schedule.ridge, schedule.threshold, schedule.pool) == (1.0, eps, False)
    features = 2 * s.norm**2 * log / along**2
    rewards = 2 * 0.25 * h**2 * log / along**2
    assert schedule.feature_samples == pytest.approx(features, rel=1e-9, abs=1)
    assert schedule.reward_samples == pytest.approx(rewards, rel=1e-9, abs=1)


def test_paper_when_nothing_is_ever_expanded() -> None:
    """Features shorter than eps: the paper's other limits, Delta / 6 and Delta / (6 H), remain."""
    s = setting(radius=0.01, gap=1.0, norm=1.0)
    schedule = paper(s)
    assert expansion_bound(s, 1.0, schedule.threshold) == 0
    log = log_term(s, 0)
    assert schedule.feature_samples == math.ceil(72 * 0.01**2 * log)
    assert schedule.reward_samples == math.ceil(18 * s.horizon**2 * log)
    assert failure_bound(schedule, s) <= s.delta


@THOROUGH
@given(
    h=st.integers(2, 30), a=st.integers(2, 8), d=st.integers(1, 50), log_ratio=st.floats(-0.3, 4)
)
def test_total_bound_of_the_tight_schedule(h: int, a: int, d: int, log_ratio: float) -> None:
    gap = 0.1
    s = setting(horizon=h, n_actions=a, dimension=d, gap=gap, norm=gap * 10**log_ratio)
    schedule = tight(s)
    proved = bounds(schedule, s)
    n = proved.expansions
    most = a * h**2 * n**2 * log_term(s, n) / gap**2 * (360 * s.norm**2 + 36 * h + 72 * a)
    most += n * (1.25 * a * h**2 + a * h * (h / 2 + a))
    assert proved.episodes <= most
    spent = proved.feature_batches * schedule.feature_samples
    assert proved.episodes == spent + proved.reward_batches * schedule.reward_samples
    assert proved.steps == h * proved.episodes


def test_numbers_of_a_small_instance() -> None:
    s = setting()
    schedule = tight(s)
    assert expansion_bound(s, schedule.ridge, 1.0) == pytest.approx(67, rel=0.02)
    assert schedule.feature_samples == pytest.approx(4.8e7, rel=0.03)
    assert schedule.reward_samples == pytest.approx(1.8e6, rel=0.05)
    assert bounds(schedule, s).episodes == pytest.approx(3.7e10, rel=0.03)
    assert bounds(paper(s), s).expansions == pytest.approx(3.46e5, rel=0.02)
    wide = tight(s, 1.98)
    assert bounds(wide, s).expansions == pytest.approx(31, abs=1)
    assert wide.feature_samples == pytest.approx(8.1e7, rel=0.03)


# ---------------------------------------------------------------- refusing


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("ridge", value) for value in (0, -1, math.nan, math.inf)),
        *(("threshold", value) for value in (0, -1, math.nan)),
        *(("feature_samples", value) for value in (0, 1.5, math.nan)),
        *(("reward_samples", value) for value in (0, -1, 2.0)),
    ],
)
def test_bad_schedules_are_refused(name: str, value: Any) -> None:
    good = Schedule(ridge=1.0, threshold=1.0, feature_samples=1, reward_samples=1)
    with pytest.raises(InputError, match=name):
        replace(good, **{name: value})


def test_schedules_that_do_not_apply_are_refused() -> None:
    with pytest.raises(InputError, match="bounded features"):
        paper(setting(feature_noise=1.0))
    with pytest.raises(InputError, match="threshold"):
        tight(setting(), 0.0)


# ---------------------------------------------------------------- by name


def test_named_schedules_know_their_names() -> None:
    assert {name: rule(setting()).name for name, rule in SCHEDULES.items()} == {
        "paper": "paper",
        "tight": "tight",
    }


@pytest.mark.parametrize("windows", ["product", "joint"])
def test_the_paper_has_joint_windows(windows: Any) -> None:
    """Its sample sizes are those of joint windows, too, and it is judged as such."""
    s = setting(future=3, horizon=6, windows=windows)
    schedule = SCHEDULES["paper"](s)
    assert schedule.windows == "joint"
    assert schedule == paper(replace(s, windows="joint"))
    assert bounds(schedule, s) == bounds(schedule, replace(s, windows="joint"))
    assert SCHEDULES["tight"](s).windows == windows
