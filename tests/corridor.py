"""A small Gymnasium environment, and episodes of systems made of such."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import find_highest_version

from surepath.adapters.gym import GymSystem


def newest(name: str) -> str:
    return f"{name}-v{find_highest_version(None, name)}"


def draw(system: GymSystem, actions: tuple[int, ...], n: int = 4, seed: int = 0) -> Any:
    return system.rollout(actions, n, np.random.default_rng(seed))


class Corridor(gym.Env):
    """Walk right; the fourth cell ends the episode. `read` says what a cell looks like."""

    def __init__(self, space: Any = None, read: Any = None, actions: Any = None) -> None:
        self.observation_space = space or spaces.Discrete(5)
        self.action_space = actions or spaces.Discrete(2)
        self.read = read or (lambda cell: cell)
        self.taken: list[Any] = []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell, self.taken = 0, []
        return self.read(self.cell), {}

    def step(self, action):
        self.taken.append(action)
        self.cell += int(np.sum(action) > 0)
        return self.read(self.cell), self.reward(), self.cell == 4, False, {}

    def reward(self) -> Any:
        return float(self.cell == 4)
