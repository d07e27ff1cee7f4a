"""Where methods compete: a system to be tried, and what every plan for it is worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from surepath.adapters.gym import as_system
from surepath.bench.harness.runs import DELTA, Instance
from surepath.bench.harness.worlds import Case
from surepath.prepare.call import Call
from surepath.prepare.task import Task, plan_task
from surepath.system import Actions, System

Stage: TypeAlias = Instance | Case
"""A problem or an environment by name: what an arena is built of, small enough to send around."""


@dataclass(frozen=True, slots=True)
class Arena:
    """A system to be tried, and what its plans are worth."""

    system: System
    horizon: int
    best: float
    value: Callable[[Actions], float]  # expected return of a whole sequence
    options: Mapping[str, Any]  # for `learn`
    reward_range: tuple[float, float]

    def loss(self, actions: Actions) -> float:
        """Of a plan; what is missing of it is filled with zeros, as `learn` does."""
        return self.best - self.value(actions + (0,) * (self.horizon - len(actions)))

    def task(self, seed: int) -> Task:
        """What a call of `learn` on it would come down to."""
        call = Call.of(self.system, self.horizon, delta=DELTA, seed=seed, **self.options)
        return plan_task(call)


def arena_of(stage: Stage) -> Arena:
    if isinstance(stage, Instance):
        problem = stage.build()
        best = problem.oracle.value
        return Arena(
            problem, problem.horizon, best, problem.expected_return, {}, problem.reward_range
        )
    world = stage.build()
    options = dict(world.options)
    paid = options.get("reward_range", (0.0, 1.0))
    system = as_system(world.noisy, world.horizon)
    return Arena(system, world.horizon, world.best, world.returns, options, paid)


def numbered(stage: Stage, seed: int) -> Stage:
    """An instance of a problem; an environment is the same every time."""
    return stage.numbered(seed) if isinstance(stage, Instance) else stage


def lock(horizon: int) -> Instance:
    return Instance("lock", {"horizon": horizon, "actions": 4})
