"""A pilot: a few random episodes from which scales, landmarks and fitted transformers are taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surepath.run.driver import generator
from surepath.system import System, steps_of

SEQUENCES, EPISODES = 64, 4
PILOT = 2**32
"""Batch number of the pilot's noise: beyond every batch of a run."""


@dataclass(frozen=True, slots=True)
class Pilot:
    observations: NDArray[Any]  # [n, ...]: all observations of all its episodes
    episodes: int
    steps: int

    def describe(self) -> str:
        return f"a pilot of {self.episodes} random episodes ({len(self.observations)} observations)"


def draw_pilot(system: System, horizon: int, seed: int) -> Pilot:
    """Uniformly random action sequences, each run a few times; their cost is the run's."""
    rng = generator(seed, PILOT, 0)
    readings: list[NDArray[Any]] = []
    steps = 0
    for _ in range(SEQUENCES):
        actions = tuple(int(a) for a in rng.integers(system.n_actions, size=horizon - 1))
        episodes = system.rollout(actions, EPISODES, rng)
        readings.append(episodes.observations.reshape(-1, *episodes.observations.shape[2:]))
        steps += EPISODES * steps_of(actions, horizon)
    return Pilot(np.concatenate(readings), SEQUENCES * EPISODES, steps)
