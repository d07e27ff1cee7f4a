"""What is averaged over observations: psi, behind one small protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surepath.errors import InputError
from surepath.system import Counts, FloatArray, Moments, Sample
from surepath.validate import whole

FeatureFunction: TypeAlias = Callable[[NDArray[Any]], FloatArray]
"""psi on a batch: observations [n, ...] to features [n, d]."""


NAMES = ("auto", "onehot", "linear", "rbf", "matern")
"""Features by name; "auto" comes first and stands for one of the others."""


class Features(Protocol):
    """A feature map; its mean over a sample is an unbiased estimate of the embedding."""

    @property
    def dimension(self) -> int: ...

    @property
    def radius(self) -> float | None:
        """A bound on ||psi||, or None when there is none."""

    @property
    def statistics(self) -> tuple[type, ...]:
        """The sufficient statistics from which the mean can be had exactly."""
        ...

    def rows(self, observations: NDArray[Any]) -> FloatArray:
        """Features of single observations, [n, d]."""
        ...

    def mean(self, sample: Sample) -> FloatArray:
        """Average feature of the sample, [d]."""
        ...


class OneHot:
    """Discrete observations 0 .. n - 1 as unit vectors."""

    radius = 1.0
    statistics = (Counts,)

    def __init__(self, n_observations: int) -> None:
        self.dimension = whole("n_observations", n_observations, least=1)

    def rows(self, observations: NDArray[Any]) -> FloatArray:
        symbols = self._symbols(observations)
        rows = np.zeros((len(symbols), self.dimension))
        rows[np.arange(len(symbols)), symbols] = 1.0
        return rows

    def mean(self, sample: Sample) -> FloatArray:
        if isinstance(sample, Counts):
            return sample.counts / sample.counts.sum()
        counts = self.counts(sample)
        return counts / counts.sum()

    def counts(self, sample: Sample) -> FloatArray:
        """How often each symbol was read, [d]."""
        if isinstance(sample, Counts):
            if len(sample.counts) == self.dimension:
                return sample.counts.astype(np.float64)
            counts = np.zeros(self.dimension)
            counts[self._symbols(np.arange(len(sample.counts)))] = sample.counts
            return counts
        values = self._symbols(_raw(sample, self))
        return np.bincount(values, minlength=self.dimension).astype(np.float64)

    def _symbols(self, values: NDArray[Any]) -> NDArray[Any]:
        if values.ndim != 1 or not np.issubdtype(values.dtype, np.integer):
            raise InputError(
                "one-hot features need one whole number per observation",
                got=f"observations of shape {values.shape[1:]} and type {values.dtype}",
                remedy='Use features="linear" or a function for real-valued observations.',
            )
        if values.min() < 0 or values.max() >= self.dimension:
            raise InputError(
                f"discrete observations are 0 .. {self.dimension - 1}",
                got=f"values from {values.min()} to {values.max()}",
                remedy="Raise the number of observations the system declares.",
            )
        return values


class Nothing:
    """No features: every observation looks like every other."""

    dimension = 1
    radius = 0.0
    statistics = (Counts,)

    def rows(self, observations: NDArray[Any]) -> FloatArray:
        return np.zeros((len(observations), 1))

    def mean(self, sample: Sample) -> FloatArray:
        del sample
        return np.zeros(1)


class Linear:
    """Real observations as they are, flattened."""

    radius = None
    statistics = (Moments,)

    def __init__(self, dimension: int) -> None:
        self.dimension = whole("dimension", dimension, least=1)

    def mean(self, sample: Sample) -> FloatArray:
        if isinstance(sample, Moments):
            return sample.mean
        return self.rows(_raw(sample, self)).mean(axis=0)

    def rows(self, observations: NDArray[Any]) -> FloatArray:
        flat = observations.reshape(len(observations), -1)
        return checked_rows(flat, len(flat), self.dimension)


class Custom:
    """A user's own psi: a function from observations [n, ...] to features [n, d]."""

    statistics = (Counts,)

    def __init__(
        self, function: FeatureFunction, dimension: int, radius: float | None = None
    ) -> None:
        self.function = function
        self.dimension = whole("dimension", dimension, least=1)
        self.radius = radius

    def mean(self, sample: Sample) -> FloatArray:
        if isinstance(sample, Counts):
            # Any feature of a discrete observation is a sum over its symbols.
            table = self.rows(np.arange(len(sample.counts)))
            return sample.counts @ table / sample.counts.sum()
        return self.rows(_raw(sample, self)).mean(axis=0)

    def rows(self, observations: NDArray[Any]) -> FloatArray:
        rows = checked_rows(self.function(observations), len(observations), self.dimension)
        longest = float(np.linalg.norm(rows, axis=1).max())
        if self.radius is not None and longest > self.radius * (1 + 1e-6):
            raise InputError(
                f"features must be no longer than {self.radius:g}, the bound they were given with",
                got=f"one of length {longest:.6g}",
                remedy="Widen the bound (of the function, or of the observation space), or use "
                'features that are bounded whatever is read, such as "rbf".',
            )
        return rows


class WindowFeatures:
    """A user's own psi on windows: a function from K observations [n, K, ...] to features [n, d].

    The paper's multi-step features need not be products of one-step ones.
    """

    def __init__(
        self, function: FeatureFunction, dimension: int, future: int, radius: float | None = None
    ) -> None:
        """radius: the greatest length of a feature; needed where something is to be proved."""
        self._features = Custom(function, dimension, radius)
        self.function = function
        self.dimension = dimension
        self.radius = radius
        self.future = whole("future", future, least=1)

    def rows(self, windows: NDArray[Any]) -> FloatArray:
        """Features of single windows, [n, d]."""
        return self._features.rows(windows)


class Approximation(Protocol):
    """A kernel's finite-dimensional stand-in."""

    @property
    def dimension(self) -> int: ...

    def transform(self, sample: NDArray[Any], /) -> FloatArray: ...

    def average(self, sample: NDArray[Any], /) -> FloatArray: ...


class Approximated:
    """Features that stand in for a kernel, on observations looked at through `view`."""

    statistics = (Counts,)
    radius = 1.0

    def __init__(
        self, approximation: Approximation, view: Callable[[NDArray[Any]], FloatArray]
    ) -> None:
        self.approximation = approximation
        self.view = view
        self.dimension = approximation.dimension

    def rows(self, observations: NDArray[Any]) -> FloatArray:
        rows = self.approximation.transform(self.view(observations))
        return checked_rows(rows, len(observations), self.dimension)

    def mean(self, sample: Sample) -> FloatArray:
        if isinstance(sample, Counts):
            return sample.counts @ self.rows(np.arange(len(sample.counts))) / sample.counts.sum()
        return self._average(_raw(sample, self))

    def _average(self, observations: NDArray[Any]) -> FloatArray:
        return self.approximation.average(self.view(observations))


def _raw(sample: Sample, features: Features) -> NDArray[Any]:
    if isinstance(sample, Counts | Moments):
        raise InputError(
            f"{type(features).__name__} features cannot be computed from a summary",
            got=type(sample).__name__,
            remedy="Draw single episodes instead.",
        )
    return sample


def checked_rows(values: FloatArray, n: int, dimension: int) -> FloatArray:
    if values.shape != (n, dimension):
        raise InputError(
            f"features of {n} observations must have shape ({n}, {dimension})",
            got=f"shape {values.shape}",
            remedy="Return one row of the declared length for every observation.",
        )
    if not np.isfinite(values).all():
        row = int(np.argwhere(~np.isfinite(values).all(axis=1))[0, 0])
        raise InputError(
            "features must be finite",
            got=f"{values[row]} for observation {row} of the batch",
            remedy="Clean the observations, or the feature function.",
        )
    return np.asarray(values, dtype=np.float64)
