"""What a run was called with, as data: two calls can share a journal only where it is the same.

The data are compared when a journal is continued, and `surepath resume` calls `learn` again by
them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from functools import cached_property
from typing import Annotated, Any, TypedDict, cast

import numpy as np

from surepath.adapters.space_data import space_as_data
from surepath.decoding import limits
from surepath.decoding.kinds import Between, Bottomless, Unbounded
from surepath.decoding.typed import decoded
from surepath.errors import InputError
from surepath.features import NAMES
from surepath.system import Declared, Summarising
from surepath.theory.schedule import Schedule
from surepath.validate import plain

ENGINE = 12
"""Which version of surepath decides, from the same call, what is asked for and which noise it has.
Raised by every change after which a run goes another way. Journals from before there was a number
are of version 1. Journals of an older version are read, exported and, as far as their episodes go,
verified; they are not continued, and nobody can say any more what their runs would have asked for.
"""

FOR_PROOFS = frozenset({"observation_noise", "radius", "latent_dimension", "shared_noise"})
ATTRIBUTES = FOR_PROOFS | {"n_observations", "dimension", "preferred_features", "reward_noise"}
"""What a run asks of `Declared`, beside the observation space and the identity."""

DEPTH = 3
"""How far arrays are looked for inside a system: attributes, those of attributes, and so on."""


def configuration(
    system: object, *, features: object, schedule: str | Schedule, **options: Any
) -> dict[str, Any]:
    """What a run was called with, as data; `options` are data already."""
    return {
        "engine": ENGINE,
        "system": identity_of(system),
        "features": describe(features),
        "schedule": plain(schedule),
        **options,
    }


class _Always(TypedDict):
    """What every journal says of its run."""

    system: dict[str, Any]
    horizon: Annotated[int, Between(1, limits.HORIZON)]
    features: str
    schedule: str | Schedule
    reward_range: tuple[Bottomless, Unbounded]


class RecordedCall(_Always, total=False):
    """What a run was called with; journals of older versions say less."""

    engine: int
    declared: dict[str, Any] | None
    future: int | str | None
    guarantee: str
    delta: float
    gap: float | None
    tolerance: float | str | None
    separation: float | str | None
    predict: bool
    norm: float | None
    return_range: tuple[Bottomless, Unbounded] | None
    data: dict[str, Any]
    at_once: int
    seed: int


def call_of(configured: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `learn` that a configuration was made from.

    Under "system" is still the data that describe the system, not the system:
    `prepare.systems.system_again` makes it from them.
    """
    said = decoded(RecordedCall, configured, "the recorded call")
    features = said["features"]
    if features not in NAMES:
        raise InputError(
            "this run was begun from Python, with features that have no name",
            got=str(features),
            remedy="Continue it there: surepath.learn(..., features=the same, journal=path).",
        )
    beside = ("engine", "declared")
    return {name: value for name, value in said.items() if name not in beside}


def declared_by(system: object, *, proof: bool) -> dict[str, Any]:
    """What a run knows of its system beside its identity: enough to replay it without the system.

    proof: with what only proofs need, which some systems take long to compute.
    """
    said = Declared(system)
    names = sorted(ATTRIBUTES if proof else ATTRIBUTES - FOR_PROOFS)
    if said.shared_noise is None:  # which journals from before there was such a thing do not say
        names = [name for name in names if name != "shared_noise"]
    statistic = system.statistic.__name__ if isinstance(system, Summarising) else None
    values = {name: getattr(said, name) for name in names}
    if values["preferred_features"] is not None:  # a name, or a kernel
        values["preferred_features"] = describe(values["preferred_features"])
    return {
        "n_actions": getattr(system, "n_actions", None),
        **values,
        "observation_space": space_as_data(said.observation_space),
        "statistic": statistic,
    }


def identity_of(system: object) -> Any:
    """The data by which a system is known: its own `identity`, where it has one.

    Otherwise its type, its sizes, its public attributes that are numbers or texts, and a digest of
    all arrays inside it.
    """
    said = Declared(system).identity
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
    """Features as text that is the same in every process.

    Their repr, unless that holds an address in memory, which differs from process to process.
    """
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
    """Arrays among the attributes, and inside them down to `depth`, in the order of their names."""
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
        # A cached property is among them only once somebody has asked for it.
        if not isinstance(getattr(type(thing), name, None), cached_property)
    }
