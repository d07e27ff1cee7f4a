"""Axes of the page's drawings: from numbers to places, and round numbers to write beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

MARKS = 5
"""Marks of an axis, about."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps numbers between `low` and `high` to places between `start` and `end`."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    @classmethod
    def over(
        cls, values: Sequence[float], start: float, end: float, *, logarithmic: bool = False
    ) -> Scale:
        """A scale on which all of these have a place; those that are not finite have none."""
        known = [v for v in values if math.isfinite(v) and (v > 0 or not logarithmic)]
        low, high = (min(known), max(known)) if known else (1.0, 1.0)
        if low == high:
            room = abs(low) / 2 or 1.0
            low, high = (low / 2, high * 2) if logarithmic else (low - room, high + room)
        return cls(low, high, start, end, logarithmic)

    def __call__(self, value: float) -> float:
        """The place, rounded to what a screen shows; what is outside lies at an end."""
        held = min(max(value, self.low), self.high)
        low, high, at = (self._bent(each) for each in (self.low, self.high, held))
        return round(self.start + (self.end - self.start) * (at - low) / (high - low), 1)

    def _bent(self, value: float) -> float:
        return math.log10(value) if self.logarithmic else value

    def marks(self) -> list[float]:
        """Round numbers on the scale; two at least, also where no two powers of ten lie on it."""
        powers = self._powers() if self.logarithmic else []
        return powers if len(powers) > 1 else self._steps()

    def _steps(self) -> list[float]:
        rough = (self.high - self.low) / MARKS
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(each * power for each in (1, 2, 5, 10) if each * power >= rough)
        first = math.ceil(self.low / step)
        last = math.floor(self.high / step)
        return [round(step * place, 12) for place in range(first, last + 1)]

    def _powers(self) -> list[float]:
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        apart = max(1, round((last - first) / MARKS))
        parts = (1, 2, 5) if last - first <= 2 else (1,)
        marks = [part * 10.0**power for power in range(first, last + 1, apart) for part in parts]
        return [mark for mark in marks if self.low <= mark <= self.high]
