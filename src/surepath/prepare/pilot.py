"""A pilot: a few random episodes from which scales, landmarks and fitted transformers are taken.

They are whole episodes of the system that is to be learned, so they are also the first that an
adaptive learner is told.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surepath.errors import InputError
from surepath.run.runner import Runner
from surepath.run.seeds import PILOT, choices_beside
from surepath.system import Actions, Episodes, Readings, Request

SEQUENCES, EPISODES = 64, 2
"""Random action sequences of a pilot, and how often each is run: many places, a little noise."""


@dataclass(frozen=True, slots=True)
class Pilot:
    observations: NDArray[Any]  # [n, ...]: all observations of all its episodes
    readings: tuple[Episodes, ...]  # of each of its sequences; views of the same observations
    steps: int

    @property
    def episodes(self) -> int:
        return sum(each.count for each in self.readings)

    def describe(self) -> str:
        return f"a pilot of {self.episodes} random episodes ({len(self.observations)} observations)"


def draw_pilot(
    runner: Runner, horizon: int, budget: int | None = None, last_actions: int | None = None
) -> Pilot:
    """Uniformly random action sequences, each run a few times; their cost is the run's.

    last_actions: how many actions differ at the last step, where not all do.
    """
    if budget is not None and budget < SEQUENCES * EPISODES:
        raise InputError(
            f"these features need a pilot of {SEQUENCES * EPISODES} episodes",
            got=f"a budget of {budget}",
            remedy="Raise the budget, or choose features that need no pilot.",
        )
    rng = choices_beside(runner.seed, PILOT, SEQUENCES)
    n_actions = runner.system.n_actions
    choices = [n_actions] * (horizon - 1) + [last_actions or n_actions]
    drawn = rng.integers(choices, size=(SEQUENCES, horizon))
    requests = [
        Request(tuple(map(int, row)), EPISODES, range(horizon), range(horizon)) for row in drawn
    ]
    answers = runner.run(PILOT, requests, summary=False)
    read = _together(
        [
            _observations(answer, request.actions)
            for answer, request in zip(answers, requests, strict=True)
        ]
    )
    readings = tuple(
        replace(answer, observations=observations)
        for answer, observations in zip(answers, read, strict=True)
        if isinstance(answer, Episodes)
    )
    return Pilot(read.reshape(-1, *read.shape[3:]), readings, SEQUENCES * EPISODES * horizon)


def _observations(episodes: Readings, actions: Actions) -> NDArray[Any]:
    """What was read before each of the actions, [n, horizon, ...]."""
    assert isinstance(episodes, Episodes)  # no statistic was asked for
    if episodes.actions != actions or episodes.count != EPISODES:
        raise InputError(
            "readings must come from the actions and the count that were asked for",
            got=f"{episodes.count} episodes of {episodes.actions}",
            remedy=f"Run {actions} exactly {EPISODES} times.",
        )
    read = episodes.observations[:, : len(actions)]
    if read.shape[1] < len(actions):
        raise InputError(
            "an episode reads one observation before each action",
            got=f"{read.shape[1]} observations for the {len(actions)} actions {actions}",
            remedy=f"Return observations of shape [n, {len(actions)}, ...] for that many actions.",
        )
    return read


def _together(readings: list[NDArray[Any]]) -> NDArray[Any]:
    shapes = {each.shape[2:] for each in readings}
    if len(shapes) > 1:
        raise InputError(
            "all observations of a system must have one shape",
            got=f"shapes {', '.join(map(str, sorted(shapes)))}",
            remedy="Return observations of one shape, whatever the actions.",
        )
    return np.stack(readings)
