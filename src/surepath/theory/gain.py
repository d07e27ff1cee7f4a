"""Information gain of a kernel: the dimension's part in counting expansions.

gamma_lambda(n) is the largest ln det(I + K_z / lambda) over n points z_1 .. z_n, repeats allowed.
It also bounds ln det(I + K-hat / lambda) of n mean embeddings: as a function of one embedding x,
the others fixed, the determinant grows with x' A x for some A >= 0, which is convex and so largest
at an extreme point of the hull of the observations' features. Every expansion adds more than
ln(1 + eps^2) to it, hence n ln(1 + eps^2) <= gamma_lambda(n) after n of them.

**What the candidates mean.** Here the maximum is over points of a finite candidate set. When the
candidates are all observations that can occur (all symbols of a discrete sensor), the bounds hold
for the system. When they are a sample of a continuous domain, the bounds hold for bags of
candidates only and may fall short of the domain's gamma. If every observation is within distance
rho of a candidate in feature space (||psi(o) - psi(z)||^2 = k(o,o) - 2 k(o,z) + k(z,z) <= rho^2),
then gamma_lambda(n) of the domain <= gamma_(lambda/2)(n) of the candidates + 2 n rho^2 / lambda.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from surepath.errors import InputError
from surepath.system import FloatArray
from surepath.theory.kernel_matrix import Kernel, gram, points
from surepath.validate import between, whole

Line: TypeAlias = tuple[float, float]
"""Offset a and slope b of a bound gamma(n) <= a + b n."""

WINDOW = 256  # rank-one updates kept apart before they are folded into the covariance
LINES = 512  # greedy prefixes whose lines enter a bound
GREEDY_STEPS = 4096  # longest greedy run in search of the expansion bound
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class GainRate:
    """An information gain known by analysis: gamma_lambda(n) <= factor (n / lambda)^exponent.

    For whoever has such a bound for a kernel on the domain of the observations, with its constant:
    published rates (Srinivas et al. 2010, Vakili et al. 2021) leave it open, and hold for bounded
    domains. Readings with unbounded noise have none: observations far apart are orthogonal.
    """

    factor: float  # Gamma
    exponent: float  # alpha

    def __post_init__(self) -> None:
        between("factor", self.factor, 0, math.inf)
        between("exponent", self.exponent, 0, 1, closed=(True, False))

    def expansions(self, ridge: float, threshold: float) -> int:
        """max{n: n ln(1 + eps^2) <= Gamma (n / lambda)^alpha}."""
        rate = math.log1p(threshold**2)
        reached = self.factor * ridge**-self.exponent / rate
        return math.floor(reached ** (1 / (1 - self.exponent)) * (1 + 1e-12))

    @property
    def claim(self) -> str:
        return (
            f"the information gain of the kernel over n observations, for the ridge l, is at most "
            f"{self.factor:g} (n / l)^{self.exponent:g} (as given)"
        )


@dataclass(frozen=True, slots=True)
class _Greedy:
    """A greedy run of n points; entry t of each array is after t of them."""

    gains: FloatArray  # [n + 1], ln det(I + K / ridge)
    top: FloatArray  # [n + 1], largest posterior variance of a candidate / ridge
    spent: FloatArray  # [n + 1], sum over chosen points of posterior variance / ridge


def information_gain(kernel: Kernel, candidates: ArrayLike, ridge: float, n: int) -> FloatArray:
    """The gain ln det(I + K / ridge) of points chosen greedily, after 1 .. n of them, [n].

    Each point is the candidate of the largest posterior variance, with repetition. This is a lower
    bound of gamma and at least 1 - 1/e = 63 % of it; `gain_bound` bounds it from above. Takes
    memory m^2 for m candidates, and time of order n m min(n, 256 + m / 128).
    """
    matrix, ridge = _prepared(kernel, candidates, ridge)
    return _greedy(matrix, ridge, whole("n", n, least=1)).gains[1:]


def gain_bound(kernel: Kernel, candidates: ArrayLike, ridge: float, n: int) -> FloatArray:
    """Upper bounds of gamma_ridge(1) .. gamma_ridge(n) over the candidate set, [n].

    The least of these, each valid for m candidates and k_max = max k(z, z); S_t are the first t
    greedy points, f_t their gain and v the posterior variances given them:
    - f_n / (1 - 1/e): the gain is monotone and submodular (Nemhauser, Wolsey and Fisher 1978);
    - f_t + n ln(1 + max v / ridge): no point adds more to S_t than the best next one; t = 0 is
      n ln(1 + k_max / ridge);
    - f_t + n max v / ridge - sum over S_t of v / ridge: ln det is concave in the sum of
      psi psi', and this is its tangent at S_t. Its excess is the duality gap of a D-optimal
      design, which the greedy choice makes small: mostly the tightest;
    - m ln(1 + n k_max / (m ridge)): m candidates span at most m dimensions.
    Those that rest on computed variances are raised by a bound on rounding. The bounds grow with n
    and are concave in it; a longer run may tighten the earlier ones. For a continuous domain read
    the module's note on candidates.
    """
    matrix, ridge = _prepared(kernel, candidates, ridge)
    return _bounds(len(matrix), _greedy(matrix, ridge, whole("n", n, least=1)))


def kernel_expansion_bound(
    kernel: Kernel, candidates: ArrayLike, ridge: float, threshold: float
) -> int:
    """Most expansions of one level: max of n with n ln(1 + threshold^2) <= gain_bound(n).

    The greedy run is doubled until the inequality fails. Where 4,096 points do not suffice, gamma
    is bounded by the tangent of ln det at n / 4096 copies of each greedy point (more points for
    more than 2,048 candidates), and n is found by Newton's method from above: every iterate is
    itself valid. Holds for observations among the candidates; for a continuous domain read the
    module's note on candidates.
    """
    matrix, ridge = _prepared(kernel, candidates, ridge)
    rate = math.log1p(between("threshold", threshold, 0, math.inf) ** 2)
    if rate == 0:
        raise InputError(
            "threshold^2 must not vanish in double precision",
            got=repr(threshold),
            remedy="Use a threshold above 1e-150; 1 is the usual one.",
        )
    steps = 64
    while True:
        run = _greedy(matrix, ridge, steps)
        failing = np.arange(1, steps + 1) * rate > _bounds(len(matrix), run)
        if failing.any():
            return int(failing.argmax())
        if steps >= GREEDY_STEPS:
            return _beyond(matrix, ridge, rate)
        steps *= 2


def _prepared(kernel: Kernel, candidates: ArrayLike, ridge: float) -> tuple[FloatArray, float]:
    rows = points(candidates)
    return gram(kernel, rows, rows), between("ridge", ridge, 0, math.inf)


def _greedy(matrix: FloatArray, ridge: float, n: int) -> _Greedy:
    """Greedy points by a Cholesky factorisation that grows by one column for each.

    Columns are folded into the covariance when WINDOW of them are kept: many more points than
    candidates then cost no more memory, and time in proportion.
    """
    m = len(matrix)
    covariance = matrix.copy()
    columns = np.empty((min(n, WINDOW), m))
    variance = np.maximum(matrix.diagonal(), 0)
    counts, gains, top, spent = np.zeros(m), np.zeros(n + 1), np.zeros(n + 1), np.zeros(n + 1)
    top[0] = variance.max() / ridge
    for t in range(n):
        kept = t % WINDOW
        if t and not kept:
            covariance -= columns.T @ columns
        best = int(variance.argmax())
        column = covariance[best] - columns[:kept, best] @ columns[:kept]
        column /= math.sqrt(variance[best] + ridge)
        columns[kept] = column
        gains[t + 1] = gains[t] + math.log1p(variance[best] / ridge)
        variance = np.maximum(variance - column**2, 0)
        counts[best] += 1
        top[t + 1] = variance.max() / ridge
        spent[t + 1] = counts @ variance / ridge
    return _Greedy(gains, top, spent)


def _bounds(size: int, run: _Greedy) -> FloatArray:
    """What `gain_bound` lists, at 1 .. n for a run of n points among m = `size`."""
    n = len(run.gains) - 1
    sizes = np.arange(1, n + 1)
    best = run.gains[1:] / (1 - math.exp(-1))
    prefixes = np.unique(np.geomspace(1, n, min(n, LINES)).round().astype(np.int64))
    for t in prefixes:
        gain, top, spent = float(run.gains[t]), float(run.top[t]), float(run.spent[t])
        slope = math.log1p(top)
        np.minimum(best, gain + slope * sizes, out=best)
        np.minimum(best, gain - spent + top * sizes, out=best)
    # Posterior variances are differences of numbers up to k_max: each is off by less than 8 n eps
    # k_max, and at most 3 n of them enter a bound.
    best += 24 * n * EPS * run.top[0] * sizes
    most = float(run.top[0])
    np.minimum(best, math.log1p(most) * sizes, out=best)
    return np.minimum(best, size * np.log1p(most * sizes / size))


def _beyond(matrix: FloatArray, ridge: float, rate: float) -> int:
    """The expansion bound where it is larger than a greedy run can be."""
    m, most = len(matrix), float(matrix.diagonal().max()) / ridge
    steps = max(GREEDY_STEPS, 2 * m)

    def by_rank(n: float) -> Line:
        x = n * most / m
        return m * (math.log1p(x) - x / (1 + x)), most / (1 + x)

    def by_design(n: float) -> Line:
        # n / steps copies of each greedy point: the same matrix as single ones at a scaled ridge.
        run = _greedy(matrix, ridge * steps / n, steps)
        slope = float(run.top[-1]) * steps / n + 24 * steps * EPS * most
        return float(run.gains[-1] - run.spent[-1]), slope

    # ln(1 + x) <= sqrt(x): at m most / rate^2 points the rank bound has failed already.
    bound = _newton(by_rank, m * most / rate**2, rate)
    return math.floor(_newton(by_design, bound, rate))


def _newton(line: Callable[[float], Line], n: float, rate: float) -> float:
    """Where a bound, given by the line above it at any n, falls below rate n; from above.

    Every iterate is valid, so the last 0.1 % is not worth another line.
    """
    while True:
        offset, slope = line(n)
        if slope >= rate:
            return n
        root = min(n, offset / (rate - slope))
        if root >= 0.999 * n:
            return root
        n = root
