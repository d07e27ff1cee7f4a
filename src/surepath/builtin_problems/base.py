"""A problem is a system that knows its own answer.

Subclasses say how the hidden state moves and which laws the readings follow; drawing episodes and
their sufficient statistics is done here, once, for all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any, TypeAlias

import numpy as np

from surepath.builtin_problems.laws import Categorical, ObservationLaw, RewardLaw
from surepath.errors import InputError, visible
from surepath.system import (
    Actions,
    Counts,
    Episodes,
    FloatArray,
    IntArray,
    Moments,
    Request,
    Summary,
    WindowCounts,
)

State: TypeAlias = Any
"""A hidden state: whatever the problem makes it."""


def only_single(future: int, problem: str) -> None:
    """Refuse to state the norm of a window where it is known for single observations."""
    if future > 1:
        raise InputError(
            f"the norm of {problem} is known for single observations, which suffice",
            got=f"future={future}",
            remedy="Use future=1, or give norm.",
        )


@dataclass(frozen=True, slots=True)
class Oracle:
    """The exact answer of a problem and the constants the theory is stated in.

    gap and radius are over the states that some action sequence reaches: the others cannot matter.
    """

    actions: Actions  # an optimal sequence
    value: float  # its expected return
    gap: float  # Delta: smallest positive V*(s) - Q*(s, a); infinity when nothing is suboptimal
    unique: bool  # one optimal action in every reachable state
    radius: float  # largest ||x_h(s)||


class Problem(ABC):
    """A resettable system with a hidden deterministic state and an exact oracle."""

    horizon: int
    n_actions: int
    n_observations: int | None = None  # number of discrete observations; None when real vectors
    dimension: int  # of an observation, after one-hot encoding where it is discrete
    latent_dimension: int | None = (
        None  # of the span of a level's embeddings, whatever the features
    )
    observation_noise: float | None = None  # sub-Gaussian parameter where unbounded
    reward_noise: float = 0.5  # sub-Gaussian parameter; 1/2 covers every law on [0, 1]
    reward_range: tuple[float, float] = (0.0, 1.0)
    identity: dict[str, Any] | None = None  # how it was made, by name
    preferred_features: Any = "onehot"  # in which its Q* is linear, and its norm is stated: a name
    # or a kernel

    @property
    def statistic(self) -> type[Counts | Moments]:
        """The sufficient statistic of its observations."""
        return Moments if self.n_observations is None else Counts

    @property
    def window_statistic(self) -> type[WindowCounts] | None:
        """The sufficient statistic of what is read at several steps of an episode."""
        return None if self.n_observations is None else WindowCounts

    @property
    @abstractmethod
    def start(self) -> State: ...

    @abstractmethod
    def move(self, step: int, state: State, action: int) -> State: ...

    @abstractmethod
    def observation_law(self, step: int, state: State) -> ObservationLaw: ...

    @abstractmethod
    def reward_law(self, step: int, state: State, action: int) -> RewardLaw: ...

    @abstractmethod
    def q_values(self, step: int, state: State) -> FloatArray:
        """Q*_step(state, .), exact."""

    @abstractmethod
    def solve(self) -> Oracle:
        """The exact answer, by dynamic programming."""

    @cached_property
    def oracle(self) -> Oracle:
        return self.solve()

    @property
    def optimum(self) -> tuple[Actions, float]:
        """The exact answer: an optimal action sequence and its expected return."""
        return self.oracle.actions, self.oracle.value

    @property
    def gap(self) -> float:
        return self.oracle.gap

    def _repr_html_(self) -> str:
        seen = "symbols" if self.n_observations is not None else "numbers"
        said = {
            **(self.identity or {"problem": type(self).__name__}),
            "observations": f"{self.n_observations or self.dimension} {seen}",
            "optimum": " ".join(map(str, self.optimum[0])),
            "value": f"{self.optimum[1]:.4g}",
            "gap": f"{self.gap:.4g}",
        }
        cells = ((escape(visible(name)), escape(visible(value))) for name, value in said.items())
        rows = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in cells)
        return f"<table>{rows}</table>"

    @cached_property
    def norm(self) -> float:
        """Theta: largest ||theta|| with Q*_h(s, a) = <theta_(a;h), x_h(s)> at reachable states."""
        return self.norm_of(1)

    @abstractmethod
    def norm_of(self, future: int) -> float:
        """The same for embeddings of so many observations, stacked over all continuations."""

    @property
    def radius(self) -> float:
        """Largest ||x_h(s)||."""
        return self.oracle.radius

    def path(self, actions: Actions) -> list[State]:
        """Hidden states s_0 .. s_len(actions) that the actions pass, none beyond the last level."""
        if len(actions) > self.horizon:
            raise InputError(
                f"an episode has at most {self.horizon} actions",
                got=f"{len(actions)} actions",
                remedy="Shorten the sequence or build the problem with a longer horizon.",
            )
        states = [self.start]
        for step, action in enumerate(actions):
            if action not in range(self.n_actions):
                raise InputError(
                    f"actions are 0 .. {self.n_actions - 1}",
                    got=f"action {action} at step {step}",
                    remedy="Use one of the actions the system has.",
                )
            if step < self.horizon - 1:
                states.append(self.move(step, states[-1], action))
        return states

    def expected_return(self, actions: Actions) -> float:
        """Exact expected return of a full action sequence."""
        if len(actions) != self.horizon:
            raise InputError(
                f"a full sequence has {self.horizon} actions",
                got=f"{len(actions)} actions",
                remedy="Give one action for every level.",
            )
        states = self.path(actions)
        return sum(
            self.reward_law(step, state, action).mean
            for step, (state, action) in enumerate(zip(states, actions, strict=True))
        )

    def is_optimal(self, actions: Actions) -> bool:
        """Whether a full action sequence attains the optimum (ties count)."""
        return self.expected_return(actions) >= self.oracle.value - 1e-9

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        states = self.path(actions)
        observations = [
            self.observation_law(step, state).draw(n, rng) for step, state in enumerate(states)
        ]
        rewards = np.empty((n, len(actions)))
        for step, (state, action) in enumerate(zip(states, actions, strict=False)):
            rewards[:, step] = self.reward_law(step, state, action).draw(n, rng)
        return Episodes(actions, np.stack(observations, axis=1), rewards)

    def summarise(self, request: Request, rng: np.random.Generator) -> Summary:
        states = self.path(request.actions)
        n, steps = request.count, request.observations
        alone = range(0) if request.joint else steps
        return Summary(
            request.actions,
            n,
            {h: self.observation_law(h, states[h]).summary(n, rng) for h in alone},
            {
                h: self.reward_law(h, states[h], request.actions[h]).summary(n, rng)
                for h in request.rewards
            },
            {steps[-1]: self._window(states, steps, n, rng)} if request.joint and steps else {},
        )

    def _window(
        self, states: list[State], steps: range, n: int, rng: np.random.Generator
    ) -> WindowCounts:
        """How often each sequence of symbols is read at these steps, each split by the next."""
        counts: IntArray = np.array(n, dtype=np.int64)
        for h in steps:
            law = self.observation_law(h, states[h])
            if not isinstance(law, Categorical):
                raise InputError(
                    "windows of real readings have no statistic of fixed size here",
                    got=f"the law {type(law).__name__}",
                    remedy="Draw single episodes instead of summaries.",
                )
            counts = law.split(counts, rng)
        return WindowCounts(counts)


def pseudo_inverse(matrix: FloatArray) -> FloatArray:
    """Moore-Penrose inverse: theta = pinv(x) q is the least-norm solution of x theta = q."""
    return np.asarray(np.linalg.pinv(matrix), dtype=np.float64)
