"""Readings as samples, and how to compare them: do two of them come from the same law?"""

from __future__ import annotations

from surepath.inference.comparison import Comparison, WindowReadings
from surepath.inference.symbols import Symbols, symbol_samples
from surepath.inference.vector_samples import vector_samples
from surepath.system import FloatArray


def samples_of(
    windows: WindowReadings, dimension: int, *, symbols: bool, products: bool = False
) -> tuple[FloatArray, Comparison]:
    """The readings as samples, [G, P, ...], and how to compare them.

    products: with those of features, where they were recorded and there is room for them.
    """
    if symbols:
        return symbol_samples(windows, dimension), Symbols()
    return vector_samples(windows, dimension, products=products)
