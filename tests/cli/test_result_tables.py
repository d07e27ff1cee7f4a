"""What a run prints at its end: first what a person asks first, and nothing that means nothing."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import surepath
from flaky import Walk
from reports import HOSTILE
from surepath.api import report
from surepath.cli.output import show_result
from surepath.cli.result_tables import evidence, summary, written
from surepath.system import System


@dataclass
class Named(Walk):
    """A walk whose actions have names."""

    action_names: tuple[str, ...] = ("left", "right")


def printed(what: Any, width: int = 110) -> list[str]:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(what, highlight=False)
    file: Any = console.file
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_the_summary_says_first_what_a_person_asks_first() -> None:
    system = Named()
    result = surepath.learn(system)
    lines = printed(summary(result, system))
    asked = [line.split()[0] for line in lines if line[:1].strip()]
    assert asked == ["plan", "value", "sure", "because", "cost", "assumes", "chosen"]
    assert lines[0] == "plan      " + ", ".join(system.action_names[a] for a in result.actions)
    assert "with probability at least 0.95" in " ".join(lines)
    assert f"{result.episodes:,} episodes" in " ".join(lines)
    text = " ".join(line.strip() for line in lines)
    for each in result.certificate.assumptions:
        assert f"- {each}" in text


def test_an_uncertified_run_assumes_nothing() -> None:
    system = Walk()
    lines = printed(summary(surepath.learn(system, budget=60), system))
    assert any(line.startswith("sure      not certified") for line in lines)
    assert not any(line.startswith("assumes") for line in lines)


@pytest.mark.parametrize("width", [80, 200])
def test_lines_hang_below_what_they_go_on_with(width: int) -> None:
    problem = surepath.make("lock", horizon=4)
    lines = printed(summary(surepath.learn(problem), problem), width)
    assert all(len(line) <= width for line in lines)
    assert all(line[:10].strip() in ("", *LABELS) for line in lines)
    assert sum(line.startswith(" " * 10) for line in lines) > 3


LABELS = ("plan", "value", "sure", "because", "cost", "oracle", "assumes", "tested", "chosen")


def test_columns_that_say_nothing_are_not_shown() -> None:
    system: System = Named()
    result = surepath.learn(system)
    head = printed(evidence(result, system))[1]
    assert "coverage" not in head
    assert "from" not in head
    assert "next best" in head
    first, *others = result.certificate.levels
    predicted = replace(first, coverage=0.5, source="regression")
    mixed = replace(result.certificate, levels=(predicted, *others))
    head = printed(evidence(replace(result, certificate=mixed), system))[1]
    assert "coverage" in head
    assert "from" in head


def test_plans_are_written_by_name_where_all_have_one() -> None:
    assert written((0, 1, 1), ("left", "right")) == "left, right, right"
    assert written((0, 1, 1), ()) == "0 1 1"
    assert written((0,) * 50, ()).endswith("0 0 ... (50 actions)")


def test_hostile_names_and_notes_stay_text() -> None:
    system = Named(action_names=(HOSTILE, "[red]b[/red]\x1b[2J"))
    result = surepath.learn(system)
    texts = ("claim", "reason")
    lists = ("assumptions", "notes", "warnings", "doubts")
    changed = {**dict.fromkeys(texts, HOSTILE), **dict.fromkeys(lists, (HOSTILE,))}
    hostile = replace(result, certificate=replace(result.certificate, **changed))
    for table in (summary(hostile, system), evidence(hostile, system)):
        text = "".join(printed(table))
        assert all(c.isprintable() for c in text)
        assert "\u202e" not in text
    assert "[red]b[/red]" in "".join(printed(evidence(hostile, system)))


def test_codes_of_signs_and_long_names_do_not_take_over(tmp_path: Path) -> None:
    """What Rich would draw as a sign stays as it is written; a name is cut, also in the plan."""
    system = Named(action_names=(":smile: " + "W" * 10_000, ":bomb:\ud800" + "M" * 10_000))
    path = tmp_path / "run.db"
    result = surepath.learn(system, journal=path)
    out = io.StringIO()
    show_result(result, system, None, None, out, as_json=False)
    text = out.getvalue()
    assert ":smile:" in text
    assert ":bomb:\\ud800" in text
    assert "W" * 24 not in text
    page = report(path).html
    assert ":bomb:\\ud800" in page
    assert "W" * 60 not in page
