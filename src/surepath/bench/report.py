"""What a suite found: tables and remarks, for people and for programs."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias, TypeVar

import numpy as np
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

from surepath.errors import InputError
from surepath.validate import nearest

T = TypeVar("T")
Cell: TypeAlias = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]]


@dataclass(frozen=True, slots=True)
class Report:
    suite: str
    sections: list[Section] = field(default_factory=list[Section])
    remarks: list[str] = field(default_factory=list[str])

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def show(self, console: Console) -> None:
        for section in self.sections:
            table = Table(
                *section.columns, title=section.title, title_justify="left", box=box.SIMPLE
            )
            for row in section.rows:
                table.add_row(*map(_text, row))
            console.print(table)
        for remark in self.remarks:
            console.print(remark, highlight=False)


def _text(cell: Cell) -> str:
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float) or (isinstance(cell, int) and abs(cell) >= 100_000):
        return f"{cell:.3g}"
    return str(cell)


def tracked(runs: Sequence[T], title: str) -> Iterator[T]:
    """The runs one by one, with a bar on standard error; when piped, a line at the end."""
    console = Console(stderr=True)
    if console.is_terminal:
        yield from track(runs, title, console=console, transient=True)
        return
    started = time.monotonic()
    yield from runs
    seconds = time.monotonic() - started
    console.print(f"{title}: {len(runs)} in {seconds:.0f} s", highlight=False, soft_wrap=True)


def chosen(parts: Mapping[str, T], only: Collection[str]) -> list[T]:
    """The parts of a suite that are named, in its order; all where none is."""
    for name in only:
        if name not in parts:
            raise InputError(
                f"the suite has no part {name!r}", got=repr(name), remedy=nearest(name, parts)
            )
    return [part for name, part in parts.items() if not only or name in only]


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Exponent p of y ~ x^p, by least squares on logarithms."""
    logs = [math.log(value) for value in y]
    return float(np.polyfit(np.log(np.asarray(x, dtype=np.float64)), logs, 1)[0])


def rate(successes: int, trials: int, digits: int = 2, z: float = 1.96) -> str:
    """A share with its 95 % Wilson interval, as text; more digits for small ones."""
    if not trials:
        return "0/0"
    share = successes / trials
    centre = (share + z**2 / (2 * trials)) / (1 + z**2 / trials)
    spread = math.sqrt(share * (1 - share) / trials + (z / (2 * trials)) ** 2)
    half = z / (1 + z**2 / trials) * spread
    low, high = max(0.0, centre - half), min(1.0, centre + half)
    return f"{successes}/{trials} [{low:.{digits}f}, {high:.{digits}f}]"
