"""The command line: all commands of `surepath`, and how they report errors.

Exit codes: 0 certified (or done, where nothing is certified), 1 finished without a certificate,
2 bad input, 130 after Ctrl-C.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import typer

from surepath.cli.benching import bench_command
from surepath.cli.bounding import bound_command
from surepath.cli.doctor import doctor_command
from surepath.cli.inspecting import (
    export_command,
    problems_command,
    proof_command,
    verify_command,
)
from surepath.cli.reporting import report_command
from surepath.cli.running import learn_command, resume_command, serve_command
from surepath.cli.stopping import exit_code
from surepath.errors import ExplainedError, SurepathError, visible

P = ParamSpec("P")
R = TypeVar("R")

COMMANDS: dict[str, Callable[..., None]] = {  # in the order of the help
    "learn": learn_command,
    "resume": resume_command,
    "serve": serve_command,
    "doctor": doctor_command,
    "export": export_command,
    "verify": verify_command,
    "proof": proof_command,
    "report": report_command,
    "problems": problems_command,
    "bound": bound_command,
    "bench": bench_command,
}


def reports_errors(command: Callable[P, R]) -> Callable[P, R]:
    """Turn what surepath refuses into a readable message and exit code 2."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except ExplainedError as error:
            parts = {"error: ": error.what, "  got: ": error.got, "  do:  ": error.remedy}
            lines = [word + visible(text) for word, text in parts.items()]
            typer.echo("\n".join(lines), err=True)
        except SurepathError as error:
            typer.echo(f"error: {error}", err=True)
        except KeyboardInterrupt as interrupt:
            typer.echo("interrupted", err=True)
            raise typer.Exit(exit_code(interrupt)) from interrupt
        raise typer.Exit(2)

    return run


def assembled() -> typer.Typer:
    whole = typer.Typer(
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        help="Find the exact best action sequence of a system that can be reset, with a "
        "certificate.",
    )
    for name, command in COMMANDS.items():
        whole.command(name)(reports_errors(command))
    return whole


app = assembled()
