"""Kills, interrupts and streams, in real processes: rows of the table in docs/running.md."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest

import surepath
import survivors
from faults import TIMEOUT, Undisturbed, check_goes_on, row
from flaky import Walk, content
from places import TESTS
from surepath.errors import EpisodeError, InputError
from surepath.results.verify import verify
from survivors import check_end, wait_for

cloudpickle.register_pickle_by_value(survivors)  # workers need not find this folder

COMMAND = [sys.executable, "-m", "surepath"]
PATHS = {**os.environ, "PYTHONPATH": str(TESTS)}


# ---------------------------------------------------------------- workers

KILLED = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
from pathlib import Path
import surepath, survivors, faults
faults.cloudpickle.register_pickle_by_value(survivors)
if __name__ == "__main__":
    stuck = survivors.Stuck(folder=Path(sys.argv[1]))
    surepath.learn(stuck, journal=sys.argv[2], workers=2)
"""


@row("the run is killed while workers are busy")
def test_the_run_is_killed_while_workers_are_busy(undisturbed: Undisturbed, tmp_path: Path) -> None:
    script, folder, path = tmp_path / "script.py", tmp_path / "pids", tmp_path / "a.db"
    folder.mkdir()
    script.write_text(KILLED)
    with subprocess.Popen([sys.executable, script, folder, path]) as asking:
        pids = wait_for(folder, 4)
        asking.kill()
    check_end(pids)
    check_goes_on(path, undisturbed, some=None)


@row("no worker gets ready")
def test_no_worker_gets_ready(undisturbed: Undisturbed, tmp_path: Path) -> None:
    class Endless(Walk):
        def __setstate__(self, state: dict[str, Any]) -> None:
            threading.Event().wait()

    with (
        surepath.Processes(2, start_limit=0.5) as pair,
        pytest.raises(EpisodeError, match=r"no worker was ready after 0.5 s.*start_limit"),
    ):
        surepath.learn(Endless(), journal=tmp_path / "a.db", workers=pair)
    check_goes_on(tmp_path / "a.db", undisturbed, some=False)


@row("more workers than the cores can carry")
def test_more_workers_than_the_cores_can_carry() -> None:
    with pytest.raises(InputError, match=r"32 for each core.*100000 workers.*Ask for fewer"):
        surepath.learn(Walk(), workers=100_000)


# ---------------------------------------------------------------- streams

LOUD = """
import atexit, ctypes, os
from flaky import Walk

class Loud(Walk):
    def play(self, actions, seed):
        print("printed")
        os.write(1, b"written\\n")
        ctypes.CDLL(None).puts(b"put")  # C keeps it until the process ends
        return super().play(actions, seed)

print("imported")
atexit.register(print, "left")
"""


@row("a system prints")
@pytest.mark.parametrize("workers", [[], ["--workers", "1"]])
def test_a_system_prints(workers: list[str], undisturbed: Undisturbed, tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text(LOUD)
    ran = subprocess.run(
        [*COMMAND, "learn", "loud:Loud", "--json", *workers],
        cwd=tmp_path, env=PATHS, capture_output=True, text=True, timeout=TIMEOUT, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert tuple(json.loads(ran.stdout)["actions"]) == undisturbed[0].actions
    for word in ("imported", "printed", "written", "put", "left"):
        assert f"{word}\n" in ran.stderr


# ---------------------------------------------------------------- interrupts

SLOW = """
import os, pathlib, time
from flaky import Walk

class Slow(Walk):
    def play(self, actions, seed):
        with pathlib.Path("played").open("a") as log:
            log.write(".")
        if pathlib.Path("played").stat().st_size > 200:
            time.sleep(3600)
        return super().play(actions, seed)
"""


def interrupted(number: int, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """The command, interrupted when an episode hangs after 200 others."""
    (folder / "slow.py").write_text(SLOW)
    played = folder / "played"
    with subprocess.Popen(
        [*COMMAND, "learn", "slow:Slow", *options],
        cwd=folder, env=PATHS, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as running:  # fmt: skip
        while running.poll() is None and not (played.exists() and played.stat().st_size > 200):
            threading.Event().wait(0.05)
        running.send_signal(number)
        out, said = running.communicate(timeout=TIMEOUT)
    return subprocess.CompletedProcess([], running.returncode, out, said)


@row("the run is interrupted (Ctrl-C, or SIGTERM)")
@pytest.mark.parametrize(
    ("number", "workers"),
    [(signal.SIGINT, []), (signal.SIGTERM, []), (signal.SIGINT, ["--workers", "1"])],
)
def test_the_run_is_interrupted(
    number: int, workers: list[str], undisturbed: Undisturbed, tmp_path: Path
) -> None:
    stopped = interrupted(number, tmp_path, "--journal", "a.db", *workers)
    assert stopped.returncode == 128 + number, stopped.stderr
    assert "not certified: the run stopped after" in stopped.stdout
    assert "plan      " in stopped.stdout
    advice = stopped.stderr.splitlines()[-1].partition("go on with: surepath ")[2]
    assert advice == "resume a.db --system slow:Slow"
    recorded, whole = content(tmp_path / "a.db"), content(undisturbed[1])
    assert recorded
    assert {place: whole[place] for place in recorded} == recorded
    (tmp_path / "slow.py").write_text("from flaky import Walk as Slow")
    subprocess.run([*COMMAND, *advice.split()], cwd=tmp_path, env=PATHS, check=True)
    assert content(tmp_path / "a.db") == whole
    assert verify(tmp_path / "a.db").certified


@row("the run is interrupted without a journal")
def test_the_run_is_interrupted_without_a_journal(tmp_path: Path) -> None:
    stopped = interrupted(signal.SIGINT, tmp_path, "--json")
    assert stopped.returncode == 130, stopped.stderr
    assert json.loads(stopped.stdout)["certified"] is False
    assert "nothing is recorded; with --journal FILE" in stopped.stderr


# ---------------------------------------------------------------- ask and tell


def told(loop: surepath.AskTell) -> list[surepath.Episodes]:
    return [
        surepath.Episodes(
            asked.actions,
            np.zeros((asked.count, min(len(asked.actions) + 1, 2)), dtype=np.int64),
            np.tile(np.array(asked.actions) * 0.5, (asked.count, 1)),
        )
        for asked in loop.ask()
    ]


@row("ask and tell are used by two threads, or after they were closed")
def test_ask_and_tell_are_used_by_two_threads_or_after_they_were_closed(tmp_path: Path) -> None:
    path, errors = tmp_path / "a.db", list[BaseException]()
    with surepath.AskTell(2, 2, n_observations=2, journal=path) as loop:
        first = told(loop)

        def tell() -> None:
            try:
                loop.tell(first)
            except InputError as error:
                errors.append(error)

        second = threading.Thread(target=tell, name="the second")
        second.start()
        second.join()
        assert "belongs to the thread that made it. Got: a call from the thread the second" in str(
            errors[0]
        )
        loop.tell(first)
        while loop.ask():
            loop.tell(told(loop))
        result = loop.result()
    recorded = content(path)
    for use in (loop.ask, lambda: loop.tell(first), loop.result):
        with pytest.raises(InputError, match=r"this loop was closed.*same journal"):
            use()
    assert content(path) == recorded
    assert verify(path).certified == result.certified


# ---------------------------------------------------------------- numbers


@row("a reward is a text, a decimal or something else that is no number")
@pytest.mark.parametrize("paid", ["0.5", Decimal("0.5"), 0.5j, None])
def test_a_reward_is_no_number(paid: Any, undisturbed: Undisturbed, tmp_path: Path) -> None:
    class Paying(Walk):
        def gather(self, actions: Any, plays: Any) -> Any:
            played = super().gather(actions, plays)
            paying = np.full(played.rewards.shape, paid)
            return surepath.Episodes(actions, played.observations, paying)

    with pytest.raises(InputError, match=r"rewards are whole or floating-point numbers.*float"):
        surepath.learn(Paying(), journal=tmp_path / "a.db")
    check_goes_on(tmp_path / "a.db", undisturbed, some=False)


@row("a reward is a boolean")
def test_a_reward_is_a_boolean(undisturbed: Undisturbed) -> None:
    class Paying(Walk):
        def gather(self, actions: Any, plays: Any) -> Any:
            played = super().gather(actions, plays)
            return surepath.Episodes(actions, played.observations, played.rewards > 0)

    assert surepath.learn(Paying()) == undisturbed[0]


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.int8, np.bool_])
def test_rewards_of_few_digits_are_summed_in_many(kind: Any) -> None:
    """A mean in the digits of the rewards themselves would be wrong by more than a lead."""
    paid = np.array([[1], [0], [0]], dtype=kind)
    episodes = surepath.Episodes((0,), np.zeros((3, 1)), paid)
    assert episodes.rewards.dtype == np.float64
    assert episodes.reward(0).mean == pytest.approx(1 / 3, rel=1e-15)
