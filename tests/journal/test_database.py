"""The journal: what goes in comes out, all of it or nothing, whatever happens in between."""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surepath
from flaky import Walk
from places import TESTS
from surepath.errors import JournalError
from surepath.journal import tables
from surepath.journal.database import Journal, is_journal
from surepath.journal.rows import Fault, Row
from surepath.system import Episodes, Summary

CONFIGURATION = {"system": {"system": "test"}, "seed": 0}


def row(batch: int = 0, request: int = 0, first: int = 0, count: int = 2, fill: float = 0.5) -> Row:
    episodes = Episodes((0, 1), np.full((count, 3), 1), np.full((count, 2), fill))
    return Row(batch, request, first, episodes)


# ---------------------------------------------------------------- what was recorded


def test_rows_come_back_in_the_order_of_the_run(tmp_path: Path) -> None:
    places = [(1, 0, 0), (0, 1, 2), (0, 1, 0), (2**33, 0, 0), (0, 0, 0)]
    with Journal(tmp_path / "a.db", CONFIGURATION) as journal:
        journal.add([row(*place) for place in places], [Fault(0, 0, 3, 1, "E: é\n")])
        assert [(r.batch, r.request, r.first) for r in journal.rows()] == sorted(places)
        assert [(r.request, r.first) for r in journal.batch(0)] == [(0, 0), (1, 0), (1, 2)]
        assert journal.count() == (10, 1)


def test_counts_beyond_the_integers_of_the_file_add_up(tmp_path: Path) -> None:
    rows = [Row(0, i, 0, Summary((0,), 2**62, {}, {})) for i in range(4)]
    with Journal(tmp_path / "a.db", CONFIGURATION) as journal:
        journal.add(rows)
        assert journal.count() == (2**64, 0)


def test_values_come_back(tmp_path: Path) -> None:
    value = {"a": [1, 0.1, None, True, "x"], "b": {}}
    with Journal(tmp_path / "a.db", CONFIGURATION) as journal:
        journal.put("value", value)
        journal.put("value", {**value, "n": np.int64(3), "f": np.float32(0.5), "v": np.arange(2)})
        assert journal.get("value") == {**value, "n": 3, "f": 0.5, "v": [0, 1]}
        assert journal.get("nothing") is None
        assert journal.configuration == CONFIGURATION


@pytest.mark.parametrize(
    "bad", [np.array([[None, 1]], dtype=object), np.zeros((1, 2), dtype=[("a", "f8")])]
)
def test_what_is_no_number_is_refused(bad: Any, tmp_path: Path) -> None:
    with Journal(tmp_path / "a.db", CONFIGURATION) as journal:
        with pytest.raises(JournalError, match="arrays of numbers"):
            journal.add([row(), Row(0, 1, 0, Episodes((0,), bad, np.zeros((1, 1))))])
        assert journal.count() == (0, 0)


def test_an_identity_that_is_no_data_is_refused(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="set"):
        Journal(tmp_path / "a.db", {"system": {1, 2}})


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    first = surepath.learn(Walk(), journal=path, seed=np.int64(3), budget=10)  # pyright: ignore[reportArgumentType]
    assert surepath.learn(Walk(), journal=path, seed=3, budget=10) == first


# ---------------------------------------------------------------- all or nothing


def test_rows_are_recorded_together_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Journal(path, CONFIGURATION) as journal:
        journal.add([row(0)])
        with pytest.raises(JournalError):
            journal.add([row(1), row(2), row(0)])  # the last is there already
        assert [r.batch for r in journal.rows()] == [0]
        journal.add([row(1)])
    with Journal(path) as journal:
        assert [r.batch for r in journal.rows()] == [0, 1]


def test_an_error_inside_a_transaction_undoes_it(tmp_path: Path) -> None:
    with Journal(tmp_path / "a.db", CONFIGURATION) as journal:

        def interrupted() -> None:
            with journal._transaction():
                journal._set("key", 1)
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert journal.get("key") is None
        journal.put("key", 2)
        assert journal.get("key") == 2


def test_a_result_of_less_than_all_is_none(tmp_path: Path) -> None:
    """A run that went on after its budget ended has no result until it ends again."""
    path = tmp_path / "a.db"
    with Journal(path, CONFIGURATION) as journal:
        journal.add([row(0)])
        journal.put("result", {"value": 1})
        journal.add([])
        assert journal.get("result") == {"value": 1}
        journal.add([row(1)])
        assert journal.get("result") is None


# ---------------------------------------------------------------- one at a time


def hold(path: Path, pipe: Connection) -> None:
    with Journal(path, CONFIGURATION) as journal:
        number = 0
        while True:
            journal.add([row(number)])
            pipe.send(number)
            number += 1


def holder(path: Path) -> tuple[Any, Connection]:
    """A process that writes row after row, and says which are on the disk."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["surepath"])
    mine, theirs = context.Pipe()
    process = context.Process(target=hold, args=(path, theirs), daemon=True)
    process.start()
    theirs.close()
    assert mine.recv() == 0
    return process, mine


def test_nothing_that_was_recorded_is_lost_when_the_writer_is_killed(tmp_path: Path) -> None:
    rng = random.Random(0)
    for attempt in range(5):
        path = tmp_path / f"{attempt}.db"
        process, pipe = holder(path)
        time.sleep(rng.uniform(0, 0.1))
        process.kill()
        process.join()
        last = 0
        try:
            while True:
                last = pipe.recv()
        except (EOFError, OSError):
            pipe.close()
        with Journal(path) as journal:
            batches = [r.batch for r in journal.rows()]
        assert batches == list(range(len(batches)))
        assert len(batches) > last


def test_another_process_is_kept_out_until_the_first_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    process, pipe = holder(path)
    for configuration in (CONFIGURATION, None):
        with pytest.raises(JournalError, match="another process has this journal open") as refused:
            Journal(path, configuration)
        assert "wait for it to end" in str(refused.value)
    process.kill()
    process.join()
    pipe.close()
    with Journal(path, CONFIGURATION) as journal:
        assert journal.count()[0] >= 2
        for configuration in (CONFIGURATION, None):  # also in the same process
            with pytest.raises(JournalError, match="this journal is open already"):
                Journal(path, configuration)
    assert [file.name for file in tmp_path.iterdir()] == ["a.db"]
    with Journal(path) as first, Journal(path) as second:  # readers do not mind each other
        assert first.count() == second.count()
        with pytest.raises(JournalError, match="another process"):
            Journal(path, CONFIGURATION).put("key", 1)


def attempt(path: Path, pipe: Connection) -> None:
    """Whether a process of its own gets in, to write or to read."""
    answers = list[str]()
    for configuration in (CONFIGURATION, None):
        try:
            with Journal(path, configuration) as journal:
                answers.append(f"in, {journal.count()}")
        except JournalError as error:
            answers.append(error.what)
    pipe.send(answers)


def from_outside(path: Path) -> list[str]:
    context = multiprocessing.get_context("forkserver")
    mine, theirs = context.Pipe()
    process = context.Process(target=attempt, args=(path, theirs))
    process.start()
    answers: list[str] = mine.recv()
    process.join()
    return answers


def read_it(path: Path) -> None:
    path.read_bytes()


def copy_it(path: Path) -> None:
    shutil.copy(path, path.with_name("copy.db"))


def open_it_again(path: Path) -> None:
    for configuration in (CONFIGURATION, None):
        with pytest.raises(JournalError):
            Journal(path, configuration)


def fork(path: Path) -> None:
    """A child that ends as programs do: all that it inherited is closed."""
    child = os.fork()
    if child == 0:
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("disturb", [read_it, copy_it, open_it_again, fork])
def test_nothing_that_its_process_does_lets_another_one_in(
    disturb: Callable[[Path], None], tmp_path: Path
) -> None:
    """Closing a file by any descriptor ends the POSIX locks that its process has on it."""
    path = tmp_path / "a.db"
    script = f"""
import sys
sys.path[:0] = [{str(TESTS)!r}, {str(TESTS / "journal")!r}]
import test_database as t
with t.Journal(t.Path({str(path)!r}), t.CONFIGURATION) as journal:
    for number in range(4):
        journal.add([t.row(2 * number)])
        t.{disturb.__name__}(journal.path)
        assert all("another process" in said for said in t.from_outside(journal.path))
        journal.add([t.row(2 * number + 1)])
"""
    file = tmp_path / "script.py"
    body = script.replace("\n", "\n    ").rstrip()
    file.write_text(f"if __name__ == '__main__':{body}\n")
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with Journal(path) as journal:
        assert [each.batch for each in journal.rows()] == list(range(8))


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # nobody closes it: that is the point
def test_a_journal_that_was_lost_is_not_locked(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    journal = Journal(path, CONFIGURATION)
    journal.add([row()])
    del journal
    gc.collect()
    with Journal(path, CONFIGURATION) as again:
        assert again.count()[0] == row().readings.count
    assert not path.with_name("a.db.lock").exists()


def test_a_child_cannot_use_the_journal_of_its_parent(tmp_path: Path) -> None:
    with Journal(tmp_path / "a.db", CONFIGURATION) as journal:
        journal.add([row()])
        child = os.fork()
        if child == 0:
            try:
                journal.add([row(1)])
            except JournalError as error:
                os._exit(7 if "belongs to the process that opened it" in str(error) else 1)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        journal.add([row(1)])
        assert journal.count()[0] == 2 * row().readings.count


# ---------------------------------------------------------------- only reading


def test_without_a_configuration_it_only_reads(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with pytest.raises(JournalError, match="no such journal"):
        Journal(path)
    assert not path.exists()
    with Journal(path, CONFIGURATION) as journal:
        journal.add([row()])
    path.chmod(0o444)
    before = path.read_bytes()
    with Journal(path) as journal:
        assert journal.count() == (2, 0)
        with pytest.raises(JournalError, match="cannot be written"):
            journal.add([row(1)])
        with pytest.raises(JournalError, match="cannot be written"):
            journal.put("key", 1)
    assert path.read_bytes() == before


def read_as_nobody(path: Path, pipe: Connection) -> None:
    if os.geteuid() == 0:
        os.setuid(65534)
    try:
        with Journal(path) as journal:
            pipe.send(journal.count())
    except JournalError as error:
        pipe.send(str(error))


def test_a_journal_in_a_folder_of_others_can_be_read() -> None:
    with tempfile.TemporaryDirectory() as name:  # those of pytest are closed to others
        check_read_there(Path(name))


def check_read_there(folder: Path) -> None:
    with Journal(folder / "a.db", CONFIGURATION) as journal:
        journal.add([row()])
    folder.chmod(0o555)
    context = multiprocessing.get_context("forkserver")
    mine, theirs = context.Pipe()
    process = context.Process(target=read_as_nobody, args=(folder / "a.db", theirs))
    process.start()
    theirs.close()
    assert mine.recv() == (2, 0)
    process.join()
    mine.close()
    folder.chmod(0o755)


def begin_and_die(path: Path, statements: int) -> None:
    """Killed before the table of that number is made."""

    class Dying(Journal):
        def _set(self, key: str, value: Any) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

    made = tables.TABLES[tables.SCHEMA].split(";\n")
    tables.TABLES[tables.SCHEMA] = ";\n".join(made[:statements])
    Dying(path, CONFIGURATION)


@pytest.mark.parametrize("statements", [1, 3])
def test_a_run_that_was_killed_while_it_began_can_begin_again(
    statements: int, tmp_path: Path
) -> None:
    path = tmp_path / "a.db"
    context = multiprocessing.get_context("forkserver")
    process = context.Process(target=begin_and_die, args=(path, statements))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    with pytest.raises(JournalError, match=r"not begun.*Nothing is recorded"):
        Journal(path)
    with Journal(path, CONFIGURATION) as journal:
        journal.add([row()])
    with Journal(path) as journal:
        assert journal.count() == (2, 0)


def test_names_of_files_are_taken_as_they_are(tmp_path: Path) -> None:
    for name in ("a b.db", "50%.db", "what?mode=memory.db", "é#1.db"):
        with Journal(tmp_path / name, CONFIGURATION) as journal:
            journal.add([row()])
        assert (tmp_path / name).exists()
        assert is_journal(tmp_path / name)
        with Journal(str(tmp_path / name)) as journal:
            assert journal.count() == (2, 0)
