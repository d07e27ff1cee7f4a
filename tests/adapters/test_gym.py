"""Gymnasium environments as systems: every kind of space, early ends, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.wrappers import TimeLimit

import surepath
from corridor import Corridor, draw, newest
from surepath.adapters import building
from surepath.adapters.gym import as_system
from surepath.adapters.wrappers import ActionList
from surepath.system import Episodic, System

# ---------------------------------------------------------------- spaces


def test_a_discrete_space_gets_a_symbol_for_the_end() -> None:
    system = as_system(Corridor(), 6)
    assert isinstance(system, System)
    assert isinstance(system, Episodic)
    assert (system.n_observations, system.observation_space) == (6, spaces.Discrete(6))
    episodes = draw(system, (1, 1, 1, 1, 1, 1))
    assert episodes.observations.tolist() == [[0, 1, 2, 3, 5, 5]] * 4
    assert episodes.rewards.tolist() == [[0, 0, 0, 1, 0, 0]] * 4
    assert draw(system, ()).observations.tolist() == [[0]] * 4
    assert draw(system, (1, 0, 1)).observations.tolist() == [[0, 1, 1, 2]] * 4


def test_episodes_that_end_at_different_times_lie_side_by_side() -> None:
    class Hazard(Corridor):
        def step(self, action):
            self.cell = min(self.cell + 1, 3)
            return self.cell, 1.0, bool(self.np_random.random() < 0.4), False, {}

    episodes = draw(as_system(Hazard(), 5), (0,) * 5, n=200)
    lengths = (episodes.observations != 5).sum(axis=1)
    assert len(set(lengths.tolist())) > 2
    for row, rewards, length in zip(episodes.observations, episodes.rewards, lengths, strict=True):
        assert row.tolist() == [0, 1, 2, 3, 3][:length] + [5] * (5 - length)
        assert rewards.sum() in (length, 5)  # the last action may end it too


def test_a_start_other_than_zero_is_counted_from_zero() -> None:
    system = as_system(
        Corridor(spaces.Discrete(5, start=10), lambda c: 10 + c, spaces.Discrete(2, start=-1)), 3
    )
    assert system.n_observations == 6
    assert [system.action_of(i) for i in range(2)] == [-1, 0]
    assert draw(system, (0, 0)).observations.tolist() == [[0, 0, 0]] * 4


def test_several_discrete_parts_get_a_flag() -> None:
    space = spaces.MultiDiscrete([5, 3], start=[1, 0])
    system = as_system(Corridor(space, lambda c: np.array([c + 1, 2])), 6)
    assert system.observation_space == spaces.MultiDiscrete([5, 3, 2])
    assert system.n_observations is None
    shown = draw(system, (1, 1, 1, 1, 0)).observations
    assert shown[0].tolist() == [[0, 2, 0], [1, 2, 0], [2, 2, 0], [3, 2, 0], [0, 0, 1], [0, 0, 1]]
    bits = as_system(Corridor(spaces.MultiBinary(2), lambda c: np.array([c % 2, 1], np.int8)), 3)
    assert bits.observation_space == spaces.MultiDiscrete([2, 2, 2])
    assert draw(bits, (1,)).observations[0].tolist() == [[0, 1, 0], [1, 1, 0]]


def test_a_box_keeps_its_type_and_gets_a_flag() -> None:
    box = spaces.Box(1, 9, (2, 3), np.uint8)
    system = as_system(Corridor(box, lambda c: np.full((2, 3), 1 + c, np.uint8)), 6)
    assert (system.observation_space.shape, system.observation_space.dtype) == ((7,), np.uint8)
    episodes = draw(system, (1,) * 5)
    assert episodes.observations.dtype == np.uint8
    assert episodes.observations[0].tolist() == [
        *([1 + c] * 6 + [0] for c in range(4)), *([[0] * 6 + [1]] * 2),
    ]  # fmt: skip
    assert all(row in system.observation_space for row in episodes.observations[0])


def test_members_lie_as_gymnasium_flattens_them() -> None:
    space = spaces.Dict(
        {
            "b": spaces.Box(-1, 1, (2,), np.float32),
            "a": spaces.Tuple([spaces.Discrete(5, start=2), spaces.MultiBinary(2)]),
            "c": spaces.MultiDiscrete([3, 2]),
        }
    )
    space.seed(0)
    env = Corridor(space)
    samples = iter([space.sample() for _ in range(30)])
    seen: list[Any] = []

    def read(_: int) -> Any:
        seen.append(next(samples))
        return seen[-1]

    env.read = read
    system = as_system(env, 4)
    shown = draw(system, (0, 0, 0), n=5).observations.reshape(20, -1)
    flat = np.array([spaces.flatten(space, each) for each in seen])
    np.testing.assert_allclose(shown[:, :-1], flat, rtol=1e-6)
    assert not shown[:, -1].any()
    assert system.observation_space.shape == (shown.shape[1],)


def test_a_tuple_of_symbols_stays_discrete() -> None:
    system = as_system(newest("Blackjack"), 3)
    assert system.observation_space == spaces.MultiDiscrete([32, 11, 2, 2])
    shown = draw(system, (1, 1), n=50).observations
    ended = shown[:, :, -1] == 1
    assert ended.any()
    assert not shown[ended][:, :-1].any()
    assert np.array_equal(np.sort(ended, axis=1), ended)  # once ended, always ended


def test_an_array_that_the_environment_uses_again_is_copied() -> None:
    class Reusing(Corridor):
        buffer = np.zeros(1)

        def __init__(self) -> None:
            super().__init__(spaces.Box(0, 9, (1,)), self.show)

        def show(self, cell: int) -> Any:
            self.buffer[0] = cell
            return self.buffer

    assert draw(as_system(Reusing(), 3), (1, 1)).observations[0, :, 0].tolist() == [0, 1, 2]


# ---------------------------------------------------------------- ends and horizons


@pytest.mark.parametrize("limit", [3, 4, 9])
def test_a_time_limit_from_the_horizon_on_does_not_matter(limit: int) -> None:
    episodes = draw(as_system(TimeLimit(Corridor(), limit), 3), (1, 1, 1))
    assert episodes.observations.tolist() == [[0, 1, 2]] * 4


def test_a_time_limit_before_it_is_an_end() -> None:
    episodes = draw(as_system(TimeLimit(Corridor(), 2), 4), (1, 1, 1, 1))
    assert episodes.observations.tolist() == [[0, 1, 5, 5]] * 4


def test_a_short_time_limit_is_the_horizon() -> None:
    gym.register("Corridor-v0", Corridor, max_episode_steps=7)
    try:
        assert as_system("Corridor-v0").horizon == 7
        assert as_system("Corridor-v0", 3).horizon == 3
    finally:
        del gym.registry["Corridor-v0"]
    for name in ("CartPole", "CliffWalking"):
        with pytest.raises(surepath.InputError, match="horizon of this environment must be given"):
            as_system(newest(name))
    with pytest.raises(surepath.InputError, match="horizon must be a whole number"):
        as_system(Corridor(), 0)


# ---------------------------------------------------------------- actions


def test_combined_actions_count_like_digits() -> None:
    system = as_system(Corridor(actions=spaces.MultiDiscrete([2, 3], start=[0, 5])), 2)
    assert system.n_actions == 6
    listed = [system.action_of(i).tolist() for i in range(6)]
    assert listed == [[0, 5], [0, 6], [0, 7], [1, 5], [1, 6], [1, 7]]
    assert all(system.action_of(i) in spaces.MultiDiscrete([2, 3], start=[0, 5]) for i in range(6))
    bits = as_system(Corridor(actions=spaces.MultiBinary(3)), 2)
    assert bits.n_actions == 8
    assert bits.action_of(6).tolist() == [1, 1, 0]
    assert bits.action_of(6) in spaces.MultiBinary(3)
    env = Corridor(actions=spaces.MultiBinary(3))
    as_system(env, 2).play((5,), 0)
    assert env.taken[0].tolist() == [1, 0, 1]


def test_actions_without_end_need_a_list() -> None:
    with pytest.raises(surepath.InputError, match="ActionList"):
        as_system("Pendulum-v1", 4)
    with pytest.raises(surepath.InputError, match=r"1048576 combinations.*ActionList"):
        as_system(Corridor(actions=spaces.MultiBinary(20)), 4)
    system = as_system(ActionList(gym.make("Pendulum-v1"), [[-2.0], [0.0], [2.0]]), 4)
    assert system.n_actions == 3
    assert system.identity["wrappers"][0][1] == {"actions": [[-2.0], [0.0], [2.0]]}


@pytest.mark.parametrize("actions", [(2,), (0, -1), (0, 0, 0, 0)])
def test_actions_that_do_not_exist(actions: tuple[int, ...]) -> None:
    with pytest.raises(surepath.InputError, match=r"actions are 0 \.\. 1|at most 3 actions"):
        draw(as_system(Corridor(), 3), actions)


# ---------------------------------------------------------------- what may go wrong


@pytest.mark.parametrize(
    ("space", "read", "message"),
    [
        (spaces.Discrete(2), lambda c: c, r"0 \.\. 1.*Got: 2 at step 2"),
        (spaces.Discrete(5), lambda c: -c, r"0 \.\. 4.*Got: -1 at step 1"),
        (spaces.Discrete(5), lambda c: c + 0.5 * (c == 2), r"Got: 2\.5 at step 2"),
        (spaces.Discrete(5), lambda c: None if c == 1 else c, "Got: None at step 1"),
        (spaces.Discrete(5), lambda c: np.array([c]), r"shape \(\).*at step 0"),
        (
            spaces.Box(0, 9, (2,)),
            lambda c: np.array([0, np.nan if c == 2 else 0]),
            "nan. at step 2",
        ),
        (spaces.Box(0, 9, (2,)), lambda c: np.zeros(2 + (c == 1)), r"shape \(2,\).*at step 1"),
        (spaces.Box(0, 9, (2,)), lambda c: "text", "text.* at step 0"),
        (spaces.Box(0, 9, (1,), np.uint8), lambda c: np.array([c / 2]), r"uint8.*0\.5 at step 1"),
        (spaces.MultiDiscrete([5, 2]), lambda c: np.array([0, c]), r"0 \.\. 1.*Got: 2 at step 2"),
        (spaces.Dict(a=spaces.Discrete(2)), lambda c: {"b": 1}, "'b': 1} at step 0"),
        (
            spaces.Dict(a=spaces.Discrete(2), b=spaces.Box(0, 1)),
            lambda c: {"a": c, "b": np.zeros(1)},
            r"0 \.\. 1.*Got: 2 at step 2",
        ),
    ],
)
def test_observations_that_do_not_fit_name_step_and_value(
    space: Any, read: Any, message: str
) -> None:
    with pytest.raises(surepath.InputError, match=message):
        draw(as_system(Corridor(space, read), 4), (1, 1, 1))


@pytest.mark.parametrize("reward", [True, np.True_, 1, np.int8(1), np.float32(1), np.array(1.0)])
def test_numbers_of_every_kind_are_rewards(reward: Any) -> None:
    class Paying(Corridor):
        def reward(self) -> Any:
            return reward if self.cell == 2 else 0.0

    assert draw(as_system(Paying(), 4), (1, 1, 1), 1).rewards.tolist() == [[0, 1, 0]]


@pytest.mark.parametrize(
    "reward",
    [np.nan, np.inf, None, "much", "0.5", Decimal("0.5"), Fraction(1, 2), 1j, 10**400, np.zeros(2)],
)
def test_rewards_that_are_no_numbers_name_step_and_value(reward: Any) -> None:
    class Broken(Corridor):
        def reward(self) -> Any:
            return reward if self.cell == 2 else 0.0

    with pytest.raises(surepath.InputError, match=r"rewards must be finite numbers.*at step 1"):
        draw(as_system(Broken(), 4), (1, 1, 1))


def test_unknown_ids_name_the_nearest() -> None:
    with pytest.raises(surepath.InputError, match="Did you mean 'CartPole-v1'"):
        as_system("CartPoal-v1", 4)
    with pytest.raises(surepath.InputError, match="there is no environment"):
        as_system("MiniGrid-Emty-5x5-v0", 4)
    with pytest.raises(surepath.InputError, match="module 'no_such_module'"):
        as_system("no_such_module:Thing-v0", 4)


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    provider = building.Provider("Nowhere-", "no_such_package", "nowhere")
    monkeypatch.setattr(building, "PROVIDERS", (provider,))
    with pytest.raises(surepath.MissingExtraError, match=r"surepath\[nowhere\]"):
        as_system("Nowhere-Grid-v0", 4)


def test_packages_of_known_ids_are_imported() -> None:
    code = (
        "import sys, surepath\n"
        "from surepath.adapters.gym import as_system\n"
        "assert not {'ale_py', 'minigrid'} & sys.modules.keys()\n"
        "assert as_system('ALE/Pong-v5', 2).n_actions == 6\n"
        "assert as_system('surepath/lock-v0', 2).n_actions == 4\n"
        "try: as_system('MiniGrid-Empty-5x5-v0', 2)\n"
        "except surepath.InputError as error: assert 'mission' in str(error)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_things_that_are_no_environment() -> None:
    with pytest.raises(surepath.InputError, match=r"env must be a gymnasium\.Env"):
        as_system(7, 4)
    with pytest.raises(surepath.InputError, match=r"factory must return a gymnasium\.Env"):
        as_system(lambda: 7, 4)
