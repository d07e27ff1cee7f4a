"""What the type of a field does not say by itself: marks for `typing.Annotated`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, TypeAlias


@dataclass(frozen=True, slots=True)
class Between:
    """A number is at least `low` and at most `high`."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Null:
    """A number that strict JSON does not have, and that is written as null."""

    stands_for: float


Unbounded: TypeAlias = Annotated[float, Null(math.inf)]
Bottomless: TypeAlias = Annotated[float, Null(-math.inf)]
Unknown: TypeAlias = Annotated[float, Null(math.nan)]
Probability: TypeAlias = Annotated[float, Between(0, 1)]
