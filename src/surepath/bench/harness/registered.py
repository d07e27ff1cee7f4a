"""Environments of Gymnasium's registry: one start, a noisy sensor, and the truth found by search.

Each is a line of data. Without its noise such an environment does the same every time, so it is
stepped once for every sequence of actions and remembered: what a run then costs is the learner's
own time and that of the sensor. Needs no clone, unlike the environments of the examples.
"""

# Gymnasium's environments are generic in types that do not matter here:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from operator import itemgetter
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs

from surepath.adapters.gym import as_system
from surepath.adapters.wrappers import (
    ActionList,
    ActionRepeat,
    Confusion,
    Env,
    FixedStart,
    GaussianNoise,
    PixelNoise,
    Transition,
    Wrapper,
)
from surepath.bench.harness.worlds import World
from surepath.errors import MissingExtraError
from surepath.system import Actions

MISREAD = 0.1
"""Probability that a symbol, or a cell of an image, is read as a random one."""

MINIGRID = "MiniGrid"

Settings: TypeAlias = tuple[tuple[str, Any], ...]
"""Arguments by name, as pairs: they can be compared and written down."""


@dataclass(frozen=True, slots=True)
class Registered:
    """An environment of the registry, and how it is looked at."""

    title: str
    name: str  # in the registry, without its version: the newest is taken
    horizon: int
    paid: tuple[float, float] = (0.0, 1.0)  # the range of what one action can be paid
    start: int = 0  # seed of the reset that every episode begins with
    actions: tuple[int, ...] = ()  # those that are allowed; all of them, where there is nothing
    hold: int = 1  # steps that every action is held for
    noise: tuple[float, ...] = ()  # standard deviations of real readings
    arguments: Settings = ()  # of the environment
    beginning: Settings = ()  # options of every reset

    def build(self) -> World:
        options = {} if self.paid == (0.0, 1.0) else {"reward_range": self.paid}
        _, best = search(self)
        return World(partial(noisy, self), partial(returns, self), best, self.horizon, options)


class BeginsWith(Wrapper, RecordConstructorArgs):
    """Gives the same options to every reset."""

    def __init__(self, env: Env, options: dict[str, Any]) -> None:
        RecordConstructorArgs.__init__(self, options=options)
        gymnasium.Wrapper.__init__(self, env)
        self._options = options

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        return self.env.reset(seed=seed, options=self._options | (options or {}))


class Remembered(Wrapper, RecordConstructorArgs):
    """An environment that does the same every time, stepped once for every sequence of actions."""

    def __init__(self, env: Env) -> None:
        RecordConstructorArgs.__init__(self)
        gymnasium.Wrapper.__init__(self, env)
        self._first: Any = None  # the observation that every episode begins with
        self._seen: dict[Actions, Transition] = {}
        self._at: Actions = ()  # where the episode is
        self._env_at: Actions | None = None  # where the environment was left

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        self._at = ()
        if self._first is None:
            self._first, _ = self.env.reset(seed=seed, options=options)
            self._env_at = ()
        return self._first, {}

    def step(self, action: Any) -> Transition:
        self._at = (*self._at, int(action))
        if self._at not in self._seen:
            self._seen[self._at] = self._stepped(self._at)
        return self._seen[self._at]

    def _stepped(self, actions: Actions) -> Transition:
        if self._env_at != actions[:-1]:
            self.env.reset()
            for action in actions[:-1]:
                self.env.step(action)
        self._env_at = actions
        return self.env.step(actions[-1])


# ---------------------------------------------------------------- from a line of data


def bare(case: Registered) -> Env:
    """The environment without noise: one start, the allowed actions, each held."""
    if case.name.startswith(MINIGRID):
        register_minigrid()
    env: Env = gymnasium.make(newest(case.name), disable_env_checker=True, **dict(case.arguments))
    if case.beginning:
        env = BeginsWith(env, dict(case.beginning))
    env = FixedStart(env, case.start)
    if case.name.startswith(MINIGRID):
        from minigrid.wrappers import ImgObsWrapper

        env = ImgObsWrapper(env)
    if case.actions:
        env = ActionList(env, case.actions)
    return ActionRepeat(env, case.hold) if case.hold > 1 else env


def noisy(case: Registered) -> Env:
    """The environment as it is learned, behind its sensor."""
    env = Remembered(bare(case))
    space = env.observation_space
    if isinstance(space, spaces.Discrete):
        symbols = int(space.n)
        matrix = (1 - MISREAD) * np.eye(symbols) + MISREAD / symbols
        return Confusion(env, matrix)
    if case.name.startswith(MINIGRID):
        return PixelNoise(env, MISREAD, cells=True, values=_cell_values())
    return GaussianNoise(env, case.noise)


def returns(case: Registered, actions: Actions) -> float:
    """What the actions pay in the environment without noise."""
    return sum(as_system(bare(case), case.horizon).play(actions, seed=0)[1])


def newest(name: str) -> str:
    """The newest version of an environment, by its name: older ones are refused after a while."""
    versions = [
        spec.version or 0
        for spec in gymnasium.registry.values()
        if spec.name == name and spec.namespace is None
    ]
    return f"{name}-v{max(versions)}"


def register_minigrid() -> None:
    try:
        import minigrid
    except ModuleNotFoundError as error:
        raise MissingExtraError(str(error.name), "minigrid", "this benchmark") from error
    assert minigrid  # importing it is what registers its environments


def _cell_values() -> list[list[int]]:
    """What the three numbers of a cell can be: kind, colour, state."""
    from minigrid.core.constants import COLOR_TO_IDX, OBJECT_TO_IDX, STATE_TO_IDX

    return [list(range(len(names))) for names in (OBJECT_TO_IDX, COLOR_TO_IDX, STATE_TO_IDX)]


# ---------------------------------------------------------------- the truth


@cache
def search(case: Registered) -> tuple[Actions, float]:
    """The best plan and what it pays, by taking every action in every state that can be reached.

    Plans that lead to the same state in as many steps have the same future: of these, the one that
    was paid most goes on. Where no two plans do, this is trying them all.
    """
    env = bare(case)
    n_actions = int(env.action_space.n)  # pyright: ignore[reportAttributeAccessIssue]
    best: tuple[Actions, float] = (), -np.inf
    front: list[tuple[Actions, float]] = [((), 0.0)]
    for depth in range(1, case.horizon + 1):
        reached: dict[Hashable, tuple[Actions, float]] = {}
        for (actions, earned), action in product(front, range(n_actions)):
            plan = (*actions, action)
            reward, ended = _last_step(env, plan)
            total = earned + reward
            if ended or depth == case.horizon:
                best = max(best, (plan, total), key=itemgetter(1))
                continue
            place = _hidden_state(env)
            if place not in reached or total > reached[place][1]:
                reached[place] = plan, total
        front = list(reached.values())
    return best


def _last_step(env: Env, actions: Actions) -> tuple[float, bool]:
    """The actions from the start: what the last of them pays, and whether it is the end."""
    env.reset()
    for action in actions[:-1]:
        env.step(action)
    _, reward, terminated, truncated, _ = env.step(actions[-1])
    return float(reward), terminated or truncated


def _hidden_state(env: Env) -> Hashable:
    """All that the future depends on, beside the number of steps taken."""
    base: Any = env.unwrapped
    if hasattr(base, "grid"):
        return base.hash()  # MiniGrid: what is carried is what the grid lacks
    if hasattr(base, "s"):
        return int(base.s)
    return tuple(np.ravel(base.state).tolist())
