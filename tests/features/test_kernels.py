"""Kernels, bags, finite-dimensional stand-ins and information gain against direct computations."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from surepath.errors import InputError
from surepath.features.kernels import (
    Bag,
    FourierFeatures,
    Nystroem,
    check_positive,
    mean_gram,
    mean_gram_row,
    median_length_scale,
    pick_landmarks,
)
from surepath.system import Counts, Moments
from surepath.theory.gain import gain_bound, information_gain, kernel_expansion_bound

KERNELS = [RBF(0.7), Matern(0.7, nu=0.5), Matern(0.7, nu=1.5), Matern([0.4, 1.1, 2.0], nu=2.5)]
LINEAR = DotProduct(sigma_0=0.0)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def log_det(kernel, rows, ridge):
    gram = kernel(rows, rows)
    return np.linalg.slogdet(np.eye(len(rows)) + gram / ridge)[1]


class Distance:
    """Minus the squared distance: symmetric, not positive definite."""

    def __call__(self, x, y):
        return -np.square(x[:, None] - y[None]).sum(axis=-1)

    def diag(self, x):
        return np.zeros(len(x))


class Sigmoid:
    """tanh of the inner product minus one: positive definite for no sample of small vectors."""

    def __call__(self, x, y):
        return np.tanh(x @ y.T - 1)

    def diag(self, x):
        return np.tanh((x**2).sum(axis=1) - 1)


class Skew:
    def __call__(self, x, y):
        return np.exp(x[:, :1] - y[:, :1].T)

    def diag(self, x):
        return np.ones(len(x))


# ---------------------------------------------------------------- bags


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_mean_gram_is_the_mean_over_all_pairs(kernel, rng):
    a, b = rng.normal(size=(7, 3)), rng.normal(size=(5, 3))
    for left, right in ((a, b), (a, a)):
        direct = np.mean([[kernel(z[None], y[None])[0, 0] for y in right] for z in left])
        assert mean_gram(kernel, Bag.of(left), Bag.of(right)) == pytest.approx(direct, rel=1e-12)


def test_linear_kernel_gives_the_inner_product_of_means(rng):
    a, b = rng.normal(size=(40, 3)), rng.normal(size=(30, 3))
    expected = a.mean(axis=0) @ b.mean(axis=0)
    assert mean_gram(LINEAR, Bag.of(a), Bag.of(b)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("block", [1, 2, 7, 64])
def test_blocks_do_not_change_the_answer(block, rng):
    a, b = Bag.of(rng.normal(size=(23, 2))), Bag.of(rng.normal(size=(17, 2)))
    whole = mean_gram(RBF(), a, b)
    assert mean_gram(RBF(), a, b, block=block) == pytest.approx(whole, rel=1e-12)


def test_no_block_is_larger_than_asked(rng):
    sizes = []

    class Watched(Distance):
        def __call__(self, x, y):
            sizes.append(len(x) * len(y))
            return super().__call__(x, y)

    mean_gram(Watched(), Bag.of(rng.normal(size=(50, 2))), Bag.of(rng.normal(size=(90, 2))), 100)
    assert max(sizes) <= 100
    assert sum(sizes) == 50 * 90


def test_row_equals_single_values(rng):
    bags = [Bag.of(rng.normal(size=(n, 2))) for n in (1, 4, 30, 2, 9)]
    expected = [mean_gram(RBF(), bags[2], bag) for bag in bags]
    for block in (5, 10_000):
        row = mean_gram_row(RBF(), bags[2], bags, block)
        np.testing.assert_allclose(row, expected, rtol=1e-12)
    assert mean_gram_row(RBF(), bags[0], []).shape == (0,)


def test_merging_equals_one_big_bag(rng):
    a, b, c = rng.normal(size=(8, 2)), rng.normal(size=(3, 2)), rng.normal(size=(5, 2))
    merged, big = Bag.of(a).merge(Bag.of(b)), Bag.of(np.vstack((a, b)))
    assert merged.count == 11
    assert merged.weights.sum() == pytest.approx(1)
    for other in (Bag.of(c), big):
        assert mean_gram(RBF(), merged, other) == pytest.approx(mean_gram(RBF(), big, other))


def test_counts_equal_the_observations_they_count():
    raw = np.array([3, 0, 3, 3, 1])
    from_counts, from_raw = Bag.of(Counts(np.bincount(raw, minlength=6))), Bag.of(raw)
    np.testing.assert_array_equal(from_counts.values, [[0], [1], [3]])
    np.testing.assert_allclose(from_counts.weights, [0.2, 0.2, 0.6])
    np.testing.assert_array_equal(from_counts.values, from_raw.values)
    real = Bag.of(raw.astype(float))
    assert mean_gram(RBF(), from_raw, from_raw) == pytest.approx(mean_gram(RBF(), real, real))
    twice = from_counts.merge(from_raw)
    assert (twice.count, len(twice.values)) == (10, 3)
    np.testing.assert_allclose(twice.weights, from_raw.weights)


def test_observations_of_any_shape_are_flattened(rng):
    images = rng.normal(size=(4, 2, 3))
    np.testing.assert_array_equal(Bag.of(images).values, images.reshape(4, 6))


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        (np.array([[0.0], [1.0], [np.nan]]), "row 2"),
        (np.array([[np.inf], [1.0]]), "row 0"),
        (np.zeros((0, 2)), "at least one observation"),
        (Counts(np.zeros(3, dtype=np.int64)), "not all 0"),
        (Moments(3, np.zeros(2), np.eye(2)), "mean and scatter"),
    ],
)
def test_unusable_samples_are_refused(sample, message):
    with pytest.raises(InputError, match=message):
        Bag.of(sample)


def test_bags_of_different_size_do_not_merge():
    with pytest.raises(InputError, match="sizes 1 and 2"):
        Bag.of(np.zeros((3, 1))).merge(Bag.of(np.zeros((3, 2))))


# ---------------------------------------------------------------- choosing and checking


def test_median_length_scale(rng):
    sample = rng.normal(size=(60, 2))
    distances = [math.dist(a, b) for a, b in itertools.combinations(sample, 2)]
    assert median_length_scale(sample) == pytest.approx(np.median(distances))
    assert median_length_scale(np.ones((9, 2))) == 1.0
    assert median_length_scale([[4.0]]) == 1.0
    assert median_length_scale([0.0] * 9 + [3.0]) == 3.0
    assert median_length_scale(rng.normal(size=(20_000, 1))) == pytest.approx(0.954, abs=0.15)


def test_check_positive_returns_the_squared_radius(rng):
    sample = rng.normal(size=(300, 2))
    assert check_positive(RBF(), sample) == pytest.approx(1)
    assert check_positive(ConstantKernel(4.0) * RBF(), sample) == pytest.approx(4)
    kept = sample[np.linspace(0, 299, 200).round().astype(int)]
    assert check_positive(LINEAR, sample) == pytest.approx((kept**2).sum(axis=1).max())


@pytest.mark.parametrize("kernel", [Distance(), Sigmoid()])
def test_an_indefinite_kernel_is_refused_with_its_eigenvalue(kernel, rng):
    sample = rng.normal(scale=0.5, size=(30, 2))
    least = np.linalg.eigvalsh(kernel(sample, sample))[0]
    with pytest.raises(InputError, match="smallest eigenvalue") as caught:
        check_positive(kernel, sample)
    assert f"{least:.6g}" in str(caught.value)


def test_other_faults_of_a_kernel_are_named(rng):
    sample = rng.normal(size=(20, 2))
    with pytest.raises(InputError, match="symmetric"):
        check_positive(Skew(), sample)
    with pytest.raises(InputError, match="WhiteKernel"):
        check_positive(RBF() + WhiteKernel(), sample)

    class Broken(Distance):
        def __call__(self, x, y):
            return np.full((len(x), len(y)), np.nan)

    with pytest.raises(InputError, match="finite"):
        check_positive(Broken(), sample)

    class Short(Distance):
        def __call__(self, x, y):
            return np.zeros(len(x))

    with pytest.raises(InputError, match="shape"):
        check_positive(Short(), sample)


# ---------------------------------------------------------------- finite-dimensional stand-ins


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_nystroem_is_exact_on_its_landmarks(kernel, rng):
    sample = rng.normal(size=(40, 3))
    features = Nystroem(kernel, sample)
    psi = features.transform(sample)
    assert psi.shape == (40, features.dimension)
    np.testing.assert_allclose(psi @ psi.T, kernel(sample, sample), atol=1e-10)


def test_nystroem_survives_repeated_and_close_landmarks(rng):
    sample = np.repeat(rng.normal(size=(10, 1)), 3, axis=0)
    sample[1] += 1e-9
    psi = Nystroem(RBF(), sample).transform(sample)
    np.testing.assert_allclose(psi @ psi.T, RBF()(sample, sample), atol=1e-10)


def test_nystroem_features_are_never_longer_than_the_kernels(rng):
    kernel = ConstantKernel(2.25) * RBF(0.5)
    features = Nystroem(kernel, rng.normal(size=(60, 2)))
    assert features.radius == pytest.approx(1.5)
    lengths = np.linalg.norm(features.transform(rng.normal(size=(500, 2))), axis=1)
    assert lengths.max() <= features.radius * (1 + 1e-9)
    assert Nystroem(DotProduct(), [[1.0], [2.0]]).radius is None


def test_spread_landmarks_bound_the_error_everywhere(rng):
    # One observation in a thousand is far away: a random choice of 20 would miss it mostly.
    sample = np.vstack((rng.normal(scale=0.3, size=(999, 2)), [[8.0, 8.0]]))
    landmarks = pick_landmarks(sample, 20, rng)
    assert len(np.unique(landmarks, axis=0)) == 20
    assert [8.0, 8.0] in landmarks.tolist()
    reach = np.sqrt(np.square(sample[:, None] - landmarks[None]).sum(-1)).min(axis=1).max()
    error = 1 - (Nystroem(RBF(), landmarks).transform(sample) ** 2).sum(axis=1)
    assert error.max() <= 2 * (1 - math.exp(-(reach**2) / 2))


def test_landmarks_are_distinct_rows(rng):
    sample = np.repeat([[0.0], [1.0], [5.0]], 10, axis=0)
    assert sorted(pick_landmarks(sample, 8, rng).ravel()) == [0.0, 1.0, 5.0]


@pytest.mark.parametrize(
    "kernel",
    [RBF(0.8), RBF([0.5, 1.0, 2.0]), *(Matern(0.8, nu=nu) for nu in (0.5, 0.9, 1.5, 2.5)),
     Matern([0.5, 1.0, 2.0], nu=1.5), Matern(1.0, nu=math.inf)],
    ids=repr,
)  # fmt: skip
def test_fourier_features_approximate_the_kernel(kernel, rng):
    sample = rng.normal(size=(20, 3))
    features = FourierFeatures(kernel, 3, 20_000, rng)
    psi = features.transform(sample)
    np.testing.assert_allclose(np.linalg.norm(psi, axis=1), 1, rtol=1e-12)
    # Each of 190 pairs is a mean of 10^4 cosines in [-1, 1]: Hoeffding, failure 1e-6 in all.
    tolerance = math.sqrt(2 * math.log(2 * 190 / 1e-6) / 10_000)
    assert np.abs(psi @ psi.T - kernel(sample, sample)).max() <= tolerance


def test_fourier_features_refuse_what_they_cannot_do(rng):
    with pytest.raises(InputError, match="Nystroem"):
        FourierFeatures(RationalQuadratic(), 2, 10, rng)
    with pytest.raises(InputError, match="even"):
        FourierFeatures(RBF(), 2, 11, rng)
    with pytest.raises(InputError, match="2 length scales"):
        FourierFeatures(RBF([1.0, 2.0]), 3, 10, rng)
    with pytest.raises(InputError, match="size 2"):
        FourierFeatures(RBF(), 3, 10, rng).transform(np.zeros((4, 2)))


# ---------------------------------------------------------------- information gain


@pytest.mark.parametrize("kernel", [RBF(0.5), Matern(0.5, nu=0.5), DotProduct(0.3)], ids=repr)
@pytest.mark.parametrize("ridge", [1.0, 1e-3])
def test_greedy_best_and_bound_are_in_order(kernel, ridge, rng):
    for _ in range(5):
        candidates = rng.normal(size=(6, 2))
        greedy = information_gain(kernel, candidates, ridge, 3)
        bound = gain_bound(kernel, candidates, ridge, 3)
        for n in (1, 2, 3):
            multisets = itertools.combinations_with_replacement(range(6), n)
            best = max(log_det(kernel, candidates[list(z)], ridge) for z in multisets)
            assert greedy[n - 1] <= best + 1e-9
            assert best <= bound[n - 1] + 1e-9
        assert greedy[0] == pytest.approx(bound[0])  # one point: the greedy choice is the best


def test_greedy_gain_is_that_of_the_points_it_picks(rng):
    # Three symbols far apart are chosen in turn: 3 rounds give 3 ln(1 + 3 / ridge).
    candidates = np.array([[0.0], [100.0], [200.0]])
    gain = information_gain(RBF(), candidates, 0.1, 600)
    assert gain[8] == pytest.approx(3 * math.log1p(3 / 0.1))
    assert gain[599] == pytest.approx(3 * math.log1p(200 / 0.1))  # beyond one window of updates


def test_bound_grows_with_n_and_stays_near_the_greedy_gain(rng):
    candidates = rng.uniform(size=(150, 2))
    greedy = information_gain(RBF(0.3), candidates, 1e-3, 400)
    bound = gain_bound(RBF(0.3), candidates, 1e-3, 400)
    assert (np.diff(greedy) >= 0).all()
    assert (np.diff(bound) >= 0).all()
    assert (np.diff(bound, n=2) <= 1e-9).all()
    assert (greedy <= bound + 1e-9).all()
    assert bound[-1] <= 1.05 * greedy[-1]  # far below the general factor 1 / (1 - 1/e) = 1.58
    small = gain_bound(RBF(0.3), candidates, 1e-3, 50)
    assert (greedy[:50] <= small + 1e-9).all()


def test_gain_of_the_linear_kernel_is_that_of_its_dimension(rng):
    directions = rng.normal(size=(200, 4))
    candidates = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    sizes = np.arange(1, 201)
    for ridge in (1.0, 1e-2):
        limit = 4 * np.log1p(sizes / (4 * ridge))
        gain = information_gain(LINEAR, candidates, ridge, 200)
        assert (gain <= limit + 1e-9).all()
        assert gain[-1] >= 0.97 * limit[-1]


@pytest.mark.parametrize("ridge", [1.0, 0.01])
def test_gain_of_single_observations_bounds_that_of_bags(ridge, rng):
    for _ in range(40):
        n = int(rng.integers(1, 4))
        bags = [Bag.of(rng.normal(size=(int(rng.integers(1, 4)), 2))) for _ in range(n)]
        gram = np.array([mean_gram_row(RBF(0.8), bag, bags) for bag in bags])
        of_bags = np.linalg.slogdet(np.eye(n) + gram / ridge)[1]
        support = np.vstack([bag.values for bag in bags])
        multisets = itertools.combinations_with_replacement(range(len(support)), n)
        gamma = max(log_det(RBF(0.8), support[list(z)], ridge) for z in multisets)
        assert of_bags <= gamma + 1e-9
        assert gamma <= gain_bound(RBF(0.8), support, ridge, n)[-1] + 1e-9


def test_smooth_kernels_gain_slowly_and_rough_ones_fast():
    # On [0, 1] the gain of RBF is of order ln(n)^2, so its exponent d ln gain / d ln n is at most
    # 2 / ln n; that of Matern 1/2 is of order sqrt(n), which its exponent approaches from above.
    candidates = np.linspace(0, 1, 600)
    exponent = {}
    for name, kernel in (("smooth", RBF(0.2)), ("rough", Matern(0.2, nu=0.5))):
        gain = information_gain(kernel, candidates, 1.0, 1200)
        exponent[name] = [math.log2(gain[2 * n - 1] / gain[n - 1]) for n in (75, 150, 300, 600)]
        assert exponent[name] == sorted(exponent[name], reverse=True)
    assert exponent["smooth"][-1] <= 2 / math.log(600)
    assert 0.45 <= exponent["rough"][-1] <= 0.6


def test_expansion_bound_is_the_last_n_that_the_bound_allows(rng):
    candidates = rng.uniform(size=(100, 2))
    for ridge, threshold in ((0.1, 1.0), (1e-3, 1.0), (1e-2, 2.0), (1.0, 0.3)):
        n = kernel_expansion_bound(RBF(0.3), candidates, ridge, threshold)
        bound = gain_bound(RBF(0.3), candidates, ridge, 2 * n + 2)
        rate = math.log1p(threshold**2)
        # A run of another length has other lines, so the two may differ by a point or so.
        assert (n - 1) * rate <= bound[n - 2]
        assert (n + 2) * rate > bound[n + 1]


def test_expansion_bound_is_zero_where_nothing_can_be_uncovered():
    assert kernel_expansion_bound(RBF(), [[0.0], [1.0]], 2.0, 1.0) == 0


def test_expansion_bound_beyond_a_greedy_run_matches_the_closed_form():
    # d orthogonal unit features: gamma(n) = d ln(1 + n / (d ridge)) where d divides n.
    d, threshold = 3, 0.01
    n = kernel_expansion_bound(LINEAR, np.eye(d), 1.0, threshold)
    rate = math.log1p(threshold**2)
    assert n * rate <= d * math.log1p(n / d) * (1 + 2e-3)
    assert (n + 1) * rate >= d * math.log1p((n + 1) / d) * (1 - 1e-9)


def test_expansion_bound_beyond_a_greedy_run_uses_the_kernel(rng):
    # 60 candidates but little more than a line of features: far below the count by rank alone.
    candidates = rng.uniform(size=(60, 1))
    smooth = kernel_expansion_bound(RBF(1.0), candidates, 1.0, 0.03)
    assert smooth > 4096
    by_rank = kernel_expansion_bound(LINEAR, np.eye(60), 1.0, 0.03)
    assert smooth < by_rank / 5
    # Valid: no less than what the greedy gain alone, continued by one dimension, allows.
    gain = information_gain(RBF(1.0), candidates, 1.0, 4096)[-1]
    assert smooth >= gain / math.log1p(0.03**2)


@pytest.mark.parametrize("kernel", [RBF(0.3), Matern(0.3, nu=0.5)], ids=repr)
def test_both_ways_to_the_expansion_bound_agree(kernel, rng, monkeypatch):
    candidates = rng.uniform(size=(40, 1))
    direct = kernel_expansion_bound(kernel, candidates, 0.3, 0.3)
    monkeypatch.setattr("surepath.theory.gain.GREEDY_STEPS", 128)
    beyond = kernel_expansion_bound(kernel, candidates, 0.3, 0.3)
    assert beyond > 128
    gain = information_gain(kernel, candidates, 0.3, direct)
    allowed = int((np.arange(1, direct + 1) * math.log1p(0.3**2) <= gain).sum())
    assert allowed <= direct <= 1.05 * allowed
    # 128 points are a coarse design for 40 candidates: it costs some tightness, never validity.
    assert allowed <= beyond <= 1.1 * allowed


def test_expansions_of_a_run_stay_below_the_bound(rng):
    # Add every bag that is not covered; the count must respect the bound of its support.
    bags = [Bag.of(rng.uniform(size=(3, 1))) for _ in range(120)]
    gram = np.array([mean_gram_row(RBF(0.2), bag, bags) for bag in bags])
    ridge, stored = 1e-2, []
    for _ in range(3):
        for i in range(len(bags)):
            inner = gram[np.ix_(stored, stored)] + ridge * np.eye(len(stored))
            k = gram[stored, i]
            if (gram[i, i] - k @ np.linalg.solve(inner, k)) / ridge > 1:
                stored.append(i)
    support = np.vstack([bag.values for bag in bags])
    assert 0 < len(stored) <= kernel_expansion_bound(RBF(0.2), support, ridge, 1.0)


@pytest.mark.parametrize(("ridge", "threshold"), [(0.0, 1.0), (1.0, 0.0), (1.0, 1e-200)])
def test_meaningless_settings_are_refused(ridge, threshold):
    with pytest.raises(InputError, match=r"ridge|threshold"):
        kernel_expansion_bound(RBF(), [[0.0]], ridge, threshold)


def test_kernels_do_not_import_sklearn_until_needed():
    code = "import sys, surepath.theory.gain; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
