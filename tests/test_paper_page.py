"""Every row of docs/paper.md points at code that exists and at something that shows it."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from places import ROOT
from surepath.bench import SUITES

PAGE = (ROOT / "docs" / "paper.md").read_text()
ROWS = [
    [cell.strip().strip("`") for cell in line.strip("| ").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| paper |")
]


@cache
def names_in(path: Path) -> dict[str, ast.AST]:
    """All that a file defines: classes, functions, and names that it gives values."""
    found: dict[str, ast.AST] = {}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                found[ast.unparse(target)] = node
    return found


def test_the_page_is_complete() -> None:
    """Counted in the paper: its lines of algorithms, and all that has a number or a heading."""
    assert len(ROWS) >= 70
    assert all(len(row) == 4 for row in ROWS)
    first = [row[0] for row in ROWS]
    assert len(set(first)) >= len(first) - 2  # "the same ..." may come again
    for kind, least in (("Assumption", 7), ("Theorem", 6), ("Lemma", 9), ("Example", 4)):
        assert sum(kind in text for text in first) >= least, kind
    for word in ("Corollary", "Remark", "Table", "figure", "Alg. 1", "Alg. 2", "Alg. 3 and 4"):
        assert any(word in text for text in first), word


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:40])
def test_code_and_evidence_of_a_row_exist(row: list[str]) -> None:
    _, code, shown, _ = row
    place, name = code.split(":")
    assert name in names_in(ROOT / "src" / "surepath" / place), code
    if shown.startswith("bench "):
        assert shown.removeprefix("bench ") in SUITES
        return
    place, name = shown.split(":")
    node = names_in(ROOT / place).get(name)
    assert isinstance(node, ast.FunctionDef), shown
    marks = " ".join(ast.unparse(mark) for mark in node.decorator_list)
    assert not re.search(r"skip|slow|xfail", marks), "a test that runs by default"
