"""Where commands write: the console, and the files that a user names."""

from __future__ import annotations

import sys
from pathlib import Path

import typer
from rich.console import Console

from surepath.cli import tables
from surepath.errors import InputError
from surepath.journal.output_files import check_output, replaced
from surepath.results.result import Result
from surepath.system import System

PIPED_WIDTH = 110
"""Columns of a table that is not shown on a terminal."""

console = Console(width=None if sys.stdout.isatty() else PIPED_WIDTH)


def check_outputs(save: Path | None, plot: Path | None, journal: Path | None) -> None:
    """Refuse files that cannot be written before any episode is paid for."""
    for path, others in ((save, (plot, journal)), (plot, (save, journal))):
        if path is not None:
            check_output(path, *others)
    if plot is not None and plot.suffix not in (".png", ".svg", ".pdf"):
        raise InputError(
            "a picture is a .png, .svg or .pdf file",
            got=str(plot),
            remedy="Give the file one of these endings.",
        )


def show_result(
    result: Result, system: System, save: Path | None, plot: Path | None, *, as_json: bool
) -> None:
    """Print the result of a run, and write the files that were asked for."""
    if as_json:
        typer.echo(result.to_json())
    else:
        console.print(tables.result_table(result))
        console.print(tables.verdict(result, system), highlight=False)
    if save is not None:
        result.save(save)
    if plot is not None:
        with replaced(plot) as place:
            result.plot().savefig(place, dpi=110)  # pyright: ignore[reportUnknownMemberType]  # untyped keywords
