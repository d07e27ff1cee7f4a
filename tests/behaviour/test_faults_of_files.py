"""Disks that fail, journals that are not the right ones: rows of the table in docs/running.md."""

from __future__ import annotations

import os
import re
import resource
import shutil
import sqlite3
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

import surepath
from faults import (
    Undisturbed,
    check_goes_on,
    check_same,
    context,
    in_a_process,
    learn_and_die,
    row,
    tabular,
)
from flaky import Walk, content
from surepath import api
from surepath.errors import JournalError
from surepath.journal.database import Journal
from surepath.journal.tables import SCHEMA
from surepath.results.verify import verify
from surepath.run import executors, runner

# ---------------------------------------------------------------- the disk fails


@row("the run is killed")
@pytest.mark.usefixtures("often")
def test_the_run_is_killed(undisturbed: Undisturbed, tmp_path: Path) -> None:
    """Once, after some episodes; tests/run/test_runner.py kills at random times, many times."""
    path = tmp_path / "a.db"
    process = context().Process(target=learn_and_die, args=(path,))
    process.start()
    process.join()
    assert process.exitcode == -9
    check_goes_on(path, undisturbed)


@row("the disk is full")
@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("pages", [8, 10, 13, 17])
def test_the_disk_is_full(
    pages: int, undisturbed: Undisturbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Small(Journal):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            self._database.execute(f"PRAGMA max_page_count = {pages}")

    with monkeypatch.context() as patched:
        patched.setattr(api, "Journal", Small)
        with pytest.raises(JournalError, match=r"the disk is full.*is kept: free some space"):
            surepath.learn(Walk(), journal=tmp_path / "a.db")
    check_goes_on(tmp_path / "a.db", undisturbed)


def learn_with_little_space(path: Path, size: int, pipe: Connection) -> None:
    executors.SLICE = runner.FLUSH_SECONDS = 0.0
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    try:
        surepath.learn(Walk(), journal=path)
    except JournalError as error:
        pipe.send(str(error))


@row("the disk refuses to write")
@pytest.mark.parametrize("size", [300_000, 1_000_001])
def test_the_disk_refuses_to_write(size: int, undisturbed: Undisturbed, tmp_path: Path) -> None:
    """For real: files of the process may not grow beyond a size."""
    said = in_a_process(learn_with_little_space, tmp_path / "a.db", size)
    assert re.search(r"(disk refused to read or write|disk is full).*is kept", said)
    check_goes_on(tmp_path / "a.db", undisturbed)


@row("a folder does not exist or cannot be written")
def test_a_folder_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match=r"folder of a journal must exist.*Create .*nowhere"):
        surepath.learn(Walk(), journal=tmp_path / "nowhere" / "a.db")
    assert not (tmp_path / "nowhere").exists()


def learn_as_nobody(path: Path, pipe: Connection) -> None:
    if os.geteuid() == 0:  # who may write everywhere
        os.setuid(65534)
    try:
        surepath.learn(Walk(), journal=path)
    except JournalError as error:
        pipe.send(str(error))


@row("a folder does not exist or cannot be written")
def test_a_folder_cannot_be_written(undisturbed: Undisturbed) -> None:
    with tempfile.TemporaryDirectory() as name:  # those of pytest are closed to others
        check_refused_there(Path(name), undisturbed)


def check_refused_there(folder: Path, undisturbed: Undisturbed) -> None:
    shutil.copy(undisturbed[1], folder / "old.db")
    folder.chmod(0o000)
    closed = in_a_process(learn_as_nobody, folder / "old.db")
    assert re.search(r"cannot be opened.*old.db.*Check the path and its rights", closed)
    folder.chmod(0o555)
    fresh = in_a_process(learn_as_nobody, folder / "new.db")
    assert re.search(r"folder.*must be writable.*new.db.*Check the rights", fresh)
    old = in_a_process(learn_as_nobody, folder / "old.db")
    assert re.search(r"folder.*must be writable.*old.db.*Check the rights", old)
    folder.chmod(0o755)
    assert content(folder / "old.db") == content(undisturbed[1])
    assert not (folder / "new.db").exists()


# ---------------------------------------------------------------- the journal is not the right one


@row("two runs use one journal")
def test_two_runs_use_one_journal(undisturbed: Undisturbed, tmp_path: Path) -> None:
    path, refused = tmp_path / "a.db", list[str]()

    class Twice(Walk):
        def play(self, actions: Any, seed: int) -> Any:
            if not refused:
                refused.append(in_a_process(learn_and_say, path))
            return super().play(actions, seed)

    result = surepath.learn(Twice(), journal=path)
    assert re.search(r"another process has this journal open.*One process at a time", refused[0])
    check_same(result, path, undisturbed)


def learn_and_say(path: Path, pipe: Connection) -> None:
    try:
        surepath.learn(Walk(), journal=path)
    except JournalError as error:
        pipe.send(str(error))


@row("the file of a journal was cut")
@pytest.mark.parametrize("share", [1e-9, 0.002, 0.1, 1 / 3, 0.5, 0.8, 0.97, 1.0])
def test_the_file_of_a_journal_was_cut(
    share: float, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    path, data = tmp_path / "a.db", undisturbed[1].read_bytes()
    cut = data[: max(1, min(int(share * len(data)), len(data) - 1))]
    path.write_bytes(cut)
    if share > 0.95:  # the last page may hold only what is written again at the end
        try:
            again = surepath.learn(Walk(), journal=path)
        except JournalError:
            pass  # it held more: refused, as below
        else:
            check_same(again, path, undisturbed)
            return
    for _ in range(2):
        with pytest.raises(JournalError, match=r"damaged|not a journal"):
            surepath.learn(Walk(), journal=path)
        with pytest.raises(JournalError, match=r"damaged|not a journal"):
            Journal(path)
    assert path.read_bytes() == cut


@row("the log beside a journal was cut")
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 0.999])
def test_the_log_beside_a_journal_was_cut(
    share: float, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    """The file that SQLite keeps beside a journal in use: what follows the cut is run again."""
    process = context().Process(target=learn_and_die, args=(tmp_path / "a.db",))
    process.start()
    process.join()
    log = tmp_path / "a.db-wal"
    data = log.read_bytes()
    before = len(content(tmp_path / "a.db"))
    log.write_bytes(data[: int(share * len(data))])
    found = check_goes_on(tmp_path / "a.db", undisturbed, some=None)
    assert len(found) < before


@row("a byte of a journal changed")
@pytest.mark.parametrize("field", ["actions", "header", "arrays", "first", "count", "checksum"])
def test_a_byte_of_a_journal_changed(field: str, undisturbed: Undisturbed, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    shutil.copy(undisturbed[1], path)
    where = "WHERE batch = 2 AND request = 0"
    with sqlite3.connect(path) as database:
        (value,) = database.execute(f"SELECT {field} FROM readings {where}").fetchone()
        if isinstance(value, bytes):
            value = value[:3] + bytes([value[3] ^ 4]) + value[4:]
        elif isinstance(value, str):
            value = value[:2] + chr(ord(value[2]) ^ 1) + value[3:]
        else:
            value = value ^ 1
        database.execute(f"UPDATE readings SET {field} = ? {where}", (value,))
    database.close()
    changed = path.read_bytes()
    with pytest.raises(JournalError, match=r"damaged.*checksum of batch 2, request 0"):
        surepath.learn(Walk(), journal=path)
    with pytest.raises(JournalError, match="Restore the file from a copy"):
        verify(path)
    assert path.read_bytes() == changed


OTHERS: list[tuple[str, Any, dict[str, Any], str]] = [
    ("problem", tabular(seed=2), {}, r"system: \{.*'seed': 1.*in the journal, .*'seed': 2.* now"),
    ("system", Walk(), {}, r"system: .*tabular.*in the journal, \{'system': 'walk'\} now"),
    ("horizon", tabular(), {"horizon": 2}, "horizon: 3 in the journal, 2 now"),
    ("features", tabular(), {"features": "onehot"}, "features: 'auto' in .*, 'onehot' now"),
    ("seed", tabular(), {"seed": 5}, "seed: 0 in the journal, 5 now"),
    ("delta", tabular(), {"delta": 0.1}, r"delta: 0\.05 in the journal, 0\.1 now"),
    ("schedule", tabular(), {"schedule": "tight"}, "schedule: 'adaptive' in .*, 'tight' now"),
    ("future", tabular(), {"future": 2, "seed": 1}, "future: None in .*; seed: 0 in .*, 1 now"),
]


@row("a journal is of another run")
@pytest.mark.parametrize(("name", "system", "how", "message"), OTHERS)
def test_a_journal_is_of_another_run(
    name: str, system: Any, how: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.db"
    first = surepath.learn(tabular(), journal=path)
    before = content(path)
    with pytest.raises(JournalError, match=r"journal of another run.*" + message + ".*a new path"):
        surepath.learn(system, journal=path, **how)
    assert content(path) == before
    assert surepath.learn(tabular(), journal=path) == first


@row("a file is not a journal")
@pytest.mark.parametrize("kind", ["text", "short", "saved result", "database", "folder"])
def test_a_file_is_not_a_journal(kind: str, undisturbed: Undisturbed, tmp_path: Path) -> None:
    path = tmp_path / "file"
    if kind == "saved result":
        undisturbed[0].save(path)
    elif kind == "database":
        with sqlite3.connect(path) as database:
            database.execute("CREATE TABLE t (x)")
        database.close()
    elif kind == "folder":
        path.mkdir()
    else:
        path.write_text("a" if kind == "short" else "some text\n" * 1000)
    before = None if kind == "folder" else path.read_bytes()
    with pytest.raises(JournalError, match="not a journal"):
        surepath.learn(Walk(), journal=path)
    with pytest.raises(JournalError, match="not a journal"):
        Journal(path)
    if before is not None:
        assert path.read_bytes() == before


@row("a journal is of a newer version")
def test_a_journal_is_of_a_newer_version(undisturbed: Undisturbed, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    shutil.copy(undisturbed[1], path)
    with sqlite3.connect(path) as database:
        database.execute(f"PRAGMA user_version = {SCHEMA + 1}")
    database.close()
    before = path.read_bytes()
    with pytest.raises(JournalError, match=f"newer version.*schema {SCHEMA + 1}, known up to"):
        surepath.learn(Walk(), journal=path)
    assert path.read_bytes() == before
