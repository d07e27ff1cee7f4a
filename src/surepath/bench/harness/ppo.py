"""Recurrent PPO (sb3-contrib, with its own defaults): what most people would try first.

It does not ask for sequences but acts in an environment, so it is run apart; its steps are counted
like everybody's, one for every observation that an action is chosen by.
"""

# Gymnasium and sb3-contrib are loaded when they are used, and have few types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from surepath.bench.harness.arena import Stage, arena_of
from surepath.bench.harness.attempt import Trace, Trial
from surepath.bench.harness.worlds import Case
from surepath.errors import MissingExtraError
from surepath.system import Actions


def train(
    make: Callable[[], Any], horizon: int, steps: Sequence[int], seed: int
) -> Iterator[tuple[Any, Any]]:
    """A policy after so many steps of training, each time with an environment to try it in."""
    try:
        import torch
        from gymnasium.wrappers import TimeLimit
        from sb3_contrib import RecurrentPPO
    except ImportError as error:
        raise MissingExtraError("sb3-contrib", "rivals", "the rival of this benchmark") from error
    torch.set_num_threads(1)
    # Trials have an environment of their own: that of the training may be amid an episode.
    training, trying = (TimeLimit(make(), horizon) for _ in range(2))
    model = RecurrentPPO("MlpLstmPolicy", training, seed=seed, device="cpu")
    for wanted in steps:
        # It trains by whole batches of 128 steps: what is asked for last may be had already.
        if wanted > model.num_timesteps:
            model.learn(wanted - model.num_timesteps, reset_num_timesteps=False)
        yield model, trying


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


def practise(trial: Trial) -> Trace:
    """PPO, asked now and then while it trains; its answer is what it plays in half its episodes."""
    arena = arena_of(trial.stage)
    points = [trial.cap >> k for k in range(OCTAVES - 1, -1, -1)]
    episodes = dict(trial.settings)["episodes"]
    make, losses = partial(_environment, trial.stage), list[float]()
    for model, env in train(make, arena.horizon, points, trial.seed):
        played = [episode(model, env, seed=10**6 + count)[0] for count in range(episodes)]
        losses.append(max(float(np.median([arena.loss(actions) for actions in played])), 0.0))
    return Trace(tuple(points), tuple(losses), trial.cap, stopped=False)


OCTAVES = 6
"""Times that PPO is asked, each after twice the steps of the last."""


def _environment(stage: Stage) -> object:
    if isinstance(stage, Case):
        return stage.build().noisy()
    from surepath.adapters.registration import ProblemEnv

    return ProblemEnv(stage.name, **stage.parameters)
