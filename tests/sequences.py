"""What the tests of open-loop rivals share: small problems, and a loop that can be looked into."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.stats import binom

import surepath
from surepath.builtin_problems.tabular import Tabular
from surepath.learners.base import Asking
from surepath.system import Summary


def small(seed: int) -> Any:
    return surepath.make(
        "tabular", horizon=4, states=3, actions=2, observations=4, gap=0.19, seed=seed
    )


def easy() -> Tabular:
    """Three levels, three actions, of which one pays 0.9 and the others 0.1."""
    rewards = np.full((3, 1, 3), 0.1)
    rewards[[0, 1, 2], 0, [2, 0, 1]] = 0.9
    return Tabular.from_arrays(np.zeros((3, 1, 3), dtype=int), np.ones((1, 1)), rewards)


def rounds(learner: Asking, problem: Any, seed: int, budget: int = 10**9) -> Iterator[Any]:
    """Requests and readings, told after they were looked at."""
    rng = np.random.default_rng(seed)
    while (requests := learner.ask()) and learner.usage.episodes < budget:
        readings = [problem.summarise(request, rng) for request in requests]
        yield requests, readings
        learner.tell(readings)


def played(learner: Asking, problem: Any, seed: int, budget: int = 10**9) -> bool:
    """Whether the incumbent is optimal at the end."""
    for _ in rounds(learner, problem, seed, budget):
        pass
    return problem.is_optimal(learner.incumbent)


def fewest(n: int, rate: float) -> int:
    """Successes in n that a method with this rate falls short of once in 1000 times."""
    return int(binom.ppf(1e-3, n, rate))


def most(n: int, rate: float) -> int:
    return n - fewest(n, 1 - rate)


def returns(reading: Summary) -> float:
    return sum(moments.mean for moments in reading.rewards.values())
