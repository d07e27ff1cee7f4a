"""Do two samples of symbols come from the same law? Counts, and total variations between them.

The odds are in closed form: counts with a Dirichlet prior of 1/2 (Jeffreys) on each law. They lean
towards "same" by about half the logarithm of the number of readings for each symbol, so that noise
does not make new states, and against it in proportion to the number of readings, so that what
differs is told apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from surepath.inference.comparison import Against, Apart, Pairs, in_parts
from surepath.inference.noncentral import shift_excluded
from surepath.inference.tuning import TUNING
from surepath.system import FloatArray, IntArray
from surepath.theory.special import chi_square_tail, log_gamma

CERTAIN = 1e9
"""Log-odds of what cannot be otherwise."""

LARGEST_TABLE = 2**16
"""Counts from which on the gamma function is not looked up but computed: the sums of two of them
take 1 MB."""

SHARE = 0.65
"""Of the separation in the bet on symbols. With 1 fewest readings would be needed if samples of one
state were at distance 0; they are not, and this is cheapest for 4 to 16 symbols."""


EXPECTED = 1.0
"""Readings of a symbol, expected of the smaller sample, from which on it is compared by itself."""


class Symbols:
    """Counts of discrete observations; distances are total variations."""

    def log_odds(self, one: FloatArray, other: FloatArray) -> FloatArray:
        if one.shape[-1] == 1:  # there is only one law of one symbol
            both = (one > 0).any(axis=(-2, -1)) & (other > 0).any(axis=(-2, -1))
            return np.where(both, CERTAIN, 0.0)
        together = _log_marginal(one + other) - _log_marginal(one) - _log_marginal(other)
        return together.sum(axis=-1)

    def against(self, other: FloatArray) -> Against:
        theirs = _Alone.of(other)

        def odds(one: FloatArray, pairs: Pairs) -> FloatArray:
            width = math.prod(one.shape[1:])
            if one.shape[-1] == 1:
                return in_parts(lambda p: self.log_odds(one[p[0]], other[p[1]]), pairs, width)
            mine = _Alone.of(one)
            both = _both_marginals(mine, theirs)
            alone = mine.marginal, theirs.marginal
            return in_parts(
                lambda p: (both(p) - alone[0][p[0]] - alone[1][p[1]]).sum(axis=-1), pairs, width
            )

        return odds

    def chance(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """By the likelihood-ratio test (its chi-square limit)."""
        both = one + other
        ratio = _entropy(one) + _entropy(other) - _entropy(both)  # [..., P]
        freedom = np.maximum((both > 0).sum(axis=-1) - 1, 0)
        read = (one > 0).any(axis=-1) & (other > 0).any(axis=-1)
        freedom = np.where(read, freedom, 0).sum(axis=-1)
        squares = 2 * np.where(read, np.maximum(ratio, 0.0), 0.0).sum(axis=-1)
        return np.where(freedom > 0, chi_square_tail(np.maximum(freedom, 1), squares), 1.0)

    def apart(self, one: FloatArray, other: FloatArray, ways: IntArray) -> Apart:
        """Given the actions, the steps of an episode are independent: total variations add up."""
        n, m = one.sum(axis=-1), other.sum(axis=-1)
        mine, theirs = (x / np.maximum(x.sum(axis=-1, keepdims=True), 1) for x in (one, other))
        distance = np.abs(mine - theirs).sum(axis=-1) / 2
        # The share of a set of symbols is the mean of zeros and ones: its variance is at most 1/4.
        with np.errstate(divide="ignore"):
            noise = (1 / n + 1 / m) / 4
        pooled = (one + other) / np.maximum(n + m, 1)[..., None]
        rare = pooled * np.minimum(n, m)[..., None] < EXPECTED
        squared, freedom = _chi_square(mine - theirs, pooled, rare)
        with np.errstate(invalid="ignore"):
            squared = np.where(np.isfinite(noise), squared / (4 * noise), 0.0)
        hidden = np.minimum(*((x * rare).sum(axis=-1) for x in (mine, theirs)))
        parts = (distance, noise, squared, freedom, hidden)
        return Apart(*(part[..., ways].sum(axis=-1) for part in parts))

    def log_evidence(self, apart: Apart, separation: float | FloatArray) -> FloatArray:
        """The larger of two: one is better for many even symbols, the other for few uneven ones.

        By a bet on the one set of symbols in which the laws differ by the separation: the shares
        of that set differ by at most the distance, so for every bet b the mean of
        exp(b (separation - distance) - b^2 v / 2) is at most 1 (Hoeffding). And by chi-square: laws
        that far apart have at least the shift separation^2 / v, because the weights of the squares
        add up to 1 (Cauchy and Schwarz); over a window too, whichever of its steps differ.
        """
        bet = SHARE * separation
        by_set = bet / apart.variance * (separation - apart.distance - bet / 2)
        shift = np.maximum(separation - apart.rare, 0.0) ** 2 / apart.variance
        return np.maximum(by_set, shift_excluded(shift, apart.squared, apart.freedom))

    def counts(self, sample: FloatArray) -> FloatArray:
        return sample.sum(axis=-1)

    def brief(self, samples: FloatArray) -> FloatArray:
        return samples

    def differ(self, apart: Apart, alarm: float) -> NDArray[np.bool_]:
        """Sorting has seen all that there is: a total variation says no more."""
        del alarm
        return np.zeros(apart.distance.shape, dtype=bool)


def _chi_square(
    difference: FloatArray, pooled: FloatArray, rare: NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray]:
    """Squared differences of shares in units of the pooled ones, and their degrees of freedom.

    Symbols that are rare count as one: of these the square would be far from its law.
    """
    common = ~rare & (pooled > 0)
    squares = np.where(common, difference**2 / np.where(common, pooled, 1.0), 0.0).sum(axis=-1)
    weight = (pooled * rare).sum(axis=-1)
    others = np.where(rare, difference, 0.0).sum(axis=-1) ** 2
    squares += np.where(weight > 0, others / np.where(weight > 0, weight, 1.0), 0.0)
    return squares, np.maximum(common.sum(axis=-1) + (weight > 0) - 1.0, 0.0)


def _entropy(counts: FloatArray) -> FloatArray:
    """Sum of n ln(n / total) over the symbols, [...]: the log-likelihood of the shares seen."""
    total = np.maximum(counts.sum(axis=-1, keepdims=True), 1)
    return (counts * np.log(np.maximum(counts, 1) / total)).sum(axis=-1)


def _log_marginal(counts: FloatArray) -> FloatArray:
    """Of a sequence of symbols with these counts [..., D], the law integrated out: [...]."""
    return _Alone.of(counts).marginal


class _Alone(NamedTuple):
    """What samples say by themselves."""

    counts: FloatArray  # [n, P, D]
    total: FloatArray  # [n, P]
    places: IntArray | None  # [n, P, D], where counts are looked up
    marginal: FloatArray  # [n, P]

    @classmethod
    def of(cls, counts: FloatArray) -> _Alone:
        places, total = _places(counts), counts.sum(axis=-1)
        rising = _log_rising(counts, places).sum(axis=-1)
        return cls(counts, total, places, _law_free(rising, total, counts.shape[-1]))


def _both_marginals(one: _Alone, other: _Alone) -> Callable[[Pairs], FloatArray]:
    """The same of both samples of each pair together."""
    mine, theirs = one.places, other.places
    if mine is None or theirs is None:
        return lambda pairs: _log_marginal(one.counts[pairs[0]] + other.counts[pairs[1]])
    table = _table(1 << int(mine.max(initial=0) + theirs.max(initial=0)).bit_length())

    def both(pairs: Pairs) -> FloatArray:
        places = mine.take(pairs[0], axis=0) + theirs.take(pairs[1], axis=0)
        rising = table.take(places).sum(axis=-1)
        return _law_free(rising, one.total[pairs[0]] + other.total[pairs[1]], mine.shape[-1])

    return both


def _law_free(rising: FloatArray, total: FloatArray, symbols: int) -> FloatArray:
    prior = TUNING.symbol_prior * symbols
    return math.lgamma(prior) - log_gamma(total + prior) + rising


def _log_rising(counts: FloatArray, places: IntArray | None) -> FloatArray:
    """Logarithm of the gamma function at count plus prior, over that at the prior: [...].

    Counts are whole and mostly small: looking it up takes a tenth of the time.
    """
    if places is None:
        return _log_rising_at(counts)
    return _table(1 << int(places.max(initial=0)).bit_length()).take(places)


def _places(counts: FloatArray) -> IntArray | None:
    """Where counts are looked up; None where that is not possible."""
    places = counts.astype(np.int64)
    low, high = places.min(initial=0), places.max(initial=0)
    there = low >= 0 and high < LARGEST_TABLE and bool((places == counts).all())
    return places if there else None


def _log_rising_at(counts: FloatArray) -> FloatArray:
    weight = TUNING.symbol_prior
    return log_gamma(counts + weight) - math.lgamma(weight)


@cache
def _table(size: int) -> FloatArray:
    return _log_rising_at(np.arange(size, dtype=np.float64))


def seen_symbols(counts: FloatArray) -> FloatArray:
    """Counts [G, P, D] of the symbols that were seen at all: the others say nothing."""
    seen = counts.any(axis=(0, 1))
    return counts[..., seen] if seen.any() else counts[..., :1]
