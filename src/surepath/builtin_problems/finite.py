"""Problems with finitely many hidden states: the oracle is backward dynamic programming."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from surepath.builtin_problems.base import Oracle, Problem, pseudo_inverse
from surepath.builtin_problems.laws import Bernoulli, Normal, ObservationLaw, RewardLaw
from surepath.errors import InputError
from surepath.system import FloatArray, IntArray
from surepath.theory.floor import Floor, information_floor

TIE = 1e-12
"""Values closer than this are the same value computed twice."""


@dataclass(frozen=True, slots=True)
class Dynamics:
    """A layered deterministic decision process that starts in state 0."""

    transitions: IntArray  # [H, S, A] next state; the last level is never followed
    rewards: FloatArray  # [H, S, A] reward means

    def values(self) -> FloatArray:
        """Q*[h, s, a] by backward induction."""
        q = self.rewards.copy()
        for h in range(len(q) - 2, -1, -1):
            q[h] += q[h + 1].max(axis=1)[self.transitions[h]]
        return q

    def reachable(self) -> list[IntArray]:
        """The states that some action sequence reaches, by level."""
        levels = [np.zeros(1, dtype=np.int64)]
        for h in range(len(self.transitions) - 1):
            levels.append(np.unique(self.transitions[h, levels[-1]]))
        return levels


class FiniteProblem(Problem):
    """A finite hidden state; subclasses add what it looks like."""

    def __init__(
        self, dynamics: Dynamics, embeddings: FloatArray, *, reward_noise: float | None = None
    ) -> None:
        self.dynamics = dynamics
        self.embeddings = embeddings  # [H, S, d]: mean feature of the observation in each state
        self.horizon, self.n_states, self.n_actions = dynamics.rewards.shape
        self.dimension = embeddings.shape[2]
        self.latent_dimension = self.n_states
        if reward_noise is not None:
            self.reward_noise = reward_noise
            self.reward_range = (-np.inf, np.inf)
        # Laws are asked for at every reading: built once for each (step, state, action).
        self._reward_laws = [
            [[self._make_reward_law(float(mean)) for mean in row] for row in level]
            for level in dynamics.rewards
        ]
        self._observation_laws = [
            [self._make_observation_law(mean) for mean in level] for level in embeddings
        ]

    def _make_reward_law(self, mean: float) -> RewardLaw:
        if self.reward_range[0] == -np.inf:
            return Normal(mean, self.reward_noise)
        return Bernoulli(mean)

    @abstractmethod
    def _make_observation_law(self, mean: FloatArray) -> ObservationLaw: ...

    @property
    def start(self) -> int:
        return 0

    def move(self, step: int, state: int, action: int) -> int:
        return int(self.dynamics.transitions[step, state, action])

    def observation_law(self, step: int, state: int) -> ObservationLaw:
        return self._observation_laws[step][state]

    def reward_law(self, step: int, state: int, action: int) -> RewardLaw:
        return self._reward_laws[step][state][action]

    @cached_property
    def q(self) -> FloatArray:
        return self.dynamics.values()

    def q_values(self, step: int, state: int) -> FloatArray:
        return self.q[step, state]

    @cached_property
    def reachable(self) -> list[IntArray]:
        return self.dynamics.reachable()

    def solve(self) -> Oracle:
        reachable = self.reachable
        gaps = np.concatenate(
            [
                (q[s].max(axis=1, keepdims=True) - q[s]).ravel()
                for q, s in zip(self.q, reachable, strict=True)
            ]
        )
        suboptimal = gaps[gaps > TIE]
        n_states = sum(len(states) for states in reachable)
        state, actions = 0, list[int]()
        for h in range(self.horizon):
            actions.append(int(self.q[h, state].argmax()))
            state = self.move(h, state, actions[-1])
        return Oracle(
            actions=tuple(actions),
            value=float(self.q[0, 0].max()),
            gap=float(suboptimal.min()) if len(suboptimal) else np.inf,
            unique=len(gaps) - len(suboptimal) == n_states,
            radius=max(
                float(np.linalg.norm(self.embeddings[h, states], axis=1).max())
                for h, states in enumerate(reachable)
            ),
        )

    def norm_of(self, future: int) -> float:
        levels = self.reachable[: max(0, self.horizon - future + 1)]
        return max((self._level_norm(h, s, future) for h, s in enumerate(levels)), default=1.0)

    def floor(self, delta: float) -> Floor:
        """The fewest episodes of any learner that is right with probability 1 - delta."""
        return information_floor(
            self.dynamics.transitions,
            self.dynamics.rewards,
            delta=delta,
            law="bernoulli" if self.reward_range == (0.0, 1.0) else "gaussian",
            variance=self.reward_noise**2,
        )

    def window_embeddings(self, level: int, states: IntArray, future: int) -> FloatArray:
        """Exact embeddings of a future: x(s) (x) stack over actions of what follows."""
        own = self.embeddings[level, states]
        if future == 1:
            return own
        following = [
            self.window_embeddings(
                level + 1, self.dynamics.transitions[level, states, a], future - 1
            )
            for a in range(self.n_actions)
        ]
        return np.einsum("si,sj->sij", own, np.concatenate(following, axis=1)).reshape(
            len(states), -1
        )

    def smallest_singular_value(self, level: int, future: int) -> float:
        """Of the embeddings of the states reachable at the level; 0 when there are too many."""
        return _smallest(self.window_embeddings(level, self.reachable[level], future))

    def _level_norm(self, level: int, states: IntArray, future: int) -> float:
        """Largest ||theta_a|| of the level: least-norm solution of <theta_a, x(s)> = Q*(s, a)."""
        x = self.window_embeddings(level, states, future)
        smallest = _smallest(x)
        if smallest < 1e-9:
            seen = "one observation does" if future == 1 else f"{future} observations do"
            raise InputError(
                f"the mean observations of the {len(states)} states reachable at level {level} are "
                f"not linearly independent, so {seen} not tell these states apart",
                got=f"smallest singular value {smallest:.2e} at level {level}",
                remedy=f"Use a longer future (future={future + 1}), or emissions that differ.",
            )
        theta = pseudo_inverse(x) @ self.q[level, states]  # [d, A]
        return float(np.linalg.norm(theta, axis=0).max())


def _smallest(rows: FloatArray) -> float:
    """Smallest singular value of the rows; 0 when there are more rows than dimensions."""
    singular = np.linalg.svd(rows, compute_uv=False)
    return float(singular[-1]) if len(rows) <= rows.shape[1] else 0.0


def random_dynamics(
    horizon: int, states: int, actions: int, gap: float, rng: np.random.Generator
) -> Dynamics:
    """Uniform transitions and rewards, given that every state's best action leads by `gap`.

    Drawn level by level from the last: the reward means of a state are redrawn until its best
    action leads the next one by the gap, given the values of the states that follow.
    """
    transitions = rng.integers(states, size=(horizon, states, actions))
    rewards = np.empty((horizon, states, actions))
    following = np.zeros(states)
    for h in range(horizon - 1, -1, -1):
        for s in range(states):
            rewards[h, s] = _separated(following[transitions[h, s]], gap, rng)
        following = (rewards[h] + following[transitions[h]]).max(axis=1)
    return Dynamics(transitions, rewards)


def _separated(following: FloatArray, gap: float, rng: np.random.Generator) -> FloatArray:
    for _ in range(10_000):
        rewards = rng.random(len(following))
        q = np.sort(rewards + following)
        if len(q) == 1 or q[-1] - q[-2] >= gap:
            return rewards
    raise InputError(
        "no reward means in [0, 1] with that gap were found",
        got=f"gap={gap} with {len(following)} actions",
        remedy="Ask for a smaller gap or fewer actions.",
    )


def blend_until(
    random: FloatArray, ideal: FloatArray, smallest: float, steps: int = 50
) -> FloatArray:
    """`random` moved towards `ideal` until its smallest singular value is at least `smallest`.

    Bisection: the ideal one must satisfy it, and does when its rows are orthonormal.
    """

    def satisfied(weight: float) -> bool:
        blend = (1 - weight) * random + weight * ideal
        return bool(np.linalg.svd(blend, compute_uv=False)[-1] >= smallest)

    low, high = 0.0, 1.0
    if satisfied(0.0):
        return random
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (low, middle) if satisfied(middle) else (middle, high)
    return (1 - high) * random + high * ideal
