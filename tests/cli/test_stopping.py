"""Signals, in processes of their own: the first one is heard, the second one ends everything."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from commands import invoke
from surepath.cli.stopping import exit_code, how_to_go_on, stoppable


def test_the_second_signal_ends_the_process() -> None:
    code = (
        "import signal\n"
        "from surepath.cli.stopping import stoppable\n"
        "try:\n"
        "    with stoppable():\n"
        "        signal.raise_signal(signal.SIGTERM)\n"
        "except KeyboardInterrupt as interrupt:\n"
        "    print(interrupt.args[0], flush=True)\n"
        "    signal.raise_signal(signal.SIGINT)\n"
        "    print('still there')\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stdout == f"{int(signal.SIGTERM)}\n"
    assert ran.returncode == -signal.SIGINT


def test_handlers_are_given_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError), stoppable():
        _ = 1 // (signal.getsignal(signal.SIGINT) is before)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_command_in_the_background_ignores_the_keyboard() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with stoppable():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_exit_codes_are_those_of_a_shell() -> None:
    assert exit_code(KeyboardInterrupt()) == 130
    assert exit_code(KeyboardInterrupt(signal.SIGTERM)) == 143


def test_the_advice_can_be_pasted() -> None:
    assert how_to_go_on(Path("my run.db"), "lock").endswith("surepath resume 'my run.db'")
    named = how_to_go_on(Path("a.db"), "mine:make")
    assert named.endswith("surepath resume a.db --system mine:make")
    assert "--journal FILE" in how_to_go_on(None, "lock")


def test_an_interrupt_before_there_is_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("surepath.cli.running.system_named", interrupted)
    ended = invoke("learn", "lock")
    assert ended.exit_code == 130
    assert "interrupted" in ended.stderr


def test_serve_ends_with_its_result(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "surepath", "serve", "--horizon", "2", "--actions", "2"]
    command += ["--observations", "2", "--journal", str(tmp_path / "a.db")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as serving:
        assert serving.stdout is not None
        assert "ask" in json.loads(serving.stdout.readline())
        serving.send_signal(signal.SIGINT)
        out, said = serving.communicate()
    assert json.loads(out)["result"]["certified"] is False
    assert "interrupted: the same command goes on where it was" in said
    assert serving.returncode == 130
