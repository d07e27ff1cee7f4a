"""Journals that are damaged, old, or of somebody else."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import surepath
from flaky import Walk, content
from places import ASSETS
from surepath.errors import JournalError
from surepath.journal.database import APPLICATION, SCHEMA, Journal
from surepath.journal.rows import Row
from surepath.results.verify import verify
from surepath.system import Episodes

ASSET = ASSETS / "journal_schema_1.db"
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


def write_asset(path: Path) -> None:
    """How the sample was made: `python -c "import test_database as t; t.write_asset(t.ASSET)"`."""
    path.unlink(missing_ok=True)
    surepath.learn(
        surepath.make("tabular", horizon=3, states=3, observations=4, seed=1), journal=path
    )


def test_a_journal_of_schema_1_is_read_replayed_and_verified(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    shutil.copy(ASSET, path)  # readers leave files beside it
    assert verify(path).certified
    with Journal(path) as journal:
        recorded = journal.get("result")
        assert journal.configuration["system"]["problem"] == "tabular"
    before = content(path)
    problem = surepath.make("tabular", horizon=3, states=3, observations=4, seed=1)

    def nothing_new(*_: object) -> None:
        raise AssertionError("everything is recorded")

    problem.summarise = problem.rollout = nothing_new  # pyright: ignore[reportAttributeAccessIssue]
    result = surepath.learn(problem, journal=path)
    now, newer = result.saved(), {"status", "tolerance", "warnings"}
    assert now.pop("schema") > recorded.pop("schema")
    assert now["certificate"].pop("schema") > recorded["certificate"].pop("schema")
    assert now["certificate"].keys() - recorded["certificate"].keys() == newer
    warned = [f"warning: {text}" for text in now["certificate"]["warnings"]]
    for name in newer:
        del now["certificate"][name]
    now["certificate"]["notes"] += warned  # where they stood before they had a place of their own
    assert now == recorded
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
