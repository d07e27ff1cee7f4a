"""Actions are called what the environment calls them, through wrappers that choose among them."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import surepath
from surepath.adapters.action_names import names_of
from surepath.adapters.wrappers import ActionList, ActionRepeat, MacroActions
from surepath.journal.action_names import KEY, names_in
from surepath.journal.database import Journal
from surepath.system import action_names


class Bare(gymnasium.Env[Any, Any]):
    observation_space = spaces.Discrete(2)

    def __init__(self) -> None:
        self.action_space: Any = spaces.Discrete(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return 0, {}

    def step(self, action: Any) -> Any:
        return 0, float(action == 2), False, False, {}


class Declaring(Bare):
    action_names = ("up", "down", "stay")


class Meaning(Bare):
    def get_action_meanings(self) -> list[str]:
        return ["NOOP", "FIRE", "UP"]


class Enumerated(Bare):
    class actions(IntEnum):  # noqa: N801  # as MiniGrid has it
        left = 0
        right = 1
        forward = 2


class Swapped(gymnasium.ActionWrapper[Any, Any, Any]):
    def action(self, action: Any) -> Any:
        return 2 - action


@pytest.mark.parametrize(
    ("env", "names"),
    [
        (Bare(), None),
        (Declaring(), ("up", "down", "stay")),
        (Meaning(), ("NOOP", "FIRE", "UP")),
        (Enumerated(), ("left", "right", "forward")),
        (ActionRepeat(Enumerated(), 2), ("left", "right", "forward")),
        (ActionList(Enumerated(), [2, 0]), ("forward", "left")),
        (ActionList(Enumerated(), [2, 1, 0]), ("forward", "right", "left")),
        (ActionList(Bare(), [2, 0]), ("2", "0")),
        (MacroActions(Meaning(), [[0, 1], [2]]), ("NOOP FIRE", "UP")),
        (Swapped(Declaring()), None),  # nobody knows which is which
    ],
)
def test_names(env: Any, names: tuple[str, ...] | None) -> None:
    assert names_of(env) == names


def test_values_of_a_box_are_their_own_names() -> None:
    env = Bare()
    env.action_space = spaces.Box(-1, 1, (1,), np.float64)
    assert names_of(ActionList(env, [[-1.0], [0.5]])) == ("[-1.]", "[0.5]")


def test_a_journal_keeps_the_names(tmp_path: Any) -> None:
    path = tmp_path / "a.db"
    result = surepath.learn(Declaring, 2, journal=path)
    assert result.actions == (2, 2)
    with Journal(path) as journal:
        assert names_in(journal) == ("up", "down", "stay")
        assert journal.get(KEY) == ["up", "down", "stay"]
    assert surepath.verify(path).differences == ()


def test_a_system_that_does_not_name_all_names_none() -> None:
    class Half:
        horizon, n_actions, action_names = 1, 3, ("a", "b")

    assert action_names(Half()) == ()  # pyright: ignore[reportArgumentType]
