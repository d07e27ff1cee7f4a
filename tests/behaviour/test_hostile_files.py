"""Files that somebody made to do harm are refused, before they take memory or time."""

from __future__ import annotations

import base64
import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import surepath
from faults import TIMEOUT, Undisturbed, row
from forging import make_right
from surepath.errors import InputError, JournalError
from surepath.journal.chain import HEAD, set_entry
from surepath.journal.database import Journal
from surepath.results.verify import verify

LONG = "x" * 100_000_000
HUGE = json.dumps([["observations", "<i8", [2**40, 0]], ["rewards", "<f8", [2**40, 0]]])


ALIAS = json.dumps([["observations", "a8", [1]]])  # NumPy warns of it


# ---------------------------------------------------------------- results


def shape(**sizes: int) -> Callable[[dict[str, Any]], None]:
    return lambda data: data["certificate"]["terms"]["shape"].update(sizes)


def many_actions(data: dict[str, Any]) -> None:
    """Sizes that fit each other, and would make tables of a hundred million cells."""
    shape(n_actions=2**20)(data)
    data["usage"]["n_actions"] = 2**20
    data["certificate"]["levels"] = []


def prefix(data: dict[str, Any]) -> None:
    data["record"][1]["prefix"] = [0] * 100_000


def array(data: dict[str, Any]) -> None:
    data["record"][0]["observations"][1] = {"shape": [2**40, 0], "float64": ""}


def squares(data: dict[str, Any]) -> None:
    """Of one prefix those of the other kind: all products of features, or their diagonal."""
    _, total, products = data["record"][1]["observations"]
    dimension = total["shape"][0]
    whole = len(products["shape"]) == 1
    size = dimension**2 if whole else dimension
    data["record"][1]["observations"][2] = {
        "shape": [dimension, dimension] if whole else [dimension],
        "float64": base64.b64encode(bytes(8 * size)).decode(),
    }


def no_actions(data: dict[str, Any]) -> None:
    data["actions"] = []


def tolerance(data: dict[str, Any]) -> None:
    """Its square is no number."""
    data["certificate"]["terms"]["tolerance"] = 1e160


def guarantee(data: dict[str, Any]) -> None:
    data["certificate"]["terms"]["guarantee"] = "mine"


def expansions(data: dict[str, Any]) -> None:
    data["usage"]["expansions"] = []


def episodes(data: dict[str, Any]) -> None:
    data["episodes"] += 1


@row("a result was made up to do harm")
@pytest.mark.parametrize(
    ("change", "place"),
    [
        (shape(horizon=10**29), r"terms\.shape\.horizon must be a number between 1 and 10000"),
        (shape(dimension=2**31), r"terms\.shape\.dimension"),
        (shape(dimension=7), r"record\[0\]\.observations are features of 7 numbers"),
        (many_actions, "at most 16777216 cells"),
        (prefix, r"record\[1\]\.prefix"),
        (array, r"record\[0\]\.observations"),
        (squares, r"record\[\d+\]\.observations"),
        (no_actions, "an action for each level"),
        (tolerance, r"certificate\.terms\.tolerance"),
        (guarantee, "guarantee"),
        (expansions, "usage has expansions for each level"),
        (episodes, r"episodes must be \d+, as follows from the rest"),
    ],
)
def test_a_result_was_made_up(
    change: Callable[[dict[str, Any]], None], place: str, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    data = json.loads(json.dumps(undisturbed[0].saved()))
    change(data)
    path = tmp_path / "a.json"
    path.write_text(json.dumps(data))
    for read in (surepath.load, verify):
        with pytest.raises(InputError, match=place):
            read(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 10**6, "nested too deeply"),
        ('{"schema": NaN}', "NaN is not a number"),
        ('{"schema": ' + "9" * 5000 + "}", "digits"),
        ('{"schema": 1e999}', "schema inf"),
        ('{"schema": true}', "schema True"),
        ('{"schema": 5}', "must be an object that has"),
    ],
)
def test_a_text_was_made_up(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        surepath.load(path)


# ---------------------------------------------------------------- journals


def on_rows(statement: str, *given: object) -> Callable[[sqlite3.Connection], None]:
    """A change of rows or entries, after which all checksums are right."""

    def change(database: sqlite3.Connection) -> None:
        database.execute(statement, given)
        make_right(database)

    return change


def on_tables(*statements: str) -> Callable[[sqlite3.Connection], None]:
    def change(database: sqlite3.Connection) -> None:
        for statement in statements:
            database.execute(statement)

    return change


def head(text: str) -> Callable[[sqlite3.Connection], None]:
    """Another end of the chain, with a checksum of its own that is right."""
    return lambda database: set_entry(database, HEAD, text)


ENDLESS = (
    "CREATE VIEW readings AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
    "SELECT x AS batch, 0 AS request, 0 AS first, 1 AS count, '' AS actions, '' AS kind, "
    "'' AS header, x'' AS arrays, '' AS origin, x AS number, x'' AS checksum FROM c"
)
TRIGGER = "CREATE TRIGGER t AFTER INSERT ON readings BEGIN DELETE FROM readings; END"
FIRST = "WHERE batch = 1 AND request = 0"


def made_up(
    change: Callable[[sqlite3.Connection], None], undisturbed: Undisturbed, tmp_path: Path
) -> Path:
    path = tmp_path / "a.db"
    shutil.copy(undisturbed[1], path)
    database = sqlite3.connect(path)
    change(database)
    database.commit()
    database.close()
    return path


@row("a journal was made up to do harm")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (on_tables("ALTER TABLE readings RENAME TO r", ENDLESS), "table r is not ours"),
        (on_tables(TRIGGER), "trigger t is not ours"),
        (on_tables("CREATE INDEX i ON readings (count)"), "index i is not ours"),
        (on_tables("DROP TABLE faults"), "table faults is missing"),
        (on_tables("ALTER TABLE meta ADD COLUMN x"), "table meta is not as it was made"),
        (on_rows(f"UPDATE readings SET header = ? {FIRST}", HUGE), "batch 1.*array is too large"),
        (on_rows(f"UPDATE readings SET header = '[[' {FIRST}"), "batch 1.*header cannot be read"),
        (on_rows(f"UPDATE readings SET actions = '[\"a\"]' {FIRST}"), r"batch 1.*actions\[0\]"),
        (on_rows(f"UPDATE readings SET header = ? {FIRST}", ALIAS), "batch 1.*of another type"),
        (on_rows(f"UPDATE readings SET kind = 'other' {FIRST}"), "batch 1.*episodes or a summary"),
        (on_rows(f"UPDATE readings SET count = 'many' {FIRST}"), "batch 1.*of a wrong type"),
        (on_rows(f"UPDATE readings SET count = -1 {FIRST}"), "batch 1.*number of episodes"),
        (on_rows(f"UPDATE readings SET origin = 'mine' {FIRST}"), "batch 1.*'mine' is not a valid"),
        (on_tables(f"UPDATE readings SET number = 'x' {FIRST}"), "batch 1.*of a wrong type"),
        (on_rows("UPDATE meta SET value = x'00' WHERE key = 'result'"), "result is not a text"),
        (on_rows("UPDATE meta SET value = '[[' WHERE key = 'result'"), "result cannot be read"),
        (on_rows("UPDATE meta SET value = '[1]' WHERE key = 'configuration'"), "not an object"),
        (on_rows("UPDATE meta SET key = NULL WHERE key = 'checkpoint'"), "name of an entry"),
        (head('{"records": 1e999}'), "end of the chain cannot be read.*records"),
        (head('{"records": 1, "chain": "xy", "entries": ""}'), "end of the chain cannot be read"),
    ],
)  # fmt: skip
def test_a_journal_was_made_up(
    change: Callable[[sqlite3.Connection], None],
    message: str,
    undisturbed: Undisturbed,
    tmp_path: Path,
) -> None:
    path = made_up(change, undisturbed, tmp_path)
    with pytest.raises(JournalError, match=message):
        verify(path)


def test_a_table_is_named_in_bytes_that_are_no_text(
    undisturbed: Undisturbed, tmp_path: Path
) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(
        undisturbed[1].read_bytes().replace(b"CREATE TABLE faults", b"CREATE TABL\xe5 fau\xe5ts")
    )
    with pytest.raises(JournalError, match="damaged"):
        Journal(path)


def test_a_symbol_is_larger_than_memory(undisturbed: Undisturbed, tmp_path: Path) -> None:
    def change(database: sqlite3.Connection) -> None:
        (data,) = database.execute(f"SELECT arrays FROM readings {FIRST}").fetchone()
        large = (2**40).to_bytes(8, "little") + data[8:]
        on_rows(f"UPDATE readings SET arrays = ? {FIRST}", large)(database)

    found = verify(made_up(change, undisturbed, tmp_path))
    assert any("one was read that is 1099511627776" in each for each in found.differences)


def test_symbols_are_dates(undisturbed: Undisturbed, tmp_path: Path) -> None:
    change = on_rows(f"UPDATE readings SET header = replace(header, '<i8', '<m8[s]') {FIRST}")
    found = verify(made_up(change, undisturbed, tmp_path))
    assert any("symbols are numbers" in each for each in found.differences)


# ---------------------------------------------------------------- memory

READ = """
import re, sys
from pathlib import Path
from surepath.errors import InputError, JournalError
from surepath.results.verify import verify
try:
    verify(sys.argv[1])
except (InputError, JournalError) as error:
    print(type(error).__name__)
print(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="counts the memory of Linux")
@pytest.mark.parametrize("place", ["result", "meta", "header", "count"])
def test_a_hundred_megabytes_of_text_are_not_taken_in(
    place: str, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    if place == "result":
        path = tmp_path / "a.json"
        path.write_text('{"schema": 5, "claim": "' + LONG + '"}')
    elif place == "meta":
        change = "UPDATE meta SET value = ? WHERE key = 'result'"
        path = made_up(lambda d: d.execute(change, (LONG,)), undisturbed, tmp_path)  # pyright: ignore
    else:
        change = f"UPDATE readings SET {place} = ? {FIRST}"
        path = made_up(lambda d: d.execute(change, (LONG,)), undisturbed, tmp_path)  # pyright: ignore
    ran = subprocess.run(
        [sys.executable, "-c", READ, str(path)],
        check=True, capture_output=True, text=True, timeout=TIMEOUT,
    )  # fmt: skip
    error, kilobytes = ran.stdout.split()
    assert error == ("InputError" if place == "result" else "JournalError")
    assert int(kilobytes) < 200 * 1024


def test_a_database_of_a_stranger_is_not_trusted(undisturbed: Undisturbed) -> None:
    with Journal(undisturbed[1]) as journal:
        for setting, value in (("trusted_schema", 0), ("cell_size_check", 1)):
            found = journal._database.execute(f"PRAGMA {setting}").fetchone()
            assert found == (value,)
