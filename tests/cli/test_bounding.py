"""The command bound: the counts of the fixed schedules, and the floor."""

from __future__ import annotations

import json
from typing import Any

import pytest

from commands import invoke
from surepath.builtin_problems import make
from surepath.prepare.call import Call
from surepath.prepare.forecast import forecast


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


def proved(*arguments: str) -> dict[str, Any]:
    shown = invoke("bound", *arguments, "--proved", "--json")
    assert shown.exit_code == 0, shown.output
    return json.loads(shown.stdout)


def test_bound_forecasts_the_proof_of_a_problem() -> None:
    """The options mean what they mean to learn, and the forecast is that of its call."""
    given = ("--separation", "0.3", "--tolerance", "2%", "--delta", "0.1")
    data = proved("tabular", "-p", "horizon=5", *given)
    call = {"separation": 0.3, "tolerance": "2%", "delta": 0.1}
    found = forecast(Call.of(make("tabular", horizon=5), guarantee="proved", **call))
    said = data["proved"]
    assert (said["episodes"], said["for_merges"], said["for_paths"]) == (
        found.episodes,
        found.merges,
        found.paths,
    )
    assert said["route"] == "separation"
    assert said["separation"] == 0.3
    assert said["delta"] == 0.1
    assert said["apart"] == found.apart
    assert said["plan"] == list(make("tabular", horizon=5).optimum[0])
    assert said["merges"] == len(found.proposal.merges) > 0
    assert data["floor_episodes"] > 0
    shown = invoke("bound", "tabular", "-p", "horizon=5", *given, "--proved").output
    shown = " ".join(shown.split())
    for part in (found.merges, found.paths, found.episodes):
        assert f" {part} " in shown
    assert "would rest on what is not true" not in shown


def test_bound_follows_the_route_that_is_given() -> None:
    tree = proved("tabular", "-p", "horizon=3")["proved"]
    assert (tree["route"], tree["separation"], tree["for_merges"]) == ("tree", None, 0)
    norm = proved("tabular", "-p", "horizon=3", "--norm", "2")["proved"]
    assert (norm["route"], norm["norm"]) == ("norm", 2.0)
    shorter = proved("tabular", "--horizon", "3", "--gap", "0.1")
    assert len(shorter["proved"]["plan"]) == 3
    assert shorter["proved"]["gap"] == 0.1
    assert shorter["floor_episodes"] is None


def test_bound_says_when_a_separation_is_not_true() -> None:
    shown = invoke("bound", "tabular", "--proved", "--separation", "0.9")
    assert shown.exit_code == 0
    assert "would rest on what is not true" in " ".join(shown.output.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["lock", "--proved"], "there are too many"),
        (["mixing", "--proved", "--separation", "0.3"], "finitely many hidden states"),
        (["--proved"], "for a built-in problem"),
        (["tabular", "--proved", "--future", "2"], "knows its own future"),
        (["tabular", "--proved", "--separation", "near"], "a number between 0 and 1"),
        (["tabular", "--separation", "0.3"], "neither a separation nor a tolerance"),
        (["tabular", "--tolerance", "0.3"], "neither a separation nor a tolerance"),
    ],
)
def test_bound_refuses_what_has_no_forecast(arguments: list[str], words: str) -> None:
    shown = invoke("bound", *arguments)
    assert shown.exit_code == 2
    assert words in shown.output
