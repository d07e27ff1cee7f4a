"""Gymnasium's observation spaces as arrays of numbers.

Gymnasium is imported when a space is looked at, which only happens to those who have one.
"""

# Gymnasium's spaces are generic in element types that do not matter here:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from surepath.errors import InputError
from surepath.system import FloatArray

Encoder: TypeAlias = Callable[[NDArray[Any]], FloatArray]
"""Observations [n, ...] to numbers [n, d]."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """How the observations of a space become vectors."""

    encode: Encoder
    dimension: int
    discrete: bool  # one-hot throughout: the mean says everything about each part
    parts: int  # discrete parts, each one-hot
    radius: float | None  # bound on the length of an encoded observation, where there is one
    image: bool = False


def encoding_of(space: Any) -> Encoding:
    """The encoding of a Discrete, MultiDiscrete, MultiBinary, Box, Dict or Tuple space."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        first, n = int(space.start), int(space.n)
        return Encoding(lambda x: _one_hot(x.reshape(len(x), -1), [n], [first]), n, True, 1, 1.0)
    if isinstance(space, spaces.MultiDiscrete):
        sizes = [int(n) for n in np.ravel(space.nvec)]
        starts = [int(s) for s in np.ravel(space.start)]
        return Encoding(
            lambda x: _one_hot(x.reshape(len(x), -1), sizes, starts),
            sum(sizes), True, len(sizes), float(np.sqrt(len(sizes))),
        )  # fmt: skip
    if isinstance(space, spaces.Box):
        low, high = (np.ravel(end).astype(np.float64) for end in (space.low, space.high))
        ends = np.maximum(np.abs(low), np.abs(high))
        radius = float(np.linalg.norm(ends)) if np.isfinite(ends).all() else None
        return Encoding(_flat, len(low), False, 0, radius, image=len(space.shape) >= 2)
    if isinstance(space, spaces.MultiBinary | spaces.Dict | spaces.Tuple):
        return _structured(space)
    raise InputError(
        "observations must come from a Discrete, MultiDiscrete, MultiBinary, Box, Dict or Tuple "
        "space",
        got=repr(space),
        remedy="Wrap the environment so that its observations are one of these.",
    )


def _structured(space: Any) -> Encoding:
    from gymnasium import spaces

    def leaves(part: Any) -> list[Any]:
        if isinstance(part, spaces.Dict):
            return [leaf for each in part.spaces.values() for leaf in leaves(each)]
        if isinstance(part, spaces.Tuple):
            return [leaf for each in part.spaces for leaf in leaves(each)]
        return [part]

    def encode(observations: NDArray[Any]) -> FloatArray:
        rows = [cast(FloatArray, spaces.flatten(space, each)) for each in observations]
        return np.asarray(rows, dtype=np.float64)

    ends = [leaf for leaf in leaves(space) if not isinstance(leaf, spaces.MultiBinary)]
    parts = [encoding_of(leaf) for leaf in ends]
    binary = sum(int(np.prod(s.shape)) for s in leaves(space) if isinstance(s, spaces.MultiBinary))
    radii = [part.radius for part in parts]
    total = None
    if all(radius is not None for radius in radii):
        total = float(np.sqrt(sum(radius**2 for radius in radii if radius is not None) + binary))
    return Encoding(
        encode if not isinstance(space, spaces.MultiBinary) else _flat,
        int(spaces.flatdim(space)),
        discrete=not binary and all(part.discrete for part in parts),
        parts=sum(part.parts for part in parts),
        radius=total,
    )


def _flat(observations: NDArray[Any]) -> FloatArray:
    return np.asarray(observations, dtype=np.float64).reshape(len(observations), -1)


def _one_hot(values: NDArray[Any], sizes: list[int], starts: list[int]) -> FloatArray:
    blocks: list[FloatArray] = []
    for column, (size, start) in enumerate(zip(sizes, starts, strict=True)):
        symbols = np.asarray(values[:, column], dtype=np.int64) - start
        if symbols.min() < 0 or symbols.max() >= size:
            raise InputError(
                f"discrete observations are {start} .. {start + size - 1}",
                got=f"values from {symbols.min() + start} to {symbols.max() + start}",
                remedy="Correct the observation space that the system declares.",
            )
        blocks.append(np.eye(size)[symbols])
    return np.concatenate(blocks, axis=1)
