"""What a suite found: tables and remarks, for people and for programs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar, cast

from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

from surepath.validate import plain

T = TypeVar("T")
LINE_SECONDS = 30.0
"""Between two lines of progress, when nobody watches a bar."""

Cell: TypeAlias = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]]


@dataclass(frozen=True, slots=True)
class Line:
    """A curve of a figure."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()  # ends of an interval around y, where there is one
    high: tuple[float, ...] = ()
    points: bool = False  # single points, not joined


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture as data."""

    name: str  # of its file
    title: str
    x: str  # what the axes show
    y: str
    lines: list[Line]
    log: str = "xy"  # axes that are logarithmic


Finding: TypeAlias = Section | Figure | str
"""What a part of a suite has to say: a table, a picture or a remark."""


@dataclass(frozen=True, slots=True)
class SuiteReport:
    """All that a suite has to say."""

    suite: str
    findings: list[Finding] = field(default_factory=list[Finding])

    def add(self, finding: Finding) -> None:
        """One finding more; a table that goes on where the last one ended is joined to it."""
        last = self.findings[-1] if self.findings else None
        if (
            isinstance(finding, Section)
            and isinstance(last, Section)
            and (finding.title, finding.columns) == (last.title, last.columns)
        ):
            self.findings[-1] = Section(last.title, last.columns, [*last.rows, *finding.rows])
        else:
            self.findings.append(finding)

    @property
    def sections(self) -> list[Section]:
        return [finding for finding in self.findings if isinstance(finding, Section)]

    @property
    def remarks(self) -> list[str]:
        return [finding for finding in self.findings if isinstance(finding, str)]

    @property
    def figures(self) -> list[Figure]:
        return [finding for finding in self.findings if isinstance(finding, Figure)]

    def markdown(self) -> str:
        """All findings in their order, the pictures by the names of their files."""
        blocks = [f"# surepath bench {self.suite}"]
        for finding in self.findings:
            if isinstance(finding, Section):
                table = [finding.columns, ("---",) * len(finding.columns), *finding.rows]
                rows = ["| " + " | ".join(map(_text, row)) + " |" for row in table]
                blocks += [f"**{finding.title}**", "\n".join(rows)]
            elif isinstance(finding, Figure):
                blocks.append(f"![{finding.title}]({self.suite}-{finding.name}.svg)")
            else:
                blocks.append(finding)
        return "\n\n".join(blocks) + "\n"

    def to_dict(self) -> dict[str, Any]:
        return {
            "suite": self.suite,
            "sections": [plain(section) for section in self.sections],
            "remarks": self.remarks,
            "figures": [plain(figure) for figure in self.figures],
        }

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
    return cell if isinstance(cell, str) else number(cell)


def number(value: float) -> str:
    """Three digits of it, with an exponent from a million on; counts below 100,000 in full."""
    if isinstance(value, int) and abs(value) < 100_000:
        return str(value)
    rounded = float(f"{value:.3g}")
    return f"{rounded:.0f}" if 1000 <= abs(rounded) < 1e6 else f"{value:.3g}"


def tracked(runs: Iterable[T], title: str, count: int | None = None) -> Iterator[T]:
    """The runs one by one, with a bar on standard error; when piped, a line now and then."""
    total = count if count is not None else len(cast(Sequence[T], runs))
    console = Console(stderr=True)
    if console.is_terminal:
        yield from track(runs, title, total=total, console=console, transient=True)
        return
    started = shown = time.monotonic()
    for number, run in enumerate(runs, 1):
        yield run
        now = time.monotonic()
        if number == total or now - shown > LINE_SECONDS:
            shown = now
            text = f"{title}: {number}/{total} in {now - started:.0f} s"
            console.print(text, highlight=False, soft_wrap=True)
