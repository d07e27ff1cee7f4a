"""How surely a squared distance of two samples excludes that their laws are far apart.

The direction of a difference is not known, and the distance does not depend on it. So the
likelihood ratio of the distance alone, no difference against this one, is that of chi-square laws,
central over noncentral, whatever the direction; and as a ratio of likelihoods its mean stays 1,
however often one looks.
"""

from __future__ import annotations

import math

import numpy as np

from surepath.system import FloatArray
from surepath.theory.special import log_gamma, scaled_bessel


def shift_excluded(shift: FloatArray, squared: FloatArray, freedom: FloatArray) -> FloatArray:
    """Ln E against a squared distance of this shift, where such a one was seen.

    Both in units of the noise in one direction; freedom: directions that have noise.
    """
    half = np.maximum(freedom, 1.0) / 2
    return shift / 2 - _log_0f1(half, shift * squared / 4)


def _log_0f1(b: FloatArray, y: FloatArray) -> FloatArray:
    """Logarithm of the confluent hypergeometric limit function, by Bessel's I of order b - 1."""
    root = 2 * np.sqrt(y)
    scaled = scaled_bessel(b - 1, root)
    with np.errstate(divide="ignore", invalid="ignore"):
        bessel = root + np.log(scaled)
        if not scaled.all():
            bessel = np.where(scaled > 0, bessel, _log_bessel(b - 1, root))
        found = log_gamma(b) + bessel - (b - 1) / 2 * np.log(y)
    # Near 0 by its series: what is left out is about y^3 / b^5, less than a ten-billionth.
    near = y < 5e-4 * b ** (5 / 3)
    return np.where(near, y / b - y**2 / (2 * b**2 * (b + 1)), found)


def _log_bessel(order: FloatArray, x: FloatArray) -> FloatArray:
    """Logarithm of Bessel's I where it is too small for a double: its order is then large.

    Debye's expansion to the second order (Abramowitz and Stegun, 9.7.7).
    """
    root = np.sqrt(1 + (x / order) ** 2)
    t = 1 / root
    first = (3 * t - 5 * t**3) / (24 * order)
    second = (81 * t**2 - 462 * t**4 + 385 * t**6) / (1152 * order**2)
    exponent = order * (root + np.log(x / order / (1 + root)))
    return exponent - np.log(2 * math.pi * order * root) / 2 + np.log1p(first + second)
