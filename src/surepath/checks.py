"""The contract of a system and of features, as checks that users can run on their own.

`check_system` and `check_features` raise `InputError` where something is against the contract, and
report what is legal but probably not meant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from surepath.adapters.gym import as_system, is_gym
from surepath.adapters.spaces import encoding_of, numbers
from surepath.errors import InputError
from surepath.features import Custom
from surepath.inference.independence import Dependence
from surepath.prepare.features import resolve
from surepath.prepare.kernel_features import EXACT_SAMPLES
from surepath.prepare.pilot import draw_pilot
from surepath.readings.embedding import KernelMap
from surepath.run.runner import Runner
from surepath.system import (
    Actions,
    Declared,
    Episodes,
    Episodic,
    FloatArray,
    System,
    as_episodes,
    steps_of,
)
from surepath.validate import whole

FEW, MANY = 3, 128
"""Episodes that show a shape, and that show a law."""

MOST_TRIED = 32
"""Actions that are tried one by one."""

MOST_NUMBERS = 64
"""Numbers of an observation whose dependence on each other is looked at."""

LARGE = 6.0
"""Standard deviations beyond which two means are not the same."""

ROUNDING = 1e-9
"""Features of the same observation may differ by this, in units of the largest."""


@dataclass(frozen=True, slots=True)
class SystemReport:
    """What was checked, and what is legal but probably not meant."""

    checked: tuple[str, ...]
    warnings: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(
            [*(f"ok: {each}" for each in self.checked), *(f"warning: {w}" for w in self.warnings)]
        )


@dataclass(frozen=True, slots=True)
class FeatureReport:
    note: str  # what was chosen, with every scale
    dimension: int | None  # None for a kernel that is used exactly
    radius: float | None  # bound on their length, where there is one
    longest: float  # on the pilot
    warnings: tuple[str, ...]

    def __str__(self) -> str:
        dimension = "" if self.dimension is None else f"{self.dimension} dimensions, "
        bound = "not bounded" if self.radius is None else f"at most {self.radius:.4g}"
        said = f"ok: {self.note}\nok: {dimension}length {bound}, {self.longest:.4g} on the pilot"
        return "\n".join([said, *(f"warning: {warning}" for warning in self.warnings)])


# ---------------------------------------------------------------- systems


def check_system(
    env: object, horizon: int | None = None, *, seed: int = 0, reproducible: bool = True
) -> SystemReport:
    """Run some hundred episodes and say whether the system keeps to the contract.

    env: a system, or whatever Gymnasium has: an environment, an id, a function that returns one.
    reproducible: whether the same generator must give the same episodes; not so on real hardware.
    """
    system = _system_of(env, horizon)
    levels = system.horizon if horizon is None else min(horizon, system.horizon)
    trial = _Trial(system, levels, seed)
    _check_actions(trial)
    shape = _check_shapes(trial)
    checked = [
        f"{levels} levels, {system.n_actions} actions, observations of shape {shape}",
        "shapes, types and counts; every value finite",
        "every action accepted"
        if system.n_actions <= MOST_TRIED
        else f"the first {MOST_TRIED} actions accepted",
    ]
    if reproducible:
        _check_repeats(trial)
        checked.append("the same generator gives the same episodes")
    if isinstance(system, Episodic):
        _check_plays(trial, system, shape, reproducible=reproducible)
        checked.append("single episodes have the shape of those of rollout")
    return SystemReport(tuple(checked), tuple(_warnings(trial)))


class _Trial:
    """A system under test: draws checked episodes of random actions."""

    def __init__(self, system: System, horizon: int, seed: int) -> None:
        self.system, self.horizon, self.seed = system, horizon, seed
        rng = np.random.default_rng(seed)
        self.plans = [
            tuple(int(a) for a in rng.integers(system.n_actions, size=horizon)) for _ in range(2)
        ]

    def draw(self, actions: Actions, n: int, noise: int) -> Episodes:
        rng = np.random.default_rng((self.seed, noise))
        return self.check(cast(Any, self.system).rollout(actions, n, rng), actions, n)

    def check(self, returned: Any, actions: Actions, n: int) -> Episodes:
        episodes = as_episodes(returned)
        steps = steps_of(actions, self.horizon)
        if tuple(episodes.actions) != actions or episodes.count != n:
            raise InputError(
                "episodes must be those that were asked for",
                got=f"{episodes.count} episodes of {episodes.actions}",
                remedy=f"Run {actions} exactly {n} times.",
            )
        if episodes.observations.shape[1] < steps:
            raise InputError(
                "an episode reads one observation before each action and one after the last",
                got=f"{episodes.observations.shape[1]} observations for {len(actions)} actions",
                remedy=f"Return observations of shape [n, {steps}, ...] for that many actions.",
            )
        bad = np.argwhere(~np.isfinite(episodes.rewards.astype(np.float64)))
        if len(bad):
            raise InputError(
                "rewards must be finite",
                got=f"{episodes.rewards[tuple(bad[0])]} in episode {bad[0, 0]}, step {bad[0, 1]}",
                remedy="Have the system repair or repeat such a step.",
            )
        for step in range(steps):
            self.encode(episodes.observations[:, step])
        return episodes

    def encode(self, observations: NDArray[Any]) -> FloatArray:
        """Observations [n, ...] as finite numbers [n, d], by what the system says of them."""
        symbols = Declared(self.system).n_observations
        if symbols is not None:
            values = numbers(observations, 1)
            if not np.isin(values, np.arange(symbols)).all():
                raise InputError(
                    f"discrete observations are 0 .. {symbols - 1}, as n_observations says",
                    got=f"values from {values.min():g} to {values.max():g}",
                    remedy="Correct n_observations, or the observations.",
                )
            return np.eye(symbols)[values[:, 0].astype(np.int64)]
        space = Declared(self.system).observation_space
        return numbers(observations) if space is None else encoding_of(space).encode(observations)


def _system_of(env: object, horizon: int | None) -> System:
    if is_gym(env):
        return as_system(env, horizon)
    missing = [name for name in ("horizon", "n_actions", "rollout") if not hasattr(env, name)]
    if missing or isinstance(env, type):
        raise InputError(
            "a system has horizon, n_actions and rollout(actions, n, rng)",
            got=f"{env!r}" + (f" without {', '.join(missing)}" if missing else ", a class"),
            remedy="Pass an object with these members.",
        )
    system = cast(System, env)
    whole("horizon", system.horizon, least=1)
    whole("n_actions", system.n_actions, least=1)
    if not callable(cast(Any, system).rollout):
        raise InputError(
            "rollout must be a method",
            got=repr(system.rollout),
            remedy="Define rollout(actions, n, rng).",
        )
    return system


def _check_shapes(trial: _Trial) -> tuple[int, ...]:
    """One shape and one type of observations, whatever the actions: the shape."""
    shapes: dict[tuple[tuple[int, ...], str], int] = {}
    for length in sorted({0, 1, trial.horizon - 1, trial.horizon}):
        for n in (1, FEW):
            read = trial.draw(trial.plans[0][:length], n, 0).observations
            shapes.setdefault((read.shape[2:], str(read.dtype)), length)
    if len(shapes) > 1:
        listed = ", ".join(
            f"shape {shape} of {kind} after {length} actions"
            for (shape, kind), length in shapes.items()
        )
        raise InputError(
            "all observations of a system have one shape and one type",
            got=listed,
            remedy="Return the same kind of array whatever the actions.",
        )
    return next(iter(shapes))[0]


def _check_actions(trial: _Trial) -> None:
    for action in range(min(trial.system.n_actions, MOST_TRIED)):
        try:
            trial.draw((action,), 1, 0)
        except InputError:
            raise
        except (ValueError, LookupError, TypeError) as error:
            raise InputError(
                f"every action from 0 to {trial.system.n_actions - 1} must be possible at the "
                "start",
                got=f"{type(error).__name__} for action {action}: {error}",
                remedy="Let an action that makes no sense change nothing; or correct n_actions.",
            ) from error


def _check_repeats(trial: _Trial) -> None:
    first, second = (trial.draw(trial.plans[0], FEW, 1) for _ in range(2))
    _same("the same generator must give the same episodes", first, second)


def _same(what: str, first: Episodes, second: Episodes) -> None:
    if _equal(first.observations, second.observations) and _equal(first.rewards, second.rewards):
        return
    raise InputError(
        what,
        got="readings that differ the second time",
        remedy="Draw all noise from the generator or the seed that is given, and begin every "
        "episode anew; for real hardware pass reproducible=False.",
    )


def _check_plays(
    trial: _Trial, system: Episodic, shape: tuple[int, ...], *, reproducible: bool
) -> None:
    plan = trial.plans[0]
    episodes, again = (
        trial.check(system.gather(plan, [system.play(plan, seed) for seed in (1, 2, 3)]), plan, 3)
        for _ in range(2)
    )
    if episodes.observations.shape[2:] != shape:
        raise InputError(
            "gather must return what rollout returns",
            got=f"observations of shape {episodes.observations.shape[2:]} and of shape {shape}",
            remedy="Let rollout use play and gather.",
        )
    if reproducible:
        _same("the same seed must give the same episode", episodes, again)


def _warnings(trial: _Trial) -> list[str]:
    one, other = (trial.draw(plan, MANY, 2 + i) for i, plan in enumerate(trial.plans))
    parts = [one.observations, one.rewards]
    if all(_equal(part, np.broadcast_to(part[:1], part.shape)) for part in parts):
        return [
            f"no noise or frozen noise: {MANY} episodes of the same actions were all the same; "
            "where there is noise, each episode needs its own"
        ]
    found: list[str] = []
    if isinstance(trial.system, Episodic):
        plays = [trial.system.play(trial.plans[0], seed) for seed in range(MANY)]
        if _far(one.rewards, trial.system.gather(trial.plans[0], plays).rewards):
            found.append("single episodes pay differently from those of rollout")
    if _far(*(trial.encode(each.observations[:, 0]) for each in (one, other))):
        found.append(
            "the first observation depends on the actions that follow, or changes from one call "
            "to the next: episodes must begin in the same state"
        )
    dependence = Dependence(_rows_of(trial, one))
    dependence.add(one)
    if text := dependence.doubt() or dependence.warning():
        found.append(text)
    return found


def _rows_of(trial: _Trial, episodes: Episodes) -> Custom:
    """Observations as numbers, and of those that have very many some random sums."""
    dimension = trial.encode(episodes.observations[:1, 0]).shape[1]
    if dimension <= MOST_NUMBERS:
        return Custom(trial.encode, dimension)
    sums = np.random.default_rng(trial.seed).standard_normal((dimension, MOST_NUMBERS))
    return Custom(lambda batch: trial.encode(batch) @ sums, MOST_NUMBERS)


def _equal(first: NDArray[Any], second: NDArray[Any]) -> bool:
    """Whether all values are the same, also where they are dicts or tuples of arrays."""
    if first.dtype != object:
        return bool(np.array_equal(first, second))
    return [repr(value) for value in first.flat] == [repr(value) for value in second.flat]


def _far(one: FloatArray, other: FloatArray) -> bool:
    """Whether some mean differs by more than chance explains."""
    difference = np.abs(one.mean(axis=0) - other.mean(axis=0))
    error = np.sqrt(one.var(axis=0) / len(one) + other.var(axis=0) / len(other))
    size = np.maximum(np.abs(one).max(axis=0), np.abs(other).max(axis=0))
    return bool((difference > np.maximum(LARGE * error, ROUNDING * size)).any())


# ---------------------------------------------------------------- features


def check_features(
    features: object, env: object, horizon: int | None = None, *, seed: int = 0
) -> FeatureReport:
    """Resolve the features on a pilot of the system and check what they return on it."""
    system = _system_of(env, horizon)
    levels = system.horizon if horizon is None else min(horizon, system.horizon)
    pilot = draw_pilot(Runner(system, seed), levels)
    found = resolve(features, system, lambda: pilot, EXACT_SAMPLES + 1)
    psi = found.features
    if isinstance(psi, KernelMap):
        sizes = np.sqrt(psi.kernel.diag(psi.view(pilot.observations)))
        return FeatureReport(found.note, None, 1.0, float(sizes.max()), ())
    rows = psi.rows(pilot.observations)
    _check_function(psi.rows, pilot.observations, rows)
    longest = float(np.linalg.norm(rows, axis=1).max())
    warnings = tuple(_feature_warnings(rows))
    return FeatureReport(found.note, psi.dimension, psi.radius, longest, warnings)


def _check_function(
    function: Callable[[NDArray[Any]], FloatArray], batch: NDArray[Any], rows: FloatArray
) -> None:
    """Features are a function of the observation: not of chance, nor of its neighbours."""
    tolerance = ROUNDING * max(1.0, float(np.abs(rows).max()))
    again = function(batch)
    if float(np.abs(again - rows).max()) > tolerance:
        raise InputError(
            "features of the same observations must be the same every time",
            got=f"values that differ by {float(np.abs(again - rows).max()):.3g}",
            remedy="Fix whatever is random in the feature function.",
        )
    few = min(len(batch), FEW)
    alone = np.concatenate([function(batch[i : i + 1]) for i in range(few)])
    if float(np.abs(alone - rows[:few]).max()) > max(tolerance, 1e-6):
        raise InputError(
            "features of an observation must not depend on the others of its batch",
            got=f"values that differ by {float(np.abs(alone - rows[:few]).max()):.3g}",
            remedy="Scale or centre by fixed numbers, not by those of the batch.",
        )


def _feature_warnings(rows: FloatArray) -> list[str]:
    if len(rows) > 1 and (rows == rows[0]).all():
        return ["the features are the same for all observations: they tell no states apart"]
    if (np.abs(rows).max(axis=1) == 0).any():
        return ["some observations have features that are all zero: nothing can be learned there"]
    return []
