"""Two calls share a journal when they are the same run, and only then."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

import surepath
from flaky import Walk
from forging import entry, with_entry
from places import ROOT, TESTS
from surepath.cli import app
from surepath.errors import InputError
from surepath.journal.identity import call_of, configuration, describe, identity_of
from surepath.prepare.call import Call
from surepath.prepare.systems import system_again
from surepath.theory.schedule import Schedule


class Plain:
    """A system that says nothing of itself."""

    horizon, n_actions = 3, 2

    def __init__(self, table: Any, n_observations: int | None = None) -> None:
        self.table = np.asarray(table)
        self.n_observations = n_observations

    def rollout(self, actions: Any, n: int, rng: Any) -> Any: ...


class Around:
    """One that has its numbers further in."""

    horizon, n_actions = 3, 2

    def __init__(self, table: Any) -> None:
        self.inner = Plain(table)
        self.me = self  # a circle does no harm


def test_a_system_that_says_what_it_is_is_that() -> None:
    assert identity_of(Walk()) == {"system": "walk"}
    problem = surepath.make("lock", horizon=4, actions=3, seed=2)
    said = identity_of(problem)
    assert said["problem"] == "lock"
    assert json.loads(json.dumps(said)) == said
    assert identity_of(system_again(said, 4)) == said


@pytest.mark.parametrize("kind", [Plain, Around])
def test_other_systems_are_their_type_sizes_and_numbers(kind: Any) -> None:
    base = identity_of(kind([1.0, 2.0]))
    assert base == identity_of(kind([1.0, 2.0]))
    assert base["type"].endswith(kind.__name__)
    assert (base["horizon"], base["n_actions"]) == (3, 2)
    assert json.loads(json.dumps(base)) == base
    for other in ([1.0, 2.5], [[1.0, 2.0]], [1, 2], [1.0]):
        assert identity_of(kind(other)) != base
    longer = kind([1.0, 2.0])
    longer.horizon = 4
    assert identity_of(longer) != base


def test_what_is_computed_later_does_not_count() -> None:
    problem = surepath.make("tabular", horizon=3, seed=1)
    problem.identity = None
    before = identity_of(problem)
    assert problem.optimum
    assert identity_of(problem) == before
    assert surepath.learn(problem).certified
    assert identity_of(problem) == before


def test_public_attributes_count_and_private_ones_do_not() -> None:
    first, second = Plain([1.0]), Plain([1.0])
    first.noise, second.noise = 0.1, 0.1  # pyright: ignore[reportAttributeAccessIssue]
    first._calls, second._calls = 3, 4  # pyright: ignore[reportAttributeAccessIssue]
    assert identity_of(first) == identity_of(second)
    assert identity_of(first)["attributes"] == {"noise": 0.1}
    second.noise = 0.2  # pyright: ignore[reportAttributeAccessIssue]
    assert identity_of(first) != identity_of(second)


def module_level(batch: Any) -> Any:
    return batch


THINGS = [
    "onehot",
    StandardScaler(with_mean=False),
    RBF(length_scale=0.3),
    module_level,
    partial(module_level),
    surepath.Custom(module_level, 3, 1.0),
    lambda batch: batch,
]


def test_descriptions_are_the_same_in_every_process() -> None:
    def told() -> list[str]:
        folders = [str(TESTS), str(TESTS / "journal")]
        script = (
            f"import sys; sys.path[:0] = {folders!r}\n"
            "import test_identity as t; print(*map(t.describe, t.THINGS), sep='\\n')"
        )
        ran = subprocess.run(
            [sys.executable, "-c", script], check=True, capture_output=True, text=True
        )
        return ran.stdout.splitlines()

    here = [describe(thing) for thing in THINGS]
    assert told() == here
    assert not any(" at 0x" in text for text in here)
    assert here[0] == "onehot"
    assert describe(StandardScaler()) != here[1]
    assert describe(RBF(length_scale=0.4)) != here[2]
    assert describe(surepath.Custom(module_level, 4, 1.0)) != here[5]


def called(**how: Any) -> dict[str, Any]:
    call = {
        "features": "auto", "future": 1, "schedule": "adaptive", "guarantee": "calibrated",
        "delta": 0.05, "gap": None, "norm": None, "reward_range": (0.0, 1.0), "seed": 0,
    } | how  # fmt: skip
    return configuration(Walk(), horizon=3, **call)  # pyright: ignore[reportArgumentType]


def test_a_configuration_is_data_and_stands_for_its_call() -> None:
    own = Schedule(ridge=0.01, threshold=1.0, feature_samples=5, reward_samples=6)
    for schedule in ("adaptive", own):
        held = json.loads(json.dumps(called(schedule=schedule)))
        again = call_of(held)
        assert again["schedule"] == schedule
        assert again["reward_range"] == (0.0, 1.0)
        assert {key: again[key] for key in ("horizon", "seed", "delta", "features")} == {
            "horizon": 3, "seed": 0, "delta": 0.05, "features": "auto",
        }  # fmt: skip


def test_features_without_a_name_cannot_be_called_by_it() -> None:
    with pytest.raises(InputError, match=r"features that have no name.*StandardScaler"):
        call_of(called(features=StandardScaler()))


# ---------------------------------------------------------------- going on by name


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.parametrize(
    "arguments",
    [
        ("lock", "-p", "horizon=3", "-p", "actions=3", "--seed", "4"),
        ("own_system:Valve",),
        ("FrozenLake-v1", "-p", "is_slippery=False", "-p", "map_name='4x4'", "--horizon", "2"),
    ],
)
def test_a_run_is_resumed_by_what_it_says_of_itself(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT / "examples")
    path = str(tmp_path / "a.db")
    part = invoke("learn", *arguments, "--journal", path, "--budget", "20", "--json")
    assert part.exit_code == 1, part.output
    named = ("--system", arguments[0]) if ":" in arguments[0] else ()
    rest = invoke("resume", path, "--json", *named)
    assert rest.exit_code in (0, 1), rest.output
    whole = invoke("learn", *arguments, "--json")
    assert json.loads(rest.output) == json.loads(whole.output)
    assert invoke("verify", path).exit_code == rest.exit_code


@pytest.mark.parametrize(
    "command", [("-m", "surepath"), ("-c", "from surepath.cli import app; app()")]
)
def test_workers_find_a_system_of_the_current_folder(command: tuple[str, ...]) -> None:
    run = [sys.executable, *command, "learn", "own_system:Valve", "--workers", "2", "--json"]
    done = subprocess.run(run, cwd=ROOT / "examples", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_system_without_a_name_is_continued_where_it_came_from(tmp_path: Path) -> None:
    surepath.learn(Walk(), journal=tmp_path / "a.db", budget=20)
    refused = invoke("resume", str(tmp_path / "a.db"))
    assert refused.exit_code == 2
    assert "a system that has no name" in refused.output
    assert invoke("resume", str(tmp_path / "b.db")).exit_code == 2


# ---------------------------------------------------------------- journals of strangers

PLANTED = "planted_by_a_stranger"


def with_system(path: Path, identity: dict[str, Any]) -> str:
    """A journal that names this system; everything else in it is sound."""
    surepath.learn(surepath.make("lock", horizon=3, actions=3), journal=path, budget=20)
    with_entry(path, "configuration", {**entry(path, "configuration"), "system": identity})
    return str(path)


@pytest.mark.parametrize(
    "identity",
    [
        {"factory": "os:system", "parameters": {"command": "touch ran"}},
        {"factory": f"{PLANTED}:make", "parameters": {}},
        {"environment": f"{PLANTED}:Planted-v0", "kwargs": {}},
        {"environment": "GymV26Environment-v0", "kwargs": {"env_id": f"{PLANTED}:Planted-v0"}},
        {"environment": "FrozenLake-v1", "kwargs": {"desc": "../../secret"}},
    ],
    ids=lambda identity: str(next(iter(identity.values()))),
)
def test_resuming_the_file_of_a_stranger_imports_nothing(
    identity: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"{PLANTED}.py").write_text("open('ran', 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    path = with_system(tmp_path / "a.db", identity)
    refused = invoke("resume", path)
    assert refused.exit_code == 2
    named = identity.get("factory") or identity["environment"]
    assert f"--system {named}" in " ".join(refused.output.split())
    other = invoke("resume", path, "--system", "own_system:Valve")
    assert other.exit_code == 2
    assert "another system" in other.output
    assert not (tmp_path / "ran").exists()
    assert PLANTED not in sys.modules
    # Who names it, runs it.
    invoke("resume", path, "--system", f"{PLANTED}:make")
    assert (tmp_path / "ran").exists() == (named == f"{PLANTED}:make")
    sys.modules.pop(PLANTED, None)


def test_a_module_in_the_current_folder_is_not_imported_unasked(tmp_path: Path) -> None:
    """Not by `python -m surepath` either, where Python looks for modules there first."""
    for name in ("minigrid", "ale_py", "matplotlib", "ray", PLANTED):
        (tmp_path / f"{name}.py").write_text("open('ran', 'w').close()\n")
    path = with_system(tmp_path / "a.db", {"environment": "MiniGrid-No-Such-v0", "kwargs": {}})
    command = [sys.executable, "-m", "surepath", "resume", path, "--plot", "a.png"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"horizon": 10**29}, "horizon"),
        ({"system": []}, "system"),
        ({"schedule": {"ridge": "a"}}, "schedule"),
        ({"reward_range": [0]}, "reward_range"),
        ({"command": "rm"}, "must be an object of"),
    ],
)
def test_a_recorded_call_that_was_made_up_is_refused(change: dict[str, Any], place: str) -> None:
    recorded = json.loads(json.dumps(Call.of("lock").recorded()))
    assert call_of(recorded)["reward_range"] == (0.0, 1.0)
    with pytest.raises(InputError, match=f"the recorded call.*{place}"):
        call_of({**recorded, **change})
    with pytest.raises(InputError, match="the recorded call must be an object that has"):
        call_of({})
