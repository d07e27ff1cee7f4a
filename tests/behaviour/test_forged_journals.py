"""Journals that were changed by somebody who made their checksums right again."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

import surepath
from faults import Undisturbed, tabular
from flaky import Faulty, Gauge, Walk, breaks
from forging import forged
from surepath.api import verify
from surepath.errors import EpisodeError, InputError
from surepath.run.executors import Serial


def arrays_changed(place: int, value: int) -> Callable[[sqlite3.Connection], None]:
    def change(database: sqlite3.Connection) -> None:
        select = "SELECT arrays, header FROM readings WHERE batch = 1 AND request = 0"
        data, header = database.execute(select).fetchone()
        assert json.loads(header)[0][0] == "observations"
        place_in = place if place >= 0 else len(data) + place
        data = data[:place_in] + value.to_bytes(1, "little") + data[place_in + 1 :]
        database.execute("UPDATE readings SET arrays = ? WHERE batch = 1 AND request = 0", (data,))

    return change


def symbol(database: sqlite3.Connection) -> None:
    data = database.execute("SELECT arrays FROM readings WHERE batch = 1").fetchone()[0]
    arrays_changed(0, (data[0] + 1) % 4)(database)


def reward(database: sqlite3.Connection) -> None:
    data = database.execute("SELECT arrays FROM readings WHERE batch = 1").fetchone()[0]
    arrays_changed(-1, 0 if data[-1] else 0x3F)(database)


def missing(database: sqlite3.Connection) -> None:
    database.execute("DELETE FROM readings WHERE batch = 2")


def extra(database: sqlite3.Connection) -> None:
    database.execute(
        "INSERT INTO readings SELECT batch + 1000, request, first, count, actions, kind, header, "
        "arrays, origin, number + 1000, checksum FROM readings WHERE batch = 1"
    )


def other_actions(database: sqlite3.Connection) -> None:
    found = database.execute("SELECT actions FROM readings WHERE batch = 1").fetchone()[0]
    flipped = json.dumps([1 - action for action in json.loads(found)])
    database.execute("UPDATE readings SET actions = ? WHERE batch = 1 AND request = 0", (flipped,))


FORGERIES = [
    symbol, reward, missing, extra, other_actions,
    arrays_changed(0, 9), arrays_changed(7, 0x80), arrays_changed(-1, 0xFF),
]  # fmt: skip


@pytest.mark.parametrize("change", FORGERIES)
def test_a_forged_journal_does_not_verify(
    change: Callable[[sqlite3.Connection], None], undisturbed: Undisturbed, tmp_path: Path
) -> None:
    path = tmp_path / "a.db"
    shutil.copy(undisturbed[1], path)
    forged(path, lambda database: None)
    assert verify(path).certified
    forged(path, change)
    found = verify(path)
    assert not found.agrees
    assert not found.certified
    assert any("episodes" in difference for difference in found.differences)


def test_journals_of_other_systems_verify(tmp_path: Path) -> None:
    for name, system, how in (
        ("vectors", Gauge(), {"features": "linear"}),
        ("kernel", Gauge(), {}),
        ("summaries", tabular(), {}),
        ("moments", surepath.make("gaussian", horizon=3, states=3, seed=1), {}),
        ("futures", surepath.make("overcomplete", horizon=4), {"future": 2}),
        ("auto", tabular(), {"future": "auto"}),
        ("stopped", Walk(), {"budget": 50}),
    ):
        result = surepath.learn(system, journal=tmp_path / f"{name}.db", **how)
        found = verify(tmp_path / f"{name}.db")
        assert found.differences == (), name
        assert found.certified == result.certified, name


def test_a_run_that_has_not_ended_is_not_verified(tmp_path: Path) -> None:
    with pytest.raises(EpisodeError):
        surepath.learn(
            Faulty(fault=breaks, share=50), journal=tmp_path / "a.db", workers=Serial(retries=0)
        )
    with pytest.raises(InputError, match=r"has not ended.*surepath resume"):
        verify(tmp_path / "a.db")


def test_results_of_fixed_schedules_have_nothing_to_verify(tmp_path: Path) -> None:
    surepath.learn(tabular(), schedule="tight", journal=tmp_path / "a.db")
    with pytest.raises(InputError, match="holds no readings"):
        verify(tmp_path / "a.db")
