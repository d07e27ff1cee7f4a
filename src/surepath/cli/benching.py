"""The command bench: run a benchmark suite."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from surepath.cli.options import AsJson
from surepath.cli.output import console
from surepath.errors import InputError


def bench_command(
    suite: Annotated[str, typer.Argument(help="Which suite to run.")],
    only: Annotated[
        list[str] | None, typer.Option(help="Run this part of the suite alone; repeatable.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--out", help="Write tables, figures and all runs here; goes on if stopped."),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Runs side by side.")] = 2,
    quick: Annotated[bool, typer.Option("--quick", help="The size that takes minutes.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run a benchmark suite and print its tables."""
    from surepath import bench as benches  # with all rivals: other commands start without them

    benches.parts_of(suite, only or ())  # refuses names that are not there before a file is made
    if quick and suite not in benches.QUICK:
        raise InputError(
            f"the suite {suite!r} has one size only",
            got="--quick",
            remedy=f"Leave it out, or run one of {', '.join(benches.QUICK)}.",
        )
    with ExitStack() as opened:
        store = None
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            store = opened.enter_context(benches.Store(folder / f"{suite}.jsonl"))
        crew = opened.enter_context(benches.Crew(workers, store=store, quick=quick))
        report = benches.run_suite(suite, crew, only or ())
        written: list[Path] = []
        if folder is not None and store is not None:
            written = benches.publish(report, store, folder)
    if as_json:
        typer.echo(json.dumps(report.to_dict()))
        return
    report.show(console)
    for path in written:
        console.print(f"written: {path}", highlight=False, soft_wrap=True)
