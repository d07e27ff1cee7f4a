"""The command line as a whole: its commands, and how it reports errors."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer

from commands import invoke
from surepath.cli.app import COMMANDS, reports_errors
from surepath.errors import InputError, MissingExtraError


def test_every_command_is_listed_and_explains_itself() -> None:
    listed = invoke("--help")
    assert listed.exit_code == 0
    for name in COMMANDS:
        assert f" {name} " in listed.output
        explained = invoke(name, "--help")
        assert explained.exit_code == 0, explained.output
        assert "Usage:" in explained.output


def test_the_bench_and_its_rivals_are_imported_by_their_command_only() -> None:
    script = (
        "import sys, surepath.cli\n"
        "print([name for name in sys.modules if name.startswith('surepath.bench')])"
    )
    ran = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert ran.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("error", "lines"),
    [
        (InputError("a", got="b", remedy="c"), ["error: a", "  got: b", "  do:  c"]),
        (
            MissingExtraError("ray", "ray", "this"),
            [f"error: {MissingExtraError('ray', 'ray', 'this')}"],
        ),
    ],
)
def test_what_is_refused_is_said_on_standard_error(
    error: Exception, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    @reports_errors
    def command() -> None:
        raise error

    with pytest.raises(typer.Exit) as stopped:
        command()
    assert stopped.value.exit_code == 2
    said = capsys.readouterr()
    assert said.err.splitlines() == lines
    assert said.out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("learn lok", "Did you mean 'lock'?"),
        ("learn lock -p horizon=0", "horizon must be a whole number, at least 1"),
        ("learn lock -p horizn=3", "Did you mean 'horizon'?"),
        ("learn lock -p horizon", "a parameter is name=value"),
        ("learn lock --delta 1.5", "delta must be a number in (0, 1)"),
        ("learn tabular -p states=5 -p observations=3", "at least as many observations as states"),
        ("bound --horizon 3 --actions 2 --dimension 4 --norm 2", "a bound needs gap"),
        ("bench constant", "Did you mean 'constants'?"),
        ("bound lock --unique --future 2", "knows its own unique, future"),
        ("learn lock --save /no/such/folder/r.json", "the folder of an output file must exist"),
        ("learn lock --plot picture.foo", "a .png, .svg or .pdf file"),
        ("learn lock --future two", "future is a number of observations, or auto"),
        ("learn lock --ridge 0.1", "--feature-samples and --reward-samples"),
        ("learn lock --workers two", 'workers is a number of processes, "ray", or an executor'),
        ("learn lock --time-limit 5", "only workers can be stopped"),
        ("verify no/such/file", "there is no such file"),
    ],
)
def test_bad_input_is_exit_code_two(arguments: str, message: str) -> None:
    result = invoke(*arguments.split())
    assert result.exit_code == 2, result.output
    assert message in result.output
    assert "got:" in result.output
    assert "do:" in result.output
