"""What the words of the command line stand for."""

from __future__ import annotations

from typing import Any

import pytest
from typer.testing import CliRunner

from surepath.cli import app
from surepath.cli.options import future_of, parameters_of, schedule_of
from surepath.errors import InputError
from surepath.inference.guarantee_widths import GUARANTEES
from surepath.prepare.call import ADAPTIVE
from surepath.theory.schedule import SCHEDULES, Schedule


@pytest.mark.parametrize(
    ("option", "names"),
    [("--schedule", (ADAPTIVE, *SCHEDULES)), ("--guarantee", tuple(GUARANTEES))],
)
def test_the_names_are_those_that_learn_takes(option: str, names: tuple[str, ...]) -> None:
    help_text = " ".join(CliRunner().invoke(app, ["learn", "--help"]).output.split())
    assert all(name in help_text for name in names)
    wrong = CliRunner().invoke(app, ["learn", "lock", option, names[-1] + "x"])
    assert wrong.exit_code == 2
    assert f"Did you mean {names[-1]!r}" in wrong.output


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("n=3", 3),
        ("n=0.5", 0.5),
        ("n=True", True),
        ("n='4x4'", "4x4"),
        ("n=4x4", "4x4"),
        ("n=(1, 2)", (1, 2)),
        ("n=", ""),
        ("n=a=b", "a=b"),
    ],
)
def test_a_parameter_is_a_value_of_python_or_a_text(word: str, value: Any) -> None:
    assert parameters_of([word]) == {"n": value}


def test_parameters_are_put_together_and_hyphens_are_underscores() -> None:
    assert parameters_of(["is-slippery=False", "n=1", "n=2"]) == {"is_slippery": False, "n": 2}
    assert parameters_of(None) == {}


@pytest.mark.parametrize("word", ["n", "=3", ""])
def test_what_is_no_parameter_is_refused(word: str) -> None:
    with pytest.raises(InputError, match="name=value"):
        parameters_of([word])


def test_a_future_is_a_number_or_auto() -> None:
    assert (future_of("2"), future_of("auto")) == (2, "auto")
    for word in ("two", "-1", "1.5", "", "²"):
        with pytest.raises(InputError, match="number of observations, or auto"):
            future_of(word)


def test_a_schedule_is_a_name_or_three_numbers_and_a_threshold() -> None:
    assert schedule_of("tight", None, 1.0, None, None) == "tight"
    own = schedule_of("tight", 0.1, 0.9, 5, 6)
    assert own == Schedule(ridge=0.1, threshold=0.9, feature_samples=5, reward_samples=6)
    for given in ((0.1, None, None), (None, 5, 6), (0.1, 5, None)):
        with pytest.raises(InputError, match="needs --ridge, --feature-samples"):
            schedule_of("tight", given[0], 1.0, *given[1:])
