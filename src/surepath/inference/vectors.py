"""Do two samples of real features come from the same law? Means with Gaussian noise.

Where two means differ, the variance of the difference is one of `TUNING.difference_scales` times
the noise of a single reading, each as likely as the others. The largest is the unit-information
prior of Kass and Wasserman ("A Reference Bayesian Test for Nested Hypotheses and Its Relationship
to the Schwarz Criterion", JASA 90, 1995); the smaller ones are for states that are close together.
The odds lean towards "same" by about half the logarithm of the number of readings for each
direction, and against it in proportion to the number of readings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surepath.inference.comparison import LARGEST_COMPARISON, Against, Apart, Pairs, in_parts
from surepath.inference.near_pairs import MIDDLE, ROUNDING, Alone, most_lean, near_pairs, weighed
from surepath.inference.noncentral import shift_excluded
from surepath.inference.tuning import TUNING
from surepath.system import FloatArray, IntArray
from surepath.theory.special import chi_square_tail

NOISELESS = 1e-9
"""Variance, relative to that between states, below which a feature counts as free of noise."""


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
        return self._odds(self._alone(one), self._alone(other))

    def against(self, other: FloatArray) -> Against:
        theirs = self._alone(other)

        def odds(one: FloatArray, pairs: Pairs) -> FloatArray:
            mine = self._alone(one)
            found = np.full(len(pairs[0]), -np.inf)
            near = np.flatnonzero(near_pairs(mine, theirs, pairs))
            for ask in (self._most_odds, self._odds):  # few are left for what takes longer
                found[near] = in_parts(
                    lambda p, ask=ask: ask(mine.at(p[0]), theirs.at(p[1])),
                    (pairs[0][near], pairs[1][near]),
                    math.prod(one.shape[1:]),
                )
                near = near[found[near] > 0]
            return found

        return odds

    def _alone(self, sample: FloatArray) -> Alone:
        mean, noise = _moments(sample, self.shares.shape[-1], likely_noise)
        read, lean = np.maximum(sample[..., 0], 1.0), most_lean(noise, self._counted)
        return Alone(mean, noise, read, self._repeated(sample), lean)

    def _odds(self, one: Alone, other: Alone) -> FloatArray:
        scales = TUNING.difference_scales
        # "Different" is a mixture over the scales: its likelihoods are averaged.
        by_scale = self._odds_by_scale(one, other, scales)
        return -np.logaddexp.reduce(-by_scale, axis=0) + math.log(len(scales))

    def _most_odds(self, one: Alone, other: Alone) -> FloatArray:
        """No less than the log-odds: "different" is at least as likely as one scale makes it."""
        by_scale = self._odds_by_scale(one, other, [MIDDLE])[0]
        return (
            by_scale + math.log(len(TUNING.difference_scales)) + ROUNDING * (1 + np.abs(by_scale))
        )

    def _odds_by_scale(self, one: Alone, other: Alone, scales: Sequence[float]) -> FloatArray:
        """If the means differ by that, where they differ: [scales, ...]."""
        difference, noise = one.mean - other.mean, one.noise + other.noise
        growth = np.reshape(scales, (-1, *([1] * noise.ndim))) / noise
        lean = self._counted * np.log1p(growth) - difference**2 / noise * growth / (1 + growth)
        repeats = weighed(one.read, one.repeats, other.read, other.repeats)
        return (lean.sum(axis=-1) / repeats).sum(axis=-1) / 2

    def chance(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """By the chi-square test of equal means, with the noise as it is estimated."""
        difference, noise = self._difference(one, other)
        repeats = self._repeats(one, other)
        squares = ((difference**2 / noise).sum(axis=-1) / repeats).sum(axis=-1)
        read = np.minimum(one[..., 0], other[..., 0]) > 0
        freedom = np.where(read, self._freedom / repeats, 0.0).sum(axis=-1)
        tail = chi_square_tail(np.maximum(freedom, 1.0), squares)
        return np.where(read.any(axis=-1), tail, 1.0)

    def apart(self, one: FloatArray, other: FloatArray, ways: IntArray) -> Apart:
        """In units of the noise of one reading; over several nodes, as one long vector."""
        with np.errstate(divide="ignore"):
            variance = 1 / one[..., 0] + 1 / other[..., 0]  # [..., P]
        if one.shape[-1] > self._brief:
            squared, freedom, known = self._in_their_own_noise(one, other)
            variance = np.where(known, variance, np.inf)
        else:
            squared = self._in_own_noise(one, other)
            freedom = np.broadcast_to(self._freedom, squared.shape)
        longest = variance[..., ways].max(axis=-1)
        read = np.isfinite(longest)
        squared = np.where(np.isfinite(variance), squared, 0.0)[..., ways].sum(axis=-1)
        distance = np.sqrt(squared * np.where(read, longest, 0.0))
        none = np.zeros_like(distance)
        return Apart(distance, longest, squared, freedom[..., ways].sum(axis=-1), none)

    def _in_own_noise(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """Squared distance along the axes, [..., P]; of so many at a time as fit in the cache."""
        one, other = np.broadcast_arrays(one, other)
        squared, several = np.empty(one.shape[:-1]), max(1, LARGEST_COMPARISON // one[:1].size)
        for start in range(0, len(squared), several):
            part = slice(start, start + several)
            difference, noise = self._difference(one[part], other[part], _own_noise)
            squared[part] = (difference**2 / noise).sum(axis=-1)
        return squared

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
        inverse = _inverse(noise, left.min(axis=-1))
        freedom = np.clip(size - (left * np.diagonal(inverse, 0, -2, -1)).sum(axis=-1), 0, size)
        difference = mine - theirs
        length = np.einsum("...i,...ij,...j->...", difference, inverse, difference)
        shorter = np.maximum(read - freedom - 1, 1.0) / read
        known = (read >= 2 * freedom) & (np.minimum(n, m) > 0)
        squared = shorter * n * m / np.maximum(n + m, 1.0) * np.maximum(length, 0.0)
        return squared, freedom, known

    def log_evidence(self, apart: Apart, separation: float | FloatArray) -> FloatArray:
        """By the likelihood ratio of the distance alone, in units of the noise."""
        read = np.isfinite(apart.variance)
        shift = separation**2 / np.where(read, apart.variance, 1.0)
        return np.where(read, shift_excluded(shift, apart.squared, apart.freedom), 0.0)

    def counts(self, sample: FloatArray) -> FloatArray:
        return sample[..., 0]

    def brief(self, samples: FloatArray) -> FloatArray:
        return samples[..., : self._brief]

    def differ(self, apart: Apart, alarm: float) -> NDArray[np.bool_]:
        """By the chi-square law of the squared distance."""
        tail = chi_square_tail(np.maximum(apart.freedom, 1.0), apart.squared)
        return np.isfinite(apart.variance) & (tail < alarm)

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
        return weighed(n, self._repeated(one), m, self._repeated(other))

    def _repeated(self, sample: FloatArray) -> FloatArray:
        """How many directions move as one in a sample, [..., P]; at least 1."""
        return np.maximum(sample[..., self._brief - 1] / np.maximum(sample[..., 0], 1.0), 1.0)

    @property
    def _counted(self) -> FloatArray:
        """[P, D], by how much each direction counts in the odds.

        Readings without any noise that are equal are of one state, by the lean of one direction.
        """
        return np.maximum(self.shares, 1 / self.shares.shape[-1])

    @property
    def _freedom(self) -> FloatArray:
        """[P], directions that have noise."""
        return self.shares.sum(axis=-1)

    def _difference(
        self, one: FloatArray, other: FloatArray, noise: _Noise | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Of the means, and the variance of its noise; infinite where either was not read."""
        size = self.shares.shape[-1]
        mine, theirs = (_moments(sample, size, noise or likely_noise) for sample in (one, other))
        return mine[0] - theirs[0], mine[1] + theirs[1]


def _mean_and_scatter(sample: FloatArray, dimension: int) -> tuple[FloatArray, FloatArray]:
    """Means of the features [..., D], and products of the distances from them [..., D, D]."""
    n = sample[..., :1]
    mean = sample[..., 1 : 1 + dimension] / np.maximum(n, 1)
    products = sample[..., 2 + 2 * dimension :].reshape(*sample.shape[:-1], dimension, dimension)
    return mean, products - n[..., None] * mean[..., :, None] * mean[..., None, :]


def _inverse(noise: FloatArray, least: FloatArray) -> FloatArray:
    """Of noise that is at least so much in every direction, but for what rounding took away."""
    try:
        np.linalg.cholesky(noise)
        return np.asarray(np.linalg.inv(noise), np.float64)
    except np.linalg.LinAlgError:  # in some direction nothing is left, or less
        values, directions = np.linalg.eigh(noise)
        weighed = directions / np.maximum(values, least[..., None])[..., None, :]
        return np.asarray(weighed @ np.swapaxes(directions, -1, -2), np.float64)


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


def likely_noise(scatter: FloatArray, freedom: FloatArray) -> FloatArray:
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
