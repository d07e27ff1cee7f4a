"""The command line: all commands of `surepath`, and how they report errors.

Exit codes: 0 certified (or done, where nothing is certified), 1 finished without a certificate,
2 bad input, 130 after Ctrl-C.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple, ParamSpec, TypeVar

import typer
from typer.core import TyperGroup
from typer.main import get_command

from surepath.cli.stopping import exit_code
from surepath.errors import ExplainedError, SurepathError, visible

P = ParamSpec("P")
R = TypeVar("R")


class Command(NamedTuple):
    """A command by the function that it is; its module is imported when it is called."""

    module: str  # of `surepath.cli`
    function: str
    says: str  # in the list of commands: the first paragraph of what the function says

    def load(self) -> Callable[..., None]:
        return getattr(import_module(f"surepath.cli.{self.module}"), self.function)


COMMANDS: dict[str, Command] = {  # in the order of the help
    "learn": Command(
        "running",
        "learn_command",
        "Learn a system's best action sequence and show the evidence.",
    ),
    "resume": Command(
        "running",
        "resume_command",
        "Go on with a run where it was stopped or killed; what it recorded is not run again.",
    ),
    "serve": Command(
        "running",
        "serve_command",
        "Ask for episodes on standard output and read them from standard input, as lines of JSON.",
    ),
    "doctor": Command(
        "doctor",
        "doctor_command",
        "See whether a system satisfies what learn assumes, what a run will cost, what to change.",
    ),
    "export": Command(
        "inspecting",
        "export_command",
        "Write the episodes of a journal as a table, one row for each step.",
    ),
    "verify": Command(
        "inspecting",
        "verify_command",
        "Derive a saved certificate again from its recorded readings, and replay the run "
        "of a journal.",
    ),
    "proof": Command(
        "inspecting",
        "proof_command",
        "Write the proof of a certificate made with --guarantee proved, for checker.py or"
        " your own.",
    ),
    "report": Command(
        "reporting",
        "report_command",
        "Write a page about a run: its claim, how the gap closed, the plan, the states, the cost.",
    ),
    "problems": Command(
        "inspecting",
        "problems_command",
        "List the built-in problems and their parameters.",
    ),
    "bound": Command(
        "bounding",
        "bound_command",
        "What the fixed schedules ask for at most; for small finite problems also the "
        "floor that no learner can beat. With --proved: what it is expected to take to "
        "prove the best plan.",
    ),
    "bench": Command(
        "benching",
        "bench_command",
        "Run a benchmark suite and print its tables.",
    ),
}


class Later(TyperGroup):
    """Commands that are listed by what they say, and made when one of them is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        if name in COMMANDS:
            one = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
            one.command(name)(reports_errors(COMMANDS[name].load()))
            command = get_command(one)
        return name, command, rest


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
        cls=Later,
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        help="Find the exact best action sequence of a system that can be reset, with a "
        "certificate.",
    )
    for name, command in COMMANDS.items():
        whole.command(name, help=command.says)(_listed)
    return whole


def _listed() -> None:
    """Stands for a command in the list of them."""


app = assembled()
