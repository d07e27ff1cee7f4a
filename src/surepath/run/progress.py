"""The log of a run: a line for a round, and on a terminal the latest one redrawn below them.

In a notebook the whole log is one output.

A line is never broken: where output is piped it is as long as it is, and a terminal cuts it off.
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING

from surepath.learners.base import Asking
from surepath.run.notebook_log import NotebookLog

if TYPE_CHECKING:  # rich is imported where something is shown
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

REDRAW_SECONDS = 0.1
"""Least time between two states of the last line on a terminal."""

LINE_SECONDS = 2.0
"""Least time between two lines that stay: rounds may be much shorter."""

WIDTHS = {"time": 8, "episodes": 11, "states": 7, "incumbent": 10, "bound": 10, "gap": 9}
"""Of the columns that hold numbers; the others are as long as what they say."""


class Progress:
    """Shows what a learner has done so far; a context manager. Writes to standard error only."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or _console()
        self._live: Live | None = None
        self._notebook = NotebookLog() if self._console.is_jupyter else None
        self._started = self._drawn = time.monotonic()
        self._written = self._started
        self._columns: tuple[str, ...] = ()  # of the last heading
        self._waiting: dict[str, str] | None = None  # the last round, where no line says it

    def __enter__(self) -> Progress:
        if self._console.is_terminal and self._notebook is None:
            from rich.live import Live

            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()
        if self._waiting is not None:
            self._write(self._waiting)

    def __call__(self, learner: Asking) -> None:
        now = time.monotonic()
        self._waiting = {"time": f"{now - self._started:.1f}s", **learner.status()}
        if now - self._drawn >= REDRAW_SECONDS:
            self._drawn = now
            self._redraw(line_of(self._waiting))
        if now - self._written >= LINE_SECONDS:
            self._written = now
            self._write(self._waiting)

    def _redraw(self, line: str) -> None:
        if self._live is not None:
            self._live.update(_text(line), refresh=True)
        if self._notebook is not None:
            self._notebook.latest(line)

    def _write(self, cells: dict[str, str]) -> None:
        if tuple(cells) != self._columns:
            self._columns = tuple(cells)
            self._print(line_of({name: name for name in cells}))
        self._print(line_of(cells))
        self._waiting = None

    def _print(self, line: str) -> None:
        if self._notebook is not None:
            self._notebook.keep(line)
        elif self._console.is_terminal:
            self._console.print(_text(line))
        else:
            self._console.print(line, soft_wrap=True, markup=False, highlight=False)


def line_of(cells: dict[str, str]) -> str:
    """Numbers below each other, then what is said in words."""
    return "  ".join(text.rjust(WIDTHS.get(name, 0)) for name, text in cells.items())


def _console() -> Console:
    from rich.console import Console

    return Console(stderr=True)


def _text(line: str) -> Text:
    """A line that is cut off at the end of a terminal."""
    from rich.text import Text

    return Text(line, no_wrap=True, overflow="ellipsis")
