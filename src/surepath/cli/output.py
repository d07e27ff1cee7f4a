"""Where commands write: the console, and the files that a user names."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console

from surepath.cli.result_tables import evidence, summary
from surepath.errors import InputError
from surepath.journal.output_files import check_output, replaced
from surepath.results.result import Result
from surepath.system import System

PIPED_WIDTH = 110
"""Columns of a table that is not shown on a terminal."""

console = Console(width=None if sys.stdout.isatty() else PIPED_WIDTH, emoji=False)


def own_output() -> TextIO:
    """Standard output for what a command says itself; whatever else is printed goes to errors.

    A system is somebody's code: it may print from Python or from C, in workers, which inherit both
    streams, and when the process ends. That is why it is not undone: C keeps what it prints until
    then.
    """
    sys.stdout.flush()
    try:
        descriptor = sys.stdout.fileno()
    except io.UnsupportedOperation:  # no stream of this process: whoever calls has replaced it
        return sys.stdout
    kept = os.dup(descriptor)  # workers do not inherit this one
    os.dup2(sys.stderr.fileno(), descriptor)
    return open(kept, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors)


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
    result: Result,
    system: System,
    save: Path | None,
    plot: Path | None,
    out: TextIO,
    *,
    as_json: bool,
) -> None:
    """Print the result of a run, and write the files that were asked for."""
    if as_json:
        out.write(result.to_json() + "\n")
    else:
        own = Console(file=out, width=None if out.isatty() else PIPED_WIDTH, emoji=False)
        if result.certificate.levels:
            own.print(evidence(result, system), highlight=False)
        own.print(summary(result, system), highlight=False)
    out.flush()
    if save is not None:
        result.save(save)
    if plot is not None:
        with replaced(plot) as place:
            figure: Any = result.plot().figure  # its own, and no part of another
            figure.savefig(place, dpi=110)
