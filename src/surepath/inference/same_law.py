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
        by_scale = (lean.sum(axis=-1) / _repeats(one, other)).sum(axis=-1) / 2
        # "Different" is a mixture over the scales: its likelihoods are averaged.
        return -np.logaddexp.reduce(-by_scale, axis=0) + math.log(len(scales))

    def chance(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """By the chi-square test of equal means, with the noise as it is estimated."""
        difference, noise = self._difference(one, other)
        repeats = _repeats(one, other)
        squares = ((difference**2 / noise).sum(axis=-1) / repeats).sum(axis=-1)
        read = np.minimum(one[..., 0], other[..., 0]) > 0
        freedom = np.where(read, self._freedom / repeats, 0.0).sum(axis=-1)
        tail = _chi_square_tail(np.maximum(freedom, 1.0), squares)
        return np.where(read.any(axis=-1), tail, 1.0)

    def apart(self, one: FloatArray, other: FloatArray, ways: IntArray) -> Apart:
        """In units of the noise of one reading; over several nodes, as one long vector."""
        difference, noise = self._difference(one, other, _own_noise)
        with np.errstate(divide="ignore"):
            variance = (1 / one[..., 0] + 1 / other[..., 0])[..., ways].max(axis=-1)
        squared = (difference**2 / noise).sum(axis=-1)[..., ways].sum(axis=-1)
        read = np.isfinite(variance)
        distance = np.sqrt(squared * np.where(read, variance, 0.0))
        freedom = np.broadcast_to(self._freedom[ways].sum(axis=-1), distance.shape)
        return Apart(distance, variance, freedom)

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

    @property
    def _freedom(self) -> FloatArray:
        """[P], directions that have noise."""
        return self.shares.sum(axis=-1)

    def _difference(
        self, one: FloatArray, other: FloatArray, noise: _Noise | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Of the means, and the variance of its noise; infinite where either was not read."""
        mine, theirs = (_moments(sample, noise or _likely_noise) for sample in (one, other))
        return mine[0] - theirs[0], mine[1] + theirs[1]


def _repeats(one: FloatArray, other: FloatArray) -> FloatArray:
    """How many directions move as one in the difference of two samples, [..., P]; at least 1.

    The axes are uncorrelated in the noise that all places share. In that of a single place they
    need not be: of a kernel's features every place has its own. A sum of squares of D directions
    with correlations R has the mean D and the variance 2 tr(R^2), like g times a chi-square number
    with D / g degrees of freedom, g = tr(R^2) / D (Satterthwaite). Mixing correlations makes g
    smaller, so the mean of the two g is on the safe side. The side read less weighs more.
    """
    n, m = (np.maximum(sample[..., 0], 1.0) for sample in (one, other))
    mine, theirs = (
        np.maximum(sample[..., -1] / np.maximum(sample[..., 0], 1.0), 1.0)
        for sample in (one, other)
    )
    return (m * mine + n * theirs) / (n + m)


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


def _moments(sample: FloatArray, noise_of: _Noise) -> tuple[FloatArray, FloatArray]:
    """Means of the features, and the variances of these means."""
    dimension = sample.shape[-1] // 2 - 1
    n = sample[..., :1]
    mean = sample[..., 1 : 1 + dimension] / np.maximum(n, 1)
    scatter = np.maximum(sample[..., 1 + dimension : -1] - n * mean**2, 0.0)
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
    windows: WindowReadings, dimension: int, *, symbols: bool
) -> tuple[FloatArray, Comparison]:
    """The readings as samples, [G, P, ...], and how to compare them."""
    if symbols:
        return symbol_samples(windows, dimension), Symbols()
    return vector_samples(windows, dimension)


def symbol_samples(windows: WindowReadings, dimension: int) -> FloatArray:
    """Counts, [G, P, D], of the symbols that were seen at all: the others say nothing."""
    empty = np.zeros(dimension)
    counts = np.array([[empty if c is None else c.total for c in window] for window in windows])
    seen = counts.any(axis=(0, 1))
    return counts[..., seen] if seen.any() else counts[..., :1]


def vector_samples(windows: WindowReadings, dimension: int) -> tuple[FloatArray, Vectors]:
    """Numbers, sums and squares in units of the noise shared at each node, [G, P, 2 + 2 D]."""
    samples = np.zeros((len(windows), len(windows[0]), 2 + 2 * dimension))
    shares = np.zeros((len(windows[0]), dimension))
    for position in range(samples.shape[1]):
        clouds = [window[position] for window in windows]
        read = [i for i, cloud in enumerate(clouds) if cloud is not None]
        present = [cloud for cloud in clouds if cloud is not None]
        if present:
            whole = np.sum([cloud.total for cloud in present], axis=0)
            centre = whole / sum(cloud.count for cloud in present)
            axes, shares[position] = _whitening(present)
            samples[read, position] = _sharing([_whitened(each, centre, axes) for each in present])
    return samples, Vectors(shares)


def _whitened(cloud: Cloud, centre: FloatArray, axes: FloatArray) -> FloatArray:
    total = (cloud.total - cloud.count * centre) @ axes
    if cloud.squares.ndim == 1:
        raw = cloud.squares
        squares = raw - 2 * cloud.total * centre + cloud.count * centre**2
        spread, together = squares @ axes**2, 1.0
    else:
        raw = np.diag(cloud.squares)
        cross = np.outer(cloud.total, centre)
        squares = cloud.squares - cross - cross.T + cloud.count * np.outer(centre, centre)
        products = axes.T @ squares @ axes
        spread, together = np.diag(products), _moving_together(products, total, cloud.count)
    # Sums of squares cancel along axes of little noise. No less is left there than rounding leaves.
    rounding = CANCELLED * (np.sqrt(np.maximum(raw, 0.0)) @ np.abs(axes)) ** 2
    return np.concatenate([[cloud.count], total, spread + rounding, [together]])


def _sharing(rows: list[FloatArray]) -> FloatArray:
    """Rows of places, how much moves together drawn to what it is at all of them, and pooled."""
    samples = np.array(rows)
    count, freedom = samples[:, 0], np.maximum(samples[:, 0] - 1, 0)
    everywhere = (1 + freedom @ samples[:, -1]) / (1 + freedom.sum())
    shared = TUNING.shared_noise
    samples[:, -1] = count * (shared * everywhere + freedom * samples[:, -1]) / (shared + freedom)
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
