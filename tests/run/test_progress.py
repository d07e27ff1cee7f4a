"""The log of a run: one line for a round, never broken."""

from __future__ import annotations

import io
import sys
from types import ModuleType
from typing import Any

import pytest
from rich.console import Console

from clocks import Clock
from surepath.run import progress
from surepath.run.progress import Progress

WEAKEST = "level 19: 3 over 2 by 0.969 +- 0.830, " * 4


class Told:
    """A learner that is further every time it is asked."""

    def __init__(self) -> None:
        self.rounds = 0

    def status(self) -> dict[str, str]:
        self.rounds += 1
        return {
            "episodes": f"{1234567 * self.rounds:,}",
            "incumbent": "0.9688",
            "gap": "0.0313",
            "weakest": WEAKEST,
        }


def logged(console: Console, moments: list[float], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is written when there is a round at each of these moments."""
    clock, learner = Clock(), Told()
    monkeypatch.setattr(progress, "time", clock)
    with Progress(console) as shown:
        for moment in moments:
            clock.now = moment
            shown(learner)  # pyright: ignore[reportArgumentType]
    file: Any = console.file
    return file.getvalue().splitlines()


def test_a_file_has_a_line_for_a_round_however_long(monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(file=io.StringIO(), width=80)
    lines = logged(console, [3, 6, 9], monkeypatch)
    assert len(lines) == 4
    assert lines[0].split() == ["time", "episodes", "incumbent", "gap", "weakest"]
    assert [line.split()[:2] for line in lines[1:]] == [
        ["3.0s", "1,234,567"],
        ["6.0s", "2,469,134"],
        ["9.0s", "3,703,701"],
    ]
    assert all(line.endswith(WEAKEST.strip()) or WEAKEST in line for line in lines[1:])
    assert len({line.index("0.9688") for line in lines[1:]}) == 1  # below each other


def test_short_rounds_are_not_all_told_but_the_last_is(monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(file=io.StringIO(), width=80)
    lines = logged(console, [0.1, 2.1, 2.2, 2.3], monkeypatch)
    assert [line.split()[0] for line in lines] == ["time", "2.1s", "2.3s"]


def test_a_run_without_a_round_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert logged(Console(file=io.StringIO()), [], monkeypatch) == []


@pytest.mark.parametrize("width", [80, 200])
def test_a_terminal_cuts_lines_off(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=True,
        color_system=None,
        legacy_windows=False,
    )
    lines = logged(console, [3, 6], monkeypatch)
    kept = [line for line in lines if "\x1b" not in line and line.strip()]
    assert len(kept) >= 3
    assert all(len(line) <= width for line in kept)
    assert any("1,234,567" in line for line in kept)
    assert (width == 200) == any(WEAKEST.strip() in line for line in kept)


def test_in_a_notebook_the_log_is_one_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its lines stay text, and the latest round is shown before it gets a line."""
    shown = list[dict[str, str]]()

    class Handle:
        def update(self, data: dict[str, str], *, raw: bool) -> None:
            assert raw
            shown.append(data)

    def display(data: dict[str, str], *, raw: bool, display_id: bool) -> Handle:
        assert raw
        assert display_id
        assert not shown  # once
        shown.append(data)
        return Handle()

    display_module = ModuleType("IPython.display")
    display_module.display = display  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", display_module)
    console = Console(file=io.StringIO(), force_jupyter=True)
    hostile = "<img src=x>\x1b[31m"
    monkeypatch.setattr("test_progress.WEAKEST", hostile)
    assert logged(console, [0.5, 3, 3.5], monkeypatch) == []  # nothing beside it
    assert [len(data["text/plain"].splitlines()) for data in shown] == [1, 1, 1, 2, 3, 3]
    for data in shown:
        assert "<img" not in data["text/html"]
        assert "\x1b" not in data["text/html"] + data["text/plain"]
