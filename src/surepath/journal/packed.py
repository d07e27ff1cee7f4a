"""The readings of a row from its texts and bytes, whoever wrote them.

Every size that a row names is compared with the bytes that it has before memory is taken for it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from surepath.decoding import limits
from surepath.decoding.text import parsed
from surepath.decoding.typed import decoded
from surepath.errors import InputError
from surepath.system import (
    Actions,
    Counts,
    Episodes,
    Moments,
    Readings,
    RewardMoments,
    Summary,
    WindowCounts,
)

T = TypeVar("T")
Header = list[tuple[str, str, list[int]]]  # name, type and shape of each array

TYPE = re.compile(r"[<>|][biufcSUmM]\d{1,9}(\[\w+\])?")
"""Types of arrays that a journal holds, as NumPy writes them: numbers, texts and dates."""


def readings_of(count: int, actions: str, kind: str, header: str, data: bytes) -> Readings:
    """What the columns of these names stand for."""
    played: Actions = tuple(_json(list[int], actions, "actions"))
    _check(len(played) <= limits.HORIZON, "there are too many actions", len(played))
    _check(kind in ("episodes", "summary"), "readings are episodes or a summary", kind)
    arrays = _arrays(_json(Header, header, "header"), data)
    if kind == "summary":
        return _summary(played, count, arrays)
    _check(arrays.keys() == {"observations", "rewards"}, "episodes have two arrays", set(arrays))
    episodes = Episodes(played, **arrays)
    _check(episodes.rewards.dtype == np.float64, "rewards are numbers", episodes.rewards.dtype)
    _check(episodes.count == count, "the number of episodes does not fit", episodes.count)
    return episodes


def _json(kind: type[T], text: str, what: str) -> T:
    try:
        data = parsed(text)
    except ValueError as error:
        raise _damaged(f"the {what} cannot be read", error) from error
    return decoded(kind, data, what)


def _arrays(header: Header, data: bytes) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    offset = 0
    for name, type_name, shape in header:
        dtype = _dtype(type_name)
        size = math.prod(shape)
        # An array of no numbers has no bytes to speak for its other sizes.
        named = size or math.prod(filter(None, shape))
        room = max(len(data), limits.EMPTY_ARRAY) if not size else len(data) - offset
        _check(named * (dtype.itemsize if size else 1) <= room, "an array is too large", shape)
        _check(len(shape) <= limits.AXES, "an array has too many axes", len(shape))
        part = np.frombuffer(data, dtype, count=size, offset=offset if size else 0)
        arrays[name] = part.reshape(shape).copy()  # the bytes cannot be written to, a copy can
        offset += dtype.itemsize * size
    _check(offset == len(data), "the arrays have other bytes than the row", offset)
    return arrays


def _dtype(name: str) -> np.dtype[Any]:
    _check(TYPE.fullmatch(name) is not None, "an array is of another type", name)
    try:
        dtype = np.dtype(name)
    except (TypeError, ValueError) as error:
        raise _damaged("an array has no type", error) from error
    _check(dtype.itemsize > 0, "the numbers of an array have no size", name)
    return dtype


def _summary(actions: Actions, count: int, arrays: Mapping[str, NDArray[Any]]) -> Summary:
    _check(count >= 0, "there are fewer than no episodes", count)
    observations: dict[int, Counts | Moments] = {}
    rewards: dict[int, RewardMoments] = {}
    windows: dict[int, WindowCounts] = {}
    for name, array in arrays.items():
        what, _, number = name.partition(" ")
        _check(number in map(str, range(len(actions) + 1)), "an array has no such step", name)
        step = int(number)
        if what == "counts":
            _check(array.ndim == 1, "counts have one axis", array.shape)
            observations[step] = Counts(_counts(count, array))
        elif what == "windows":
            windows[step] = WindowCounts(_counts(count, array))
        elif what == "mean":
            observations[step] = _moments(count, array, arrays.get(f"scatter {step}"))
        elif what == "reward":
            rewards[step] = _reward(count, array)
        else:
            _check(what == "scatter", "an array has an unknown name", name)
    return Summary(actions, count, observations, rewards, windows)


def _counts(count: int, array: NDArray[Any]) -> NDArray[Any]:
    _check(array.dtype.kind in "iu", "counts are whole numbers", array.dtype)
    total = sum(array.ravel().tolist())  # exactly: as NumPy adds, it may overflow
    _check(total == count and not (array < 0).any(), "counts do not add up", total)
    return array


def _moments(count: int, mean: NDArray[Any], scatter: NDArray[Any] | None) -> Moments:
    _check(mean.ndim == 1 and mean.dtype == np.float64, "a mean is a vector", mean.shape)
    size = 2 * mean.shape
    if scatter is None or scatter.shape != size or scatter.dtype != np.float64:
        raise _damaged("a scatter is a matrix", None if scatter is None else scatter.shape)
    return Moments(count, mean, scatter)


def _reward(count: int, array: NDArray[Any]) -> RewardMoments:
    _check(array.shape == (2,) and array.dtype == np.float64, "rewards have two", array.shape)
    return RewardMoments(count, *array.tolist())


def _check(right: bool, what: str, got: object) -> None:
    if not right:
        raise _damaged(what, got)


def _damaged(what: str, got: object) -> InputError:
    shown = str(got)[: limits.SHOWN]
    return InputError(what, got=shown, remedy="Restore the file from a copy.")
