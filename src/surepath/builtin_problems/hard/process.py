"""Decision processes whose Q* is linear in known features: what the lift makes problems of."""

from __future__ import annotations

from abc import ABC, abstractmethod

from surepath.builtin_problems.base import State
from surepath.system import Actions, FloatArray


class LinearProcess(ABC):
    """A deterministic decision process with Bernoulli rewards, seen as it is.

    Q*_h(s, a) = <weights(h), features(h, s)[a]>. Features are no longer than 1 where a reward may
    be paid, and anywhere no longer than sqrt(2) in the mean square over actions.
    """

    horizon: int
    n_actions: int
    n_features: int  # d'
    unique: bool  # one optimal action in every reachable state

    @property
    @abstractmethod
    def start(self) -> State: ...

    @abstractmethod
    def move(self, step: int, state: State, action: int) -> State: ...

    @abstractmethod
    def reward_means(self, step: int, state: State) -> FloatArray:
        """Mean reward of every action, [A]."""

    @abstractmethod
    def features(self, step: int, state: State) -> FloatArray:
        """phi(s, a), known without the secret: [A, d']."""

    @abstractmethod
    def weights(self, step: int) -> FloatArray:
        """theta, which is the secret: [d']."""

    @abstractmethod
    def gap(self) -> float:
        """Smallest positive lead of the best action in a reachable state, exact."""

    def q_values(self, step: int, state: State) -> FloatArray:
        """Q*_step(state, .), exact."""
        return self.features(step, state) @ self.weights(step)

    def best_actions(self) -> Actions:
        """An optimal sequence."""
        state, actions = self.start, list[int]()
        for step in range(self.horizon):
            actions.append(int(self.q_values(step, state).argmax()))
            state = self.move(step, state, actions[-1])
        return tuple(actions)
