"""The command report: a run as a page to look at. It runs no episode."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from surepath.api import report
from surepath.errors import InputError
from surepath.journal.output_files import check_output, replaced


def report_command(
    file: Annotated[Path, typer.Argument(help="A journal, or a result that learn --save wrote.")],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="The page to write; default: beside the file, as .html."),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Write it anew while the run goes on.")
    ] = False,
    every: Annotated[float, typer.Option(help="Seconds between two pages, with --watch.")] = 5.0,
    animate: Annotated[
        Path | None,
        typer.Option(help="Also an SVG of the run closing its gap, which moves in a browser."),
    ] = None,
) -> None:
    """Write a page about a run: its claim, how the gap closed, the plan, the states, the cost.

    It is one file that opens from disk and needs no network. Exit code: 0 when it was written, 2 on
    bad input.
    """
    if not file.is_file():
        raise InputError("there is no such file", got=str(file), remedy="Give a journal.")
    to = out or file.with_suffix(".html")
    check_output(to, file)
    if animate is not None:
        check_output(animate, file, to)
    if not every > 0:
        raise InputError(
            "pages are some time apart",
            got=f"--every {every:g}",
            remedy="Give a number of seconds.",
        )
    while True:
        page = report(file, reload_seconds=every if watch else None, animated=animate is not None)
        _write(to, page.html)
        if animate is not None and page.picture is not None:
            _write(animate, page.picture)
        if not (watch and page.running):
            return
        time.sleep(every)


def _write(to: Path, text: str) -> None:
    with replaced(to) as place:
        place.write_text(text, encoding="utf-8")
    typer.echo(f"{len(text.encode()) / 1000:,.0f} kB in {to}")
