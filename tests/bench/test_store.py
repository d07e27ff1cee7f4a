"""Suites that go on where they stopped, and what they leave behind."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from surepath.bench import publish
from surepath.bench.harness import store
from surepath.bench.harness.report import Figure, Line, Section, SuiteReport
from surepath.bench.harness.runs import Crew, Outcome
from surepath.bench.harness.store import Store, plain, restored
from surepath.cli import app
from surepath.errors import InputError

MADE: list[int] = []


@dataclass(frozen=True)
class Square:
    number: int
    square: int
    notes: tuple[str, ...] = ()


def square(number: int) -> Square:
    MADE.append(number)
    return Square(number, number**2, ("made",))


def root(number: float) -> float:
    return math.sqrt(number)


@pytest.fixture(autouse=True)
def _nothing_made() -> None:
    MADE.clear()


def test_what_was_made_is_not_made_again(tmp_path: Path) -> None:
    path = tmp_path / "suite.jsonl"
    with Store(path) as kept:
        first = Crew(store=kept).spread(square, [1, 2], "first")
    with Store(path) as kept:
        second = Crew(store=kept).spread(square, [3, 2, 1], "second")
    assert MADE == [1, 2, 3]
    assert [*reversed(second[1:])] == first
    assert second[0] == Square(3, 9, ("made",))


def test_functions_with_the_same_job_are_told_apart(tmp_path: Path) -> None:
    with Store(tmp_path / "suite.jsonl") as kept:
        crew = Crew(store=kept)
        assert crew.spread(root, [4], "roots") == [2.0]
        assert crew.spread(square, [4], "squares") == [Square(4, 16, ("made",))]


def test_runs_before_an_error_are_kept(tmp_path: Path) -> None:
    def fails(number: int) -> int:
        return 1 // number

    path = tmp_path / "suite.jsonl"
    with Store(path) as kept, pytest.raises(ZeroDivisionError):
        Crew(store=kept).spread(fails, [1, 0], "fails")
    assert len(path.read_text().splitlines()) == 1


def test_a_line_that_was_cut_short_is_run_again(tmp_path: Path) -> None:
    path = tmp_path / "suite.jsonl"
    with Store(path) as kept:
        Crew(store=kept).spread(square, [1, 2], "squares")
    path.write_bytes(path.read_bytes()[:-9])
    with Store(path) as kept:
        assert Crew(store=kept).spread(square, [1, 2], "squares")[1].square == 4
    assert MADE == [1, 2, 2]
    assert [json.loads(line)["result"]["number"] for line in path.read_text().splitlines()] == [
        1,
        2,
    ]


def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "suite.jsonl"
    path.write_text("hello\n")
    with pytest.raises(InputError, match="one JSON object on every line"):
        Store(path)
    assert path.read_text() == "hello\n"


def test_runs_of_other_code_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "suite.jsonl"
    with Store(path) as kept:
        Crew(store=kept).spread(square, [1, 2], "squares")
        assert kept.others == 0
    made = store.fingerprint(square)
    assert made == store.fingerprint(root) != store.fingerprint(Crew.spread)  # the file counts
    monkeypatch.setattr(store, "fingerprint", lambda _: "another")
    with Store(path) as kept:
        assert kept.others == 0
        Crew(store=kept).spread(square, [2, 3], "squares")
        assert kept.others == 1  # what was not asked for does not matter


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Square, Square(1, 1, ("a", "b"))),
        (Outcome, Outcome(0.25, math.inf, True, "", ("note",), 3, 4)),
        (tuple[bool, int], (True, 3)),
        (list[Square], [Square(1, 1)]),
        (tuple[tuple[int, float], ...], ((1, 2.5), (3, 0.1))),
        (float, 0.1),
    ],
)
def test_results_come_back_as_they_were(kind: object, value: object) -> None:
    assert restored(kind, json.loads(json.dumps(plain(value)))) == value


def test_a_suite_is_published(tmp_path: Path) -> None:
    figure = Figure(
        "growth", "It grows", "size", "steps", [Line("ours", (1, 2), (3, 9), (2, 8), (4, 10))]
    )
    numbers = Section("numbers", ("a", "b"), [(1, 0.12345), ("x", True)])
    report = SuiteReport("demo", [numbers, figure, "a remark"])
    with Store(tmp_path / "demo.jsonl") as kept:
        Crew(store=kept).spread(square, [1, 2], "squares")
        Crew(store=kept).spread(root, [9.0], "roots")
        written = publish(report, kept, tmp_path)
    assert [path.name for path in written] == ["demo.md", "demo-runs.csv", "demo-growth.svg"]
    page = written[0].read_text()
    assert "| 1 | 0.123 |\n| x | yes |" in page
    assert "![It grows](demo-growth.svg)\n\na remark" in page  # in the order they were found
    rows = list(csv.DictReader(written[1].read_text().splitlines()))
    assert [row["square"] for row in rows] == ["1", "4", ""]
    assert rows[2]["result"] == "3.0"
    assert "It grows" in written[2].read_text()


def test_the_same_figure_is_the_same_file(tmp_path: Path) -> None:
    report = SuiteReport("demo", [Figure("f", "t", "x", "y", [Line("a", (1, 2), (1, 4))])])
    with Store(tmp_path / "demo.jsonl") as kept:
        (*_, picture) = publish(report, kept, tmp_path)
        before = picture.read_bytes()
        publish(report, kept, tmp_path)
    assert picture.read_bytes() == before


def test_the_command_writes_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def demo(crew: Crew) -> list[Section]:
        return [
            Section("squares", ("square",), [(s.square,) for s in crew.spread(square, [5], "s")])
        ]

    monkeypatch.setattr("surepath.bench.SUITES", {"demo": {"demo": demo}})
    call = ["bench", "demo", "--out", str(tmp_path / "new" / "folder"), "--workers", "1"]
    for _ in range(2):
        done = CliRunner().invoke(app, call)
        assert done.exit_code == 0, done.output
        assert "demo.md" in done.output
    assert MADE == [5]
    hasty = CliRunner().invoke(app, [*call, "--quick"])
    assert hasty.exit_code == 2
    refused = CliRunner().invoke(app, ["bench", "dome", "--out", str(tmp_path / "other")])
    assert refused.exit_code == 2
    assert not (tmp_path / "other").exists()
