"""What can be reset and acted on, and what comes back from it.

A *system* starts every episode in the same hidden state and moves deterministically; only its
observations and rewards are noisy. At time step h the observation o_h is read, the action a_h is
taken and the reward r_h is received, for h = 0 .. horizon - 1. An episode that runs L actions
therefore reads o_0 .. o_min(L, horizon - 1) and receives r_0 .. r_(L-1). Every observation read
costs one *step*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from surepath.errors import InputError

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
Actions: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """Run `actions` from the start, `count` times; only the named time steps will be looked at."""

    actions: Actions
    count: int
    observations: range  # time steps whose observations are wanted
    rewards: range  # time steps whose rewards are wanted
    joint: bool = False  # whether a statistic is to say which of these were read together


@dataclass(frozen=True, slots=True)
class Counts:
    """How often each discrete observation was read: sufficient for any feature of it."""

    counts: IntArray  # [n_observations]

    @property
    def count(self) -> int:
        return int(self.counts.sum())


@dataclass(frozen=True, slots=True)
class WindowCounts:
    """How often each sequence of discrete observations was read: sufficient for any feature of it.

    Given the actions, steps are independent, so these are multinomial with the product of the laws
    of the steps: each cell of one step is split by the law of the next.
    """

    counts: IntArray  # [n_observations, ...], an axis for each step of the window

    @property
    def count(self) -> int:
        return int(self.counts.sum())


@dataclass(frozen=True, slots=True)
class Moments:
    """Mean and scatter of real vectors: sufficient for Gaussian observations."""

    count: int
    mean: FloatArray  # [d]
    scatter: FloatArray  # [d, d], sum of (o - mean)(o - mean)'


@dataclass(frozen=True, slots=True)
class RewardMoments:
    """Mean and scatter of scalar rewards."""

    count: int
    mean: float
    scatter: float  # sum of (r - mean)^2


Sample: TypeAlias = NDArray[Any] | Counts | Moments
"""The observations of one time step: raw values [n, ...] or their sufficient statistic."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The exact sufficient statistic of `count` episodes that ran the same actions."""

    actions: Actions
    count: int
    observations: Mapping[int, Counts | Moments]  # by time step
    rewards: Mapping[int, RewardMoments]  # by time step
    windows: Mapping[int, WindowCounts] = field(default_factory=dict[int, WindowCounts])
    # by the last step of the window, where the request is joint

    def observation(self, step: int) -> Sample:
        return self.observations[step]

    def reward(self, step: int) -> RewardMoments:
        return self.rewards[step]

    def reward_range(self, step: int) -> tuple[float, float]:
        """What is known of the smallest and the largest reward: their mean lies between them."""
        return self.rewards[step].mean, self.rewards[step].mean


@dataclass(frozen=True, slots=True)
class Episodes:
    """Episodes that ran the same actions, as read.

    observations [n, T, ...] with T = min(L + 1, horizon) for L actions (a reading after the last
    step of the horizon may follow, and is not used); rewards [n, L].
    """

    actions: Actions  # length L
    observations: NDArray[Any]  # [n, T, ...], T > every time step that was asked for
    rewards: FloatArray  # [n, L]

    def __post_init__(self) -> None:
        if not all(hasattr(array, "ndim") for array in (self.observations, self.rewards)):
            raise InputError(
                "episodes are made of NumPy arrays",
                got=f"{type(self.observations).__name__} and {type(self.rewards).__name__}",
                remedy="Wrap them in numpy.asarray.",
            )
        if self.observations.ndim < 2 or self.rewards.ndim != 2:
            raise InputError(
                "episodes need observations [n, T, ...] and rewards [n, L]",
                got=f"observations {self.observations.shape}, rewards {self.rewards.shape}",
                remedy="Put the episode on the first axis and the time step on the second.",
            )
        expected = (self.observations.shape[0], len(self.actions))
        if self.rewards.shape != expected:
            raise InputError(
                "there must be one reward for every episode and action",
                got=f"rewards {self.rewards.shape} for {expected[0]} episodes "
                f"of {expected[1]} actions",
                remedy="Return rewards of shape [n, len(actions)].",
            )
        kind = getattr(self.rewards.dtype, "kind", "?")
        if kind not in "biuf":
            raise InputError(
                "rewards are whole or floating-point numbers, or booleans, which count as 0 and 1",
                got=f"an array of {self.rewards.dtype}",
                remedy="Convert texts, decimals and the like with float before they are returned.",
            )
        # Means of numbers with few digits would be rounded to as few.
        object.__setattr__(self, "rewards", self.rewards.astype(np.float64, copy=False))

    @property
    def count(self) -> int:
        return int(self.rewards.shape[0])

    def observation(self, step: int) -> Sample:
        return self.observations[:, step]

    def reward(self, step: int) -> RewardMoments:
        values = self.rewards[:, step]
        mean = float(values.mean())
        return RewardMoments(len(values), mean, float(((values - mean) ** 2).sum()))

    def reward_range(self, step: int) -> tuple[float, float]:
        """The smallest and the largest reward of the step."""
        values = self.rewards[:, step]
        return float(values.min()), float(values.max())


def as_episodes(returned: object) -> Episodes:
    """What a system's rollout returned, if it is what it has to be."""
    if not isinstance(returned, Episodes):
        raise InputError(
            "rollout must return surepath.Episodes",
            got=type(returned).__name__,
            remedy="Return Episodes(actions, observations, rewards).",
        )
    return returned


Readings: TypeAlias = Episodes | Summary
"""What answers a request."""


@runtime_checkable
class System(Protocol):
    """Anything that can be reset and acted on: three members are enough."""

    @property
    def horizon(self) -> int: ...

    @property
    def n_actions(self) -> int: ...

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes: ...


class Declared:
    """What a system may say of itself beside its three members: every optional attribute there is.

    A system has an attribute of that name, or does not; here what it does not say is None. They are
    looked up when asked for, because some systems compute them.
    """

    def __init__(self, system: object) -> None:
        self._system = system

    def _said(self, name: str) -> Any:
        return getattr(self._system, name, None)

    @property
    def n_observations(self) -> int | None:
        """Observations are the symbols 0 .. n - 1."""
        return self._said("n_observations")

    @property
    def last_actions(self) -> int | None:
        """Actions 0 .. k - 1 are all that differ at the last step: 1 where it only measures.

        What is paid last is then paid for the state that was reached, whatever led there.
        """
        return self._said("last_actions")

    @property
    def observation_space(self) -> Any:
        """A gymnasium space that holds every observation."""
        return self._said("observation_space")

    @property
    def image_shape(self) -> tuple[int, ...] | None:
        """The shape of the images that observations are, where they come as rows of numbers."""
        return self._said("image_shape")

    @property
    def dimension(self) -> int | None:
        """Observations are vectors of so many numbers."""
        return self._said("dimension")

    @property
    def action_names(self) -> Sequence[str] | None:
        """What the actions 0 .. n - 1 are called, for people."""
        return self._said("action_names")

    @property
    def preferred_features(self) -> Any:
        """What features="auto" stands for on this system: a name, or a kernel."""
        return self._said("preferred_features")

    @property
    def observation_noise(self) -> float | None:
        """Sub-Gaussian parameter of the observations around their means."""
        return self._said("observation_noise")

    @property
    def radius(self) -> float | None:
        """A bound on the length of the mean observation of any state."""
        return self._said("radius")

    @property
    def reward_noise(self) -> float | None:
        """Sub-Gaussian parameter of the rewards; needed where they have no range."""
        return self._said("reward_noise")

    @property
    def shared_noise(self) -> bool | None:
        """Whether the noise of an episode's steps may depend on each other; else it does not."""
        return self._said("shared_noise")

    @property
    def latent_dimension(self) -> int | None:
        """Dimension of the span of the mean features of all states."""
        return self._said("latent_dimension")

    @property
    def window_statistic(self) -> type | None:
        """What `summarise` draws where a request is joint: `WindowCounts`, or nothing."""
        return self._said("window_statistic")

    @property
    def identity(self) -> Any:
        """Data that tells this system from others, for journals: two runs of it can be one."""
        return self._said("identity")


def action_names(system: System) -> tuple[str, ...]:
    """What a system calls its actions; empty where it does not, or not all of them."""
    said = Declared(system).action_names
    names = () if said is None else tuple(_writable(str(each)) for each in said)
    return names if len(names) == system.n_actions else ()


def _writable(text: str) -> str:
    """A text that every file can hold: halves of characters are written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


Play: TypeAlias = tuple[Sequence[Any], Sequence[float]]
"""One episode as it was read: observations o_0 .. and rewards r_0 .., shorter where it ended."""


@runtime_checkable
class Episodic(Protocol):
    """A system that runs one episode at a time, each with the noise of a seed of its own.

    An episode that fails is then run again alone, and episodes can be spread over workers one by
    one: which worker runs which does not change what is read.
    """

    def play(self, actions: Actions, seed: int) -> Play: ...

    def gather(self, actions: Actions, plays: Sequence[Play]) -> Episodes: ...


@runtime_checkable
class Summarising(Protocol):
    """A system that can also draw the sufficient statistic of n episodes at a cost free of n."""

    @property
    def statistic(self) -> type[Counts | Moments]: ...

    def summarise(self, request: Request, rng: np.random.Generator) -> Summary: ...


def steps_of(actions: Sequence[int], horizon: int) -> int:
    """Steps that one episode of these actions costs: the observations it reads."""
    return min(len(actions) + 1, horizon)
