"""Do two samples come from the same law? Log-odds of "same" against "different", by Bayes factors.

A sample is an array whose entries add up when samples are pooled, with one row for each node of the
window it was read in, [P, D]. Rows are independent, so their evidence adds.

Discrete observations: counts with a Dirichlet prior of 1/2 (Jeffreys) on each law, in closed form.
Real features: means with Gaussian noise that the states of a level share. Where two means differ,
the variance of the difference is one of `TUNING.difference_scales` times the noise of a single
reading, each as likely as the others. The largest is the unit-information prior of Kass and
Wasserman ("A Reference Bayesian Test for Nested Hypotheses and Its Relationship to the Schwarz
Criterion", JASA 90, 1995); the smaller ones are for states that are close together. Both lean
towards "same" by about half the logarithm of the number of readings for each dimension, so that
noise does not make new states, and against it in proportion to the number of readings, so that what
differs is told apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import numpy as np
from scipy.special import gammaln

from surepath.inference.tuning import TUNING
from surepath.readings.digests import Cloud
from surepath.system import FloatArray

CERTAIN = 1e9
"""Log-odds of what cannot be otherwise."""

ROUNDING = 1e-12
"""Variance, relative to the square of the readings, that is only what rounding leaves."""

NOISELESS = 1e-9
"""Variance, relative to that between states, below which a feature counts as free of noise."""

_log_gamma: Callable[[FloatArray], FloatArray] = gammaln  # its published types say nothing


class Comparison(Protocol):
    def log_odds(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """Of "same" against "different", for samples [..., P, D] that broadcast: [...]."""
        ...


class Symbols:
    """Counts of discrete observations."""

    def log_odds(self, one: FloatArray, other: FloatArray) -> FloatArray:
        if one.shape[-1] == 1:  # there is only one law of one symbol
            both = (one > 0).any(axis=(-2, -1)) & (other > 0).any(axis=(-2, -1))
            return np.where(both, CERTAIN, 0.0)
        together = _log_marginal(one + other) - _log_marginal(one) - _log_marginal(other)
        return together.sum(axis=-1)


def _log_marginal(counts: FloatArray) -> FloatArray:
    """Of a sequence of symbols with these counts [..., D], the law integrated out: [...]."""
    weight = TUNING.symbol_prior
    prior = weight * counts.shape[-1]
    each = _log_gamma(counts + weight) - math.lgamma(weight)
    return math.lgamma(prior) - _log_gamma(counts.sum(axis=-1) + prior) + each.sum(axis=-1)


class Vectors:
    """Counts and sums of real features in units of their noise, which is then of unit variance."""

    def log_odds(self, one: FloatArray, other: FloatArray) -> FloatArray:
        n, m = one[..., 0], other[..., 0]
        effective = n * m / np.maximum(n + m, 1)
        apart = one[..., 1:] / np.maximum(n, 1)[..., None]
        apart = apart - other[..., 1:] / np.maximum(m, 1)[..., None]
        distance = effective * np.einsum("...d,...d->...", apart, apart)
        scales = TUNING.difference_scales
        growth = np.multiply.outer(scales, effective)
        lean = np.log1p(growth) * apart.shape[-1]
        by_scale = ((lean - distance * growth / (1 + growth)) / 2).sum(axis=-1)
        # "Different" is a mixture over the scales: its likelihoods are averaged.
        return -np.logaddexp.reduce(-by_scale, axis=0) + math.log(len(scales))


WindowReadings: TypeAlias = Sequence[Sequence[Cloud | None]]
"""Readings [G][P]: each of the G known to come from one place, at P nodes of its window."""


def symbol_samples(windows: WindowReadings, dimension: int) -> FloatArray:
    """Counts, [G, P, D], of the symbols that were seen at all: the others say nothing."""
    empty = np.zeros(dimension)
    counts = np.array([[empty if c is None else c.total for c in window] for window in windows])
    seen = counts.any(axis=(0, 1))
    return counts[..., seen] if seen.any() else counts[..., :1]


def vector_samples(windows: WindowReadings, dimension: int) -> FloatArray:
    """Counts and sums in units of the noise shared at each position, [G, P, 1 + D]."""
    samples = np.zeros((len(windows), len(windows[0]), 1 + dimension))
    for position in range(samples.shape[1]):
        clouds = [window[position] for window in windows]
        read = [i for i, cloud in enumerate(clouds) if cloud is not None]
        present = [cloud for cloud in clouds if cloud is not None]
        if present:
            sums = np.array([cloud.total for cloud in present])
            samples[read, position, 0] = [cloud.count for cloud in present]
            samples[read, position, 1:] = sums @ _whitening(present)
    return samples


def _whitening(clouds: Sequence[Cloud]) -> FloatArray:
    """W with W' N W = 1 for the noise covariance N that the clouds share."""
    dimension = len(clouds[0].total)
    freedom = sum(cloud.count - 1 for cloud in clouds)
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
    # as many more readings as dimensions had shown the diagonal alone.
    squares = np.mean([cloud.value**2 for cloud in clouds], axis=0)
    diagonal = np.diag(scatter) / max(freedom, 1)
    diagonal = np.where(diagonal > ROUNDING * squares, diagonal, 0.0)
    noise = (scatter + dimension * np.diag(diagonal)) / max(freedom + dimension, 1)
    # Features without noise tell apart whatever differs in them at all.
    apart = np.var([cloud.value for cloud in clouds], axis=0)
    apart = np.where(apart > ROUNDING**2 * squares, apart, 0.0)
    units = np.sqrt(np.maximum(diagonal, NOISELESS * apart))
    units[units == 0] = 1.0
    # Rounding of the sums may leave it a little indefinite.
    values, axes = np.linalg.eigh(noise / np.outer(units, units))
    return axes / units[:, None] / np.sqrt(np.maximum(values, NOISELESS))
