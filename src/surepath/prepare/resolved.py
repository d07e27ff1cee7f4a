"""Features as a run will use them, and how observations of a system become rows of numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from surepath.adapters.spaces import Encoding, numbers
from surepath.adapters.spaces import encoding_of as encoding_of_space
from surepath.errors import InputError
from surepath.readings.embedding import Averaged
from surepath.system import Declared, FloatArray, System


@dataclass(frozen=True, slots=True)
class Resolved:
    features: Averaged
    note: str  # what was chosen, with every scale
    expansions: Callable[[float, float], int] | None = None  # N' from ridge and threshold
    fitted: bool = False  # on the pilot: nobody can state a norm for such features in advance
    gain: str = ""  # what `expansions` rests on; empty where it holds for all that can be read
    diameter: float | None = None  # of the range of the features; None: twice their length


def encoding_of(system: System) -> Encoding | None:
    """How observations are encoded, where the system declares their space."""
    space = Declared(system).observation_space
    return None if space is None else encoding_of_space(space)


def flat_rows(observations: NDArray[Any]) -> FloatArray:
    """Observations as rows of numbers, for systems that declare no space."""
    try:
        return numbers(observations)
    except InputError as error:
        if observations.dtype != object:
            raise
        raise InputError(
            "observations that are not arrays of numbers need an observation space",
            got=f"objects such as {observations.flat[0]!r}",
            remedy="Give the system the attribute observation_space (a gymnasium space), "
            "or pass a function from a batch of them to features.",
        ) from error
