"""Where two pieces of plain data differ, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

MOST = 20
"""Differences that are listed; of more, their number is given."""


def data_differences(name: str, said: Any, shown: Any) -> tuple[str, ...]:
    """One line for each place at which what a file says is not what is shown."""
    found = [
        f"{place or 'it'}: the file says {_short(mine)}, and it is {_short(theirs)}"
        for place, mine, theirs in _places(name, said, shown)
    ]
    more = len(found) - MOST
    return (*found[:MOST], *([f"and {more} more such places"] if more > 0 else []))


ABSENT = object()


def _places(name: str, said: Any, shown: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(said, Mapping) and isinstance(shown, Mapping):
        mine, theirs = cast(Mapping[str, Any], said), cast(Mapping[str, Any], shown)
        for key in sorted(mine.keys() | theirs.keys()):
            place = f"{name}.{key}" if name else key
            yield from _places(place, mine.get(key, ABSENT), theirs.get(key, ABSENT))
    elif isinstance(said, list) and isinstance(shown, list) and len(said) == len(shown):  # pyright: ignore[reportUnknownArgumentType]  # JSON is untyped
        pairs = zip(cast(list[Any], said), cast(list[Any], shown), strict=True)
        for index, (mine, theirs) in enumerate(pairs):
            yield from _places(f"{name}[{index}]", mine, theirs)
    elif said != shown:
        yield name, said, shown


def _short(value: Any) -> str:
    if value is ABSENT:
        return "nothing"
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
