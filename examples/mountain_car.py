"""Gymnasium's MountainCar with a bad position sensor.

The car has to swing out of a valley; every action is held for 20 steps, and each step costs 1 until
the flag is reached. The start is fixed, and the sensor reads position and velocity with noise. The
best of all 3^6 sequences is found apart, by trying them all without noise.

Run it with `python examples/mountain_car.py` (two or three minutes).
"""

from __future__ import annotations

from itertools import product
from typing import Any

import gymnasium

import surepath
from surepath.adapters.wrappers import ActionRepeat, FixedStart, GaussianNoise

HORIZON, HOLD = 6, 20
START = 0
NOISE = (0.05, 0.005)
"""Standard deviations of the readings; the car moves between -1.2 and 0.6, at up to 0.07 a step."""


def car() -> gymnasium.Env[Any, Any]:
    return ActionRepeat(FixedStart(gymnasium.make("MountainCar-v0"), START), HOLD)


PLAIN = surepath.as_system(car, HORIZON)


def sensed() -> gymnasium.Env[Any, Any]:
    return GaussianNoise(car(), NOISE)


def worst() -> float:
    """What the steps of one action can cost."""
    return -HOLD


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
