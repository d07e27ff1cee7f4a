"""What is not loaded before somebody needs it: a command that only helps answers at once."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import surepath
from surepath.cli.app import COMMANDS

HEAVY = ("scipy", "sklearn", "gymnasium", "pandas", "matplotlib", "ray", "torch", "pyarrow")

STARTS = {
    "import surepath": ("import surepath", (*HEAVY, "numpy", "rich", "typer")),
    "the main function": ("from surepath import learn", (*HEAVY, "rich", "typer")),
    "a problem": (
        "import surepath; surepath.make('lock', horizon=3)",
        (*HEAVY, "rich", "typer"),
    ),
    "the list of commands": (
        "import sys; sys.argv = ['surepath', '--help']\nfrom surepath.cli import app\n"
        "try:\n    app(prog_name='surepath')\nexcept SystemExit:\n    pass",
        (*HEAVY, "numpy"),
    ),
}


@pytest.mark.parametrize("name", STARTS)
def test_nothing_heavy_is_loaded_to_begin_with(name: str) -> None:
    code, heavy = STARTS[name]
    script = f"{code}\nimport sys\nprint('loaded:', *sorted({set(heavy)} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert ran.stdout.splitlines()[-1].split() == ["loaded:"]


def test_what_is_imported_later_is_there_and_stays() -> None:
    for name in surepath.__all__:
        assert name in dir(surepath)
        assert getattr(surepath, name) is getattr(surepath, name)
    with pytest.raises(AttributeError, match="no attribute 'lern'"):
        _ = surepath.lern  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType, reportUnknownMemberType]


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_are_listed_by_what_they_say_themselves(name: str) -> None:
    said = inspect.getdoc(COMMANDS[name].load()) or ""
    assert " ".join(said.split("\n\n")[0].split("\n")) == COMMANDS[name].says
