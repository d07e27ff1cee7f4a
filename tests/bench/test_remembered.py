"""An environment whose steps are remembered shows what it would have shown."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from surepath.adapters.wrappers import ActionRepeat, FixedStart, GaussianNoise, Transition
from surepath.bench.harness.remembered import remembered

HOLD, NOISE = 4, (0.05, 0.005)


def sensed() -> GaussianNoise:
    return GaussianNoise(ActionRepeat(FixedStart(gymnasium.make("MountainCar-v0"), 0), HOLD), NOISE)


def test_every_episode_is_what_it_was() -> None:
    plain, kept = sensed(), remembered(sensed)
    rng = np.random.default_rng(0)
    for seed in range(30):
        shown = [env.reset(seed=seed)[0] for env in (plain, kept)]
        np.testing.assert_array_equal(*shown)
        for action in rng.integers(3, size=4):
            ours, theirs = kept.step(action), plain.step(action)
            np.testing.assert_array_equal(ours[0], theirs[0])
            assert ours[1:4] == theirs[1:4]


def test_steps_are_computed_once() -> None:
    env = remembered(sensed)
    counted = 0
    inner = env.env.unwrapped
    step = inner.step

    def counting(action: Any) -> Transition:
        nonlocal counted
        counted += 1
        return step(action)

    inner.step = counting
    for seed in range(5):
        env.reset(seed=seed)
        for action in (0, 2, 2):
            env.step(action)
    assert counted == 3 * HOLD
