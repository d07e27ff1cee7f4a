"""The commands that look at what is there: verify, export, problems. They run no episode."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from surepath.api import proof, verify
from surepath.builtin_problems import factory, problems
from surepath.cli.options import AsJson
from surepath.cli.output import console
from surepath.cli.tables import shown
from surepath.errors import InputError
from surepath.journal.database import Journal
from surepath.journal.export import export
from surepath.journal.output_files import replaced
from surepath.results.verify import Verification


def verify_command(
    file: Annotated[Path, typer.Argument(help="A result that learn --save wrote, or a journal.")],
    as_json: AsJson = False,
) -> None:
    """Derive a saved certificate again from its recorded readings, and replay the run of a journal.

    Exit code: 0 when the readings carry the certificate, 1 when they do not, 2 on bad input.
    """
    if not file.is_file():
        raise InputError(
            "there is no such file", got=str(file), remedy="Give a saved result or a journal."
        )
    found = verify(file)
    if as_json:
        typer.echo(
            json.dumps(
                {
                    "certified": found.certified,
                    "agrees": found.agrees,
                    "differences": found.differences,
                    "taken": found.taken,
                    "reason": found.certificate.reason,
                }
            )
        )
    else:
        _show(found)
    raise typer.Exit(0 if found.certified else 1)


def _show(found: Verification) -> None:
    if found.agrees:
        word = "[green]verified[/green]" if found.certified else "agrees, and is not certified"
        console.print(f"{word}: {shown(found.certificate.claim)}", highlight=False)
        console.print(f"  {shown(found.certificate.reason)}", highlight=False)
        for taken in found.taken:
            console.print(f"  taken from the file: {shown(taken)}", highlight=False)
        return
    console.print("[red]the readings do not carry this certificate[/red]")
    for difference in found.differences:
        console.print(f"  {shown(difference)}", highlight=False)


def proof_command(
    file: Annotated[Path, typer.Argument(help="A journal, or a result that learn --save wrote.")],
    to: Annotated[Path, typer.Argument(help="A .jsonl file to write.")],
) -> None:
    """Write the proof of a certificate made with --guarantee proved, for checker.py or your own.

    docs/proof.md says what is in it. Exit code: 0 when it was written, 2 on bad input.
    """
    if not file.is_file():
        raise InputError("there is no such file", got=str(file), remedy="Give a journal.")
    lines = proof(file)
    with replaced(to) as place:
        place.write_text("\n".join(lines) + "\n", encoding="utf-8")
    typer.echo(f"{len(lines)} lines in {to}; check them with: python checker.py {to}")


def export_command(
    file: Annotated[Path, typer.Argument(help="A journal.")],
    to: Annotated[Path, typer.Argument(help="A .csv or .parquet file to write.")],
) -> None:
    """Write the episodes of a journal as a table, one row for each step."""
    with Journal(file) as journal:
        rows = export(journal, to)
    typer.echo(f"{rows} rows in {to}")


def problems_command(as_json: AsJson = False) -> None:
    """List the built-in problems and their parameters."""
    about = problems()
    defaults = {
        name: {key: p.default for key, p in inspect.signature(factory(name)).parameters.items()}
        for name in about
    }
    if as_json:
        listing = {name: {"about": about[name], "parameters": defaults[name]} for name in about}
        typer.echo(json.dumps(listing))
        return
    table = Table("problem", "what it is", "parameters (-p name=value)", show_lines=True)
    for name, parameters in defaults.items():
        table.add_row(name, about[name], " ".join(f"{k}={v}" for k, v in parameters.items()))
    console.print(table)
