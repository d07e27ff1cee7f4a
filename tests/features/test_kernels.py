"""Bags, kernels and their finite-dimensional stand-ins against direct computation."""

from __future__ import annotations

import itertools
import math

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

KERNELS = [RBF(0.7), Matern(0.7, nu=0.5), Matern(0.7, nu=1.5), Matern([0.4, 1.1, 2.0], nu=2.5)]
LINEAR = DotProduct(sigma_0=0.0)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


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


def test_fewer_features_than_landmarks_are_those_that_matter_most() -> None:
    rng = np.random.default_rng(0)
    near, far = rng.normal(size=(40, 2)), rng.normal(100, 1, size=(3, 2))
    landmarks = np.vstack([near, far])
    whole, part = (Nystroem(RBF(1.0), landmarks, size) for size in (None, 30))
    assert (whole.dimension, part.dimension) == (43, 30)
    np.testing.assert_allclose(whole.lengths(landmarks), 1)
    # On the landmarks the error is the largest eigenvalue that is left out.
    left_out = np.linalg.eigvalsh(RBF(1.0)(landmarks))[12]
    full, less = (psi.transform(landmarks) for psi in (whole, part))
    assert np.linalg.norm(less @ less.T - full @ full.T, 2) == pytest.approx(left_out, rel=1e-6)
    np.testing.assert_allclose(np.square(less[-3:]).sum(axis=1), 1, atol=0.01)  # far ones stay
    np.testing.assert_allclose(part.average(landmarks), less.mean(axis=0), atol=1e-12)
