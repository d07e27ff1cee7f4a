"""Readings of real features as samples that can be compared: in units of the noise they share."""

from __future__ import annotations

from collections.abc import Sequence

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
    noise = np.sqrt(likely_noise(own, np.array(float(freedom))))
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
