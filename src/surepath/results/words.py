"""Numbers and actions as people read them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from surepath.errors import visible


def number(value: float, digits: int = 4) -> str:
    """A number for people: with a separator where it is whole, short where it is not."""
    if math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return "no bound" if value > 0 else "no bound below"
    whole = float(value).is_integer()
    short = value if whole else float(f"{value:.{digits}g}")
    if (whole or abs(short) >= 100) and abs(short) < 1e15:
        return f"{short:,.0f}"
    return f"{short:.{digits}g}"


def action_name(names: Sequence[str], action: int) -> str:
    """How an action is called; its number where it has no name."""
    return names[action] if action < len(names) else str(action)


def short(text: str, longest: int) -> str:
    """The beginning of a text that may be anything, on one line of at most so many characters."""
    said = visible(text)
    return said if len(said) <= longest else f"{said[: longest - 3]}..."


def second_best(estimates: Sequence[float], chosen: int) -> int | None:
    """Of the other actions the one that is estimated best; None where there is no other."""
    others = [action for action in range(len(estimates)) if action != chosen]
    return max(others, key=lambda action: estimates[action], default=None)
