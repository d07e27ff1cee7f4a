"""Problems of every kind at small sizes, and all that trying every sequence tells of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache
from inspect import signature
from typing import Any

import numpy as np
import pytest

import surepath
from surepath.builtin_problems import factory
from surepath.builtin_problems.hard.leaking import Sighting
from surepath.builtin_problems.hard.lift import QueryReading
from surepath.builtin_problems.laws import Categorical, Gaussian
from surepath.builtin_problems.mixing import Mixture

FINITE = [
    ("tabular", {"horizon": 4, "states": 3, "actions": 3, "observations": 4}),
    ("tabular", {"horizon": 5, "states": 5, "actions": 2, "observations": 5, "gap": 0.01}),
    ("tabular", {"horizon": 1, "states": 2, "actions": 3, "observations": 3}),
    ("tabular", {"horizon": 3, "states": 2, "actions": 1, "observations": 3}),
    ("gaussian", {"horizon": 4, "states": 3, "actions": 3, "dimension": 4}),
    ("gaussian", {"horizon": 5, "states": 4, "actions": 2, "reward_noise": 0.3}),
    ("lock", {"horizon": 5, "actions": 3}),
    ("lock", {"horizon": 3, "actions": 4, "bait": 0.0}),
    ("lock", {"horizon": 1, "actions": 2}),
]
MIXING = [
    ("mixing", {"horizon": 4, "actions": 3}),
    ("mixing", {"horizon": 3, "actions": 2, "modes": 3, "components": 3}),
    ("mixing", {"horizon": 1, "actions": 3, "modes": 1}),
    ("mixing", {"horizon": 3, "actions": 1}),
    ("mixing", {"horizon": 4, "actions": 3, "stirs": 2}),
]
OTHERS = [
    ("overcomplete", {"horizon": 4}),
    ("touch", {"horizon": 5}),
    ("continuous", {"horizon": 3, "actions": 3, "gap": 0.05}),
]
TREES = [
    ("exit_lane", {"horizon": 4, "actions": 4}),
    ("exit_lane", {"horizon": 1, "actions": 3}),
    ("few_actions", {"bits": 4}),
    ("tunable_gap", {"horizon": 5}),
    ("tunable_gap", {"horizon": 1, "eps": 1.0}),
]
BELIEFS = [  # a hidden state that moves at random: its gap is over states, not over beliefs
    ("leaking", {"horizon": 4, "actions": 4}),
    ("leaking", {"horizon": 3, "actions": 3, "leak": False}),
    ("leaking", {"horizon": 1, "actions": 5}),
]
EVERY = FINITE + MIXING + OTHERS + TREES + BELIEFS


def instances(kinds: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    return [
        pytest.param(name, parameters | {"seed": seed}, id=f"{name}{i}-{seed}")
        for i, (name, parameters) in enumerate(kinds)
        for seed in range(4)
    ]


def sequences(problem: surepath.Problem, length: int) -> Iterator[tuple[int, ...]]:
    return itertools.product(range(problem.n_actions), repeat=length)


class Enumeration:
    """Everything about a problem that trying all of its action sequences tells."""

    def __init__(self, problem: surepath.Problem) -> None:
        self.problem = problem
        self.returns = {s: problem.expected_return(s) for s in sequences(problem, problem.horizon)}
        self.best: dict[tuple[int, ...], float] = {}
        for sequence, value in self.returns.items():
            for length in range(problem.horizon + 1):
                prefix = sequence[:length]
                self.best[prefix] = max(value, self.best.get(prefix, -np.inf))
        inner = [prefix for prefix in self.best if len(prefix) < problem.horizon]
        self.states = {prefix: problem.path(prefix)[-1] for prefix in inner}

    def leads(self, prefix: tuple[int, ...]) -> np.ndarray:
        """V* - Q* of every action: what the prefix earned itself cancels."""
        best = [self.best[(*prefix, action)] for action in range(self.problem.n_actions)]
        return self.best[prefix] - np.array(best)

    def gap(self) -> float:
        leads = np.concatenate([self.leads(prefix) for prefix in self.states])
        return float(min(leads[leads > 1e-9], default=np.inf))

    def level(self, h: int) -> list[Any]:
        return [state for prefix, state in self.states.items() if len(prefix) == h]


@cache
def _enumerated(name: str, parameters: tuple[tuple[str, Any], ...]) -> Enumeration:
    return Enumeration(surepath.make(name, **dict(parameters)))


def enumerated(name: str, parameters: dict[str, Any]) -> Enumeration:
    return _enumerated(name, tuple(parameters.items()))


def embedding(problem: surepath.Problem, h: int, state: Any) -> np.ndarray:
    """Mean feature of the observation in a state, from its law."""
    law = problem.observation_law(h, state)
    assert isinstance(law, Categorical | Gaussian | QueryReading | Sighting)
    return law.probabilities if isinstance(law, Categorical) else law.mean


def short(name: str, **parameters: Any) -> surepath.Problem:
    """A small problem of the name, with 3 levels where it can be told so."""
    told = "horizon" in signature(factory(name)).parameters
    return surepath.make(name, **({"horizon": 3} if told else {}), **parameters)


def vertices(problem: Any) -> list[Mixture]:
    pure = np.eye(problem.n_components)
    return [Mixture(mode, c) for mode in range(problem.n_modes) for c in pure]
