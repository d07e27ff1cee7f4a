"""The commands that look at what is there."""

from __future__ import annotations

import json

import surepath
from commands import invoke


def test_problems_lists_names_and_parameters() -> None:
    result = invoke("problems")
    assert result.exit_code == 0
    for name in surepath.problems():
        assert name in result.output
    listing = json.loads(invoke("problems", "--json").stdout)
    assert listing["lock"]["parameters"]["horizon"] == 10
