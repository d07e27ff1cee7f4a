"""Secrets of several bits, as callers give them."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import cast

from surepath.errors import InputError
from surepath.system import Actions


def bits_of(secret: object, length: int) -> Actions:
    """The secret as a tuple of so many bits."""
    got, given = repr(secret), tuple[object, ...]()
    if isinstance(secret, Sequence):
        given = tuple(cast(Sequence[object], secret))
    bits = tuple(int(bit) for bit in given if isinstance(bit, Integral) and bit in (0, 1))
    if len(bits) == len(given) == length:
        return bits
    raise InputError(
        f"secret must be {length} bits",
        got=got,
        remedy=f"Give a sequence of {length} numbers, each 0 or 1.",
    )
