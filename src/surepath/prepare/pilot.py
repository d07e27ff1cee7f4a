"""A pilot: a few random episodes from which scales, landmarks and fitted transformers are taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surepath.errors import InputError
from surepath.run.runner import Runner
from surepath.run.seeds import PILOT, choices_beside
from surepath.system import Actions, Episodes, Readings, Request, steps_of

SEQUENCES, EPISODES = 64, 2
"""Random action sequences of a pilot, and how often each is run: many places, a little noise."""


@dataclass(frozen=True, slots=True)
class Pilot:
    observations: NDArray[Any]  # [n, ...]: all observations of all its episodes
    episodes: int
    steps: int

    def describe(self) -> str:
        return f"a pilot of {self.episodes} random episodes ({len(self.observations)} observations)"


def draw_pilot(runner: Runner, horizon: int, budget: int | None = None) -> Pilot:
    """Uniformly random action sequences, each run a few times; their cost is the run's."""
    if budget is not None and budget < SEQUENCES * EPISODES:
        raise InputError(
            f"these features need a pilot of {SEQUENCES * EPISODES} episodes",
            got=f"a budget of {budget}",
            remedy="Raise the budget, or choose features that need no pilot.",
        )
    rng = choices_beside(runner.seed, PILOT, SEQUENCES)
    drawn = rng.integers(runner.system.n_actions, size=(SEQUENCES, horizon - 1))
    requests = [_request(tuple(map(int, row)), horizon) for row in drawn]
    answers = runner.run(PILOT, requests, summary=False)
    readings = [
        _observations(answer, request.actions, horizon)
        for answer, request in zip(answers, requests, strict=True)
    ]
    steps = sum(EPISODES * steps_of(request.actions, horizon) for request in requests)
    return Pilot(_together(readings), SEQUENCES * EPISODES, steps)


def _request(actions: Actions, horizon: int) -> Request:
    return Request(actions, EPISODES, range(horizon), range(horizon - 1))


def _observations(episodes: Readings, actions: Actions, horizon: int) -> NDArray[Any]:
    """What was read at the time steps 0 .. horizon - 1, [n, ...]."""
    assert isinstance(episodes, Episodes)  # no statistic was asked for
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
