"""Do two samples come from the same law? Odds that they do, and how far apart they seem.

A sample is an array whose entries add up when samples are pooled, with one row for each node of the
window it was read in, [P, ...]. Rows are independent, so their evidence adds.

`log_odds` sorts: log-odds of "same" against "different", by Bayes factors. Discrete observations:
counts with a Dirichlet prior of 1/2 (Jeffreys) on each law, in closed form. Real features: means
with Gaussian noise. Where two means differ, the variance of the difference is one of
`TUNING.difference_scales` times the noise of a single reading, each as likely as the others. The
largest is the unit-information prior of Kass and Wasserman ("A Reference Bayesian Test for Nested
Hypotheses and Its Relationship to the Schwarz Criterion", JASA 90, 1995); the smaller ones are for
states that are close together. Both lean towards "same" by about half the logarithm of the number
of readings for each dimension, so that noise does not make new states, and against it in proportion
to the number of readings, so that what differs is told apart.

`apart` is what a declared separation is tested with (`surepath.inference.separation`): how far
apart two samples are, and how much of that may be noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, gammaln, ive

from surepath.inference.tuning import TUNING
from surepath.readings.digests import Cloud
from surepath.system import FloatArray, IntArray

CERTAIN = 1e9
"""Log-odds of what cannot be otherwise."""

ROUNDING = 1e-12
"""Variance, relative to the square of the readings, that is only what rounding leaves."""

CANCELLED = 16 * float(np.finfo(np.float64).eps)
"""What rounding may leave of sums of squares that cancel, relative to the sums."""

LARGEST_PRODUCTS = 2**26
"""Numbers in the products of all samples of a level (512 MB); beyond, noise is compared along the
axes of the level only."""

NOISELESS = 1e-9
"""Variance, relative to that between states, below which a feature counts as free of noise."""

SHARE = 0.65
"""Of the separation in the bet on symbols. With 1 fewest readings would be needed if samples of one
state were at distance 0; they are not, and this is cheapest for 4 to 16 symbols."""

# The published types of these say nothing.
_chi_square_tail: Callable[[Any, FloatArray], FloatArray] = chdtrc
_log_gamma: Callable[[FloatArray], FloatArray] = gammaln
_scaled_bessel: Callable[[Any, FloatArray], FloatArray] = ive


class Apart(NamedTuple):
    """How far two samples are apart, along each way through their window."""

    distance: FloatArray  # [..., ways]
    variance: FloatArray  # [..., ways], of the noise in any one direction; infinite where unread
    freedom: FloatArray  # [..., ways], directions that have noise; total variations need none


class Comparison(Protocol):
    def log_odds(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """Of "same" against "different", for samples [..., P, D] that broadcast: [...]."""
        ...

    def chance(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """The probability that samples of one law differ so much, or more: [...]."""
        ...

    def apart(self, one: FloatArray, other: FloatArray, ways: IntArray) -> Apart:
        """`ways` are the nodes that each way through the window passes, [ways, K]."""
        ...

    def log_evidence(self, apart: Apart, separation: float | FloatArray) -> FloatArray:
        """Against laws this far apart: ln E, whose mean is 1 if they are."""
        ...

    def counts(self, sample: FloatArray) -> FloatArray:
        """Readings at each node of the window, [..., P]."""
        ...

    def brief(self, samples: FloatArray) -> FloatArray:
        """As much of the samples as `log_odds` and `chance` need: what is sorted by."""
        ...

    def differ(self, apart: Apart, alarm: float) -> NDArray[np.bool_]:
        """Whether samples of one law are so far apart with a probability below the alarm only."""
        ...


class Symbols:
    """Counts of discrete observations; distances are total variations."""

    def log_odds(self, one: FloatArray, other: FloatArray) -> FloatArray:
        if one.shape[-1] == 1:  # there is only one law of one symbol
            both = (one > 0).any(axis=(-2, -1)) & (other > 0).any(axis=(-2, -1))
            return np.where(both, CERTAIN, 0.0)
        together = _log_marginal(one + other) - _log_marginal(one) - _log_marginal(other)
        return together.sum(axis=-1)

    def chance(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """By the likelihood-ratio test (its chi-square limit)."""
        both = one + other
        ratio = _entropy(one) + _entropy(other) - _entropy(both)  # [..., P]
        freedom = np.maximum((both > 0).sum(axis=-1) - 1, 0)
        read = (one > 0).any(axis=-1) & (other > 0).any(axis=-1)
        freedom = np.where(read, freedom, 0).sum(axis=-1)
        squares = 2 * np.where(read, np.maximum(ratio, 0.0), 0.0).sum(axis=-1)
        return np.where(freedom > 0, _chi_square_tail(np.maximum(freedom, 1), squares), 1.0)

    def apart(self, one: FloatArray, other: FloatArray, ways: IntArray) -> Apart:
        """Given the actions, the steps of an episode are independent: total variations add up."""
        n, m = one.sum(axis=-1), other.sum(axis=-1)
        shares = one / np.maximum(n, 1)[..., None] - other / np.maximum(m, 1)[..., None]
        distance = np.abs(shares).sum(axis=-1) / 2
        # The share of a set of symbols is the mean of zeros and ones: its variance is at most 1/4.
        with np.errstate(divide="ignore"):
            noise = (1 / n + 1 / m) / 4
        along = distance[..., ways].sum(axis=-1)
        return Apart(along, noise[..., ways].sum(axis=-1), np.zeros_like(along))

    def log_evidence(self, apart: Apart, separation: float | FloatArray) -> FloatArray:
        """By a bet on the one set of symbols in which the laws differ by the separation.

        The shares of that set differ by at most the distance, so for every bet b the mean of
        exp(b (separation - distance) - b^2 v / 2) is at most 1 (Hoeffding).
        """
        bet = SHARE * separation
        return bet / apart.variance * (separation - apart.distance - bet / 2)

    def counts(self, sample: FloatArray) -> FloatArray:
        return sample.sum(axis=-1)

    def brief(self, samples: FloatArray) -> FloatArray:
        return samples

    def differ(self, apart: Apart, alarm: float) -> NDArray[np.bool_]:
        """Sorting has seen all that there is: a total variation says no more."""
        del alarm
        return np.zeros(apart.distance.shape, dtype=bool)


def _entropy(counts: FloatArray) -> FloatArray:
    """Sum of n ln(n / total) over the symbols, [...]: the log-likelihood of the shares seen."""
    total = np.maximum(counts.sum(axis=-1, keepdims=True), 1)
    return (counts * np.log(np.maximum(counts, 1) / total)).sum(axis=-1)


def _log_marginal(counts: FloatArray) -> FloatArray:
    """Of a sequence of symbols with these counts [..., D], the law integrated out: [...]."""
    weight = TUNING.symbol_prior
    prior = weight * counts.shape[-1]
    each = _log_gamma(counts + weight) - math.lgamma(weight)
    return math.lgamma(prior) - _log_gamma(counts.sum(axis=-1) + prior) + each.sum(axis=-1)


@dataclass(frozen=True, slots=True)
class Vectors:
    """Numbers, sums and squares of real features, and number times repeats, [P, 2 + 2 D].

    Features are uncorrelated and in units of the noise that the places of a level share, at each
    node of the window. A place may have more noise than the others, or less: it is compared with
    its own (as in Welch's test), which is taken to be the shared one until its readings show
    otherwise.

    Noise of a place may also lie in other directions than that of the others. Sorting does not look
    at that, for there are many pairs. What settles a merge does: behind the rest a sample has all
    products of its features, [P, 2 + 2 D + D^2], where they were recorded.
    """

    shares: FloatArray  # [P, D], of the noise that is counted with, what is really there: 0 to 1
    """Where few readings hide how little noise a direction has, it is counted with more. What is
    not there makes no difference by chance either, so such a direction is only part of one; one
    without noise is none."""

    def log_odds(self, one: FloatArray, other: FloatArray) -> FloatArray:
        difference, noise = self._difference(one, other)
        scales = np.array(TUNING.difference_scales).reshape(-1, *([1] * noise.ndim))
        growth = scales / noise
        # Readings without any noise that are equal are of one state, by the lean of one direction.
        counted = np.maximum(self.shares, 1 / self.shares.shape[-1])
        lean = counted * np.log1p(growth) - difference**2 / noise * growth / (1 + growth)
        by_scale = (lean.sum(axis=-1) / self._repeats(one, other)).sum(axis=-1) / 2
        # "Different" is a mixture over the scales: its likelihoods are averaged.
        return -np.logaddexp.reduce(-by_scale, axis=0) + math.log(len(scales))

    def chance(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """By the chi-square test of equal means, with the noise as it is estimated."""
        difference, noise = self._difference(one, other)
        repeats = self._repeats(one, other)
        squares = ((difference**2 / noise).sum(axis=-1) / repeats).sum(axis=-1)
        read = np.minimum(one[..., 0], other[..., 0]) > 0
        freedom = np.where(read, self._freedom / repeats, 0.0).sum(axis=-1)
        tail = _chi_square_tail(np.maximum(freedom, 1.0), squares)
        return np.where(read.any(axis=-1), tail, 1.0)

    def apart(self, one: FloatArray, other: FloatArray, ways: IntArray) -> Apart:
        """In units of the noise of one reading; over several nodes, as one long vector."""
        with np.errstate(divide="ignore"):
            variance = 1 / one[..., 0] + 1 / other[..., 0]  # [..., P]
        if one.shape[-1] > self._brief:
            squared, freedom, known = self._in_their_own_noise(one, other)
            variance = np.where(known, variance, np.inf)
        else:
            difference, noise = self._difference(one, other, _own_noise)
            squared = (difference**2 / noise).sum(axis=-1)
            freedom = np.broadcast_to(self._freedom, squared.shape)
        longest = variance[..., ways].max(axis=-1)
        read = np.isfinite(longest)
        squared = np.where(np.isfinite(variance), squared, 0.0)[..., ways].sum(axis=-1)
        distance = np.sqrt(squared * np.where(read, longest, 0.0))
        return Apart(distance, longest, freedom[..., ways].sum(axis=-1))

    def _in_their_own_noise(
        self, one: FloatArray, other: FloatArray
    ) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
        """Hotelling's squared distance, directions, and whether the noise is known, [..., P].

        If the two are one state they have one noise, which both have shown. It is known when there
        are twice as many readings as directions that have any; estimated, it makes distances too
        long by a factor that is taken off.
        """
        size = self.shares.shape[-1]
        n, m = one[..., 0], other[..., 0]
        read = np.maximum(n + m - 2, 1.0)
        (mine, first), (theirs, second) = (_mean_and_scatter(s, size) for s in (one, other))
        # What rounding leaves of the scatter is no noise, but no less is taken for it.
        left = (_rounding(one, size) + _rounding(other, size)) / read[..., None] + NOISELESS
        noise = (first + second) / read[..., None, None] + left[..., None] * np.eye(size)
        inverse = np.linalg.inv(noise)
        freedom = np.clip(size - (left * np.diagonal(inverse, 0, -2, -1)).sum(axis=-1), 0, size)
        difference = mine - theirs
        length = np.einsum("...i,...ij,...j->...", difference, inverse, difference)
        shorter = np.maximum(read - freedom - 1, 1.0) / read
        known = (read >= 2 * freedom) & (np.minimum(n, m) > 0)
        squared = shorter * n * m / np.maximum(n + m, 1.0) * np.maximum(length, 0.0)
        return squared, freedom, known

    def log_evidence(self, apart: Apart, separation: float | FloatArray) -> FloatArray:
        """By the likelihood ratio of the distance alone: no difference, against this one.

        The direction of a difference is not known, and the distance does not depend on it. So the
        ratio is that of chi-square laws, central over noncentral, whatever the direction; and as a
        ratio of likelihoods its mean stays 1, however often one looks.
        """
        read = np.isfinite(apart.variance)
        variance = np.where(read, apart.variance, 1.0)
        shift = separation**2 / variance
        squared = apart.distance**2 / variance
        half = np.maximum(apart.freedom, 1.0) / 2
        return np.where(read, shift / 2 - _log_0f1(half, shift * squared / 4), 0.0)

    def counts(self, sample: FloatArray) -> FloatArray:
        return sample[..., 0]

    def brief(self, samples: FloatArray) -> FloatArray:
        return samples[..., : self._brief]

    def differ(self, apart: Apart, alarm: float) -> NDArray[np.bool_]:
        """By the chi-square law of the squared distance."""
        read = np.isfinite(apart.variance)
        squared = apart.distance**2 / np.where(read, apart.variance, 1.0)
        return read & (_chi_square_tail(np.maximum(apart.freedom, 1.0), squared) < alarm)

    @property
    def _brief(self) -> int:
        """Entries of a sample but for the products."""
        return 2 + 2 * self.shares.shape[-1]

    def _repeats(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """How many directions move as one in the difference of two samples, [..., P]; at least 1.

        The axes are uncorrelated in the noise that all places share. In that of a single place they
        need not be: of a kernel's features every place has its own. A sum of squares of D
        directions with correlations R has the mean D and the variance 2 tr(R^2), like g times a
        chi-square number with D / g degrees of freedom, g = tr(R^2) / D (Satterthwaite). Mixing
        correlations makes g smaller, so the mean of the two g is on the safe side. The side read
        less weighs more.
        """
        n, m = (np.maximum(sample[..., 0], 1.0) for sample in (one, other))
        mine, theirs = (
            np.maximum(sample[..., self._brief - 1] / np.maximum(sample[..., 0], 1.0), 1.0)
            for sample in (one, other)
        )
        return (m * mine + n * theirs) / (n + m)

    @property
    def _freedom(self) -> FloatArray:
        """[P], directions that have noise."""
        return self.shares.sum(axis=-1)

    def _difference(
        self, one: FloatArray, other: FloatArray, noise: _Noise | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Of the means, and the variance of its noise; infinite where either was not read."""
        size = self.shares.shape[-1]
        mine, theirs = (_moments(sample, size, noise or _likely_noise) for sample in (one, other))
        return mine[0] - theirs[0], mine[1] + theirs[1]


def _log_0f1(b: FloatArray, y: FloatArray) -> FloatArray:
    """Logarithm of the confluent hypergeometric limit function, by Bessel's I of order b - 1."""
    root = 2 * np.sqrt(y)
    scaled = _scaled_bessel(b - 1, root)
    with np.errstate(divide="ignore", invalid="ignore"):
        bessel = root + np.log(scaled)
        if not scaled.all():
            bessel = np.where(scaled > 0, bessel, _log_bessel(b - 1, root))
        found = _log_gamma(b) + bessel - (b - 1) / 2 * np.log(y)
    # Near 0 by its series: what is left out is about y^3 / b^5, less than a ten-billionth.
    near = y < 5e-4 * b ** (5 / 3)
    return np.where(near, y / b - y**2 / (2 * b**2 * (b + 1)), found)


def _log_bessel(order: FloatArray, x: FloatArray) -> FloatArray:
    """Logarithm of Bessel's I where it is too small for a double: its order is then large.

    Debye's expansion to the second order (Abramowitz and Stegun, 9.7.7).
    """
    root = np.sqrt(1 + (x / order) ** 2)
    t = 1 / root
    first = (3 * t - 5 * t**3) / (24 * order)
    second = (81 * t**2 - 462 * t**4 + 385 * t**6) / (1152 * order**2)
    exponent = order * (root + np.log(x / order / (1 + root)))
    return exponent - np.log(2 * math.pi * order * root) / 2 + np.log1p(first + second)


def _mean_and_scatter(sample: FloatArray, dimension: int) -> tuple[FloatArray, FloatArray]:
    """Means of the features [..., D], and products of the distances from them [..., D, D]."""
    n = sample[..., :1]
    mean = sample[..., 1 : 1 + dimension] / np.maximum(n, 1)
    products = sample[..., 2 + 2 * dimension :].reshape(*sample.shape[:-1], dimension, dimension)
    return mean, products - n[..., None] * mean[..., :, None] * mean[..., None, :]


def _rounding(sample: FloatArray, dimension: int) -> FloatArray:
    """What rounding may have left of the squares, [..., D]."""
    squares = sample[..., 1 + dimension : 1 + 2 * dimension]
    return squares - sample[..., 2 + 2 * dimension :: dimension + 1]


def _moments(sample: FloatArray, dimension: int, noise_of: _Noise) -> tuple[FloatArray, FloatArray]:
    """Means of the features, and the variances of these means."""
    n = sample[..., :1]
    mean = sample[..., 1 : 1 + dimension] / np.maximum(n, 1)
    scatter = np.maximum(sample[..., 1 + dimension : 1 + 2 * dimension] - n * mean**2, 0.0)
    noise = noise_of(scatter, np.maximum(n - 1, 0))
    return mean, np.where(n > 0, noise / np.maximum(n, 1), np.inf)


_Noise: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]
"""From scatter and degrees of freedom to the noise of one reading, of which 1 is shared."""


def _likely_noise(scatter: FloatArray, freedom: FloatArray) -> FloatArray:
    """As if further readings had shown the shared noise."""
    shared = TUNING.shared_noise
    return (scatter + shared) / (freedom + shared)


def _own_noise(scatter: FloatArray, freedom: FloatArray) -> FloatArray:
    """The same in its logarithm, which is never more.

    Too much noise would make a difference look smaller than it is. A place that is a thousand times
    quieter than others of its level must not be held against theirs, however few its readings.
    """
    shared = TUNING.shared_noise
    own = np.maximum(scatter / np.maximum(freedom, 1), NOISELESS)
    return own ** (freedom / (freedom + shared))


WindowReadings: TypeAlias = Sequence[Sequence[Cloud | None]]
"""Readings [G][P]: each of the G known to come from one place, at P nodes of its window."""


def samples_of(
    windows: WindowReadings, dimension: int, *, symbols: bool, products: bool = False
) -> tuple[FloatArray, Comparison]:
    """The readings as samples, [G, P, ...], and how to compare them.

    products: with those of features, where they were recorded and there is room for them.
    """
    if symbols:
        return symbol_samples(windows, dimension), Symbols()
    return vector_samples(windows, dimension, products=products)


def symbol_samples(windows: WindowReadings, dimension: int) -> FloatArray:
    """Counts, [G, P, D], of the symbols that were seen at all: the others say nothing."""
    empty = np.zeros(dimension)
    counts = np.array([[empty if c is None else c.total for c in window] for window in windows])
    seen = counts.any(axis=(0, 1))
    return counts[..., seen] if seen.any() else counts[..., :1]


def vector_samples(
    windows: WindowReadings, dimension: int, *, products: bool = False
) -> tuple[FloatArray, Vectors]:
    """Numbers, sums and squares in units of the noise shared at each node, [G, P, 2 + 2 D]."""
    sizes = len(windows), len(windows[0])
    recorded = all(c is None or c.squares.ndim == 2 for window in windows for c in window)
    products &= recorded and sizes[0] * sizes[1] * dimension**2 <= LARGEST_PRODUCTS
    samples = np.zeros((*sizes, 2 + 2 * dimension + (dimension**2 if products else 0)))
    shares = np.zeros((len(windows[0]), dimension))
    for position in range(samples.shape[1]):
        clouds = [window[position] for window in windows]
        read = [i for i, cloud in enumerate(clouds) if cloud is not None]
        present = [cloud for cloud in clouds if cloud is not None]
        if present:
            whole = np.sum([cloud.total for cloud in present], axis=0)
            centre = whole / sum(cloud.count for cloud in present)
            axes, shares[position] = _whitening(present)
            rows = _sharing([_whitened(each, centre, axes) for each in present], dimension)
            samples[read, position] = rows[:, : samples.shape[-1]]
    return samples, Vectors(shares)


def _whitened(cloud: Cloud, centre: FloatArray, axes: FloatArray) -> FloatArray:
    total = (cloud.total - cloud.count * centre) @ axes
    if cloud.squares.ndim == 1:
        raw = cloud.squares
        squares = raw - 2 * cloud.total * centre + cloud.count * centre**2
        spread, together, products = squares @ axes**2, 1.0, np.zeros(0)
    else:
        raw = np.diag(cloud.squares)
        cross = np.outer(cloud.total, centre)
        squares = cloud.squares - cross - cross.T + cloud.count * np.outer(centre, centre)
        products = axes.T @ squares @ axes
        spread, together = np.diag(products), _moving_together(products, total, cloud.count)
    # Sums of squares cancel along axes of little noise. No less is left there than rounding leaves.
    rounding = CANCELLED * (np.sqrt(np.maximum(raw, 0.0)) @ np.abs(axes)) ** 2
    return np.concatenate([[cloud.count], total, spread + rounding, [together], products.ravel()])


def _sharing(rows: list[FloatArray], dimension: int) -> FloatArray:
    """Rows of places, how much moves together drawn to what it is at all of them, and summed."""
    samples = np.array(rows)
    count, freedom = samples[:, 0], np.maximum(samples[:, 0] - 1, 0)
    together = samples[:, 1 + 2 * dimension]
    everywhere = (1 + freedom @ together) / (1 + freedom.sum())
    shared = TUNING.shared_noise
    together[:] = count * (shared * everywhere + freedom * together) / (shared + freedom)
    return samples


def _moving_together(products: FloatArray, total: FloatArray, count: int) -> float:
    """tr(R^2) / tr(R) of the correlations R of a place's readings, as far as these show it."""
    freedom = count - 1
    if freedom < 1:
        return 1.0
    scatter = products - np.outer(total, total) / count
    own = np.maximum(np.diag(scatter), 0.0)
    noise = np.sqrt(_likely_noise(own, np.array(float(freedom))))
    size = float((own / noise**2).sum()) / freedom
    if not size > 0:
        return 1.0
    # What few readings add to the square by chance is taken off.
    squared = float(np.square(scatter / freedom / np.outer(noise, noise)).sum())
    return float(np.clip(squared / size - size / freedom, 1.0, len(own)))


def _whitening(clouds: Sequence[Cloud]) -> tuple[FloatArray, FloatArray]:
    """W with W' N W = 1 for the noise covariance N that the clouds share.

    And of every column, which share of the noise that is taken for 1 was really seen.
    """
    dimension = len(clouds[0].total)
    freedom = max(sum(cloud.count - 1 for cloud in clouds), 1)
    scatter = np.zeros((dimension, dimension))
    variances = np.zeros(dimension)
    for cloud in clouds:
        mean = cloud.value
        if cloud.squares.ndim == 1:
            variances += cloud.squares - cloud.count * mean**2
        else:
            scatter += cloud.squares - cloud.count * np.outer(mean, mean)
    scatter += np.diag(variances)
    # While there are few readings the off-diagonal part is mostly noise itself: shrink it, as if
    # further readings had shown the diagonal alone. As many as there are dimensions, and fewer the
    # more was read: directions that are quiet because features move together must be seen in time.
    squares = np.mean([cloud.value**2 for cloud in clouds], axis=0)
    diagonal = np.diag(scatter) / freedom
    diagonal = np.where(diagonal > ROUNDING * squares, diagonal, 0.0)
    further = dimension * min(1.0, dimension / freedom)
    noise = (scatter + further * np.diag(diagonal)) / (freedom + further)
    # Features without noise tell apart whatever differs in them at all.
    apart = np.var([cloud.value for cloud in clouds], axis=0)
    apart = np.where(apart > ROUNDING**2 * squares, apart, 0.0)
    units = np.sqrt(np.maximum(diagonal, NOISELESS * apart))
    units[units == 0] = 1.0
    # Rounding of the sums may leave it a little indefinite.
    values, axes = np.linalg.eigh(noise / np.outer(units, units))
    # What was shrunk is given back along each axis: there the noise itself is seen, as far as there
    # are more readings than dimensions.
    seen = np.maximum((scatter / np.outer(units, units) @ axes * axes).sum(axis=0), 0.0)
    values = np.maximum((seen + further * values) / (freedom + further), NOISELESS)
    shares = np.minimum(seen / freedom / values, 1.0)
    return axes / units[:, None] / np.sqrt(values), shares
