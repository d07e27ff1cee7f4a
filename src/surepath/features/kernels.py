"""Kernels over observations: bags, their mean embeddings, and finite-dimensional stand-ins.

A kernel k(o, o') = <psi(o), psi(o')> stands for features psi that are never written down. The
embedding of a node is then the mean of psi over the observations read there, known only through
its inner products: x-hat(Z) . x-hat(Z') = sum over z in Z, z' in Z' of k(z, z') / (|Z| |Z'|).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from surepath.errors import InputError
from surepath.system import Counts, FloatArray, Moments, Sample
from surepath.theory.kernel_matrix import Kernel, gram, points
from surepath.validate import whole

BLOCK = 2**16
"""Kernel values held at once: 512 KB, so that the passes over a block stay in the cache."""


def thin(rows: FloatArray, most: int) -> FloatArray:
    """At most `most` of the rows, evenly spaced."""
    chosen = np.linspace(0, len(rows) - 1, min(most, len(rows)))
    return rows[chosen.round().astype(np.int64)]


# ---------------------------------------------------------------- bags and mean embeddings


@dataclass(frozen=True, slots=True)
class Bag:
    """The observations of one node as a weighted sample; equal whole numbers share one row."""

    values: FloatArray  # [m, p]
    weights: FloatArray  # [m], positive, sum 1
    count: int  # observations behind it, at least m

    @classmethod
    def of(cls, sample: Sample) -> Bag:
        """The bag of raw observations [n, ...], or of how often each symbol was read."""
        if isinstance(sample, Moments):
            raise InputError(
                "a kernel needs the observations themselves",
                got="their mean and scatter",
                remedy="Draw single episodes instead of summaries.",
            )
        if isinstance(sample, Counts):
            counts, total = sample.counts, sample.count
            if total < 1 or counts.min() < 0:
                raise InputError(
                    "counts must be whole numbers of at least 0, not all 0",
                    got=np.array2string(counts, threshold=8),
                    remedy="Read at least one observation.",
                )
            symbols = np.flatnonzero(counts)
            return cls(symbols[:, None].astype(np.float64), counts[symbols] / total, total)
        values = points(sample)
        if np.asarray(sample).dtype.kind in "bui":
            values, repeats = np.unique(values, axis=0, return_counts=True)
            return cls(values, repeats / repeats.sum(), int(repeats.sum()))
        return cls(values, np.full(len(values), 1 / len(values)), len(values))

    def merge(self, other: Bag) -> Bag:
        """Both samples as one, each observation counting the same."""
        if self.values.shape[1] != other.values.shape[1]:
            raise InputError(
                "bags can be merged when their observations have the same size",
                got=f"sizes {self.values.shape[1]} and {other.values.shape[1]}",
                remedy="Merge observations of one system and one time step.",
            )
        count = self.count + other.count
        shares = self.weights * (self.count / count), other.weights * (other.count / count)
        values: FloatArray = np.concatenate((self.values, other.values))
        weights: FloatArray = np.concatenate(shares)
        if len(values) < count:  # some rows are shared already: keep the support small
            values, inverse = np.unique(values, axis=0, return_inverse=True)
            weights = np.bincount(inverse.ravel(), weights).astype(np.float64)
        return Bag(values, weights, count)


def embedding_at(kernel: Kernel, bag: Bag, at: FloatArray, block: int = BLOCK) -> FloatArray:
    """The mean embedding of the bag as a function, at the rows of `at`: sum_i w_i k(z_i, .), [n].

    At most `block` kernel values exist at any time, whatever the sizes.
    """
    block = whole("block", block, least=1)
    rows = min(len(bag.values), max(1, math.isqrt(block)))
    columns = max(1, block // rows)
    result = np.zeros(len(at))
    for left in range(0, len(at), columns):
        some = at[left : left + columns]
        for top in range(0, len(bag.values), rows):
            part = slice(top, top + rows)
            partial = bag.weights[part] @ gram(kernel, bag.values[part], some)
            result[left : left + columns] += partial
    return result


def mean_gram(kernel: Kernel, bag: Bag, other: Bag, block: int = BLOCK) -> float:
    """k-hat(Z, Z') = w' K w': the inner product of the two mean embeddings.

    For a bag with itself this is the mean over all pairs, each observation paired with itself
    included: the squared length of the empirical mean embedding, which is what is regressed on.
    """
    return float(embedding_at(kernel, bag, other.values, block) @ other.weights)


def mean_gram_row(
    kernel: Kernel, bag: Bag, others: Sequence[Bag], block: int = BLOCK
) -> FloatArray:
    """k-hat of one bag with each of the others, [len(others)]; small bags share kernel calls."""
    if not others:
        return np.zeros(0)
    stacked = np.concatenate([other.values for other in others])
    weights = np.concatenate([other.weights for other in others])
    starts = np.cumsum([0, *(len(other.values) for other in others[:-1])])
    return np.add.reduceat(embedding_at(kernel, bag, stacked, block) * weights, starts)


# ---------------------------------------------------------------- choosing and checking a kernel


def median_length_scale(sample: ArrayLike) -> float:
    """The median heuristic: median distance between (at most 500, evenly spaced) observations.

    Where more than half of the pairs coincide, the median of the positive distances; where all of
    them do, 1, since then any length scale gives the same Gram matrix.
    """
    from scipy.spatial.distance import pdist

    distances = pdist(thin(points(sample), 500))
    median = float(np.median(distances)) if len(distances) else 0.0
    positive = distances[distances > 0]
    if median > 0 or not len(positive):
        return median or 1.0
    return float(np.median(positive))


def check_positive(kernel: Kernel, sample: ArrayLike) -> float:
    """Largest k(o, o) on the sample: the squared radius of the features there.

    Refuses a kernel that is no inner product of features on at most 200 of the observations: one
    that is not finite or not symmetric, or whose Gram matrix has an eigenvalue below -1e-8 times
    the largest. Passing is evidence, not proof, that it is positive definite everywhere.
    """
    rows = thin(points(sample), 200)
    matrix = gram(kernel, rows, rows)
    scale = max(float(np.abs(matrix).max()), 1e-300)
    skew = float(np.abs(matrix - matrix.T).max())
    if skew > 1e-8 * scale:
        raise InputError(
            "a kernel must be symmetric",
            got=f"values for (a, b) and (b, a) that differ by {skew:.3g}",
            remedy="Use (k(a, b) + k(b, a)) / 2, and check that it is positive definite.",
        )
    eigenvalues = np.linalg.eigvalsh((matrix + matrix.T) / 2)
    least, largest = float(eigenvalues[0]), float(np.abs(eigenvalues).max())
    if least < -1e-8 * largest:
        raise InputError(
            "a kernel must be positive definite",
            got=f"a Gram matrix of {len(rows)} observations with smallest eigenvalue {least:.6g} "
            f"(largest in size {largest:.6g})",
            remedy="Use an RBF or Matern kernel, or a sum or product of positive-definite ones.",
        )
    diagonal = np.asarray(kernel.diag(rows), dtype=np.float64)
    if np.abs(diagonal - matrix.diagonal()).max() > 1e-6 * scale:
        raise InputError(
            "kernel.diag(x) must be the diagonal of kernel(x, x)",
            got=f"{diagonal[0]:.6g} and {matrix[0, 0]:.6g} for the first observation",
            remedy="Leave out noise terms such as WhiteKernel: the ridge plays their part.",
        )
    return float(matrix.diagonal().max())


# ---------------------------------------------------------------- finite-dimensional stand-ins


def never_negative(kernel: Kernel) -> bool:
    """Whether no two observations can have a negative kernel, by what it is made of.

    Features of such a kernel are never more than a right angle apart.
    """
    known: Any = import_module("sklearn.gaussian_process.kernels")
    parts: Any = kernel
    if type(kernel) in (known.Sum, known.Product):
        return never_negative(parts.k1) and never_negative(parts.k2)
    if type(kernel) is known.Exponentiation:
        return never_negative(parts.kernel)
    return type(kernel) in (
        known.RBF, known.Matern, known.RationalQuadratic, known.ExpSineSquared,
        known.ConstantKernel, known.WhiteKernel,
    )  # fmt: skip


class Nystroem:
    """Features whose inner products are the kernel's, projected onto the span of landmarks Z.

    psi(o) = k(o, Z) Kzz^(-1/2), so <psi(o), psi(o')> = k(o, Z) Kzz^-1 k(Z, o'): exact on the
    landmarks and never longer than the kernel's own features. Eigenvalues of Kzz below
    m eps times the largest (m landmarks, eps the unit of double precision) are raised to that
    floor. It is the size of the rounding in Kzz itself: what lies below is noise, and divided by
    the root of the floor that noise adds at most about m eps to an inner product.

    With fewer dimensions than landmarks, psi is projected onto those directions of the span that
    the landmarks fill most: the leading eigenvectors of Kzz.
    """

    def __init__(self, kernel: Kernel, landmarks: ArrayLike, dimension: int | None = None) -> None:
        self.kernel = kernel
        self.landmarks = points(landmarks)
        self.dimension = min(len(self.landmarks), dimension or len(self.landmarks))
        self.radius = self._radius()
        matrix = gram(kernel, self.landmarks, self.landmarks)
        values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
        if values[-1] <= 0:
            check_positive(kernel, self.landmarks)
        floor = max(len(values) * np.finfo(np.float64).eps * values[-1], 1e-300)
        inverse = vectors / np.sqrt(np.maximum(values, floor))
        whole = self.dimension == len(values)
        self._root = inverse @ vectors.T if whole else inverse[:, -self.dimension :]  # Kzz^(-1/2)

    def _radius(self) -> float | None:
        """||psi|| <= sqrt(k(o, o)), which is the same everywhere for a stationary kernel."""
        stationary = getattr(self.kernel, "is_stationary", None)
        if stationary is None or not stationary():
            return None
        return math.sqrt(float(self.kernel.diag(self.landmarks[:1])[0]))

    def transform(self, sample: ArrayLike) -> FloatArray:
        """Features of observations [n, ...], as [n, m]."""
        return gram(self.kernel, points(sample), self.landmarks) @ self._root

    def average(self, sample: ArrayLike) -> FloatArray:
        """Mean feature of the observations, [m]: averaged before it is multiplied, not after."""
        return gram(self.kernel, points(sample), self.landmarks).mean(axis=0) @ self._root

    def lengths(self, sample: ArrayLike) -> FloatArray:
        """k(o, o) of observations [n, ...]: the squared lengths of the kernel's own features."""
        return np.asarray(self.kernel.diag(points(sample)), dtype=np.float64)


class FourierFeatures:
    """Random features of an RBF or Matern kernel, after Rahimi and Recht (2007).

    k(o - o') = E[cos(w.(o - o'))] for w drawn from the kernel's spectral density: a Gaussian for
    RBF, a multivariate t with 2 nu degrees of freedom for Matern, both of scale 1 / length_scale.
    Each w gives a cosine and a sine, so that every feature vector has length 1 exactly, and every
    inner product is a mean of dimension / 2 values in [-1, 1].
    """

    radius = 1.0

    def __init__(self, kernel: Kernel, size: int, dimension: int, rng: np.random.Generator) -> None:
        size = whole("size", size, least=1)
        self.dimension = whole("dimension", dimension, least=2)
        if self.dimension % 2:
            raise InputError(
                "Fourier features come in pairs of a cosine and a sine",
                got=f"dimension {dimension}",
                remedy="Use an even dimension.",
            )
        length_scale, degrees = _spectrum(kernel, size)
        frequencies = rng.standard_normal((self.dimension // 2, size)) / length_scale
        if math.isfinite(degrees):
            spread = rng.chisquare(degrees, (self.dimension // 2, 1)) / degrees
            frequencies /= np.sqrt(spread)
        self.frequencies: FloatArray = frequencies  # [dimension / 2, p]

    def transform(self, sample: ArrayLike) -> FloatArray:
        """Features of observations [n, ...], as [n, dimension]."""
        rows = points(sample)
        if rows.shape[1] != self.frequencies.shape[1]:
            raise InputError(
                f"these Fourier features are for observations of size {self.frequencies.shape[1]}",
                got=f"size {rows.shape[1]}",
                remedy="Draw new features for this size.",
            )
        phase = rows @ self.frequencies.T
        return np.hstack((np.cos(phase), np.sin(phase))) / math.sqrt(self.dimension / 2)

    def average(self, sample: ArrayLike) -> FloatArray:
        """Mean feature of the observations, [dimension]."""
        return self.transform(sample).mean(axis=0)


def _spectrum(kernel: Kernel, size: int) -> tuple[FloatArray, float]:
    """Length scales [p or 1] and degrees of freedom of the spectral t distribution."""
    known: Any = import_module("sklearn.gaussian_process.kernels")
    if type(kernel) not in (known.RBF, known.Matern):
        raise InputError(
            "Fourier features are known for RBF and Matern kernels",
            got=repr(kernel),
            remedy="Use Nystroem(kernel, pick_landmarks(sample, m, rng)), which takes any kernel.",
        )
    length_scale = np.atleast_1d(np.asarray(cast(Any, kernel).length_scale, dtype=np.float64))
    if len(length_scale) not in (1, size):
        raise InputError(
            "an anisotropic kernel needs one length scale for every coordinate",
            got=f"{len(length_scale)} length scales for observations of size {size}",
            remedy="Give one length scale, or as many as an observation has numbers.",
        )
    return length_scale, 2 * float(getattr(kernel, "nu", math.inf))


def pick_landmarks(sample: ArrayLike, m: int, rng: np.random.Generator) -> FloatArray:
    """At most m distinct rows of the sample, spread over it: all distinct rows if fewer than m.

    Each new landmark is the observation farthest from those chosen, the first one random. The
    largest distance r of any observation to its nearest landmark is then at most twice the least
    possible (Gonzalez 1985), and for a stationary kernel r bounds the error of `Nystroem` at every
    observation, not only on average: k(o, o) - |psi(o)|^2 <= 2 (k(0) - k(r)) for one that falls
    with distance. A random choice would leave out what was read rarely, such as the observations
    of a state few prefixes reach, which are those that coverage must not miss.
    """
    rows = points(sample)
    chosen = [int(rng.integers(len(rows)))]
    nearest = np.full(len(rows), np.inf)
    for _ in range(whole("m", m, least=1) - 1):
        nearest = np.minimum(nearest, np.square(rows - rows[chosen[-1]]).sum(axis=1))
        farthest = int(nearest.argmax())
        if nearest[farthest] == 0:
            break
        chosen.append(farthest)
    return rows[chosen]
