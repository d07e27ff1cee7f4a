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
from forging import forged
from places import ASSETS
from surepath.api import verify
from surepath.cli import app
from surepath.errors import InputError, JournalError
from surepath.journal import identity
from surepath.journal.database import APPLICATION, Journal
from surepath.journal.identity import ENGINE
from surepath.journal.rows import Fault, Origin, Row
from surepath.journal.tables import SCHEMA
from surepath.results.result import restored
from surepath.system import Episodes

OLD = ASSETS / "journal_schema_1.db"  # from before there was an engine's version
ENGINE_2 = ASSETS / "journal_engine_2.db"  # of schema 1
ENGINE_3 = ASSETS / "journal_engine_3.db"  # of schema 1
SCHEMA_2 = ASSETS / "journal_schema_2.db"  # of engine 3
ENGINE_4 = ASSETS / "journal_engine_4.db"  # of schema 2, like the next ones
ENGINE_5 = ASSETS / "journal_engine_5.db"
ENGINE_6 = ASSETS / "journal_engine_6.db"
ENGINE_7 = ASSETS / "journal_engine_7.db"
ENGINE_8 = ASSETS / "journal_engine_8.db"
ENGINE_9 = ASSETS / "journal_engine_9.db"
ENGINE_10 = ASSETS / "journal_engine_10.db"
ENGINE_11 = ASSETS / "journal_engine_11.db"
NOW = ASSETS / "journal_engine_12.db"
CONFIGURATION = {"system": {"system": "test"}, "seed": 0}


# ---------------------------------------------------------------- damage


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "a.db"
    surepath.learn(Walk(), journal=path)
    return path


def all_of(path: Path) -> list[object]:
    """Every value of every table, after every checksum was compared."""
    with Journal(path) as journal:
        journal.check()
        with journal._explained():
            return [
                journal._database.execute(f"SELECT * FROM {table}").fetchall()
                for table in ("meta", "readings", "faults")
            ]


def test_flipped_bytes_show_or_do_not_matter(sound: Path, tmp_path: Path) -> None:
    """Wherever one byte changes: what is read is what was written, or it is refused.

    Bytes that may change unseen are those of unused space, and of the header of the file: numbers
    that count its changes, and of whose writer and encoding nothing is read.
    """
    before, data = all_of(sound), sound.read_bytes()
    unseen = list[int]()
    for place in [*range(100), *range(100, len(data), 83)]:
        path = tmp_path / "flipped.db"
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :])
        try:
            found = all_of(path)
        except JournalError:
            continue
        assert found == before, place
        unseen.append(place)
    used = [place for place in unseen if place >= 100 and data[place]]
    assert len(used) < 0.02 * len(data) / 83, used  # what was deleted and not written over


@pytest.mark.parametrize("table", ["meta", "faults", "readings"])
def test_a_change_of_any_value_is_named(table: str, sound: Path, tmp_path: Path) -> None:
    """Of every column of every table; what was changed stands in the message."""
    columns = {
        "meta": ("key", "value", "checksum"),
        "faults": ("batch", "request", "episode", "attempt", "error", "checksum"),
        "readings": ("first", "count", "actions", "kind", "header", "arrays", "origin", "checksum"),
    }
    places = {
        "meta": "the entry",
        "faults": "a failed attempt at batch",
        "readings": r"batch \d+, request \d+, episode",
    }
    for column in columns[table]:
        path = tmp_path / f"{column}.db"
        shutil.copy(sound, path)
        with Journal(path, configuration_of(path)) as journal:
            journal.add([], [Fault(0, 0, 0, 0, "OSError: stuck")])
        with sqlite3.connect(path) as database:
            (value,) = database.execute(f"SELECT {column} FROM {table} LIMIT 1").fetchone()
            change = f"UPDATE {table} SET {column} = ? WHERE {column} = ?"
            database.execute(change, (other_than(value), value))
        database.close()
        with Journal(path) as journal, pytest.raises(JournalError, match=places[table]):
            journal.check()


def other_than(value: Any) -> Any:
    if isinstance(value, bytes):
        return value[::-1]
    return value + (" " if isinstance(value, str) else 1)


def configuration_of(path: Path) -> dict[str, Any]:
    with Journal(path) as journal:
        return journal.configuration


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("DELETE FROM readings WHERE batch = 1", "the first that differs is number"),
        ("DELETE FROM readings WHERE number = (SELECT max(number) FROM readings)", "were, and"),
        ("DELETE FROM meta WHERE key = 'result'", "entries are not of one state of this file"),
        ("DELETE FROM meta WHERE key = 'head'", "end of the chain of checksums is missing"),
    ],
)
def test_what_is_missing_shows(change: str, message: str, sound: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    shutil.copy(sound, path)
    on_database(change)(path)
    with Journal(path) as journal, pytest.raises(JournalError, match=message):
        journal.check()


def test_rows_of_two_states_of_a_file_are_not_one_file(sound: Path, tmp_path: Path) -> None:
    """Each row fits its own checksum: the chain does not fit."""
    path = tmp_path / "a.db"
    shutil.copy(sound, path)
    forged(path, lambda database: database.execute("UPDATE readings SET count = count + 1"))
    with sqlite3.connect(sound) as database:
        (head, own) = database.execute(
            "SELECT value, checksum FROM meta WHERE key = 'head'"
        ).fetchone()
    database.close()
    with sqlite3.connect(path) as database:
        change = "UPDATE meta SET value = ?, checksum = ? WHERE key = 'head'"
        database.execute(change, (head, own))
    database.close()
    with Journal(path) as journal, pytest.raises(JournalError, match="rows and failed attempts"):
        journal.check()


def test_opening_hashes_no_row(sound: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed = list[object]()
    monkeypatch.setattr("surepath.journal.rows.check_row", hashed.append)
    monkeypatch.setattr("surepath.journal.chain.check_row", hashed.append)
    for configuration in (None, configuration_of(sound)):
        with Journal(sound, configuration):
            assert not hashed
    with Journal(sound) as journal:
        journal.check()
    assert hashed


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
    with (
        Journal(path) as journal,
        pytest.raises(JournalError, match=r"the journal is damaged.*batch 1, request 0"),
    ):
        journal.batch(1)


def test_a_text_that_is_not_json_is_damage(sound: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    shutil.copy(sound, path)
    forged(path, lambda database: database.execute("UPDATE meta SET value='{' WHERE key='result'"))
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


@pytest.mark.parametrize(
    ("asset", "engine"),
    [
        (OLD, 1),
        (ENGINE_2, 2),
        (ENGINE_3, 3),
        (SCHEMA_2, 3),
        (ENGINE_4, 4),
        (ENGINE_5, 5),
        (ENGINE_6, 6),
        (ENGINE_7, 7),
        (ENGINE_8, 8),
        (ENGINE_9, 9),
        (ENGINE_10, 10),
        (ENGINE_11, 11),
    ],
    ids=lambda each: each.stem if isinstance(each, Path) else f"engine {each}",
)
def test_a_journal_of_another_engine_is_read_but_not_continued(
    asset: Path, engine: int, tmp_path: Path
) -> None:
    path = tmp_path / "old.db"
    shutil.copy(asset, path)  # readers leave files beside it
    before = content(path)
    message = rf"another version.*engine {engine} in the journal.*new path"
    with pytest.raises(JournalError, match=message):
        surepath.learn(problem_of_the_assets(), journal=path)
    resumed = CliRunner().invoke(app, ["resume", str(path)])
    assert resumed.exit_code == 2
    assert "another version of surepath" in " ".join(resumed.output.split())
    assert content(path) == before
    with Journal(path) as journal:
        assert journal.configuration["system"]["problem"] == "tabular"


@pytest.mark.parametrize(
    "asset",
    [
        OLD,
        ENGINE_2,
        ENGINE_3,
        SCHEMA_2,
        ENGINE_4,
        ENGINE_5,
        ENGINE_6,
        ENGINE_7,
        ENGINE_8,
        ENGINE_9,
        ENGINE_10,
        ENGINE_11,
    ],
    ids=lambda asset: asset.stem,
)
def test_a_certificate_by_older_rules_is_not_derived_again(asset: Path, tmp_path: Path) -> None:
    shutil.copy(asset, tmp_path / "old.db")
    with pytest.raises(InputError, match="rules of an older version"):
        verify(tmp_path / "old.db")


def test_a_journal_of_another_engine_by_rules_of_today_is_verified_but_for_what_it_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "old.db"
    with monkeypatch.context() as before:
        before.setattr(identity, "ENGINE", ENGINE - 1)
        write_asset(path)
    found = verify(path)
    assert found.certified
    assert any("asked for just these episodes" in each for each in found.taken)


def test_a_journal_of_this_engine_is_read_replayed_and_verified(tmp_path: Path) -> None:
    assert ENGINE == 12, "a new engine needs a sample of its own; keep the old ones"
    path = tmp_path / "old.db"
    shutil.copy(NOW, path)
    with Journal(path) as journal:
        recorded = journal.get("result")
    before = content(path)
    assert verify(path).certified
    assert verify(path).taken == ()
    problem = problem_of_the_assets()

    def nothing_new(*_: object) -> None:
        raise AssertionError("everything is recorded")

    problem.summarise = problem.rollout = nothing_new
    result = surepath.learn(problem, journal=path)
    assert result.saved() == recorded
    assert result.to_dict() == {**restored(recorded).to_dict()}
    assert result.certified
    assert content(path) == before
    assert verify(path).certified
    with Journal(path) as journal:
        journal.check()
        assert journal.schema == SCHEMA


def test_a_journal_of_an_older_schema_becomes_one_of_this_where_it_is_written(
    tmp_path: Path,
) -> None:
    path = tmp_path / "old.db"
    shutil.copy(ENGINE_3, path)
    before = content(path)
    with Journal(path, configuration_of(path)) as journal:
        journal.check()
        assert journal.schema == SCHEMA
        assert {row.origin for row in journal.rows()} == {Origin.ASKED}
    assert content(path) == before


def test_a_journal_of_an_older_schema_is_left_as_it_is_by_readers(tmp_path: Path) -> None:
    for asset in (OLD, ENGINE_2, ENGINE_3):
        path = tmp_path / asset.name
        shutil.copy(asset, path)
        with Journal(path) as journal:
            journal.check()
            origins = {row.origin for row in journal.rows()}
            assert journal.schema == 1
        assert origins == {Origin.ASKED}
        assert path.read_bytes() == asset.read_bytes()


def test_the_schema_is_what_is_written(sound: Path) -> None:
    assert SCHEMA == 2, "a new schema needs a sample of its own; keep the old ones"
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
