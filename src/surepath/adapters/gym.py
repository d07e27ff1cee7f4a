"""Gymnasium in: an environment as a system.

Every episode is one `reset(seed=...)` with a seed of its own and one `step` for each action. What
follows an early end is an absorbing state without reward. Gymnasium is imported when an environment
is looked at, which only happens to those who have one.
"""

# Gymnasium's environments are generic in types that do not matter here:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from math import prod
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from surepath.adapters.action_names import names_of
from surepath.adapters.building import Recipe, recipe_of
from surepath.adapters.layout import Layout
from surepath.errors import InputError
from surepath.system import Actions, Episodes, FloatArray, Play, steps_of
from surepath.validate import plain, whole

SHORT = 50
"""A time limit of the environment up to this is taken as the horizon."""

MOST_ACTIONS = 10_000
"""Combinations of a MultiDiscrete or MultiBinary action space, at most: plans try them all."""

WATCHERS = ("PassiveEnvChecker", "OrderEnforcing")
"""Gymnasium's wrappers that complain of misuse and change nothing."""


class GymSystem:
    """A Gymnasium environment as a system that runs one episode at a time.

    Built by `as_system`. Symbols and numbers are laid out as `observation_space` says, with a
    symbol or a flag for "the episode has ended". Each process builds its own environment.
    """

    def __init__(self, recipe: Recipe, horizon: int | None, env: Any = None) -> None:
        self._recipe = recipe
        self._given = self._env = env
        built = self._built()
        self.horizon = _horizon(built, horizon)
        self._moves = _moves(built.action_space)
        self._latest: tuple[Actions, list[Any]] = ((), [])
        self._layout = Layout(built.observation_space)
        self.n_actions = len(self._moves)
        self.observation_space = self._layout.space
        self.n_observations = self._layout.n_observations
        self.image_shape = self._layout.image_shape
        self.action_names = names_of(built)
        self.identity = _identity(built, self._moves)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_env": None, "_given": None}

    def play(self, actions: Actions, seed: int) -> Play:
        """One episode; the observation that comes with an end is not part of it."""
        env = self._built()
        step, keep = env.step, self._layout.keep
        if self._latest[0] is not actions:  # the same plan is played many times
            self._latest = actions, self._moves_of(actions)
        observation, _ = env.reset(seed=seed)
        observations: list[Any] = []
        rewards: list[float] = []
        for move in self._latest[1]:
            observations.append(keep(observation))
            observation, reward, terminated, truncated, _ = step(move)
            rewards.append(reward)
            if terminated or truncated:
                break
        else:
            if len(actions) < self.horizon:
                observations.append(keep(observation))
        return observations, rewards

    def gather(self, actions: Actions, plays: Sequence[Play]) -> Episodes:
        """Episodes of the same actions side by side, filled up where they ended early."""
        steps = steps_of(actions, self.horizon)
        read = _there([len(observations) for observations, _ in plays], steps)
        paid = _there([len(rewards) for _, rewards in plays], len(actions))
        shown = self._layout.fill(read, list(chain.from_iterable(seen for seen, _ in plays)))
        return Episodes(actions, shown, _rewards(paid, plays))

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        seeds = cast(list[int], rng.integers(2**31, size=n).tolist())
        return self.gather(actions, [self.play(actions, seed) for seed in seeds])

    def action_of(self, index: int) -> Any:
        """The environment's own action for one of 0 .. n_actions - 1."""
        return self._moves_of((index,))[0]

    def close(self) -> None:
        """Close the environment, unless it came from outside; the next episode builds another."""
        if self._env is not None and self._env is not self._given:
            self._env.close()
            self._env = None

    def _built(self) -> Any:
        if self._env is None:
            self._env = self._recipe()
        return self._env

    def _moves_of(self, actions: Actions) -> list[Any]:
        if len(actions) > self.horizon:
            raise InputError(
                f"an episode has at most {self.horizon} actions",
                got=f"{len(actions)} actions",
                remedy="Shorten the sequence, or give the system a longer horizon.",
            )
        try:
            return [self._moves[action] for action in actions]
        except KeyError as error:
            raise InputError(
                f"actions are 0 .. {self.n_actions - 1}",
                got=f"{error.args[0]!r} among {actions}",
                remedy="Use one of the actions the system has.",
            ) from None


def as_system(env: object, horizon: int | None = None) -> GymSystem:
    """A system from a gymnasium.Env, an id, an EnvSpec, or a function that returns an Env.

    horizon: number of actions to plan; may be left out where the environment has a time limit of
    at most 50 steps. What happens after it does not count.
    """
    import gymnasium

    live = env if isinstance(env, gymnasium.Env) else None
    return GymSystem(recipe_of(env), horizon, live)


def is_gym(env: object) -> bool:
    """Whether `as_system` is the way to use this; any string counts as an id.

    Says so without importing Gymnasium: who has one of its objects has imported it already.
    """
    if isinstance(env, str):
        return True
    gymnasium: Any = sys.modules.get("gymnasium")
    if isinstance(env, type):
        return gymnasium is not None and issubclass(env, gymnasium.Env)
    if gymnasium is not None and isinstance(
        env, gymnasium.Env | gymnasium.envs.registration.EnvSpec
    ):
        return True
    return callable(env) and not hasattr(env, "rollout")


def _horizon(env: Any, horizon: int | None) -> int:
    if horizon is not None:
        return whole("horizon", horizon, least=1)
    limit = None if env.spec is None else env.spec.max_episode_steps
    if limit is None or limit > SHORT:
        raise InputError(
            "the horizon of this environment must be given: how many actions to plan",
            got="no time limit" if limit is None else f"a time limit of {limit} steps",
            remedy="Set horizon; the shorter, the fewer episodes it takes.",
        )
    return int(limit)


def _moves(space: Any) -> dict[int, Any]:
    """The environment's own action for each index."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        start = int(space.start)
        return {index: start + index for index in range(int(space.n))}
    if isinstance(space, spaces.MultiDiscrete):
        return _combinations(space.nvec, space.start, space.dtype)
    if isinstance(space, spaces.MultiBinary):
        return _combinations(np.full(space.shape, 2), np.zeros(space.shape), space.dtype)
    raise InputError(
        "there must be finitely many actions: Discrete, MultiDiscrete or MultiBinary",
        got=f"the action space {space}",
        remedy="List those to choose from with surepath's wrapper ActionList(env, actions).",
    )


def _combinations(sizes: NDArray[Any], starts: NDArray[Any], dtype: Any) -> dict[int, Any]:
    """All combinations, counted like digits with the last one the fastest."""
    count = prod(int(size) for size in np.ravel(sizes))
    if count > MOST_ACTIONS:
        raise InputError(
            f"an action space may have {MOST_ACTIONS} combinations",
            got=f"{count} combinations of {np.size(sizes)} parts",
            remedy="List those to choose from with surepath's wrapper ActionList(env, actions).",
        )
    digits = np.stack(np.unravel_index(np.arange(count), np.ravel(sizes)), axis=1)
    table = (digits.reshape(count, *np.shape(sizes)) + starts).astype(dtype)
    table.setflags(
        write=False
    )  # an environment that changed its action would change all later ones
    return dict(enumerate(table))


def _there(lengths: list[int], longest: int) -> NDArray[np.bool_]:
    """[n, longest]: whether an episode got that far."""
    return np.arange(longest) < np.array(lengths, dtype=np.int64)[:, None]


def _rewards(paid: NDArray[np.bool_], plays: Sequence[Play]) -> FloatArray:
    rewards = np.zeros(paid.shape)
    values = list(chain.from_iterable(received for _, received in plays))
    numbers, fine = _numbers(values)
    if not fine.all():
        index = int(np.argmin(fine))
        raise InputError(
            "rewards must be finite numbers",
            got=f"{values[index]!r} at step {np.nonzero(paid)[1][index]}",
            remedy="Have the environment return one finite number for every step: a whole or "
            "floating-point one, or a boolean, which counts as 0 or 1.",
        )
    rewards[paid] = numbers
    return rewards


def _numbers(values: list[Any]) -> tuple[FloatArray, NDArray[np.bool_]]:
    """The rewards as doubles, and which of them are finite numbers.

    NumPy would also read texts and decimals as numbers. They are looked at one by one only where
    not all are plain numbers.
    """
    try:
        together = np.array(values)
    except ValueError:  # some are several numbers
        together = np.empty(0, dtype=object)
    if together.ndim != 1 or together.dtype.kind not in "biuf":
        together = np.array([_double(value) for value in values])
    numbers = together.astype(np.float64)
    return numbers, np.isfinite(numbers)


def _double(value: Any) -> float:
    """The number as a double; what is no number, or too large, is none."""
    if not isinstance(value, int | float | np.integer | np.floating | np.bool_):
        return np.nan
    try:
        return float(value)
    except OverflowError:
        return np.inf


def _identity(env: Any, moves: Mapping[int, Any]) -> dict[str, Any]:
    """Which environment this is, as plain data: two that differ in it are not the same system."""
    base = env.unwrapped
    spec = base.spec
    package = type(base).__module__.partition(".")[0]
    return {
        "environment": spec.id if spec is not None else _name(type(base)),
        "kwargs": plain(spec.kwargs, _kind) if spec is not None else None,
        "wrappers": [[_name(type(w)), plain(_arguments(w), _kind)] for w in _wrappers(env)],
        "actions": [plain(move, _kind) for move in moves.values()],
        "version": {package: getattr(sys.modules.get(package), "__version__", None)},
    }


def _wrappers(env: Any) -> Iterator[Any]:
    """From the outermost to the innermost, without those that only watch."""
    while env is not env.unwrapped:
        if type(env).__name__ not in WATCHERS:
            yield env
        env = env.env


def _arguments(wrapper: Any) -> dict[str, Any] | None:
    """What it was made with, where it keeps record (gymnasium.utils.RecordConstructorArgs)."""
    saved: dict[str, Any] | None = getattr(wrapper, "_saved_kwargs", None)
    return None if saved is None else {key: saved[key] for key in saved if key != "env"}


def _kind(value: Any) -> str:
    return _name(value if callable(value) else type(value))


def _name(thing: type | Callable[..., Any]) -> str:
    kind = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{kind.__module__}.{kind.__qualname__}"
