"""Recurrent PPO (sb3-contrib, with its own defaults): what most people would try first.

It does not ask for sequences but acts in an environment, so it is run apart; its steps are counted
like everybody's, one for every observation that an action is chosen by.
"""

# Gymnasium and sb3-contrib are loaded when they are used, and have few types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false

from __future__ import annotations

from typing import Any

import numpy as np

from surepath.errors import MissingExtraError
from surepath.system import Actions


def train(env: Any, horizon: int, steps: int, seed: int) -> Any:
    """A policy trained for so many steps, and the environment that it acts in."""
    try:
        import torch
        from gymnasium.wrappers import TimeLimit
        from sb3_contrib import RecurrentPPO
    except ImportError as error:
        raise MissingExtraError("sb3-contrib", "rivals", "the rival of this benchmark") from error
    torch.set_num_threads(1)
    limited = TimeLimit(env, horizon)
    model = RecurrentPPO("MlpLstmPolicy", limited, seed=seed, device="cpu")
    model.learn(steps)
    return model, limited


def episode(model: Any, env: Any, seed: int) -> tuple[Actions, float]:
    """The actions that the trained policy takes in one episode, and what they earn."""
    observation, _ = env.reset(seed=seed)
    memory, actions, total, ended, first = None, list[int](), 0.0, False, True
    while not ended:
        start = np.array([first])
        action, memory = model.predict(observation, memory, start, deterministic=True)
        actions.append(int(action))
        observation, reward, terminated, truncated, _ = env.step(actions[-1])
        total, ended, first = total + float(reward), terminated or truncated, False
    return tuple(actions), total
