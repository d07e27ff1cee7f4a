"""The information gain of kernels, and the expansions it allows, against direct computation."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, DotProduct, Matern

from surepath.errors import InputError
from surepath.features.kernels import Bag, mean_gram_row
from surepath.theory.gain import gain_bound, information_gain, kernel_expansion_bound

LINEAR = DotProduct(sigma_0=0.0)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def log_det(kernel, rows, ridge):
    gram = kernel(rows, rows)
    return np.linalg.slogdet(np.eye(len(rows)) + gram / ridge)[1]


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
