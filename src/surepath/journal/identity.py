"""Which run this is: what two calls must have in common to share a journal."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, is_dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from surepath.errors import InputError
from surepath.features import NAMES
from surepath.theory.schedule import Schedule

DEPTH = 3
"""How deep arrays are looked for inside a system."""


def configuration(
    system: object, *, features: object, schedule: str | Schedule, **options: Any
) -> dict[str, Any]:
    """What a run was called with, as data."""
    return {
        "system": identity_of(system),
        "features": describe(features),
        "schedule": schedule if isinstance(schedule, str) else asdict(schedule),
        **options,
    }


def call_of(configured: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `learn` that a configuration stands for; `system` is what it says itself."""
    features = configured["features"]
    if features not in NAMES:
        raise InputError(
            "this run was begun from Python, with features that have no name",
            got=str(features),
            remedy="Continue it there: surepath.learn(..., features=the same, journal=path).",
        )
    schedule = configured["schedule"]
    return {
        **configured,
        "schedule": schedule if isinstance(schedule, str) else Schedule(**schedule),
        "reward_range": tuple(configured["reward_range"]),
    }


def identity_of(system: object) -> Any:
    """What a system says of itself (`identity`), or its type, sizes, attributes and arrays."""
    said = getattr(system, "identity", None)
    if said is not None:
        return said
    state = hashlib.blake2b(digest_size=8)
    for name, array in _arrays(system, DEPTH):
        state.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        state.update(np.ascontiguousarray(array).tobytes())
    sizes = {
        name: getattr(system, name)
        for name in ("horizon", "n_actions", "n_observations")
        if getattr(system, name, None) is not None
    }
    return {
        "type": _name(type(system)),
        **sizes,
        "attributes": {
            name: value
            for name, value in sorted(_attributes(system).items())
            if isinstance(value, bool | int | float | str)
            and name not in sizes
            and not name.startswith("_")
        },
        "arrays": state.hexdigest(),
    }


def describe(thing: object) -> str:
    """A thing as text that is the same in every process."""
    if isinstance(thing, str):
        return thing
    text = repr(thing)
    if " at 0x" not in text:
        return text
    if callable(thing) and hasattr(thing, "__qualname__"):
        return _name(thing)
    parts = {n: getattr(thing, n) for n in ("dimension", "radius") if hasattr(thing, n)}
    if hasattr(thing, "function"):
        parts["function"] = describe(cast(Any, thing).function)
    return f"{_name(type(thing))} {parts}" if parts else _name(type(thing))


def _name(thing: Any) -> str:
    return f"{thing.__module__}.{thing.__qualname__}"


def _arrays(thing: object, depth: int) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Arrays of numbers among the attributes, in the order of their names."""
    for name, value in sorted(_attributes(thing).items()):
        if isinstance(value, np.ndarray):
            array = cast("np.ndarray[Any, Any]", value)
            if not array.dtype.hasobject:
                yield name, array
        elif depth > 1:
            for inner, array in _arrays(value, depth - 1):
                yield f"{name}.{inner}", array


def _attributes(thing: object) -> dict[str, Any]:
    if isinstance(thing, type):
        return {}
    if is_dataclass(thing):
        return {name: getattr(thing, name) for name in thing.__dataclass_fields__}
    return {
        name: value
        for name, value in getattr(thing, "__dict__", {}).items()
        # What is computed when first asked for may be there or not.
        if not isinstance(getattr(type(thing), name, None), cached_property)
    }
