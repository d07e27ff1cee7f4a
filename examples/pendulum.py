"""Gymnasium's Pendulum with a bad sensor: swing it up with three torques.

The torque is a number, so the plan chooses from a list: full left, none, full right, each held for
10 steps. Every step costs how far the pendulum is from standing still on top. The start is fixed,
and the sensor reads the position of the tip and the speed with noise. The best of all 3^5 sequences
is found apart, by trying them all without noise.

Run it with `python examples/pendulum.py` (a few seconds).
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import gymnasium
import numpy as np

import surepath
from surepath.adapters.wrappers import ActionList, ActionRepeat, FixedStart, GaussianNoise

HORIZON, HOLD = 5, 10
START = 0
TORQUES = [np.array([torque], dtype=np.float32) for torque in (-2.0, 0.0, 2.0)]
NOISE = (0.1, 0.1, 0.5)
"""Standard deviations of the readings; the speed is at most 8."""


def pendulum() -> gymnasium.Env[Any, Any]:
    env = FixedStart(gymnasium.make("Pendulum-v1"), START)
    return ActionRepeat(ActionList(env, TORQUES), HOLD)


PLAIN = surepath.as_system(pendulum, HORIZON)


def sensed() -> gymnasium.Env[Any, Any]:
    return GaussianNoise(pendulum(), NOISE)


def worst() -> float:
    """What the steps of one action can cost: angle, speed and torque at their largest."""
    return -HOLD * (math.pi**2 + 0.1 * 8**2 + 0.001 * 2**2)


def returns(actions: tuple[int, ...]) -> float:
    """What the actions pay without noise."""
    return sum(PLAIN.play(actions, seed=0)[1])


def best() -> float:
    """By trying everything."""
    return max(returns(actions) for actions in product(range(3), repeat=HORIZON))


def learn(seed: int = 0, **options: Any) -> surepath.Result:
    return surepath.learn(sensed, HORIZON, reward_range=(worst(), 0), seed=seed, **options)


def main() -> None:
    result = learn(progress=True)
    print("plan", result.actions, "pays", returns(result.actions), "| best", best())
    print(result.certificate.claim, "|", result.steps, "steps")


if __name__ == "__main__":
    main()
