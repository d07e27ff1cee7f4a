"""Real environments as systems: their copies, their identity, and what they cost."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import cloudpickle
import gymnasium as gym
import minigrid  # noqa: F401 - registers its environments
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.envs.classic_control.cartpole import CartPoleEnv
from gymnasium.wrappers import FilterObservation
from minigrid.wrappers import ImgObsWrapper

import surepath
from corridor import Corridor, draw, newest
from surepath.adapters.gym import WATCHERS, as_system, is_gym
from surepath.adapters.wrappers import Confusion, FixedStart, GaussianNoise

SOURCE = Path(surepath.__file__).parent


# ---------------------------------------------------------------- real environments


@pytest.mark.parametrize(
    ("name", "numbers", "actions"),
    [
        ("CartPole", 5, 2),
        ("MountainCar", 3, 3),
        ("Taxi", 501, 6),
        ("CliffWalking", 49, 4),
        ("FrozenLake", 17, 4),
    ],
)
def test_environments_of_gymnasium(name: str, numbers: int, actions: int) -> None:
    system = as_system(newest(name), 4)
    assert system.n_actions == actions
    assert numbers == (system.n_observations or system.observation_space.shape[0])
    first, second = (draw(system, (0, 1, 0, 1), n=3, seed=7) for _ in range(2))
    assert np.array_equal(first.observations, second.observations)
    assert first.observations.shape[:2] == (3, 4)
    assert json.loads(json.dumps(system.identity)) == system.identity
    system.close()


def test_every_episode_has_a_seed_of_its_own() -> None:
    shown = draw(as_system(newest("CartPole"), 2), (0,), n=20).observations
    assert len(np.unique(shown[:, 0, 0])) == 20


def test_a_frozen_lake_is_solved() -> None:
    env = gym.make("FrozenLake-v1", is_slippery=False)
    noisy = Confusion(env, 0.9 * np.eye(16) + 0.1 / 16)
    system = as_system(noisy, 6)
    result = surepath.learn(system)
    assert result.certified
    env.reset(seed=0)
    rewards = [env.step(system.action_of(action))[1] for action in result.actions]
    assert sum(rewards) == 1  # the goal, on the shortest way there


def test_an_image_of_minigrid() -> None:
    system = as_system(lambda: ImgObsWrapper(gym.make("MiniGrid-Empty-5x5-v0")), 4)
    episodes = draw(system, (2, 1, 2))
    assert episodes.observations.shape == (4, 4, 148)
    assert episodes.observations.dtype == np.uint8
    wrapped = FilterObservation(gym.make("MiniGrid-Empty-5x5-v0"), ["direction", "image"])
    assert draw(as_system(wrapped, 4), (2,)).observations.shape == (4, 2, 4 + 147 + 1)


def test_text_is_refused_with_the_name_of_its_part() -> None:
    with pytest.raises(surepath.InputError, match=r"\['mission'\].*\['direction', 'image'\].*Img"):
        as_system("MiniGrid-Empty-5x5-v0", 4)
    with pytest.raises(surepath.InputError, match=r"Text space.*TransformObservation"):
        as_system(Corridor(spaces.Text(3)), 4)
    with pytest.raises(surepath.InputError, match=r"observation\[1\]"):
        as_system(Corridor(spaces.Tuple([spaces.Discrete(2), spaces.Text(3)])), 4)


# ---------------------------------------------------------------- processes and identity


@pytest.mark.parametrize(
    "source",
    [
        newest("CartPole"),
        gym.spec(newest("CartPole")),
        lambda: gym.make(newest("CartPole")),
        GaussianNoise(FixedStart(gym.make(newest("CartPole")), 3), 0.1),
        Corridor(spaces.Discrete(5), None),
        Corridor,
    ],
    ids=["id", "spec", "factory", "wrapped", "instance", "class"],
)
def test_a_copy_in_another_process_reads_the_same(source: Any) -> None:
    system = as_system(source, 3)
    for copy in (pickle.loads(pickle.dumps(system)), cloudpickle.loads(cloudpickle.dumps(system))):
        assert copy._env is None  # built when the first episode is run
        assert copy.identity == system.identity
        ours, theirs = (draw(each, (1, 0, 1)) for each in (system, copy))
        assert np.array_equal(ours.observations, theirs.observations)
        assert np.array_equal(ours.rewards, theirs.rewards)


def test_an_environment_that_cannot_be_copied_asks_for_a_factory() -> None:
    env = Corridor()
    env.lock = threading.Lock()
    system = as_system(env, 3)
    draw(system, (1,))  # here it is of use all the same
    with pytest.raises(surepath.InputError, match="Pass a factory"):
        pickle.dumps(system)


def test_identity_tells_systems_apart() -> None:
    def of(env: Any) -> str:
        return json.dumps(as_system(env, 3).identity, sort_keys=True)

    lake = "FrozenLake-v1"
    same = [of(lake), of(gym.make(lake)), of(gym.spec(lake)), of(lambda: gym.make(lake))]
    assert len(set(same)) == 1
    others = [
        of(gym.make(lake, is_slippery=False)),
        of(Confusion(gym.make(lake), np.eye(16))),
        of(Confusion(gym.make(lake), np.full((16, 16), 1 / 16))),
        of(FixedStart(gym.make(lake), 1)),
        of(FixedStart(gym.make(lake), 2)),
        of(Corridor()),
    ]
    assert len({*same, *others}) == 7


def test_only_what_was_built_here_is_closed() -> None:
    class Closable(Corridor):
        closed = 0

        def close(self) -> None:
            self.closed += 1

    env = Closable()
    as_system(env, 3).close()
    assert env.closed == 0
    built = as_system(lambda: env, 3)
    built.close()
    built.close()
    assert env.closed == 1
    draw(built, (1,))


def test_importing_surepath_does_not_import_gymnasium() -> None:
    code = (
        "import sys, surepath\n"
        "from surepath.adapters.gym import is_gym\n"
        "assert not is_gym(surepath.make('lock')) and not is_gym(int) and is_gym('CartPole-v1')\n"
        "assert 'gymnasium' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_counts_as_gymnasium() -> None:
    for env in (Corridor(), Corridor, partial(Corridor), gym.spec("CartPole-v1"), "any text"):
        assert is_gym(env)
    for other in (surepath.make("lock"), type(surepath.make("lock")), int, 3, None):
        assert not is_gym(other)


def test_bookkeeping_is_cheap() -> None:
    """One reset, one step an action, and at most four calls of our own for each of them."""
    system = as_system(newest("CartPole"), 20)
    actions = (0, 1) * 10
    system.play(actions, 0)  # looks up what these actions are in the environment, once for all
    ours, reached = Counter[str](), Counter[str]()

    def count(frame: FrameType, event: str, called: Any) -> None:
        if Path(frame.f_code.co_filename).is_relative_to(SOURCE):
            if event in ("call", "c_call"):
                ours[event] += 1
        elif event == "call" and isinstance(frame.f_locals.get("self"), CartPoleEnv):
            reached[frame.f_code.co_qualname] += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        _, rewards = system.play(actions, 1)
    finally:
        sys.setprofile(before)
    assert len(rewards) == len(actions)
    assert reached["CartPoleEnv.reset"] == 1
    assert reached["CartPoleEnv.step"] == len(actions)
    assert ours.total() <= 4 * (1 + len(actions))
    assert not {type(each).__name__ for each in wrapped(system._env)} & set(WATCHERS)


def wrapped(env: Any) -> Iterator[Any]:
    """The environment and all that it wraps."""
    yield env
    while env is not env.unwrapped:
        env = env.env
        yield env
