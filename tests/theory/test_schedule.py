"""The theorem's numbers: counts, sample sizes, and the failure probability they prove."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surepath.errors import InputError
from surepath.readings.ridge import Ridge
from surepath.theory.schedule import (
    Schedule,
    Setting,
    bounds,
    exhaustive_from,
    expansion_bound,
    failure_bound,
    feature_batches,
    latent_expansion_bound,
    paper,
    reward_batches,
    tight,
)

THOROUGH = settings(deadline=None, derandomize=True, max_examples=300)


def setting(**changes: Any) -> Setting:
    """Three levels, two actions, four observations, and rewards in [0, 1]."""
    return replace(Setting(3, 2, 4, gap=0.30, norm=4.36, delta=0.05, unique=True), **changes)


@st.composite
def random_settings(draw: st.DrawFn, *, for_paper: bool = False) -> Setting:
    """The paper has bounded features, of length 1, so that no gap exceeds twice the norm."""
    n_actions, dimension = draw(st.integers(1, 6)), draw(st.integers(1, 30))
    noise = None if for_paper else draw(st.none() | st.floats(0.01, 10))
    future = draw(st.integers(1, 5)) if noise is None else 1
    latent = draw(st.none() | st.integers(1, dimension))
    norm = 10 ** draw(st.floats(-1, 2))
    return Setting(
        horizon=draw(st.integers(1, 12)),
        n_actions=n_actions,
        dimension=dimension,
        gap=norm * 10 ** draw(st.floats(-4, 0.3 if for_paper else 2)),
        norm=norm,
        delta=10 ** draw(st.floats(-6, -0.01)),
        latent_dimension=latent,
        radius=10 ** draw(st.floats(-1, 1.5)),
        feature_noise=noise,
        reward_noise=10 ** draw(st.floats(-2, 1)),
        unique=draw(st.booleans()),
        future=future,
        windows=draw(st.sampled_from(["product", "joint"])),
    )


# ---------------------------------------------------------------- how often a level is expanded

RIDGES = (1e-10, 1e-6, 1e-3, 0.1, 1.0, 30.0)
THRESHOLDS = (0.01, 0.1, 0.6, 1.0, 1.98, 5.0)
VARIANTS: tuple[tuple[dict[str, Any], float], ...] = (  # and the square of the largest length
    ({}, 1.0),
    ({"dimension": 1}, 1.0),
    ({"dimension": 50, "radius": 3.0}, 9.0),
    ({"future": 3, "radius": 0.5}, 4 * 0.25),
    ({"feature_noise": 2.0, "radius": 3.0}, 16.0),
    ({"radius": 3.0, "future": 3, "windows": "joint"}, 36.0),
)


@pytest.mark.parametrize(("changes", "square"), VARIANTS)
def test_expansion_bound_is_the_exact_maximiser(changes: dict[str, Any], square: float) -> None:
    s = setting(**changes)
    d = s.window_dimension

    def slack(n: int, ridge: float, threshold: float) -> float:
        return d * math.log1p(n * square / (d * ridge)) - n * math.log1p(threshold**2)

    for ridge, threshold in product(RIDGES, THRESHOLDS):
        n = expansion_bound(s, ridge, threshold)
        assert slack(n, ridge, threshold) >= 0
        assert slack(n + 1, ridge, threshold) < 0


@pytest.mark.parametrize("changes", [changes for changes, _ in VARIANTS])
@pytest.mark.parametrize("latent", [1, 7, 40])
def test_latent_expansion_bound_is_the_exact_maximiser(
    changes: dict[str, Any], latent: int
) -> None:
    s = setting(**(changes | {"dimension": 60, "latent_dimension": latent}))
    square = s.n_actions ** (s.future - 1) * s.radius**2  # of the expectation, not of the mean

    def slack(n: int, ridge: float, threshold: float) -> float:
        growth = math.log1p(threshold**2) - 0.25
        return latent * math.log1p(2 * n * square / (latent * ridge)) - n * growth

    for ridge, threshold in product(RIDGES, THRESHOLDS[2:]):
        n = latent_expansion_bound(s, ridge, threshold)
        assert slack(n, ridge, threshold) >= 0
        assert slack(n + 1, ridge, threshold) < 0


@THOROUGH
@given(d=st.integers(1, 500), log_ratio=st.floats(-0.3, 6))
def test_closed_forms_of_the_expansion_bounds(d: int, log_ratio: float) -> None:
    """Threshold 1 and lambda = (Delta / 6 Theta)^2, for features of length at most 1."""
    ratio = 10**log_ratio  # Theta / Delta
    s = setting(dimension=d, norm=ratio, gap=1.0, latent_dimension=d)
    ridge = 1 / (36 * ratio**2)
    assert expansion_bound(s, ridge, 1.0) <= d * (2 * math.log2(1 + 36 * ratio**2) + 0.18)
    closed = d * (4.52 * math.log(1 + 2 / ridge) + 2.29)
    assert latent_expansion_bound(s, ridge, 1.0) <= closed


def expansions_of(points: np.ndarray, ridge: float, threshold: float) -> int:
    """How many of the points are uncovered when they come."""
    model = Ridge(points.shape[1], 1, ridge)
    for x in points:
        if model.coverage(x) > threshold:
            model.add(x, np.zeros(1))
    return model.count


@pytest.mark.parametrize("ridge", [1e-6, 1e-2, 0.1])
@pytest.mark.parametrize("threshold", [0.2, 1.0, 2.0])
def test_no_sequence_is_expanded_more_often(ridge: float, threshold: float) -> None:
    """Unit vectors along the axes in turn, in random directions, and of growing length."""
    d = 4
    most = expansion_bound(setting(dimension=d), ridge, threshold)
    rng = np.random.default_rng(1)
    random = rng.normal(size=(4000, d))
    random /= np.linalg.norm(random, axis=1, keepdims=True)
    growing = random * np.geomspace(math.sqrt(ridge), 1, len(random))[:, None]
    counts = [
        expansions_of(points, ridge, threshold)
        for points in (np.tile(np.eye(d), (1000, 1)), random, growing)
    ]
    assert 1 <= max(counts) <= most


@pytest.mark.parametrize("ridge", [1e-5, 1e-2])
def test_noise_below_the_ridge_does_not_raise_the_latent_count(ridge: float) -> None:
    """Two latent directions seen through 60 noisy dimensions, each error of length sqrt(l/8)."""
    d, latent = 60, 2
    rng = np.random.default_rng(2)
    errors = rng.normal(size=(2000, d))
    errors *= math.sqrt(ridge / 8) / np.linalg.norm(errors, axis=1, keepdims=True)
    angles = rng.uniform(0, 2 * math.pi, size=2000)
    lengths = np.geomspace(math.sqrt(ridge), 1, 2000)
    points = errors
    points[:, 0] += lengths * np.cos(angles)
    points[:, 1] += lengths * np.sin(angles)
    s = setting(dimension=d, latent_dimension=latent)
    assert latent < expansions_of(points, ridge, 1.0) <= latent_expansion_bound(s, ridge, 1.0)


# ---------------------------------------------------------------- batches


@pytest.mark.parametrize("n", [0, 1, 13])
@pytest.mark.parametrize("a", [1, 2, 5])
@pytest.mark.parametrize("h", [1, 2, 3, 20])
def test_batches_of_the_printed_algorithm(h: int, a: int, n: int) -> None:
    s = setting(horizon=h, n_actions=a)
    chains = n * a * (h - 1) * (h - 2) // 2
    assert feature_batches(s, n) == h * (h * n + 1) + chains
    assert reward_batches(s, n) == a * h * n + chains + a**2 * (h - 1) * n


@pytest.mark.parametrize("n", [1, 2, 500])
@pytest.mark.parametrize("a", [2, 3, 10])
@pytest.mark.parametrize("h", [2, 3, 50])
def test_simplified_bounds_of_the_batches(h: int, a: int, n: int) -> None:
    s = setting(horizon=h, n_actions=a)
    assert feature_batches(s, n) <= 1.25 * a * h**2 * n
    assert reward_batches(s, n) <= a * h * (h / 2 + a) * n


def walk(level: int, first: int, horizon: int, a: int) -> tuple[int, int]:
    """Embeddings and rewards of one chain of covered visits from `level` to the end."""
    if level >= first:  # try everything
        return 0, sum(a**k for k in range(1, horizon - level + 1))
    embeddings, rewards = walk(level + 1, first, horizon, a)
    return embeddings + 1, rewards + 1


@pytest.mark.parametrize("future", [1, 2, 3, 5])
@pytest.mark.parametrize("a", [1, 2, 3])
@pytest.mark.parametrize("h", [1, 2, 4, 6])
def test_batches_count_the_worst_run(h: int, a: int, future: int) -> None:
    """N' expansions at every level that has a full window, each with A chains to the end."""
    n = 3
    s = setting(horizon=h, n_actions=a, future=future)
    tested = max(0, h - future + 1)
    first = exhaustive_from(h, future)
    assert first == max(0, h - max(future - 1, 1)) == s.exhaustive_from
    features = tested * (tested * n + 1)
    rewards = 0
    for level in range(tested):
        rewards += n * a
        if level < first:
            chain = walk(level + 1, first, h, a)
            features += n * a * chain[0]
            rewards += n * a * chain[1]
    if future > 1:  # the main loop's own end, where no window is left to test
        rewards += walk(first, first, h, a)[1]
    assert feature_batches(s, n) == features
    assert reward_batches(s, n) == rewards


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


def test_tight_with_products_of_node_means() -> None:
    """1 + A + A^2 nodes: so much more noise in a window, and as many statements about it."""
    s = setting(future=3, horizon=6, n_actions=3, latent_dimension=2, radius=0.5)
    schedule = tight(s)
    n = expansion_bound(s, schedule.ridge, 1.0)  # the count by d_s is not proved for products
    statements = 13 * s.n_actions * feature_batches(s, n)
    assert statements > reward_batches(s, n)
    log = math.log(4 * statements / s.delta)
    expected = 288 * 13 * (s.radius * s.norm / s.gap) ** 2 * n * log
    assert schedule.feature_samples == pytest.approx(expected, rel=1e-6)
    assert schedule.windows == "product"
    assert tight(replace(s, windows="joint")).feature_samples < expected / 13


def test_windows_of_unbounded_features_are_refused() -> None:
    """The tensor product of two unbounded readings has heavier tails than either."""
    for windows in ("product", "joint"):
        with pytest.raises(InputError, match="bounded features"):
            setting(future=2, feature_noise=1.0, windows=windows)


def test_a_product_is_not_judged_as_a_joint_window() -> None:
    """Products of node means are noisier, whatever the setting was written for."""
    joint = setting(future=3, horizon=6, windows="joint")
    schedule = replace(tight(joint), windows="product")
    assert failure_bound(schedule, replace(joint, windows="product")) > joint.delta
    assert failure_bound(schedule, joint) > joint.delta


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


# ---------------------------------------------------------------- refusing

BAD_SETTINGS: tuple[tuple[str, Any], ...] = (
    *(("horizon", value) for value in (0, -1, 1.5, True, None)),
    *(("n_actions", value) for value in (0, 2.0)),
    *(("dimension", value) for value in (0, -3)),
    *(("future", value) for value in (0, 1.0)),
    *(("latent_dimension", value) for value in (0, 5, 2.0)),
    *(("gap", value) for value in (0, -0.1, math.nan, math.inf, "1", None)),
    *(("norm", value) for value in (0, -1, math.nan, math.inf)),
    *(("radius", value) for value in (0, -1, math.nan)),
    *(("reward_noise", value) for value in (0, -1, math.nan)),
    *(("delta", value) for value in (0, 1, -0.1, 2, math.nan)),
    *(("feature_noise", value) for value in (0, -1.0, math.nan, math.inf)),
)


@pytest.mark.parametrize(("name", "value"), BAD_SETTINGS)
def test_bad_settings_are_refused(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=name):
        setting(**{name: value})


def test_latent_dimension_may_reach_that_of_a_window() -> None:
    assert setting(latent_dimension=8, future=2).latent_dimension == 8
    with pytest.raises(InputError, match="latent_dimension"):
        setting(latent_dimension=9, future=2)


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


def test_bounds_that_do_not_apply_are_refused() -> None:
    with pytest.raises(InputError, match="latent_dimension=None"):
        latent_expansion_bound(setting(), 1.0, 1.0)
    with pytest.raises(InputError, match=r"threshold=0\.5"):
        latent_expansion_bound(setting(latent_dimension=2), 1.0, 0.5)
    with pytest.raises(InputError, match="bounded features"):
        paper(setting(feature_noise=1.0))
    with pytest.raises(InputError, match="threshold"):
        tight(setting(), 0.0)
