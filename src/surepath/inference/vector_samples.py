"""Readings of real features as samples that can be compared: in units of the noise they share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from surepath.inference.comparison import WindowReadings
from surepath.inference.tuning import TUNING
from surepath.inference.vectors import NOISELESS, Vectors, likely_noise
from surepath.readings.digests import Cloud
from surepath.system import FloatArray

ROUNDING = 1e-12
"""Variance, relative to the square of the readings, that is only what rounding leaves."""

CANCELLED = 16 * float(np.finfo(np.float64).eps)
"""What rounding may leave of sums of squares that cancel, relative to the sums."""

AT_ONCE = 2**18
"""Numbers in the products of the places that are turned at once (2 MB)."""

LARGEST_PRODUCTS = 2**26
"""Numbers in the products of all samples of a level (512 MB); beyond, noise is compared along the
axes of the level only."""


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
            axes, shares[position] = _whitening(present)
            rows = _whitened(present, axes, products=products)
            samples[read, position] = _sharing(rows, dimension)
    return samples, Vectors(shares)


@dataclass(frozen=True, slots=True)
class _Stack:
    """Readings of several places as arrays."""

    count: FloatArray  # [N, 1]
    total: FloatArray  # [N, D]
    squares: FloatArray  # [N, D, D], or its diagonals [N, D]

    @classmethod
    def parts(cls, clouds: Sequence[Cloud]) -> Iterator[_Stack]:
        """As many places at once as take little memory."""
        several = max(1, AT_ONCE // clouds[0].squares.size)
        for start in range(0, len(clouds), several):
            part = clouds[start : start + several]
            count = np.array([[cloud.count] for cloud in part], dtype=float)
            total, squares = (
                np.array([getattr(cloud, name) for cloud in part]) for name in ("total", "squares")
            )
            yield cls(count, total, squares)

    @property
    def diagonal(self) -> FloatArray:
        """[N, D], sums of the squares of each feature."""
        whole = self.squares.ndim == 3
        return np.diagonal(self.squares, axis1=1, axis2=2) if whole else self.squares


def _whitened(clouds: Sequence[Cloud], axes: FloatArray, *, products: bool) -> FloatArray:
    """Places as rows [N, 2 + 2 D], and with all products of features where these are asked for."""
    whole = np.sum([cloud.total for cloud in clouds], axis=0)
    centre = whole / sum(cloud.count for cloud in clouds)
    rows = list[FloatArray]()
    for part in _Stack.parts(clouds):
        total = (part.total - part.count * centre) @ axes
        if part.squares.ndim == 2:
            squares = part.squares - 2 * part.total * centre + part.count * centre**2
            spread, together, crossed = squares @ axes**2, np.ones_like(part.count), total[:, :0]
        else:
            cross = part.total[:, :, None] * centre
            around = part.count[:, :, None] * np.outer(centre, centre)
            squares = part.squares - cross - cross.transpose(0, 2, 1) + around
            turned = axes.T @ (squares @ axes)
            spread = np.diagonal(turned, axis1=1, axis2=2)
            together = _moving_together(turned, total, part.count)
            crossed = turned.reshape(len(total), -1) if products else total[:, :0]
        # Sums of squares cancel along axes of little noise: no less is left than rounding leaves.
        lengths = np.sqrt(np.maximum(part.diagonal, 0.0)) @ np.abs(axes)
        spread = spread + CANCELLED * lengths**2
        rows.append(np.concatenate([part.count, total, spread, together, crossed], axis=1))
    return np.concatenate(rows)


def _sharing(samples: FloatArray, dimension: int) -> FloatArray:
    """Rows of places, how much moves together drawn to what it is at all of them, and summed."""
    count, freedom = samples[:, 0], np.maximum(samples[:, 0] - 1, 0)
    together = samples[:, 1 + 2 * dimension]
    everywhere = (1 + freedom @ together) / (1 + freedom.sum())
    shared = TUNING.shared_noise
    together[:] = count * (shared * everywhere + freedom * together) / (shared + freedom)
    return samples


def _moving_together(products: FloatArray, total: FloatArray, count: FloatArray) -> FloatArray:
    """tr(R^2) / tr(R) of the correlations R of each place's readings, as far as these show it."""
    freedom = np.maximum(count - 1, 1.0)
    scatter = products - total[:, :, None] * (total / count)[:, None, :]
    own = np.maximum(np.diagonal(scatter, axis1=1, axis2=2), 0.0)
    noise = np.sqrt(likely_noise(own, freedom))
    size = (own / noise**2).sum(axis=1, keepdims=True) / freedom
    # What few readings add to the square by chance is taken off.
    correlated = scatter / noise[:, :, None] / noise[:, None, :]
    squared = np.square(correlated).sum(axis=(1, 2))[:, None] / freedom**2
    seen = (count > 1) & (size > 0)
    found = squared / np.where(seen, size, 1.0) - size / freedom
    return np.where(seen, np.clip(found, 1.0, own.shape[1]), 1.0)


def _whitening(clouds: Sequence[Cloud]) -> tuple[FloatArray, FloatArray]:
    """W with W' N W = 1 for the noise covariance N that the clouds share.

    And of every column, which share of the noise that is taken for 1 was really seen.
    """
    dimension = len(clouds[0].total)
    freedom = max(sum(cloud.count - 1 for cloud in clouds), 1)
    scatter = np.zeros((dimension, dimension))
    for part in _Stack.parts(clouds):
        mean = part.total / part.count
        if part.squares.ndim == 2:
            scatter += np.diag((part.squares - part.count * mean**2).sum(axis=0))
        else:
            around = (part.count * mean)[:, :, None] * mean[:, None, :]
            scatter += (part.squares - around).sum(axis=0)
    # While there are few readings the off-diagonal part is mostly noise itself: shrink it, as if
    # further readings had shown the diagonal alone. As many as there are dimensions, and fewer the
    # more was read: directions that are quiet because features move together must be seen in time.
    means = np.array([cloud.value for cloud in clouds])
    squares = np.mean(means**2, axis=0)
    diagonal = np.diag(scatter) / freedom
    diagonal = np.where(diagonal > ROUNDING * squares, diagonal, 0.0)
    further = dimension * min(1.0, dimension / freedom)
    noise = (scatter + further * np.diag(diagonal)) / (freedom + further)
    # Features without noise tell apart whatever differs in them at all.
    apart = np.var(means, axis=0)
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
