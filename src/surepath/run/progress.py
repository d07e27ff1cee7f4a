"""Live progress: one line that is redrawn on a terminal, plain lines where output is piped."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.table import Table

from surepath.learners.base import Asking

REDRAW_SECONDS = 0.1
"""Least time between two states of the line on a terminal."""

PLAIN_SECONDS = 2.0
"""Least time between two plain lines."""


class Progress:
    """Shows what a learner has done so far; a context manager. Writes to standard error only."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._live: Live | None = None
        self._started = self._shown = time.monotonic()

    def __enter__(self) -> Progress:
        if self._console.is_terminal:
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

    def __call__(self, learner: Asking) -> None:
        now = time.monotonic()
        if now - self._shown < (REDRAW_SECONDS if self._live else PLAIN_SECONDS):
            return
        self._shown = now
        if self._live is not None:
            self._live.update(_table(learner, now - self._started), refresh=True)
        else:
            self._console.print(_line(learner, now - self._started), highlight=False)


def _cells(learner: Asking, seconds: float) -> dict[str, str]:
    return {"time": f"{seconds:.1f}s", **learner.status()}


def _line(learner: Asking, seconds: float) -> str:
    return "  ".join(f"{name} {value}" for name, value in _cells(learner, seconds).items())


def _table(learner: Asking, seconds: float) -> Table:
    cells = _cells(learner, seconds)
    table = Table(*cells, box=None, pad_edge=False)
    table.add_row(*cells.values())
    return table
