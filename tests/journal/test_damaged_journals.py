"""Journals that are damaged, old, or of somebody else."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import surepath
from flaky import Walk, content
from places import ASSETS
from surepath.cli import app
from surepath.errors import InputError, JournalError
from surepath.journal.database import APPLICATION, SCHEMA, Journal
from surepath.journal.identity import ENGINE
from surepath.journal.rows import Row
from surepath.results.verify import verify
from surepath.system import Episodes

OLD = ASSETS / "journal_schema_1.db"  # from before there was an engine's version
NOW = ASSETS / "journal_engine_3.db"
CONFIGURATION = {"system": {"system": "test"}, "seed": 0}


# ---------------------------------------------------------------- damage


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "a.db"
    surepath.learn(Walk(), journal=path)
    return path


def test_flipped_bytes_show_or_do_not_matter(sound: Path, tmp_path: Path) -> None:
    """Wherever one byte changes: what is read is what was written, or it is refused."""
    before, data = content(sound), sound.read_bytes()
    refused = 0
    for place in range(0, len(data), 211):
        path = tmp_path / "flipped.db"
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :])
        try:
            found = content(path)
        except JournalError:
            refused += 1
        else:
            assert found == before, place
    assert refused > 20


def test_a_flipped_bit_of_a_row_is_named(sound: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    shutil.copy(sound, path)
    with sqlite3.connect(path) as database:
        (data,) = database.execute(
            "SELECT arrays FROM readings WHERE batch = 1 AND request = 0"
        ).fetchone()
        changed = bytes([data[0] ^ 1]) + data[1:]
        database.execute(
            "UPDATE readings SET arrays = ? WHERE batch = 1 AND request = 0", (changed,)
        )
    database.close()
    with pytest.raises(JournalError, match=r"the journal is damaged.*batch 1, request 0"):
        Journal(path)


def test_a_text_that_is_not_json_is_damage(sound: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    shutil.copy(sound, path)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE meta SET value = '{' WHERE key = 'result'")
    database.close()
    with Journal(path) as journal, pytest.raises(JournalError, match="the result cannot be read"):
        journal.get("result")
    with pytest.raises(JournalError, match="damaged"):
        verify(path)


# ---------------------------------------------------------------- the schema


def problem_of_the_assets() -> Any:
    return surepath.make("tabular", horizon=3, states=3, observations=4, seed=1)


def write_asset(path: Path) -> None:
    """How they were made: `python -c "import test_damaged_journals as t; t.write_asset(t.NOW)"`."""
    path.unlink(missing_ok=True)
    surepath.learn(problem_of_the_assets(), journal=path)


def test_a_journal_of_another_engine_is_read_but_not_continued(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    shutil.copy(OLD, path)  # readers leave files beside it
    before = content(path)
    with pytest.raises(JournalError, match=r"another version.*engine 1 in the journal.*new path"):
        surepath.learn(problem_of_the_assets(), journal=path)
    resumed = CliRunner().invoke(app, ["resume", str(path)])
    assert resumed.exit_code == 2
    assert "another version of surepath" in " ".join(resumed.output.split())
    assert content(path) == before
    with pytest.raises(InputError, match="rules of an older version"):
        verify(path)
    with Journal(path) as journal:
        assert journal.configuration["system"]["problem"] == "tabular"


def test_a_journal_of_this_engine_is_read_replayed_and_verified(tmp_path: Path) -> None:
    assert ENGINE == 3, "a new engine needs a sample of its own; keep the old ones"
    path = tmp_path / "old.db"
    shutil.copy(NOW, path)
    with Journal(path) as journal:
        recorded = journal.get("result")
    before = content(path)
    problem = problem_of_the_assets()

    def nothing_new(*_: object) -> None:
        raise AssertionError("everything is recorded")

    problem.summarise = problem.rollout = nothing_new
    result = surepath.learn(problem, journal=path)
    assert result.saved() == recorded
    assert result.certified
    assert content(path) == before
    assert verify(path).certified


def test_the_schema_is_what_is_written(sound: Path) -> None:
    assert SCHEMA == 1, "a new schema needs a sample of its own; keep the old ones"
    database = sqlite3.connect(sound)
    assert database.execute("PRAGMA user_version").fetchone() == (SCHEMA,)
    assert database.execute("PRAGMA application_id").fetchone() == (APPLICATION,)
    database.close()


def on_database(change: str) -> Callable[[Path], None]:
    def apply(path: Path) -> None:
        database = sqlite3.connect(path)
        database.execute(change)
        database.commit()
        database.close()

    return apply


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (on_database(f"PRAGMA user_version = {SCHEMA + 1}"), "newer version.*Install that version"),
        (on_database("PRAGMA application_id = 77"), "a database of something else"),
    ],
)
def test_files_of_others_are_refused(
    change: Callable[[Path], None], message: str, sound: Path, tmp_path: Path
) -> None:
    path = tmp_path / "a.db"
    shutil.copy(sound, path)
    change(path)
    for configuration in (None, CONFIGURATION):
        with pytest.raises(JournalError, match=message):
            Journal(path, configuration)


def test_an_empty_database_is_no_journal_yet(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    on_database("PRAGMA user_version = 0")(path)
    on_database("CREATE TABLE t (x)")(path)
    on_database("DROP TABLE t")(path)
    with pytest.raises(JournalError, match=r"not begun.*Nothing is recorded"):
        Journal(path)
    with Journal(path, CONFIGURATION) as journal:
        journal.add([Row(0, 0, 0, Episodes((0,), np.ones((2, 2)), np.ones((2, 1))))])
    with Journal(path) as journal:
        assert journal.count() == (2, 0)
