"""The command bound: the counts of the fixed schedules, and the floor."""

from __future__ import annotations

import json

from commands import invoke


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
