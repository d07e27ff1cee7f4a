"""The commands that run episodes: what they print, and their exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import surepath
from commands import invoke

SYSTEM = """
import numpy as np
import surepath

class Lamp:
    horizon, n_actions, n_observations = 2, 2, 2

    def rollout(self, actions, n, rng):
        observations = np.zeros((n, min(len(actions) + 1, 2)), dtype=np.int64)
        rewards = np.tile(np.array(actions, dtype=float), (n, 1))
        return surepath.Episodes(actions, observations, rewards)

def lamp(**parameters):
    return Lamp(**parameters)

built = Lamp()
"""


@pytest.mark.parametrize("schedule", [[], ["--schedule", "tight"]])
def test_learn_shows_the_plan_and_its_evidence(schedule: list[str]) -> None:
    result = invoke("learn", "lock", "-p", "horizon=5", "-p", "actions=3", *schedule)
    assert result.exit_code == 0, result.output
    problem = surepath.make("lock", horizon=5, actions=3)
    assert " ".join(map(str, problem.optimum[0])) in result.output
    assert "certified: these 5 actions are optimal" in result.output
    assert "the plan equals the oracle's" in result.output


def test_learn_as_json_saved_and_drawn(tmp_path: Path) -> None:
    saved, drawn = tmp_path / "r.json", tmp_path / "r.png"
    result = invoke(
        "learn", "lock", "-p", "horizon=5", "--json", "--save", str(saved), "--plot", str(drawn)
    )
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert tuple(data["actions"]) == surepath.make("lock", horizon=5).optimum[0]
    assert data["certified"] is True
    assert surepath.load(saved).actions == tuple(data["actions"])
    assert drawn.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("options", [["--budget", "100"], ["--schedule", "tight"]])
def test_no_certificate_is_exit_code_one(options: list[str]) -> None:
    result = invoke("learn", "lock", "--budget", "1000000", *options)
    assert result.exit_code == 1
    assert "not certified: the run stopped" in result.output
    assert "oracle" not in result.output


def test_a_system_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_lamp.py").write_text(SYSTEM)
    monkeypatch.chdir(tmp_path)
    tight = ("learn", "my_lamp:lamp", "--schedule", "tight")
    for arguments in (("learn", "my_lamp:lamp"), (*tight, "--gap", "1", "--norm", "2")):
        result = invoke(*arguments)
        assert result.exit_code == 0, result.output
        assert "plan      1 1" in result.output
    missing = invoke(*tight)
    assert missing.exit_code == 2
    assert "not given: gap and norm" in missing.output
    assert "--feature-samples" in missing.output
    for absent in ("no_such_module:lamp", "../my_lamp.py:lamp", "./my_lamp.py:lamp"):
        refused = invoke("learn", absent)
        assert refused.exit_code == 2
        assert "module:factory" in refused.output
    wrong = invoke("learn", "my_lamp:lamp", "-p", "colour=3")
    assert wrong.exit_code == 2
    assert "cannot be called with these parameters" in wrong.output
    own = invoke(
        "learn", "my_lamp:built", "--ridge", "0.01", "--feature-samples", "10",
        "--reward-samples", "10", "--reward-range", "0", "2",
    )  # fmt: skip
    assert own.exit_code == 1, own.output
    assert "plan      1 1" in own.output
