"""What can go wrong, and what happens then: each test is a row of the table in docs/running.md.

After every stop the journal opens and holds what was recorded before, and a sound system goes on
with it to the result of a run that was never disturbed.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

import flaky
import surepath
from clocks import PatientProcesses
from flaky import (
    Content,
    Faulty,
    Gauge,
    Walk,
    breaks,
    content,
    hangs,
    kills_its_worker,
    pays_nan,
    pays_too_much,
    reads_nan,
    unpicklable,
)
from places import ROOT, TESTS
from surepath import api
from surepath.errors import EpisodeError, InputError, JournalError
from surepath.journal.database import SCHEMA, Journal
from surepath.results.verify import verify
from surepath.run import executors, runner
from surepath.run.executors import Serial
from surepath.run.processes import Processes

cloudpickle.register_pickle_by_value(flaky)  # workers need not find this folder

TIMEOUT = 600
"""Seconds after which a script is taken to hang."""

ROWS = set[str]()


def row(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Says which row of the table a test shows."""
    ROWS.add(name)
    return lambda test: test


def test_every_row_of_the_table_is_shown() -> None:
    text = (ROOT / "docs" / "running.md").read_text()
    table = re.split(r"\| fault \|.*\n\|[-|]+\n", text)[1]
    named = [line.split("|")[1].strip() for line in table.split("\n\n")[0].splitlines()]
    assert set(named) == ROWS
    assert len(named) == len(set(named))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[surepath.Result, Path]:
    """Every request is one row and every batch one transaction, also on a slow machine."""
    path = tmp_path_factory.mktemp("undisturbed") / "a.db"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(executors, "SLICE", math.inf)
        patched.setattr(runner, "FLUSH_SECONDS", math.inf)
        result = surepath.learn(Walk(), journal=path)
    assert result.certified
    return result, path


Undisturbed = tuple[surepath.Result, Path]


def check_same(result: surepath.Result, path: Path, undisturbed: Undisturbed) -> None:
    whole, recorded = undisturbed
    assert result.actions == whole.actions
    assert result.episodes == whole.episodes
    assert result.certificate.to_dict() == whole.certificate.to_dict()
    assert result.record == whole.record
    assert content(path) == content(recorded)
    assert verify(path).certified


def check_goes_on(path: Path, undisturbed: Undisturbed, *, some: bool | None = True) -> Content:
    """The journal holds part of the undisturbed run, and a sound system ends it."""
    found, whole = content(path), content(undisturbed[1])
    assert some is None or bool(found) == some
    assert {place: whole[place] for place in found} == found
    check_same(surepath.learn(Walk(), journal=path), path, undisturbed)
    return found


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every episode is a row of its own, so that each stop has something before it."""
    monkeypatch.setattr(executors, "SLICE", 0.0)


# ---------------------------------------------------------------- the system fails


@row("an episode fails now and then")
def test_an_episode_fails_now_and_then(undisturbed: Undisturbed, tmp_path: Path) -> None:
    folder = tmp_path / "seen"
    folder.mkdir()
    system = Faulty(fault=breaks, folder=folder)
    result = surepath.learn(system, journal=tmp_path / "a.db", workers=Serial(pause=0.0))
    assert result.usage.retries == len(list(folder.iterdir())) > 0.02 * result.episodes
    check_same(result, tmp_path / "a.db", undisturbed)


@row("an episode fails on its own noise")
def test_an_episode_fails_on_its_own_noise(tmp_path: Path) -> None:
    system = Faulty(fault=breaks)
    how = {"journal": tmp_path / "a.db", "workers": Serial(pause=0.0)}
    result = surepath.learn(system, **how)
    assert result.certified
    assert result.usage.retries >= 2 * 0.02 * result.episodes
    with Processes(1, pause=0.0) as one:
        assert surepath.learn(system, workers=one) == result
    assert surepath.learn(system, **how) == result
    assert verify(tmp_path / "a.db").certified


@row("an episode fails every time")
@pytest.mark.usefixtures("often")
def test_an_episode_fails_every_time(undisturbed: Undisturbed, tmp_path: Path) -> None:
    def stuck(*_: object) -> Any:
        raise OSError("the arm is stuck")

    class Stuck(Faulty):
        def play(self, actions: Any, seed: int) -> Any:
            return stuck() if actions == (1, 0, 1) else super().play(actions, seed)

    with pytest.raises(EpisodeError) as stopped:
        surepath.learn(Stuck(), journal=tmp_path / "a.db", workers=Serial(retries=3, pause=0.0))
    for part in ("failed 4 times", "OSError: the arm is stuck", "actions 1 0 1", "same journal"):
        assert part in str(stopped.value)
    check_goes_on(tmp_path / "a.db", undisturbed)
    with Journal(tmp_path / "a.db") as journal:
        assert journal.count()[1] >= 4


@row("an episode hangs")
@pytest.mark.parametrize("always", [False, True])
def test_an_episode_hangs(
    always: bool, undisturbed: Undisturbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, hung = tmp_path / "seen", tmp_path / "hung"
    folder.mkdir()
    hung.mkdir()
    system = Faulty(fault=hangs, share=150, folder=None if always else folder, hung=hung)
    with PatientProcesses(
        1 if always else 2,
        time_limit=0.5,
        retries=1 if always else 4,
        hung=hung,
        monkeypatch=monkeypatch,
    ) as workers:
        if always:
            with pytest.raises(EpisodeError, match=r"failed 2 times.*longer than 0.5 s"):
                surepath.learn(system, journal=tmp_path / "a.db", workers=workers)
            assert len(list(hung.iterdir())) == workers.replaced == 2
            check_goes_on(tmp_path / "a.db", undisturbed)
        else:
            result = surepath.learn(system, journal=tmp_path / "a.db", workers=workers)
            times = len(list(folder.iterdir()))
            assert result.usage.replaced == result.usage.retries == times > 0
            check_same(result, tmp_path / "a.db", undisturbed)


BAD = [
    ("a reward is not a number", pays_nan, r"rewards must lie in \[0, 1\] and be finite.*nan"),
    ("a reward is outside the range", pays_too_much, r"Got: 7 at step 0 of .*reward_range"),
    ("an observation is not a number", reads_nan, r"observations must be finite.*nan at step 0"),
]


@row("a reward is not a number")
@row("a reward is outside the range")
@row("an observation is not a number")
@pytest.mark.usefixtures("often")
@pytest.mark.parametrize(("name", "fault", "message"), BAD)
def test_bad_readings(
    name: str, fault: Any, message: str, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    system = Faulty(fault=fault, share=100)
    with pytest.raises(InputError, match=message):
        surepath.learn(system, journal=tmp_path / "a.db")
    check_goes_on(tmp_path / "a.db", undisturbed)


# ---------------------------------------------------------------- workers fail


@row("a worker dies")
def test_a_worker_dies(undisturbed: Undisturbed, tmp_path: Path) -> None:
    folder = tmp_path / "seen"
    folder.mkdir()
    system = Faulty(fault=kills_its_worker, share=150, folder=folder)
    result = surepath.learn(system, journal=tmp_path / "a.db", workers=2)
    assert result.usage.replaced == len(list(folder.iterdir())) > 0
    assert result.usage.retries == 0
    check_same(result, tmp_path / "a.db", undisturbed)


@row("workers die every time")
def test_workers_die_every_time(undisturbed: Undisturbed, tmp_path: Path) -> None:
    system = Faulty(fault=kills_its_worker, share=60)
    with (
        Processes(1, retries=1) as one,
        pytest.raises(EpisodeError, match=r"workers died 2 times.*exit code -9"),
    ):
        surepath.learn(system, journal=tmp_path / "a.db", workers=one)
    check_goes_on(tmp_path / "a.db", undisturbed)


@row("a system cannot be sent to workers")
def test_a_system_cannot_be_sent_to_workers(undisturbed: Undisturbed, tmp_path: Path) -> None:
    system = unpicklable()
    try:
        with pytest.raises(InputError, match=r"cannot be sent to other processes.*without workers"):
            surepath.learn(system, journal=tmp_path / "a.db", workers=2)
    finally:
        system.handle.close()  # pyright: ignore[reportAttributeAccessIssue]
    check_goes_on(tmp_path / "a.db", undisturbed, some=False)


SCRIPT = """
import pathlib, sys
sys.path.insert(0, {folder!r})
with pathlib.Path({log!r}).open("a") as log:
    print("started", file=log)
import numpy, surepath
from flaky import Walk
from surepath.run.processes import Processes
system = Walk()
system.table = numpy.zeros({size})
surepath.learn(system, journal={journal!r}, workers=Processes(1, retries={retries}))
"""


@row("a script starts workers without a guard")
@pytest.mark.parametrize(("size", "retries"), [(1, 1), (10**6, 0)])  # the latter fills the pipe
def test_a_script_starts_workers_without_a_guard(
    size: int, retries: int, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    script, log, path = tmp_path / "script.py", tmp_path / "log", tmp_path / "a.db"
    names = {"folder": str(TESTS), "log": str(log), "journal": str(path)}
    script.write_text(SCRIPT.format(size=size, retries=retries, **names))
    ran = subprocess.run(
        [sys.executable, script], check=False, capture_output=True, text=True, timeout=TIMEOUT
    )
    assert ran.returncode == 1
    last = ran.stderr.strip().splitlines()[-1]
    assert f"workers died {retries + 1} times while they were starting" in last
    assert 'if __name__ == "__main__"' in last
    assert log.read_text().count("started") == retries + 2  # the script itself, and each worker
    check_goes_on(path, undisturbed, some=False)


@row("workers cannot build the system")
def test_workers_cannot_build_the_system(undisturbed: Undisturbed, tmp_path: Path) -> None:
    class Single(Walk):
        def __setstate__(self, state: dict[str, Any]) -> None:
            raise OSError("the device is in use")

    with (
        Processes(1, retries=0) as one,
        pytest.raises(
            EpisodeError, match=r"while they were starting.*OSError: the device is in use"
        ),
    ):
        surepath.learn(Single(), journal=tmp_path / "a.db", workers=one)
    check_goes_on(tmp_path / "a.db", undisturbed, some=False)


# ---------------------------------------------------------------- the disk fails


@row("the run is killed")
@pytest.mark.usefixtures("often")
def test_the_run_is_killed(undisturbed: Undisturbed, tmp_path: Path) -> None:
    """Once, after some episodes; tests/test_runner.py kills at random times, many times."""
    path = tmp_path / "a.db"
    process = context().Process(target=learn_and_die, args=(path,))
    process.start()
    process.join()
    assert process.exitcode == -9
    check_goes_on(path, undisturbed)


def context() -> Any:
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(["surepath"])
    return found


def learn_and_die(path: Path) -> None:
    executors.SLICE = runner.FLUSH_SECONDS = 0.0
    surepath.learn(Faulty(fault=kills_its_worker, share=100), journal=path)


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


def in_a_process(target: Callable[..., None], *given: Any) -> Any:
    """What the target sends."""
    mine, theirs = context().Pipe()
    process = context().Process(target=target, args=(*given, theirs))
    process.start()
    theirs.close()
    said = mine.recv()
    process.join()
    mine.close()
    return said


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
    if share > 0.95:  # of the last page only what was empty, or what is written again at the end
        check_same(surepath.learn(Walk(), journal=path), path, undisturbed)
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


def tabular(**other: Any) -> Any:
    return surepath.make(
        "tabular", **{"horizon": 3, "states": 3, "observations": 4, "seed": 1, **other}
    )


OTHERS: list[tuple[str, Any, dict[str, Any], str]] = [
    ("problem", tabular(seed=2), {}, r"system: \{.*'seed': 1.*in the journal, .*'seed': 2.* now"),
    ("system", Walk(), {}, r"system: .*tabular.*in the journal, \{'system': 'walk'\} now"),
    ("horizon", tabular(), {"horizon": 2}, "horizon: 3 in the journal, 2 now"),
    ("features", tabular(), {"features": "onehot"}, "features: 'auto' in .*, 'onehot' now"),
    ("seed", tabular(), {"seed": 5}, "seed: 0 in the journal, 5 now"),
    ("delta", tabular(), {"delta": 0.1}, r"delta: 0\.05 in the journal, 0\.1 now"),
    ("schedule", tabular(), {"schedule": "tight"}, "schedule: 'adaptive' in .*, 'tight' now"),
    ("future", tabular(), {"future": 2, "seed": 1}, "future: 1 in .*; seed: 0 in .*, 1 now"),
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


# ---------------------------------------------------------------- a forged journal


def forged(path: Path, change: Callable[[sqlite3.Connection], None]) -> None:
    """Change a journal and make its checksums right again."""
    from surepath.journal.rows import COLUMNS, checksum

    database = sqlite3.connect(path)
    change(database)
    rows = database.execute(f"SELECT {COLUMNS} FROM readings").fetchall()
    for each in rows:
        where = "WHERE batch = ? AND request = ? AND first = ?"
        database.execute(
            f"UPDATE readings SET checksum = ? {where}", (checksum(each[:-1]), *each[:3])
        )
    database.commit()
    database.close()


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
        "arrays, checksum FROM readings WHERE batch = 1"
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


# ---------------------------------------------------------------- extras

EXTRAS = """
import sys
before = set(sys.modules)
import surepath
heavy = {"torch", "ray", "minigrid", "ale_py", "gymnasium", "matplotlib", "pandas", "pyarrow"}
print(sorted(heavy & set(sys.modules)))
for name in heavy - {"gymnasium"}:
    sys.modules[name] = None
from pathlib import Path
from surepath.journal.export import export
from surepath.journal.database import Journal
result = surepath.learn(surepath.make("lock", horizon=2), journal="a.db")
tries = {
    "ray": lambda: surepath.learn("lock", workers="ray"),
    "parquet": lambda: export(Journal("a.db"), Path("a.parquet")),
    "plot": result.plot,
    "table": result.to_dataframe,
    "minigrid": lambda: surepath.learn("MiniGrid-Empty-5x5-v0", 3),
    "atari": lambda: surepath.learn("ALE/Pong-v5", 3),
}
for extra, needs in tries.items():
    try:
        needs()
    except surepath.MissingExtraError as error:
        print(extra, f"pip install 'surepath[{extra}]'" in str(error))
"""


@row("an extra is not installed")
def test_an_extra_is_not_installed(tmp_path: Path) -> None:
    """Nothing heavy is imported before it is needed, and what is missing is named."""
    ran = subprocess.run(
        [sys.executable, "-c", EXTRAS],
        check=False,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        cwd=tmp_path,
    )
    assert ran.stderr == ""
    first, *others = ran.stdout.splitlines()
    assert first == "[]"
    extras = ("ray", "parquet", "plot", "table", "minigrid", "atari")
    assert others == [f"{extra} True" for extra in extras]
