"""Observation spaces as plain data and back: what a run knew of them can be known again later."""

# Gymnasium's spaces are generic in element types that do not matter here:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from surepath.errors import InputError

MOST_BOUNDS = 1000
"""Different bounds of a box that are written down; a box that has more is not described."""


def space_as_data(space: Any) -> dict[str, Any] | None:
    """The space as data, of its kind alone where the rest is too long; None where there is none."""
    kind = type(space).__name__
    if kind == "Discrete":
        return {"kind": kind, "n": int(space.n), "start": int(space.start)}
    if kind == "MultiDiscrete":
        return {"kind": kind, "nvec": space.nvec.tolist(), "start": space.start.tolist()}
    if kind == "MultiBinary":
        return {"kind": kind, "shape": list(space.shape)}
    if kind == "Box":
        low, high = (_bound(end) for end in (space.low, space.high))
        if low is not None and high is not None:
            return {"kind": kind, "low": low, "high": high, "shape": list(space.shape)}
    if kind in ("Dict", "Tuple"):
        inner = space.spaces.items() if kind == "Dict" else enumerate(space.spaces)
        return {"kind": kind, "parts": [[key, space_as_data(part)] for key, part in inner]}
    return None if space is None else {"kind": kind}


def is_described(data: Mapping[str, Any] | None) -> bool:
    """Whether these data say all of a space, or that there is none."""
    if data is None:
        return True
    return len(data) > 1 and all(is_described(part) for _, part in data.get("parts", ()))


def _bound(end: Any) -> float | list[Any] | None:
    """One number where all are equal; None where there are too many to write down."""
    numbers = np.asarray(end, dtype=np.float64)
    if numbers.size and (numbers == numbers.flat[0]).all():
        return float(numbers.flat[0])
    return numbers.tolist() if numbers.size <= MOST_BOUNDS else None


def space_from_data(data: Mapping[str, Any]) -> Any:
    """The space that was described; an error where no space is."""
    try:
        return _space(data)
    except (AssertionError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            "an observation space is described by its kind and its sizes",
            got=f"{dict(data)} ({error})",
            remedy="Use the file as it was written.",
        ) from error


def _space(data: Mapping[str, Any]) -> Any:
    from gymnasium import spaces

    kind = data["kind"]
    if kind == "Discrete":
        return spaces.Discrete(data["n"], start=data["start"])
    if kind == "MultiDiscrete":
        return spaces.MultiDiscrete(np.array(data["nvec"]), start=np.array(data["start"]))
    if kind == "MultiBinary":
        return spaces.MultiBinary(data["shape"])
    if kind == "Box":
        # In double precision: the bounds are as they were written, whatever the type was.
        low, high = (np.broadcast_to(data[end], data["shape"]) for end in ("low", "high"))
        return spaces.Box(low, high, dtype=np.float64)
    if kind == "Dict":
        return spaces.Dict({key: _space(part) for key, part in data["parts"]})
    if kind == "Tuple":
        return spaces.Tuple([_space(part) for _, part in data["parts"]])
    raise ValueError(f"there is no space {kind!r}")
