"""Which pairs of samples may be of one law at all: the others need not be compared.

Sorting asks for every sample which state it most likely comes from, and nearly all pairs of a
sample and a state are far apart. Their log-odds matter only where they are above 0, and that they
are not is mostly seen from a bound which products of matrices give for all pairs at once:

- "different" is a mixture over scales, and at least as likely as any one of them makes it;
- two noises together are at least as large as either, so a pair leans towards "same" by no more
  than either of the two alone would;
- and they are at most as large as one with the largest on the other side, so the squared distance
  counts for at least as much as it would with that.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from surepath.inference.comparison import Pairs, in_parts, in_use
from surepath.inference.tuning import TUNING
from surepath.system import FloatArray, IntArray

FEWEST = 2**12
"""Numbers in pairs from which on looking for those that are near takes less time than it saves."""

MOST_UNASKED = 16
"""A bound is computed for all pairs that could be; at most so many for each that is asked for."""

MIDDLE = TUNING.difference_scales[len(TUNING.difference_scales) // 2]
"""Of all scales it shows for most pairs that they differ."""

ROUNDING = 1e-9
"""Share of squares that rounding may leave of their differences; generous."""


class Alone(NamedTuple):
    """What samples of real features say by themselves."""

    mean: FloatArray  # [..., P, D]
    noise: FloatArray  # [..., P, D], variance of the mean; infinite where it was not read
    read: FloatArray  # [..., P], how often; at least 1
    repeats: FloatArray  # [..., P], directions that move as one
    lean: FloatArray  # [..., P], no less than any pair with it leans towards "same"

    def at(self, places: IntArray) -> Alone:
        return Alone(*(part[places] for part in self))


def weighed(n: FloatArray, mine: FloatArray, m: FloatArray, theirs: FloatArray) -> FloatArray:
    """The mean of what two samples of n and m readings say, with more weight on the smaller."""
    return (m * mine + n * theirs) / (n + m)


def most_lean(noise: FloatArray, counted: FloatArray) -> FloatArray:
    """Of samples with this noise [..., P, D]; counted: how much each direction counts, [P, D]."""
    return (counted * np.log1p(MIDDLE / noise)).sum(axis=-1)


def near_pairs(one: Alone, other: Alone, pairs: Pairs) -> NDArray[np.bool_]:
    """[n], False where the log-odds of a pair are sure to be below 0.

    The ones [S, P, D] are all in use.
    """
    many = len(pairs[0])
    if many * one.mean[:1].size < FEWEST:
        return np.full(many, True)

    def bounds(part: Pairs) -> FloatArray:
        used, place = in_use(part[1], len(other.mean))
        if len(one.mean) * len(used) > MOST_UNASKED * len(place):
            return np.full(len(place), np.inf)
        others, most = other.at(used), np.empty((len(used), len(one.mean)))
        for alike in _alike(one.read):
            most[:, alike] = _most(one.at(alike), others)
        return most[place, part[0]]

    return in_parts(bounds, pairs, 1) > 0


def _alike(read: FloatArray) -> list[IntArray]:
    """Samples in parts that were read about as often, within a factor of 4.

    One that was read little would make the bounds of all others loose.
    """
    size = np.log2(read[:, 0]).astype(np.int64) // 2
    return [np.flatnonzero(size == each) for each in np.unique(size).tolist()]


def _most(one: Alone, other: Alone) -> FloatArray:
    """No less than the log-odds of each of the others with each of the ones, [G, S]."""
    read = np.isfinite(one.noise)
    most = other.noise + np.where(read, one.noise, 0.0).max(axis=0)
    weight = (MIDDLE / (most * (most + MIDDLE))).transpose(1, 0, 2)  # 0 where it was not read
    mine, theirs = one.mean.transpose(1, 2, 0), other.mean.transpose(1, 0, 2)
    heavy = weight * theirs
    size = weight @ mine**2 + (heavy * theirs).sum(axis=-1, keepdims=True)
    squares = np.where(read[..., 0].T[:, None], size - 2 * (heavy @ mine), 0.0)
    lean = np.minimum(one.lean.T[:, None], other.lean.T[:, :, None])
    lean += ROUNDING * (1 + size) - squares
    repeats = weighed(one.read, one.repeats, other.read[:, None], other.repeats[:, None])
    shared = (lean.transpose(1, 2, 0) / repeats).sum(axis=-1) / 2
    return shared + math.log(len(TUNING.difference_scales))
