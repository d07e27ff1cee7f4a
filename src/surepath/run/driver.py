"""ask -> run -> tell, until the learner is done or the budget ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

import numpy as np

from surepath.asking import Asking
from surepath.errors import InputError
from surepath.system import Episodes, Readings, Request, Summarising, System

Watcher: TypeAlias = Callable[[Asking], None]

RAW_BATCH = 4096
"""Most episodes of one request that are held in memory at once."""

LARGEST_DRAW = 2**62
"""Counts beyond this do not fit the generators' integers."""


def summarises(system: System, statistics: tuple[type, ...]) -> bool:
    """Whether the system can answer with one of these sufficient statistics."""
    return isinstance(system, Summarising) and system.statistic in statistics


def drive(
    learner: Asking,
    system: System,
    *,
    seed: int,
    budget: int | None = None,
    watch: Watcher | None = None,
) -> bool:
    """Run the learner on the system; False when the budget ended first.

    Every request draws from a generator of its own, keyed by its place in the run: the answers do
    not depend on who computes them, or in which order.
    """
    summary = summarises(system, learner.embedding.statistics)
    batch = 0
    while requests := learner.ask():
        cost = sum(request.count for request in requests)
        if budget is not None and learner.usage.episodes + cost > budget:
            return False
        learner.tell(
            [
                answer(system, request, generator(seed, batch, index), summary=summary)
                for index, request in enumerate(requests)
            ]
        )
        batch += 1
        if watch is not None:
            watch(learner)
    return True


def generator(seed: int, batch: int, index: int) -> np.random.Generator:
    """The noise of one request: a function of the seed and of the request's place in the run."""
    key = np.random.SeedSequence(seed, spawn_key=(batch, index))
    return np.random.Generator(np.random.PCG64(key))


def answer(
    system: System, request: Request, rng: np.random.Generator, *, summary: bool
) -> Readings:
    """Carry out one request, as single episodes or as their sufficient statistic."""
    # Rewards alone are summarised exactly whatever the features.
    if isinstance(system, Summarising) and (summary or not request.observations):
        if request.count > LARGEST_DRAW:
            raise InputError(
                "one batch has more episodes than can be drawn at once",
                got=f"{request.count:.3g} episodes",
                remedy="A larger gap, a smaller norm or a shorter horizon asks for fewer.",
            )
        return system.summarise(request, rng)
    episodes: Any = cast(Any, system).rollout(request.actions, request.count, rng)
    if not isinstance(episodes, Episodes):
        raise InputError(
            "rollout must return surepath.Episodes",
            got=type(episodes).__name__,
            remedy="Return Episodes(actions, observations, rewards).",
        )
    return episodes
