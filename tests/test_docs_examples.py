"""Every block of code on every page runs, and prints what the page says it prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import surepath
from places import ROOT

PAGES = ["README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]

NOT_RUN = ("text", "{toctree}", "{eval-rst}")
"""Kinds of blocks that are nothing to run: output, drawings, directives of the site."""

ELSEWHERE = ("pip install ",)
"""Commands that were run before: without them there would be nothing to run."""


@dataclass(frozen=True, slots=True)
class Block:
    """Code between fences."""

    kind: str
    text: str


def blocks_of(page: str) -> list[Block]:
    text = (ROOT / page).read_text()
    found = re.findall(r"^```(\S*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [Block(kind, block) for kind, block in found]


def run_python(block: str, page: str, names: dict[str, object]) -> None:
    """In this process; one that begins with `# file: name` is also that file, for commands."""
    if named := re.match(r"# file: (\w+\.py)\n", block):
        Path(named[1]).write_text(block)
    exec(compile(block, page, "exec"), names)


def run_shell(block: str) -> str:
    """What it prints, errors and logs left out."""
    lines = [line for line in block.splitlines() if not line.startswith(ELSEWHERE)]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-c", "\n".join(lines)],
        env={**os.environ, "PATH": path},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def said_to_be_printed(block: str) -> str:
    """The comments below every print."""
    comments = re.findall(r"^ *print\(.*\)\n((?:^# .*\n)+)", block, re.MULTILINE)
    return " ".join(line.removeprefix("# ") for each in comments for line in each.splitlines())


def assert_printed(said: str, printed: str) -> None:
    """All parts, in that order, however lines are broken; three dots stand for anything."""
    rest = " ".join(printed.split())
    for part in said.split("..."):
        words = " ".join(part.split())
        assert words in rest, f"{words}\nis not in\n{rest}"
        rest = rest[rest.index(words) + len(words) :]


@pytest.mark.parametrize("page", PAGES)
def test_every_block_runs(
    page: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    printed: str | None = None  # by the commands before; a text above the first is no output
    for block in blocks_of(page):
        if block.kind == "sh":
            printed = run_shell(block.text)
        elif block.kind == "text" and printed is not None:
            assert_printed(block.text, printed)
        elif block.kind == "python":
            run_python(block.text, page, names)
            assert_printed(said_to_be_printed(block.text), capsys.readouterr().out)


@pytest.mark.parametrize("page", PAGES)
def test_no_block_is_passed_over(page: str) -> None:
    """What looks like code is marked as code."""
    for block in blocks_of(page):
        assert block.kind in ("python", "sh", *NOT_RUN), block
        if block.kind == "text" and page != "docs/llvm.md":  # whose own test runs its example
            assert not re.search(r"^(surepath [a-z]|import )", block.text, re.MULTILINE)


def test_every_public_name_has_an_example() -> None:
    """On the page of the reference, below its docstring."""
    text = (ROOT / "docs" / "api.md").read_text()
    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", text, re.DOTALL | re.MULTILINE))
    assert sorted(sections) == sorted(surepath.__all__)
    for name, section in sections.items():
        assert re.search(rf":: surepath\.{name}$", section, re.MULTILINE)
        (example,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
        kept = "result." if name == "Result" else f"surepath.{name}"
        assert kept in example or name in ("Diagnosis", "Finding", "Forecast", "Certificate")
        assert getattr(surepath, name).__doc__
