"""Samples of real features, and how to compare them."""

from __future__ import annotations

import numpy as np

from surepath.inference.vectors import Vectors
from surepath.readings.digests import Cloud
from surepath.system import FloatArray


def vectors(dimension: int, nodes: int = 1) -> Vectors:
    """How to compare them where all of the noise that is counted with is there."""
    return Vectors(np.ones((nodes, dimension)))


def cloud(rows: FloatArray) -> Cloud:
    """Readings [n, D] as a digest."""
    return Cloud(len(rows), rows.sum(axis=0), rows.T @ rows)
