"""Figures of a suite as files; matplotlib is an extra and imported here only."""

# matplotlib leaves its keyword arguments untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

from surepath.bench.harness.report import Figure
from surepath.errors import MissingExtraError

COLOURS = ("#1b7837", "#4575b4", "#d73027", "#f46d43", "#762a83", "#8c6d31", "#01665e", "#9e9e9e",
           "#c51b7d", "#80cdc1", "#fdb863", "#404040")  # fmt: skip


DASHES = ("-", "--", "-.", ":")
"""Lines also differ where colours are hard to tell."""


def draw(figure: Figure, path: Path) -> None:
    """The figure as a file of the kind that its ending says; the same figure is the same file."""
    try:
        from matplotlib.figure import Figure as Canvas
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plot", "figures of a benchmark") from error
    canvas = Canvas(figsize=(7.5, 4.5), layout="constrained")
    axes = canvas.subplots()
    for number, line in enumerate(figure.lines):
        colour = COLOURS[number % len(COLOURS)]
        style = "o" if line.points else DASHES[number % len(DASHES)]
        axes.plot(line.x, line.y, style, color=colour, label=line.name, markersize=4)
        if line.low:
            axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.12, linewidth=0)
    axes.set(title=figure.title, xlabel=figure.x, ylabel=figure.y)
    if "x" in figure.log:
        axes.set_xscale("log")
    if "y" in figure.log:
        axes.set_yscale("log")
    axes.minorticks_off()
    axes.grid(visible=True, alpha=0.3)
    axes.legend(fontsize="small", loc="best")
    if path.suffix != ".svg":
        canvas.savefig(path)
        return
    path.write_text(svg_of(canvas), encoding="utf-8")


def svg_of(canvas: Any) -> str:
    """A figure of matplotlib as a small SVG: no metadata, no random names."""
    from matplotlib import rc_context

    drawn = io.StringIO()
    with rc_context({"svg.hashsalt": "surepath", "svg.fonttype": "none"}):
        canvas.savefig(drawn, format="svg", metadata=dict.fromkeys(SAID_OF_A_FILE))
    return compact(drawn.getvalue())


SAID_OF_A_FILE = ("Creator", "Date", "Format", "Type")
"""What matplotlib would write about a picture beside it."""


def compact(svg: str) -> str:
    """The same picture in fewer lines: a path on one, to a hundredth of a point."""

    def on_one_line(path: re.Match[str]) -> str:
        rounded = re.sub(r"-?\d+\.\d+", lambda n: f"{round(float(n[0]), 2) + 0.0:g}", path[1])
        return f' d="{" ".join(rounded.split())}"'

    return re.sub(r'\sd="([^"]*)"', on_one_line, svg)
