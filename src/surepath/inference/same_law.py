"""Readings as samples, and how to compare them: do two of them come from the same law?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surepath.inference.comparison import Comparison
from surepath.inference.symbols import Symbols, seen_symbols
from surepath.inference.vector_samples import vector_samples
from surepath.readings.columns import Grouped
from surepath.readings.digests import Cloud
from surepath.system import FloatArray


def samples_of(
    read: Sequence[Grouped],
    sizes: tuple[int, int],
    dimension: int,
    *,
    symbols: bool,
    products: bool = False,
) -> tuple[FloatArray, Comparison]:
    """The readings as samples, [G, P, ...], and how to compare them.

    read: nodes in groups; the group of a node is p + P g where it stands at position p of the
    window of sample g. sizes: G and P. products: with those of features, where they were recorded
    and there is room for them.
    """
    samples, positions = sizes
    if symbols:
        counts = np.zeros((samples * positions, dimension))
        for part in read:
            counts += part.sums(part.columns.features[part.rows], len(counts))
        return seen_symbols(counts.reshape(samples, positions, dimension)), Symbols()
    clouds: list[Cloud | None] = [None] * (samples * positions)
    for node, cell in (each for part in read for each in part.nodes()):
        if node.digest is not None:
            pooled = clouds[cell]
            clouds[cell] = node.digest if pooled is None else pooled.merge(node.digest)
    windows = [clouds[start : start + positions] for start in range(0, len(clouds), positions)]
    return vector_samples(windows, dimension, products=products)
