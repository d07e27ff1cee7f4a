"""The command line: what it prints, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import surepath
from surepath.cli import app

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


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.parametrize("schedule", [[], ["--schedule", "tight"]])
def test_learn_shows_the_plan_and_its_evidence(schedule: list[str]) -> None:
    result = invoke("learn", "lock", "-p", "horizon=5", "-p", "actions=3", *schedule)
    assert result.exit_code == 0, result.output
    problem = surepath.make("lock", horizon=5, actions=3)
    assert " ".join(map(str, problem.optimum[0])) in result.output
    assert "certified these 5 actions are optimal" in result.output
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
    assert "not certified: the budget ended" in result.output
    assert "oracle" not in result.output


def test_problems_lists_names_and_parameters() -> None:
    result = invoke("problems")
    assert result.exit_code == 0
    for name in surepath.problems():
        assert name in result.output
    listing = json.loads(invoke("problems", "--json").stdout)
    assert listing["lock"]["parameters"]["horizon"] == 10


def test_bound_from_quantities_and_from_a_problem() -> None:
    given = {"horizon": "3", "actions": "2", "dimension": "4", "gap": "0.3", "norm": "4.4"}
    quantities = [word for name, value in given.items() for word in (f"--{name}", value)]
    data = json.loads(invoke("bound", *quantities, "--unique", "--json").stdout)
    assert data["schedules"]["tight"]["bounds"]["expansions"] == 68
    assert data["schedules"]["paper"]["bounds"]["failure"] <= 0.05
    shown = invoke("bound", "tabular", "-p", "horizon=3")
    assert shown.exit_code == 0
    assert "information-theoretic floor" in shown.output


def test_bound_shows_the_schedules_that_apply() -> None:
    shown = invoke("bound", "gaussian")
    assert shown.exit_code == 0
    assert "paper does not apply: the paper's theorem is for bounded features" in " ".join(
        shown.output.split()
    )
    data = json.loads(invoke("bound", "gaussian", "--json").stdout)
    assert [*data["schedules"]] == ["tight"]
    assert "bounded features" in data["refused"]["paper"]


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
    assert invoke("learn", "no_such_module:lamp").exit_code == 2
    wrong = invoke("learn", "my_lamp:lamp", "-p", "colour=3")
    assert wrong.exit_code == 2
    assert "cannot be called with these parameters" in wrong.output
    own = invoke(
        "learn", "my_lamp:built", "--ridge", "0.01", "--feature-samples", "10",
        "--reward-samples", "10", "--reward-range", "0", "2",
    )  # fmt: skip
    assert own.exit_code == 1, own.output
    assert "plan      1 1" in own.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("learn lok", "Did you mean 'lock'?"),
        ("learn lock -p horizon=0", "horizon must be a whole number, at least 1"),
        ("learn lock -p horizn=3", "Did you mean 'horizon'?"),
        ("learn lock -p horizon", "a parameter is name=value"),
        ("learn lock --delta 1.5", "delta must be a number in (0, 1)"),
        ("learn tabular -p states=5 -p observations=3", "at least as many observations as states"),
        ("bound --horizon 3 --actions 2 --dimension 4 --norm 2", "a bound needs gap"),
        ("bench constant", "Did you mean 'constants'?"),
        ("bound lock --unique --future 2", "knows its own unique, future"),
        ("learn lock --save /no/such/folder/r.json", "the folder of an output file must exist"),
        ("learn lock --plot picture.foo", "a .png, .svg or .pdf file"),
        ("learn lock --future two", "future is a number of observations, or auto"),
        ("learn lock --ridge 0.1", "--feature-samples and --reward-samples"),
    ],
)
def test_bad_input_is_exit_code_two(arguments: str, message: str) -> None:
    result = invoke(*arguments.split())
    assert result.exit_code == 2, result.output
    assert message in result.output
    assert "got:" in result.output
    assert "do:" in result.output
