"""Gymnasium's observation spaces as arrays of numbers.

Gymnasium is imported when a space is looked at, which only happens to those who have one.
"""

# Gymnasium's spaces are generic in element types that do not matter here:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from surepath.errors import InputError
from surepath.system import FloatArray
from surepath.validate import array_of, finite_observations

Encoder: TypeAlias = Callable[[NDArray[Any]], FloatArray]
"""Observations [n, ...] to numbers [n, d]."""

UNBOUNDED = 1e15
"""Ends of a box beyond this say "no bound", such as the largest float32."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """How the observations of a space become vectors."""

    encode: Encoder
    dimension: int
    discrete: bool  # one-hot throughout: the mean says everything about each part
    parts: int  # discrete parts, each one-hot
    radius: float | None  # bound on the length of an encoded observation, where there is one
    blocks: tuple[int, ...]  # numbers of each member of a Dict or Tuple, in units of its own
    image: bool = False


def encoding_of(space: Any) -> Encoding:
    """The encoding of a Discrete, MultiDiscrete, MultiBinary, Box, Dict or Tuple space."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        return _symbols([int(space.n)], [int(space.start)])
    if isinstance(space, spaces.MultiDiscrete):
        sizes, starts = ([int(v) for v in np.ravel(ends)] for ends in (space.nvec, space.start))
        return _symbols(sizes, starts, image=len(space.shape) >= 2)
    if isinstance(space, spaces.MultiBinary):
        bits = int(np.prod(space.shape))
        return _symbols([2] * bits, [0] * bits, image=len(space.shape) >= 2)
    if isinstance(space, spaces.Box):
        return _box(space)
    if isinstance(space, spaces.Dict):
        return _joined([(key, encoding_of(part)) for key, part in space.spaces.items()])
    if isinstance(space, spaces.Tuple):
        return _joined([(i, encoding_of(part)) for i, part in enumerate(space.spaces)])
    raise InputError(
        "observations must come from a Discrete, MultiDiscrete, MultiBinary, Box, Dict or Tuple "
        "space",
        got=repr(space),
        remedy="Wrap the environment so that its observations are one of these.",
    )


def numbers(observations: NDArray[Any], width: int | None = None) -> FloatArray:
    """Observations [n, ...] as finite rows [n, p], where p must be `width` if that is given."""
    if observations.dtype == object:  # numbers or arrays, one for each observation
        observations = array_of("observations", cast(Any, list(observations)), float)
    values = array_of("observations", observations, float)
    rows = cast(FloatArray, values.reshape(len(values), -1))
    if width is not None and rows.shape[1] != width:
        raise InputError(
            f"observations of this space have {width} numbers each",
            got=f"observations of shape {values.shape[1:]}",
            remedy="Correct the observation space, or the observations that the system returns.",
        )
    if observations.dtype.kind not in "biu":  # whole numbers are finite
        finite_observations(rows, lambda place: f"in row {place[0]} of the batch")
    return rows


def _box(space: Any) -> Encoding:
    ends = np.maximum(
        *(np.abs(np.ravel(end).astype(np.float64)) for end in (space.low, space.high))
    )
    radius = float(np.linalg.norm(ends)) if (ends <= UNBOUNDED).all() else None
    width = len(ends)
    image = len(space.shape) >= 2
    return Encoding(lambda x: numbers(x, width), width, False, 0, radius, (width,), image)


def _symbols(sizes: list[int], starts: list[int], *, image: bool = False) -> Encoding:
    """Several discrete readings at once, each one-hot."""
    parts, width = len(sizes), sum(sizes)
    return Encoding(
        lambda x: _one_hot(numbers(x, parts), sizes, starts),
        width, True, parts, float(np.sqrt(parts)), (width,), image,
    )  # fmt: skip


def _one_hot(values: FloatArray, sizes: Sequence[int], starts: Sequence[int]) -> FloatArray:
    encoded = np.zeros((len(values), sum(sizes)))
    offset = 0
    for column, (size, start) in enumerate(zip(sizes, starts, strict=True)):
        symbols = values[:, column].astype(np.int64) - start
        exact = (symbols + start == values[:, column]) & (symbols >= 0) & (symbols < size)
        if not exact.all():
            row = int(np.argmin(exact))
            raise InputError(
                f"discrete observations are {start} .. {start + size - 1}",
                got=f"{values[row, column]:g} in part {column}, row {row} of the batch",
                remedy="Correct the observation space that the system declares.",
            )
        encoded[np.arange(len(values)), offset + symbols] = 1.0
        offset += size
    return encoded


def _joined(members: list[tuple[Any, Encoding]]) -> Encoding:
    """The members of a Dict or Tuple space beside each other, however deep."""
    if not members:
        raise InputError(
            "an observation space must have at least one part",
            got="an empty Dict or Tuple space",
            remedy="Declare what the observations consist of.",
        )
    parts = [part for _, part in members]
    radii = [part.radius for part in parts if part.radius is not None]
    return Encoding(
        lambda x: np.concatenate([part.encode(_member(x, key)) for key, part in members], axis=1),
        sum(part.dimension for part in parts),
        discrete=all(part.discrete for part in parts),
        parts=sum(part.parts for part in parts),
        radius=float(np.linalg.norm(radii)) if len(radii) == len(parts) else None,
        blocks=tuple(block for part in parts for block in part.blocks),
    )


def _member(observations: NDArray[Any], key: Any) -> NDArray[Any]:
    """One member of every observation, as an array of objects."""
    column = np.empty(len(observations), dtype=object)
    for row, each in enumerate(observations):
        try:
            column[row] = each[key]
        except (LookupError, TypeError, ValueError) as error:
            raise InputError(
                f"every observation of this space has a member {key!r}",
                got=f"{each!r} in row {row} of the batch",
                remedy="Return an object array [n, T] of dicts (Dict) or tuples (Tuple).",
            ) from error
    return column
