"""Checks of what callers give, shared by every module that takes numbers from outside."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

import numpy as np

from surepath.errors import InputError
from surepath.system import FloatArray


def whole(name: str, value: object, *, least: int, most: int | None = None) -> int:
    """`value` as an int of at least `least` and at most `most`."""
    limits = f"at least {least}" if most is None else f"between {least} and {most}"
    if (
        isinstance(value, bool)
        or not isinstance(value, int | np.integer)
        or value < least
        or (most is not None and value > most)
    ):
        raise InputError(
            f"{name} must be a whole number, {limits}",
            got=repr(value),
            remedy=f"Set {name} to a whole number {limits}.",
        )
    return int(value)


def between(
    name: str, value: object, low: float, high: float, *, closed: tuple[bool, bool] = (False, False)
) -> float:
    """`value` as a float inside the interval from `low` to `high`."""
    left, right = "[" if closed[0] else "(", "]" if closed[1] else ")"
    interval = f"{left}{low:g}, {high:g}{right}"
    valid = not isinstance(value, bool) and isinstance(value, int | float | np.number)
    if valid:
        number = float(value)  # type: ignore[arg-type]  # narrowed through `valid`
        valid = (low < number or (closed[0] and low == number)) and (
            number < high or (closed[1] and number == high)
        )
    if not valid:
        raise InputError(
            f"{name} must be a number in {interval}",
            got=repr(value),
            remedy=f"Set {name} to a number in {interval}.",
        )
    return float(value)  # type: ignore[arg-type]  # checked above


def probabilities(name: str, rows: FloatArray) -> FloatArray:
    """`rows` with every last axis a probability vector; an error names the first bad one."""
    finite = np.isfinite(rows).all(axis=-1)
    bad = ~finite | (rows < 0).any(axis=-1) | (np.abs(rows.sum(axis=-1) - 1) > 1e-9)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        row = rows[where]
        raise InputError(
            f"{name} must be probabilities: not negative and with sum 1",
            got=f"{name}[{', '.join(map(str, where))}] = {np.array2string(row, threshold=8)} "
            f"with sum {row.sum():.6g}",
            remedy="Correct that row, or divide each row by its sum.",
        )
    return rows / rows.sum(axis=-1, keepdims=True)


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint that names the known word most like `word`, or lists all of them."""
    choices = sorted(known)
    close = difflib.get_close_matches(word, choices, n=1, cutoff=0.5)
    listing = "Known: " + ", ".join(choices) + "."
    return f"Did you mean {close[0]!r}? {listing}" if close else listing
