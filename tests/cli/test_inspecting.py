"""The commands that look at what is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import surepath
from commands import invoke


def test_problems_lists_names_and_parameters() -> None:
    result = invoke("problems")
    assert result.exit_code == 0
    for name in surepath.problems():
        assert name in result.output
    listing = json.loads(invoke("problems", "--json").stdout)
    assert listing["lock"]["parameters"]["horizon"] == 10


PAINT = "\x1b[2K\x1b[1G\x1b[32mverified\x1b[0m\r\x9b31m\u202e[green]verified[/green]"


def edited(path: Path, field: str, value: object) -> Path:
    """A saved result with one field of its certificate replaced."""
    data = json.loads(path.read_text())
    data["certificate"][field] = value
    path.write_text(json.dumps(data))
    return path


@pytest.mark.parametrize("field", ["doubts", "notes", "warnings", "claim", "reason"])
def test_texts_of_a_file_cannot_paint_on_a_terminal(field: str, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    surepath.learn(surepath.make("lock", horizon=3, actions=3)).save(path)
    assert invoke("verify", str(path)).exit_code == 0
    whole = field in ("claim", "reason")
    found = invoke("verify", str(edited(path, field, PAINT if whole else [PAINT])))
    if field in ("doubts", "claim", "reason"):
        assert found.exit_code == 1
        # Rich would have taken the brackets for a colour.
        assert "[green]verified[/green]" in "".join(found.output.split("\n")) or field == "doubts"
    assert all(c.isprintable() or c == "\n" for c in found.output)


def test_what_a_file_is_called_cannot_paint_either(tmp_path: Path) -> None:
    path = tmp_path / "a\x1b[31mb.json"
    path.write_text("{}")
    found = invoke("verify", str(path))
    assert found.exit_code == 2
    assert all(c.isprintable() or c == "\n" for c in found.output)
    assert "\\x1b[31m" in found.output
