"""Checks and plain forms of what callers give, shared by all that take values from outside."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from numbers import Integral, Real
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from surepath.errors import InputError
from surepath.system import FloatArray


def whole(name: str, value: object, *, least: int, most: int | None = None) -> int:
    """`value` as an int of at least `least` and at most `most`."""
    limits = f"at least {least}" if most is None else f"between {least} and {most}"
    if not isinstance(value, bool) and isinstance(value, Integral):
        number = int(value)
        if least <= number and (most is None or number <= most):
            return number
    raise InputError(
        f"{name} must be a whole number, {limits}",
        got=repr(value),
        remedy=f"Set {name} to a whole number {limits}.",
    )


def between(
    name: str, value: object, low: float, high: float, *, closed: tuple[bool, bool] = (False, False)
) -> float:
    """`value` as a float inside the interval from `low` to `high`."""
    if not isinstance(value, bool) and isinstance(value, Real):
        number = float(value)
        above = number >= low if closed[0] else number > low
        below = number <= high if closed[1] else number < high
        if above and below:
            return number
    interval = f"{'[' if closed[0] else '('}{low:g}, {high:g}{']' if closed[1] else ')'}"
    raise InputError(
        f"{name} must be a number in {interval}",
        got=repr(value),
        remedy=f"Set {name} to a number in {interval}.",
    )


def probabilities(name: str, rows: FloatArray) -> FloatArray:
    """`rows` with every last axis a probability vector; an error names the first bad one."""
    finite = np.isfinite(rows).all(axis=-1)
    sums = np.where(np.isfinite(rows), rows, 0.0).sum(axis=-1)
    bad = ~finite | (rows < 0).any(axis=-1) | (np.abs(sums - 1) > 1e-9)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        row = rows[where]
        raise InputError(
            f"{name} must be probabilities: not negative and with sum 1",
            got=f"{name}[{', '.join(map(str, where))}] = {np.array2string(row, threshold=8)} "
            f"with sum {sums[where]:.6g}",
            remedy="Correct that row, or divide each row by its sum.",
        )
    return rows / rows.sum(axis=-1, keepdims=True)


def array_of(name: str, values: ArrayLike, kind: type | None = None) -> NDArray[Any]:
    """`values` as an array, or an error where they have no common shape."""
    try:
        return np.asarray(values, dtype=kind)
    except (ValueError, TypeError) as error:
        raise InputError(
            f"{name} must be an array of numbers",
            got=str(error),
            remedy=f"Give every row of {name} the same length, and numbers only.",
        ) from error


LARGEST = 1e100
"""Of the numbers in an observation: their squares are added up, and must not overflow."""


def finite_observations(
    observations: NDArray[Any], place: Callable[[tuple[int, ...]], str], *, axes: int = 1
) -> None:
    """Refuse observations that are not finite, or whose squares are not; the error names the first.

    The first `axes` axes number the observations: `place`, called with an observation's numbers on
    these axes, says where it was read. Arrays of anything but floating-point numbers pass.
    """
    if observations.dtype.kind != "f" or not observations.size:
        return
    # Two numbers say it of all, without a copy of a batch of images; not-a-number is in no range.
    most = min(LARGEST, float(np.finfo(observations.dtype).max))
    if not (observations.min() >= -most and observations.max() <= most):
        bad = ~(np.abs(observations) <= most)
        number = tuple(int(i) for i in np.argwhere(bad)[0, :axes])
        raise InputError(
            f"observations must be finite, and no larger than {LARGEST:g}",
            got=f"{np.array2string(observations[number], threshold=8)} {place(number)}",
            remedy="Have the system repair or repeat such a reading, or use other units.",
        )


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint that names the known word most like `word`, or lists all of them."""
    choices = sorted(known)
    close = difflib.get_close_matches(word, choices, n=1, cutoff=0.5)
    listing = "Known: " + ", ".join(choices) + "."
    return f"Did you mean {close[0]!r}? {listing}" if close else listing


SAID_IF_GIVEN = "said if given"
"""In the metadata of a record's field: it is left out of the data where it has its default, as it
was before there was such a field."""


def plain(value: Any, other: Callable[[Any], Any] | None = None) -> Any:
    """A value as JSON has it: records become objects, tuples lists, NumPy's numbers Python's.

    What JSON has no form for is refused, or is what `other` makes of it. Not-a-number and infinity
    stay as they are: Python's JSON writes and reads them.
    """
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, np.generic | np.ndarray):
        return cast(Any, value).tolist()
    if isinstance(value, list | tuple | range):
        return [plain(each, other) for each in cast(Sequence[Any], value)]
    if isinstance(value, Mapping):
        pairs = cast(Mapping[Any, Any], value)
        return {str(key): plain(each, other) for key, each in pairs.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {
            each.name: plain(getattr(value, each.name), other)
            for each in fields(value)
            if not (SAID_IF_GIVEN in each.metadata and getattr(value, each.name) == each.default)
        }
    if other is not None:
        return other(value)
    raise InputError(
        "data are numbers, texts, lists and dictionaries of them",
        got=f"{type(value).__name__} {value!r}",
        remedy="Describe it by such data.",
    )


def without_infinities(value: Any) -> Any:
    """Plain data for readers of strict JSON: not-a-number and infinity become null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        pairs = cast(dict[str, Any], value)
        return {key: without_infinities(each) for key, each in pairs.items()}
    if isinstance(value, list):
        return [without_infinities(each) for each in cast(list[Any], value)]
    return value
