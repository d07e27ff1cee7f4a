"""A journal as a table."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import surepath
from flaky import Gauge, Walk
from surepath.cli import app
from surepath.errors import InputError, MissingExtraError
from surepath.journal import export as module
from surepath.journal.database import Journal
from surepath.journal.export import export
from surepath.journal.rows import PILOT, Row
from surepath.system import Counts, Episodes, Moments, RewardMoments, Summary

FIRST = ["kind", "batch", "request", "episode", "count", "step", "action", "reward"]

IMAGE = np.arange(24, dtype=np.uint8).reshape(2, 3, 2, 2)
ROWS = [
    Row(0, 0, 5, Episodes((1, 0), IMAGE, np.array([[0.1, 0.2], [0.3, 1.0]]))),
    Row(0, 1, 0, Summary((1,), 7, {0: Counts(np.array([3, 4]))}, {0: RewardMoments(7, 0.5, 1.0)})),
    Row(1, 0, 0, Summary((1,), 2, {1: Moments(2, np.array([0.5, 1.5]), np.eye(2))}, {})),
]


@pytest.fixture
def journal(tmp_path: Path) -> Any:
    with Journal(tmp_path / "a.db", {}) as journal:
        journal.add(ROWS)
        yield journal


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


EXPECTED = [
    # kind, batch, request, episode, count, step, action, reward, o0 ..
    ("episode", 0, 0, 5, 1, 0, 1, 0.1, 0, 1, 2, 3),
    ("episode", 0, 0, 5, 1, 1, 0, 0.2, 4, 5, 6, 7),
    ("episode", 0, 0, 5, 1, 2, None, None, 8, 9, 10, 11),
    ("episode", 0, 0, 6, 1, 0, 1, 0.3, 12, 13, 14, 15),
    ("episode", 0, 0, 6, 1, 1, 0, 1.0, 16, 17, 18, 19),
    ("episode", 0, 0, 6, 1, 2, None, None, 20, 21, 22, 23),
    ("counts", 0, 1, 0, 7, 0, 1, 0.5, 3, 4, None, None),
    ("means", 1, 0, 0, 2, 1, None, None, 0.5, 1.5, None, None),
]


def test_a_csv_file_has_a_row_for_each_step(journal: Journal, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    assert export(journal, path) == len(EXPECTED)
    rows = table(path)
    assert list(rows[0]) == [*FIRST, "o0", "o1", "o2", "o3"]
    found = [tuple(None if cell == "" else cell for cell in row.values()) for row in rows]
    assert found == [tuple(None if c is None else str(c) for c in row) for row in EXPECTED]


@pytest.mark.parametrize("at_once", [1, 100_000])
def test_a_parquet_file_holds_the_same(
    at_once: int, journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(module, "PARQUET_ROWS", at_once)
    path = tmp_path / "a.parquet"
    assert export(journal, path) == len(EXPECTED)
    read = parquet.read_table(path).to_pylist()
    assert [tuple(row.values()) for row in read] == EXPECTED
    assert list(read[0]) == [*FIRST, "o0", "o1", "o2", "o3"]


@pytest.mark.parametrize("system", [Walk(), Gauge()])
def test_a_run_can_be_read_off_its_table(system: Any, tmp_path: Path) -> None:
    features = "auto" if isinstance(system, Walk) else "linear"
    result = surepath.learn(system, features=features, journal=tmp_path / "a.db")
    with Journal(tmp_path / "a.db") as journal:
        written = export(journal, tmp_path / "a.csv")
    rows = table(tmp_path / "a.csv")
    assert len(rows) == written == result.steps
    episodes = {(row["batch"], row["request"], row["episode"]) for row in rows}
    assert len(episodes) == result.episodes
    proper = [row for row in rows if int(row["batch"]) <= PILOT]
    total = sum(float(row["reward"]) for row in proper if row["reward"])
    assert total == pytest.approx(sum(entry["rewards"][1] for entry in result.record or ()))


def test_an_empty_journal_is_an_empty_table(tmp_path: Path) -> None:
    with Journal(tmp_path / "a.db", {}) as journal:
        assert export(journal, tmp_path / "a.csv") == 0
        if pytest.importorskip("pyarrow"):
            assert export(journal, tmp_path / "a.parquet") == 0
    assert (tmp_path / "a.csv").read_text().strip() == ",".join(FIRST)


def test_what_cannot_be_written_is_refused(journal: Journal, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.csv or \.parquet"):
        export(journal, tmp_path / "a.xlsx")
    with pytest.raises(InputError, match="folder of an output file must exist"):
        export(journal, tmp_path / "nowhere" / "a.csv")


def test_pyarrow_is_an_extra(
    journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"surepath\[parquet\]"):
        export(journal, tmp_path / "a.parquet")
    assert not (tmp_path / "a.parquet").exists()


def test_the_command_line_exports_a_run(tmp_path: Path) -> None:
    run, out = CliRunner(), tmp_path / "a.csv"
    began = run.invoke(
        app, ["learn", "lock", "-p", "horizon=2", "--journal", str(tmp_path / "a.db"), "--json"]
    )
    assert began.exit_code == 0
    done = run.invoke(app, ["export", str(tmp_path / "a.db"), str(out)])
    assert done.exit_code == 0
    assert done.output.strip().endswith(f"rows in {out}") or "rows in" in done.output
    assert table(out)
    assert run.invoke(app, ["export", str(tmp_path / "b.db"), str(out)]).exit_code == 2
    assert (
        run.invoke(app, ["export", str(tmp_path / "a.db"), str(tmp_path / "a.txt")]).exit_code == 2
    )


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@a", "\ta", "\ra"])
def test_texts_are_no_formulas(text: str, tmp_path: Path) -> None:
    seen = np.array([[text, "fine"]])
    with Journal(tmp_path / "a.db", {"system": "texts"}) as journal:
        journal.add([Row(0, 0, 0, Episodes((0,), seen, np.array([[-1.0]])))])
        export(journal, tmp_path / "a.csv")
        with pytest.raises(InputError, match=r"holds numbers.*Write a \.csv"):
            export(journal, tmp_path / "a.parquet")
    with (tmp_path / "a.csv").open(newline="") as file:
        first, second = csv.DictReader(file)
    assert (first["o0"], second["o0"]) == ("'" + text, "fine")
    assert first["reward"] == "-1.0"
