"""What can go wrong, and what happens then: each test is a row of the table in docs/running.md.

After every stop the journal opens and holds what was recorded before, and a sound system goes on
with it to the result of a run that was never disturbed. Disks and journals have their own file.
"""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import surepath
from clocks import PatientProcesses
from faults import TIMEOUT, Undisturbed, check_goes_on, check_same, row
from flaky import (
    Faulty,
    Walk,
    breaks,
    hangs,
    kills_its_worker,
    pays_nan,
    pays_too_much,
    reads_nan,
    unpicklable,
)
from places import ROOT, TESTS
from surepath.errors import EpisodeError, InputError
from surepath.journal.database import Journal
from surepath.results.verify import verify
from surepath.run.executors import Serial
from surepath.run.processes import Processes


def test_every_row_of_the_table_is_shown() -> None:
    text = (ROOT / "docs" / "running.md").read_text()
    table = re.split(r"\| fault \|.*\n\|[-|]+\n", text)[1]
    named = [line.split("|")[1].strip() for line in table.split("\n\n")[0].splitlines()]
    files = (TESTS / "behaviour").glob("test_*.py")
    shown = [re.findall(r'^@row\("(.*)"\)$', each.read_text(), re.MULTILINE) for each in files]
    assert set(named) == set(chain(*shown))
    assert len(named) == len(set(named))


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


@row("an episode ends the program (`sys.exit`)")
@pytest.mark.parametrize("workers", [None, 1])
def test_an_episode_ends_the_program(tmp_path: Path, workers: int | None) -> None:
    """A command that ends with 0 would say that the plan is certified."""
    (tmp_path / "quits.py").write_text(
        "import sys, surepath\n"
        "class Quits:\n"
        "    horizon, n_actions, n_observations = 2, 2, 2\n"
        "    def rollout(self, actions, n, rng):\n"
        "        sys.exit(0)\n"
    )
    command = [sys.executable, "-m", "surepath", "learn", "quits:Quits", "--retries", "1"]
    command += [] if workers is None else ["--workers", str(workers)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert re.search(r"failed 2 times.*SystemExit", " ".join(done.stderr.split()))


@row("an episode hangs")
@pytest.mark.parametrize("always", [False, True])
def test_an_episode_hangs(
    always: bool, undisturbed: Undisturbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, hung = tmp_path / "seen", tmp_path / "hung"
    folder.mkdir()
    hung.mkdir()
    system = Faulty(fault=hangs, share=40, folder=None if always else folder, hung=hung)
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
    system = Faulty(fault=kills_its_worker, share=40, folder=folder)
    result = surepath.learn(system, journal=tmp_path / "a.db", workers=2)
    assert result.usage.replaced == len(list(folder.iterdir())) > 0
    assert result.usage.retries == 0
    check_same(result, tmp_path / "a.db", undisturbed)


@row("workers die every time")
def test_workers_die_every_time(undisturbed: Undisturbed, tmp_path: Path) -> None:
    system = Faulty(fault=kills_its_worker, share=40)
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
