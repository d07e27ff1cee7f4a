"""A pilot: a few random episodes from which scales, landmarks and fitted transformers are taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surepath.errors import InputError
from surepath.run.driver import generator
from surepath.system import Actions, Episodes, System, steps_of

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


def draw_pilot(system: System, horizon: int, seed: int, budget: int | None = None) -> Pilot:
    """Uniformly random action sequences, each run a few times; their cost is the run's."""
    if budget is not None and budget < SEQUENCES * EPISODES:
        raise InputError(
            f"these features need a pilot of {SEQUENCES * EPISODES} episodes",
            got=f"a budget of {budget}",
            remedy="Raise the budget, or choose features that need no pilot.",
        )
    rng = generator(seed, PILOT, 0)
    readings: list[NDArray[Any]] = []
    steps = 0
    for _ in range(SEQUENCES):
        actions = tuple(int(a) for a in rng.integers(system.n_actions, size=horizon - 1))
        readings.append(_observations(system.rollout(actions, EPISODES, rng), actions, horizon))
        steps += EPISODES * steps_of(actions, horizon)
    return Pilot(_together(readings), SEQUENCES * EPISODES, steps)


def _observations(episodes: Episodes, actions: Actions, horizon: int) -> NDArray[Any]:
    """What was read at the time steps 0 .. horizon - 1, [n, ...]."""
    if episodes.actions != actions or episodes.count != EPISODES:
        raise InputError(
            "readings must come from the actions and the count that were asked for",
            got=f"{episodes.count} episodes of {episodes.actions}",
            remedy=f"Run {actions} exactly {EPISODES} times.",
        )
    read = episodes.observations[:, :horizon]
    if read.shape[1] < horizon:
        raise InputError(
            "an episode reads one observation before each action and one after the last",
            got=f"{read.shape[1]} observations for the {len(actions)} actions {actions}",
            remedy=f"Return observations of shape [n, {horizon}, ...] for that many actions.",
        )
    return read.reshape(-1, *read.shape[2:])


def _together(readings: list[NDArray[Any]]) -> NDArray[Any]:
    shapes = {each.shape[1:] for each in readings}
    if len(shapes) > 1:
        raise InputError(
            "all observations of a system must have one shape",
            got=f"shapes {', '.join(map(str, sorted(shapes)))}",
            remedy="Return observations of one shape, whatever the actions.",
        )
    return np.concatenate(readings)
