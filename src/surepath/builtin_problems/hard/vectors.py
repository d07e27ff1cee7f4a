"""Many unit vectors, nearly orthogonal: what the hard families hide their secrets among.

The *coherence* of unit vectors is the largest |<v_i, v_j>| of two of them. A few dimensions hold
many vectors of small coherence, which is why one direction among them is hard to find.
"""

from __future__ import annotations

import math

import numpy as np

from surepath.errors import InputError
from surepath.system import FloatArray, IntArray
from surepath.validate import whole

ROUNDING = 1e-12
"""Inner products that exceed a bound by this are equal to it, computed inexactly."""

BLOCK = 1024
"""Vectors whose inner products with all the others are held at once."""


def spread_vectors(
    count: int, coherence: float, dimension: int | None, rng: np.random.Generator
) -> FloatArray:
    """Unit vectors [count, d] of at most this coherence, in an order that the generator draws.

    Without a dimension: quadratic phases over the smallest prime p that suffices, d = 2 p. With
    one: random signs in that many dimensions, refused where their coherence is larger; they reach
    exp(coherence^2 d / 8) vectors with ease, where phases reach d^2 / 4.
    """
    if dimension is not None:
        return _random_signs(count, coherence, whole("dimension", dimension, least=1), rng)
    prime = next_prime(max(5, math.ceil(coherence**-2 - ROUNDING), math.isqrt(count - 1) + 1))
    return _checked(quadratic_phases(prime, rng.permutation(prime**2)[:count]), coherence)


def quadratic_phases(prime: int, numbers: IntArray) -> FloatArray:
    """Some of p^2 unit vectors in R^(2p), p >= 5 prime, of coherence at most 1 / sqrt(p).

    Number a p + b is z_t = exp(2 pi i (a t^2 + b t) / p) / sqrt(p), t = 0 .. p - 1, real and
    imaginary parts stacked. Two of them with one a are orthogonal; with different a they meet in a
    Gauss sum, of modulus sqrt(p) / p.
    """
    a, b = np.divmod(numbers, prime)
    t = np.arange(prime)
    angles = 2 * np.pi * ((np.outer(a, t**2) + np.outer(b, t)) % prime) / prime
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=1) / np.sqrt(prime)


def _random_signs(
    count: int, coherence: float, dimension: int, rng: np.random.Generator
) -> FloatArray:
    """The most spread of as many draws as take moments."""
    attempts = max(1, min(100, 10**7 // count**2))
    drawn = (rng.choice([-1.0, 1.0], size=(count, dimension)) for _ in range(attempts))
    vectors = min((signs / np.sqrt(dimension) for signs in drawn), key=coherence_of)
    return _checked(vectors, coherence)


def coherence_of(vectors: FloatArray) -> float:
    """Largest |<v_i, v_j>| of two different rows."""
    largest = 0.0
    for first in range(0, len(vectors), BLOCK):
        products = np.abs(vectors[first : first + BLOCK] @ vectors.T)
        rows = np.arange(len(products))
        products[rows, first + rows] = 0.0
        largest = max(largest, float(products.max()))
    return largest


def _checked(vectors: FloatArray, coherence: float) -> FloatArray:
    found = coherence_of(vectors)
    if found > coherence + ROUNDING:
        count, dimension = vectors.shape
        enough = math.ceil(8 * math.log(count) / coherence**2)
        raise InputError(
            f"these {count} vectors of {dimension} dimensions must meet at no more than "
            f"{coherence:.4g}",
            got=f"coherence {found:.4g}",
            remedy=f"Raise dimension ({enough} is enough with high probability), leave it out, or "
            "try another seed.",
        )
    return vectors


def next_prime(least: int) -> int:
    """The smallest prime that is at least `least`."""
    number = least
    while any(number % divisor == 0 for divisor in range(2, math.isqrt(number) + 1)):
        number += 1
    return number
