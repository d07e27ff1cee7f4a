"""The log of a run in a notebook: one output, written anew, instead of one more for every line."""

from __future__ import annotations

import html
from typing import Any

from surepath.errors import visible

STYLE = "white-space:pre;overflow-x:auto;line-height:1.3"


class NotebookLog:
    """Lines that stay, and below them the latest, which does not. Needs a running IPython."""

    def __init__(self) -> None:
        self._kept: list[str] = []
        self._handle: Any = None

    def keep(self, line: str) -> None:
        """A line that stays."""
        self._kept.append(line)
        self._show(self._kept)

    def latest(self, line: str) -> None:
        """A line that the next one takes the place of."""
        self._show([*self._kept, line])

    def _show(self, lines: list[str]) -> None:
        from IPython.display import display  # pyright: ignore[reportUnknownVariableType]

        said = "\n".join(visible(line) for line in lines)
        data = {
            "text/plain": said,
            "text/html": f'<pre style="{STYLE}">{html.escape(said)}</pre>',
        }
        if self._handle is None:
            self._handle = display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)
