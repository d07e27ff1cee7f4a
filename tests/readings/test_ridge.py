"""Coverage and prediction against direct solves, in double and in 60-digit arithmetic."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surepath.errors import NumericalError
from surepath.readings.ridge import Ridge

EPS = np.finfo(float).eps
SEEDS = st.integers(0, 2**32 - 1)
UNIT = 2**20  # points are multiples of 1 / UNIT, so that their Gram matrix is exact in integers


def filled(points: np.ndarray, outputs: np.ndarray, ridge: float) -> Ridge:
    model = Ridge(points.shape[1], outputs.shape[1], ridge)
    for x, y in zip(points, outputs, strict=True):
        model.add(x, y)
    return model


def random_data(seed: int, n: int, d: int, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return scale * rng.normal(size=(n, d)), rng.normal(size=(n, 2))


class Exact:
    """Sigma and the moments of points on the grid, in 60-digit arithmetic."""

    def __init__(self, grid: np.ndarray, outputs: np.ndarray, ridge: float) -> None:
        self.d = grid.shape[1]
        with mpmath.workdps(60):
            gram = mpmath.matrix((grid.T @ grid).tolist()) / UNIT**2
            self.sigma = gram + mpmath.mpf(ridge) * mpmath.eye(self.d)
            self.moments = mpmath.matrix((grid.T @ outputs).tolist()) / UNIT**2
            self.inverse = self.sigma**-1

    @property
    def condition(self) -> float:
        values = mpmath.eigsy(self.sigma, eigvals_only=True)
        return float(max(values) / min(values))

    def coverage(self, x: np.ndarray) -> float:
        return self._length(mpmath.matrix(x.tolist()))

    def predict(self, x: np.ndarray) -> list[float]:
        with mpmath.workdps(60):
            row = mpmath.matrix(x.tolist()).T * self.inverse * self.moments
            return [float(value) for value in row]

    def moment_length(self, output: int) -> float:
        """Length of the moments in Sigma^-1: by Cauchy and Schwarz, coverage times it bounds."""
        return self._length(self.moments[:, output])

    def _length(self, vector: mpmath.matrix) -> float:
        with mpmath.workdps(60):
            return float(mpmath.sqrt((vector.T * self.inverse * vector)[0]))


def assert_close(model: Ridge, exact: Exact, x: np.ndarray, tolerance: float) -> None:
    """Relative error of the coverage, and of predictions relative to their largest size."""
    coverage = exact.coverage(x)
    assert model.coverage(x) == pytest.approx(coverage, rel=tolerance, abs=0)
    for output, (got, want) in enumerate(zip(model.predict(x), exact.predict(x), strict=True)):
        assert abs(got - want) <= tolerance * coverage * exact.moment_length(output)


# ---------------------------------------------------------------- equal to the direct solve


@settings(max_examples=100)
@given(
    seed=SEEDS,
    n=st.integers(0, 40),
    d=st.integers(1, 8),
    log_ridge=st.floats(-3, 8),
    log_scale=st.floats(-2, 1),
)
def test_equals_the_direct_solve(
    seed: int, n: int, d: int, log_ridge: float, log_scale: float
) -> None:
    ridge = 10**log_ridge
    points, outputs = random_data(seed, n, d, 10**log_scale)
    model = filled(points, outputs, ridge)
    sigma = ridge * np.eye(d) + points.T @ points
    moments = points.T @ outputs
    lengths = np.sqrt(np.einsum("dy,dy->y", moments, np.linalg.solve(sigma, moments)))
    for x in np.random.default_rng(seed + 1).normal(size=(3, d)):
        square = x @ np.linalg.solve(sigma, x)
        assert model.coverage(x) ** 2 == pytest.approx(square, rel=1e-9, abs=0)
        error = np.abs(model.predict(x) - x @ np.linalg.solve(sigma, moments))
        assert (error <= 1e-9 * math.sqrt(square) * lengths).all()


@settings(max_examples=60)
@given(seed=SEEDS, n=st.integers(1, 12), d=st.integers(1, 12), log_ridge=st.floats(-2, 4))
def test_equals_the_dual_form(seed: int, n: int, d: int, log_ridge: float) -> None:
    """(k - k' (K + lambda I)^-1 k) / lambda and k' (K + lambda I)^-1 y, with the linear kernel."""
    ridge = 10**log_ridge
    points, outputs = random_data(seed, n, d)
    model = filled(points, outputs, ridge)
    gram = points @ points.T + ridge * np.eye(n)
    x = np.random.default_rng(seed + 1).normal(size=d)
    k = points @ x
    square = (x @ x - k @ np.linalg.solve(gram, k)) / ridge
    assert model.coverage(x) ** 2 == pytest.approx(square, rel=1e-9, abs=1e-9 * (x @ x) / ridge)
    dual = k @ np.linalg.solve(gram, outputs)
    assert model.predict(x) == pytest.approx(dual, rel=1e-9, abs=1e-9)


# ---------------------------------------------------------------- accuracy


@settings(max_examples=40)
@given(
    seed=SEEDS,
    n=st.integers(1, 60),
    log_ridge=st.floats(-14, 6),
    spread=st.sampled_from([1, 100, UNIT]),
)
def test_error_grows_with_the_root_of_the_condition(
    seed: int, n: int, log_ridge: float, spread: int
) -> None:
    """Where a double precision solve of Sigma has no correct digit left, this still has eight."""
    rng = np.random.default_rng(seed)
    d, ridge = 4, 10**log_ridge
    grid = rng.integers(-UNIT, UNIT, size=d) + rng.integers(-spread, spread + 1, size=(n, d))
    outputs = rng.integers(-UNIT, UNIT + 1, size=(n, 2))
    model = filled(grid / UNIT, outputs / UNIT, ridge)
    exact = Exact(grid, outputs, ridge)
    # The condition of Sigma before it had points in all directions counts as well.
    condition = 1 + float((grid / UNIT).ravel() @ (grid / UNIT).ravel()) / ridge
    for x in (grid[0] / UNIT, grid[-1] / UNIT, rng.normal(size=d)):
        assert_close(model, exact, x, 30 * math.sqrt(condition) * EPS)


@pytest.mark.parametrize(("ridge", "spread"), [(1e-8, 3), (1e-4, 1000)])
def test_accuracy_after_many_additions(ridge: float, spread: int) -> None:
    """10^5 nearly collinear points; sqrt(condition) eps is the error of one factorisation.

    Independent rounding of n updates would add a factor sqrt(n), 300 here; a third is granted.
    """
    rng = np.random.default_rng(5)
    n, d = 100_000, 5
    grid = rng.integers(-UNIT // 2, UNIT // 2, size=d)
    grid = grid + rng.integers(-spread, spread + 1, size=(n, d))
    outputs = rng.integers(-UNIT, UNIT + 1, size=(n, 2))
    assert int((grid**2).sum()) < 2**62  # the exact Gram matrix fits
    model = filled(grid / UNIT, outputs / UNIT, ridge)
    exact = Exact(grid, outputs, ridge)
    tolerance = 100 * math.sqrt(exact.condition) * EPS
    assert tolerance < 1e-8
    for x in (*(grid[-3:] / UNIT), *rng.normal(size=(3, d))):
        assert_close(model, exact, x, tolerance)
    assert model.count == n
    assert model.drift < 1e-9


# ---------------------------------------------------------------- what always holds


@settings(max_examples=100)
@given(
    seed=SEEDS,
    n=st.integers(0, 30),
    d=st.integers(1, 6),
    log_ridge=st.floats(-10, 6),
    collinear=st.booleans(),
)
def test_coverage_is_a_length(seed: int, n: int, d: int, log_ridge: float, collinear: bool) -> None:
    points, outputs = random_data(seed, n, d)
    if collinear and n:
        points = points[:1] + 1e-9 * points
    model = filled(points, outputs, 10**log_ridge)
    for x in (*points[:3], np.ones(d), 1e-150 * np.ones(d), 1e100 * np.ones(d)):
        coverage = model.coverage(x)
        assert math.isfinite(coverage)
        assert coverage > 0
        assert coverage <= np.linalg.norm(x) / math.sqrt(10**log_ridge) * (1 + 1e-9)
    assert model.coverage(np.zeros(d)) == 0


@settings(max_examples=100)
@given(seed=SEEDS, n=st.integers(0, 20), d=st.integers(1, 6), log_ridge=st.floats(-8, 6))
def test_coverage_of_an_added_point(seed: int, n: int, d: int, log_ridge: float) -> None:
    """Sherman and Morrison: u becomes u / (1 + u), so an added point is covered at threshold 1."""
    points, outputs = random_data(seed, n + 1, d)
    model = filled(points[:-1], outputs[:-1], 10**log_ridge)
    u = model.coverage(points[-1]) ** 2
    model.add(points[-1], outputs[-1])
    assert model.coverage(points[-1]) ** 2 == pytest.approx(u / (1 + u), rel=1e-9, abs=0)
    assert model.coverage(points[-1]) < 1


@settings(max_examples=60)
@given(seed=SEEDS, d=st.integers(1, 6), log_ridge=st.floats(-6, 6))
def test_coverage_only_decreases(seed: int, d: int, log_ridge: float) -> None:
    points, outputs = random_data(seed, 15, d)
    model = Ridge(d, 2, 10**log_ridge)
    probes = np.random.default_rng(seed + 1).normal(size=(4, d))
    before = np.array([model.coverage(x) for x in probes])
    for x, y in zip(points, outputs, strict=True):
        model.add(x, y)
        after = np.array([model.coverage(p) for p in probes])
        assert (after <= before * (1 + 1e-9)).all()
        before = after


def test_starts_from_the_ridge_alone() -> None:
    model = Ridge(3, 2, 4.0)
    assert model.count == 0
    assert model.coverage(np.array([0.0, 3.0, 4.0])) == pytest.approx(2.5)
    assert model.predict(np.ones(3)).tolist() == [0.0, 0.0]


# ---------------------------------------------------------------- refusing


@pytest.mark.parametrize(("ridge", "scale"), [(1e-40, 1e3), (1e-20, 1e5), (1e-24, 1.0)])
def test_an_absurd_ridge_is_refused(ridge: float, scale: float) -> None:
    points, outputs = random_data(0, 50, 3, scale)
    with pytest.raises(NumericalError, match=rf"after \d+ points(.|\n)*ridge {ridge:.1e}"):
        filled(points, outputs, ridge)


def test_the_refusal_counts_the_points() -> None:
    """Short points are carried; the first long one is not."""
    points, outputs = random_data(0, 8, 3)
    points[:6] *= 1e-12
    with pytest.raises(NumericalError, match="after 7 points"):
        filled(points, outputs, 1e-24)


@pytest.mark.parametrize(
    ("ridge", "point"),
    [(1e-300, [1e5, 1e5]), (1.0, [math.nan, 1.0]), (1.0, [math.inf, 1.0])],
)
def test_what_overflows_is_refused(ridge: float, point: list[float]) -> None:
    """A coverage beyond the largest double must not pass for a point that was stored."""
    with np.errstate(all="ignore"), pytest.raises(NumericalError):
        Ridge(2, 1, ridge).add(np.array(point), np.ones(1))
