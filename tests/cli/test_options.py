"""What the words of the command line stand for."""

from __future__ import annotations

from typing import Any

import pytest

from surepath.cli.options import (
    GuaranteeName,
    ScheduleName,
    future_of,
    parameters_of,
    schedule_of,
)
from surepath.errors import InputError
from surepath.prepare.task import ADAPTIVE, SCHEDULES
from surepath.prepare.terms import GUARANTEES
from surepath.theory.schedule import Schedule


def test_the_names_are_those_that_learn_takes() -> None:
    assert {name.value for name in ScheduleName} == {ADAPTIVE, *SCHEDULES}
    assert {name.value for name in GuaranteeName} == set(GUARANTEES)


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
    assert schedule_of(ScheduleName.tight, None, 1.0, None, None) == "tight"
    own = schedule_of(ScheduleName.tight, 0.1, 0.9, 5, 6)
    assert own == Schedule(ridge=0.1, threshold=0.9, feature_samples=5, reward_samples=6)
    for given in ((0.1, None, None), (None, 5, 6), (0.1, 5, None)):
        with pytest.raises(InputError, match="needs --ridge, --feature-samples"):
            schedule_of(ScheduleName.tight, given[0], 1.0, *given[1:])
