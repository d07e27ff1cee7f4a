"""dm_env environments through Gymnasium."""

from __future__ import annotations

import dm_env
import numpy as np
import pytest
from dm_env import specs
from gymnasium import spaces

import surepath
from surepath.adapters.dm import FromDmEnv
from surepath.adapters.gym import as_system


class Ladder(dm_env.Environment):
    """Climb with action 1; the fourth rung ends the episode."""

    def __init__(self, final: bool = True) -> None:
        self.rng, self.rung, self.final = np.random.default_rng(0), 0, final

    def reset(self) -> dm_env.TimeStep:
        self.rung = 0
        return dm_env.restart(self._read())

    def step(self, action: int) -> dm_env.TimeStep:
        self.rung += int(action)
        if self.rung < 4:
            return dm_env.transition(0.0, self._read())
        return (dm_env.termination if self.final else dm_env.truncation)(1.0, self._read())

    def _read(self) -> dict[str, np.ndarray]:
        return {
            "rung": np.array(self.rung),
            "dial": self.rng.normal(self.rung, 0.1, 2).astype(np.float32),
        }

    def action_spec(self) -> specs.Array:
        return specs.DiscreteArray(2)

    def observation_spec(self) -> dict[str, specs.Array]:
        return {
            "rung": specs.BoundedArray((), np.int64, 0, 4),
            "dial": specs.Array((2,), np.float32),
        }


def reseed(ladder: Ladder, seed: int) -> None:
    ladder.rng = np.random.default_rng(seed)


def test_spaces() -> None:
    env = FromDmEnv(Ladder())
    assert env.action_space == spaces.Discrete(2)
    assert env.observation_space["rung"] == spaces.Discrete(5)
    assert env.observation_space["dial"] == spaces.Box(-np.inf, np.inf, (2,), np.float32)


@pytest.mark.parametrize("final", [True, False])
def test_an_episode_and_its_end(final: bool) -> None:
    env = FromDmEnv(Ladder(final), reseed)
    env.reset(seed=0)
    steps = [env.step(1)[1:4] for _ in range(4)]
    assert steps == [(0.0, False, False)] * 3 + [(1.0, final, not final)]


def test_as_a_system() -> None:
    system = as_system(FromDmEnv(Ladder(), reseed), 6)
    one, again = (system.rollout((1,) * 6, 5, np.random.default_rng(1)) for _ in range(2))
    assert np.array_equal(one.observations, again.observations)
    assert one.rewards.tolist() == [[0, 0, 0, 1, 0, 0]] * 5
    assert one.observations[:, :, -1].tolist() == [[0, 0, 0, 0, 1, 1]] * 5
    assert len(np.unique(one.observations[:, 0, 0])) == 5  # the dial, before the one-hot rung


def test_specs_that_are_not_numbers() -> None:
    class Speaking(Ladder):
        def observation_spec(self) -> specs.Array:
            return specs.StringArray(())

    with pytest.raises(surepath.InputError, match="must be an array of numbers"):
        FromDmEnv(Speaking())
