"""What a kernel is, and its values for rows of observations."""

from __future__ import annotations

from typing import Protocol, cast

import numpy as np
from numpy.typing import ArrayLike

from surepath.errors import InputError
from surepath.system import FloatArray
from surepath.validate import array_of, finite_observations


class Kernel(Protocol):
    """A positive-definite kernel on rows; every scikit-learn Gaussian-process kernel is one."""

    def __call__(self, x: FloatArray, y: FloatArray, /) -> FloatArray:
        """Values for every row of x [n, p] with every row of y [m, p], as [n, m]."""
        ...

    def diag(self, x: FloatArray, /) -> FloatArray:
        """Values for every row of x with itself, as [n]."""
        ...


def points(sample: ArrayLike) -> FloatArray:
    """Observations [n, ...] as finite rows [n, p]; an error names the first row that is not."""
    values = array_of("observations", sample, float)
    if values.size == 0 or values.ndim == 0:
        raise InputError(
            "a kernel needs at least one observation",
            got=f"an array of shape {values.shape}",
            remedy="Put one observation on each row: shape [n, ...] with n >= 1.",
        )
    rows = cast(FloatArray, values.reshape(len(values), -1))
    finite_observations(rows, lambda place: f"in row {place[0]} of the batch")
    return rows


def gram(kernel: Kernel, x: FloatArray, y: FloatArray) -> FloatArray:
    """kernel(x, y) as float64, refused unless it has shape [n, m] and finite values."""
    values = np.asarray(kernel(x, y), dtype=np.float64)
    if values.shape != (len(x), len(y)):
        raise InputError(
            f"a kernel of {len(x)} and {len(y)} rows must return shape ({len(x)}, {len(y)})",
            got=f"shape {values.shape}",
            remedy="Return one value for every pair of rows.",
        )
    if not np.isfinite(values).all():
        i, j = (int(v) for v in np.argwhere(~np.isfinite(values))[0])
        raise InputError(
            "kernel values must be finite",
            got=f"{values[i, j]} for {x[i]} and {y[j]}",
            remedy="Scale the observations, or use a kernel that is defined for them.",
        )
    return values
