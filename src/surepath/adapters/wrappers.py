"""Gymnasium wrappers that turn an environment into what surepath solves: one start, noisy sensors.

Ordinary wrappers: they can be stacked with any others, and `env.spec` can build them again. Noise
comes from a generator of the wrapper's own that `reset(seed=...)` seeds, so it is independent of
the environment's and of the other wrappers'. Importing this module imports Gymnasium.
"""

# Gymnasium's environments are generic in types that do not matter here:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import ArrayLike, NDArray

from surepath.adapters.action_names import called
from surepath.errors import InputError
from surepath.validate import array_of, between, nearest, probabilities, whole

Env: TypeAlias = gymnasium.Env[Any, Any]
Wrapper: TypeAlias = gymnasium.Wrapper[Any, Any, Any, Any]
ObservationWrapper: TypeAlias = gymnasium.ObservationWrapper[Any, Any, Any]
Transition: TypeAlias = tuple[Any, Any, bool, bool, dict[str, Any]]

NOISE = 0x5EED
"""First part of the key of every generator made here: Gymnasium's own seeding uses no key."""

KINDS = ("gaussian", "bernoulli")


class Noisy(Wrapper, RecordConstructorArgs):
    """A wrapper with a generator of its own."""

    def __init__(self, env: Env, **arguments: Any) -> None:
        RecordConstructorArgs.__init__(self, **arguments)
        gymnasium.Wrapper.__init__(self, env)
        self._level = _noisy_below(env)  # so that no two of a stack share their noise
        self.noise = self._generator(None)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Seeds the noise; without a seed it goes on where it was, as Gymnasium's own does."""
        if seed is not None:
            self.noise = self._generator(seed)
        observation, info = self.env.reset(seed=seed, options=options)
        return self.observation(observation), info

    def step(self, action: Any) -> Transition:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self.observation(observation), reward, terminated, truncated, info

    def observation(self, observation: Any) -> Any:
        """What is shown instead of the environment's observation."""
        return observation

    def _generator(self, seed: int | None) -> np.random.Generator:
        key = np.random.SeedSequence(seed, spawn_key=(NOISE, self._level))
        return np.random.Generator(np.random.PCG64(key))


class FixedStart(Noisy):
    """Starts every episode the way `reset(seed=seed)` does, without freezing the noise.

    After the reset the environment gets a fresh generator, seeded by the episode's own seed: what
    it draws while it is acted on differs from episode to episode. What it drew during the reset,
    noise of the first observation included, is always the same.
    """

    def __init__(self, env: Env, seed: int) -> None:
        super().__init__(env, seed=whole("seed", seed, least=0))
        self._seed = seed

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            self.noise = self._generator(seed)
        observation, info = self.env.reset(seed=self._seed, options=options)
        self.unwrapped.np_random = np.random.default_rng(self.noise.integers(2**63))
        return observation, info


# ---------------------------------------------------------------- sensors


class GaussianNoise(Noisy):
    """Adds Gaussian noise to the numbers of a Box; `scale` is its standard deviation."""

    def __init__(self, env: Env, scale: ArrayLike) -> None:
        super().__init__(env, scale=scale)
        box = _box(env, self, "f")
        self._scale = _scales("scale", scale, box.shape)
        ends = np.full(box.shape, np.inf, dtype=box.dtype)
        self.observation_space = spaces.Box(-ends, ends, dtype=cast(Any, box.dtype))

    def observation(self, observation: Any) -> NDArray[Any]:
        shown = observation + self._scale * self.noise.standard_normal(np.shape(observation))
        return shown.astype(self.observation_space.dtype)


class Quantised(ObservationWrapper, RecordConstructorArgs):
    """Shows the numbers of a Box as multiples of `step`: a dial with marks."""

    def __init__(self, env: Env, step: ArrayLike) -> None:
        RecordConstructorArgs.__init__(self, step=step)
        gymnasium.ObservationWrapper.__init__(self, env)
        box = _box(env, self, "f")
        self._step = _scales("step", step, box.shape)
        if not (self._step > 0).all():
            raise InputError(
                "the step of a dial must be positive",
                got=step,
                remedy="Give the distance between two marks.",
            )
        low, high = (self._rounded(end).astype(box.dtype) for end in (box.low, box.high))
        self.observation_space = spaces.Box(low, high, dtype=cast(Any, box.dtype))

    def observation(self, observation: Any) -> NDArray[Any]:
        return self._rounded(observation).astype(self.observation_space.dtype)

    def _rounded(self, values: Any) -> NDArray[Any]:
        return np.round(values / self._step) * self._step


class PixelNoise(Noisy):
    """Replaces entries of a Box of whole numbers by random ones, each with the same probability.

    cells: replace whole cells, the last axis at once, as in the images of MiniGrid.
    values: what may be drawn, a list for each entry of the last axis; by default everything from
    the lowest to the highest value of the space.
    """

    def __init__(
        self,
        env: Env,
        probability: float,
        cells: bool = False,
        values: Sequence[Sequence[int]] | None = None,
    ) -> None:
        super().__init__(env, probability=probability, cells=cells, values=values)
        self._probability = between("probability", probability, 0, 1, closed=(True, True))
        box = _box(env, self, "iu")
        if (cells or values is not None) and not box.shape:
            raise _mismatch(self, "a last axis for cells or values", box)
        self._cells = cells
        self._values = None if values is None else _drawable(values, box)
        self._low, self._high = cast(Any, box.low), cast(Any, box.high)

    def observation(self, observation: Any) -> NDArray[Any]:
        shape = np.shape(observation)
        # A cell is hit or missed as one: one draw for all of its last axis.
        hit = self.noise.random((*shape[:-1], 1) if self._cells else shape) < self._probability
        return np.where(hit, self._drawn(shape), observation).astype(self.observation_space.dtype)

    def _drawn(self, shape: tuple[int, ...]) -> NDArray[Any]:
        if self._values is None:
            dtype = self._low.dtype
            return self.noise.integers(self._low, self._high, dtype=dtype, endpoint=True)
        # As Generator.choice does, without its checks: this runs at every step.
        draw = self.noise.integers
        channels = [values[draw(len(values), size=shape[:-1])] for values in self._values]
        return np.stack(channels, axis=-1)


class Dropout(Noisy):
    """Sets each entry of a Box to zero with the same probability."""

    def __init__(self, env: Env, probability: float) -> None:
        super().__init__(env, probability=probability)
        self._probability = between("probability", probability, 0, 1, closed=(True, True))
        box = _box(env, self, "iuf")
        low, high = np.minimum(box.low, 0), np.maximum(box.high, 0)
        dtype = cast(Any, box.dtype)
        self.observation_space = spaces.Box(low.astype(dtype), high.astype(dtype), dtype=dtype)

    def observation(self, observation: Any) -> NDArray[Any]:
        lost = self.noise.random(np.shape(observation)) < self._probability
        return np.where(lost, 0, observation).astype(self.observation_space.dtype)


class Confusion(Noisy):
    """Shows symbol j with probability matrix[i, j] where the environment shows symbol i."""

    def __init__(self, env: Env, matrix: ArrayLike) -> None:
        super().__init__(env, matrix=matrix)
        space = env.observation_space
        if not isinstance(space, spaces.Discrete):
            raise _mismatch(self, "a Discrete observation space", space)
        rows = array_of("matrix", matrix, float)
        if rows.ndim != 2 or len(rows) != space.n:
            raise InputError(
                f"matrix must have one row for each of the {space.n} symbols",
                got=f"shape {rows.shape}",
                remedy="Give in row i the probabilities of what is read where i is shown.",
            )
        self._sums = np.cumsum(probabilities("matrix", rows), axis=1)
        self._sums[:, -1] = 1.0  # rounding must not leave room beyond the last symbol
        self._start = int(space.start)
        self.observation_space = spaces.Discrete(rows.shape[1], start=self._start)

    def observation(self, observation: Any) -> int:
        sums = self._sums[int(observation) - self._start]
        return int(np.searchsorted(sums, self.noise.random(), side="right")) + self._start


class RewardNoise(Noisy):
    """Makes rewards noisy without changing their mean.

    kind: "gaussian" adds noise with standard deviation `scale`; "bernoulli" tosses a coin that pays
    `scale` or nothing, for rewards between 0 and `scale`.
    """

    def __init__(self, env: Env, scale: float = 1.0, kind: str = "gaussian") -> None:
        super().__init__(env, scale=scale, kind=kind)
        if kind not in KINDS:
            raise InputError(
                f"there is no reward noise {kind!r}", got=repr(kind), remedy=nearest(kind, KINDS)
            )
        self._scale = between("scale", scale, 0, np.inf)
        self._kind = kind

    def step(self, action: Any) -> Transition:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, self._reward(float(reward)), terminated, truncated, info

    def _reward(self, reward: float) -> float:
        if self._kind == "gaussian":
            return reward + self._scale * float(self.noise.standard_normal())
        if not 0 <= reward <= self._scale:
            raise InputError(
                f"a coin that pays {self._scale:g} has a mean between 0 and {self._scale:g}",
                got=f"the reward {reward:g}",
                remedy='Raise scale, shift the rewards, or use kind="gaussian".',
            )
        return self._scale * float(self.noise.random() * self._scale < reward)


# ---------------------------------------------------------------- actions


class MacroActions(Wrapper, RecordConstructorArgs):
    """Each action runs a sequence of the environment's own; their rewards are summed."""

    def __init__(self, env: Env, sequences: Sequence[Sequence[Any]]) -> None:
        RecordConstructorArgs.__init__(self, sequences=sequences)
        gymnasium.Wrapper.__init__(self, env)
        self._sequences = [_allowed(env, sequence) for sequence in sequences]
        if not self._sequences or not all(self._sequences):
            raise InputError(
                "there must be at least one sequence, and an action in each",
                got=repr(sequences),
                remedy="Give a list of lists of actions.",
            )
        self.action_space = spaces.Discrete(len(self._sequences))

    @property
    def action_names(self) -> list[str]:
        return [" ".join(called(self.env, sequence)) for sequence in self._sequences]

    def step(self, action: Any) -> Transition:
        return _run(self.env, self._sequences[int(action)])


class ActionRepeat(Wrapper, RecordConstructorArgs):
    """Takes every action `times` times; the rewards are summed."""

    def __init__(self, env: Env, times: int) -> None:
        RecordConstructorArgs.__init__(self, times=times)
        gymnasium.Wrapper.__init__(self, env)
        self._times = whole("times", times, least=1)

    def step(self, action: Any) -> Transition:
        return _run(self.env, [action] * self._times)


class ActionList(Wrapper, RecordConstructorArgs):
    """Chooses among the listed actions only; for spaces with more of them than can be tried."""

    def __init__(self, env: Env, actions: Sequence[Any]) -> None:
        RecordConstructorArgs.__init__(self, actions=actions)
        gymnasium.Wrapper.__init__(self, env)
        self._actions = _allowed(env, actions)
        self.action_space = spaces.Discrete(len(self._actions))

    @property
    def action_names(self) -> list[str]:
        return called(self.env, self._actions)

    def step(self, action: Any) -> Transition:
        return self.env.step(self._actions[int(action)])


# ---------------------------------------------------------------- what they share


def _noisy_below(env: Env) -> int:
    """How many wrappers with noise of their own there are in the stack already."""
    count = 0
    while isinstance(env, gymnasium.Wrapper):
        count += isinstance(env, Noisy)
        env = env.env
    return count


def _run(env: Env, actions: Sequence[Any]) -> Transition:
    """The actions one after the other, as many of them as there are before the end."""
    observation, reward, terminated, truncated, info = env.step(actions[0])
    total = float(reward)
    for action in actions[1:]:
        if terminated or truncated:
            break
        observation, reward, terminated, truncated, info = env.step(action)
        total += float(reward)
    return observation, total, terminated, truncated, info


def _allowed(env: Env, actions: Sequence[Any]) -> list[Any]:
    """The actions in the type of the action space, each of them one of its own."""
    space = env.action_space
    arrays = isinstance(space, spaces.Box | spaces.MultiDiscrete | spaces.MultiBinary)
    kind = cast(Any, space.dtype)
    made = [array_of("an action", action, kind).copy() if arrays else action for action in actions]
    for action in made:
        if not space.contains(action):
            raise InputError(
                "every action must be one of the environment's own",
                got=f"{action!r} for the action space {space}",
                remedy="Correct its value or its shape.",
            )
    return made


def _box(env: Env, wrapper: Wrapper, kinds: str) -> spaces.Box:
    """The observation space, which must be a Box with numbers of these kinds."""
    space = env.observation_space
    dtype = None if space.dtype is None else np.dtype(space.dtype)
    if not isinstance(space, spaces.Box) or dtype is None or dtype.kind not in kinds:
        wanted = {"f": "a Box of real numbers", "iu": "a Box of whole numbers"}
        raise _mismatch(wrapper, wanted.get(kinds, "a Box"), space)
    return space


def _mismatch(wrapper: Wrapper, wanted: str, space: Any) -> InputError:
    return InputError(
        f"{type(wrapper).__name__} needs {wanted}",
        got=str(space),
        remedy="Choose another wrapper, or transform the observations first.",
    )


def _scales(name: str, values: ArrayLike, shape: tuple[int, ...]) -> NDArray[Any]:
    """One number, or one for each of the observation's."""
    scales = array_of(name, values, float)
    if scales.shape not in ((), shape) or not (np.isfinite(scales) & (scales >= 0)).all():
        raise InputError(
            f"{name} must be one number, not negative, or one for each of the observation's",
            got=f"{values} for observations of shape {shape}",
            remedy=f"Give a number, or an array of shape {shape}.",
        )
    return scales


def _drawable(values: Sequence[Sequence[int]], box: spaces.Box) -> list[NDArray[Any]]:
    """What may be drawn for each entry of the last axis."""
    listed = [array_of("values", list(each), int) for each in values]
    if len(listed) != box.shape[-1] or not all(len(each) for each in listed):
        raise InputError(
            f"values must be {box.shape[-1]} lists: one for each entry of the last axis",
            got=f"{len(listed)} lists of lengths {[len(each) for each in listed]}",
            remedy="List what each of them can be.",
        )
    return listed
