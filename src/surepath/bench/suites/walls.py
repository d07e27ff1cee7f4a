"""Where a run could end for want of time or memory: sizes ten times those of everyday.

Each is run in a process of its own, at default settings but for the budget, so that its memory is
what it took at most. Ratios are of no use here: the seconds are those of the machine at hand.
"""

# Gymnasium and the Atari games are loaded when they are used, and have few types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from multiprocessing import get_context
from typing import Any

import numpy as np

from surepath.adapters.gym import as_system
from surepath.api import learn
from surepath.bench.families.payments import close_calls
from surepath.bench.harness.report import Finding, Section
from surepath.bench.harness.runs import Crew
from surepath.builtin_problems import Problem, make
from surepath.errors import MissingExtraError
from surepath.system import Actions

KILOBYTE = 1 if sys.platform == "darwin" else 1024
"""Bytes that the system counts the largest memory of a process in."""


@dataclass(frozen=True, slots=True)
class Wall:
    """A run that is large in one respect."""

    make: Callable[[], Any]  # the system
    options: Mapping[str, Any]  # of `learn`
    size: str


MOVES = ("UP", "RIGHT", "LEFT", "DOWN")
"""The actions of the game that are played by its screen."""


def _frames() -> Any:
    """Asterix by its screen, without sticky actions, each action held for twelve frames."""
    try:
        import ale_py
        import gymnasium
    except ModuleNotFoundError as error:
        raise MissingExtraError(str(error.name), "atari", "this benchmark") from error
    from surepath.adapters.wrappers import ActionList

    class Saved(gymnasium.Wrapper[Any, Any, Any, Any]):
        """Starts from a saved state: a reset with a seed loads the game from disk."""

        def __init__(self, env: Any) -> None:
            super().__init__(env)
            self._screen, _ = env.reset(seed=0)
            self._start = env.unwrapped.ale.cloneState()

        def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
            console: Any = self.unwrapped
            console.ale.restoreState(self._start)
            return self._screen, {}

    gymnasium.register_envs(ale_py)
    game = gymnasium.make("ALE/Asterix-v5", frameskip=12, repeat_action_probability=0.0)
    names = game.unwrapped.get_action_meanings()  # pyright: ignore[reportAttributeAccessIssue]
    return Saved(ActionList(game, [names.index(move) for move in MOVES]))


def _lost(system: Any, actions: Actions) -> float:
    """How much less the actions pay than the best: known of problems, else found by trying all."""
    if isinstance(system, Problem):
        return system.oracle.value - system.expected_return(actions)
    played = as_system(system, len(actions))
    paid = {
        each: float(sum(played.play(each, seed=0)[1]))
        for each in product(range(played.n_actions), repeat=len(actions))
    }
    return max(paid.values()) - paid[actions]


WALLS: Mapping[str, Wall] = {
    "long horizon": Wall(
        lambda: make("lock", horizon=500, actions=2, seed=0), {"budget": 6_000}, "lock, H = 500"
    ),
    "many states": Wall(
        lambda: make("tabular", horizon=5, states=1000, actions=6, observations=1000, seed=0),
        {"budget": 6_000},
        "tabular, up to 1,000 states a level, A = 6, H = 5",
    ),
    "many actions": Wall(
        lambda: make("tabular", horizon=6, states=10, actions=18, observations=12, seed=0),
        {},
        "tabular, A = 18, H = 6, 10 states",
    ),
    "raw frames": Wall(
        _frames,
        {"horizon": 4, "reward_range": (0, 150)},
        "Asterix, 210 x 160 x 3, A = 4, H = 4",
    ),
    "many episodes": Wall(
        lambda: close_calls(np.random.default_rng(0)).system,
        {"tolerance": 0.02, "budget": 10_000_000},
        "close decisions at many levels, to within 0.02",
    ),
}


@dataclass(frozen=True, slots=True)
class Taken:
    """What a run took."""

    seconds: float  # of CPU time
    memory: float  # most of it at a time, in GB
    nodes: int
    episodes: int
    result: str


def taken(name: str) -> Taken:
    """Run into a wall, in a process of its own."""
    with ProcessPoolExecutor(1, get_context("spawn")) as alone:
        return alone.submit(_run, name).result()


def _run(name: str) -> Taken:
    wall = WALLS[name]
    system = wall.make()
    started = time.process_time()
    result = learn(system, seed=0, **wall.options)
    seconds = time.process_time() - started
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KILOBYTE
    loss = _lost(system, result.actions)
    plan = "the optimum" if loss <= 1e-9 else f"loses {loss:.3g}"
    found = f"{result.certificate.status.value}, {plan}"
    return Taken(seconds, most / 1e9, result.usage.nodes, result.episodes, found)


def walls(crew: Crew) -> list[Finding]:
    if crew.quick:
        return ["walls: only in the full run."]
    runs = crew.spread(taken, list(WALLS), "walls")
    return [
        Section(
            "walls: each at default settings but for its budget, in a process of its own",
            ("wall", "size", "CPU seconds", "GB", "nodes", "episodes", "result"),
            [
                (
                    name,
                    WALLS[name].size,
                    run.seconds,
                    run.memory,
                    run.nodes,
                    run.episodes,
                    run.result,
                )
                for name, run in zip(WALLS, runs, strict=True)
            ],
        )
    ]
