"""Machines that the built-in problems do not have: prizes, noise by state, nothing told."""

from __future__ import annotations

import numpy as np

from surepath.bench.families.symbol_laws import apart
from surepath.builtin_problems.finite import Dynamics, FiniteProblem
from surepath.builtin_problems.gaussian import GaussianReadings
from surepath.builtin_problems.laws import Gaussian, RewardLaw
from surepath.builtin_problems.tabular import Tabular
from surepath.system import Actions, Episodes, FloatArray, IntArray, RewardMoments


class Prize:
    """A reward that is paid with some probability, and is nothing otherwise."""

    def __init__(self, prize: float, chance: float) -> None:
        self.prize, self.chance = prize, chance

    @property
    def mean(self) -> float:
        return self.prize * self.chance

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        return np.where(rng.random(n) < self.chance, self.prize, 0.0)

    def summary(self, n: int, rng: np.random.Generator) -> RewardMoments:
        share = int(rng.binomial(n, self.chance)) / n
        return RewardMoments(n, share * self.prize, n * share * (1 - share) * self.prize**2)


class Lottery(Tabular):
    """A finite machine that pays prizes."""

    def __init__(self, machine: Tabular, prizes: FloatArray) -> None:
        super().__init__(machine.dynamics, machine.emissions)
        self.prizes = prizes  # [H, S, A], at least the mean rewards

    def reward_law(self, step: int, state: int, action: int) -> RewardLaw:
        prize = float(self.prizes[step, state, action])
        return Prize(prize, float(self.dynamics.rewards[step, state, action]) / prize)


class UnequalNoise(GaussianReadings):
    """A finite machine whose sensor is noisier in some states than in others."""

    def __init__(self, dynamics: Dynamics, means: FloatArray, noises: FloatArray) -> None:
        super().__init__(dynamics, means, float(noises.max()))
        self.noises = noises  # [H, S]

    def observation_law(self, step: int, state: int) -> Gaussian:
        return Gaussian(self.embeddings[step, state], float(self.noises[step, state]))


class Untold:
    """A machine with real readings as somebody would bring it: it runs, and says nothing else."""

    def __init__(self, machine: FiniteProblem) -> None:
        self.machine = machine
        self.horizon, self.n_actions = machine.horizon, machine.n_actions

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        return self.machine.rollout(actions, n, rng)


def drawn(low: int, high: int, rng: np.random.Generator) -> int:
    """A whole number, both ends included."""
    return int(rng.integers(low, high + 1))


def log_drawn(low: int, high: int, rng: np.random.Generator) -> int:
    """The same, but as often below the geometric mean of the two as above it."""
    return round(low * (high / low) ** rng.random())


def emissions(
    horizon: int, states: int, symbols: int, least: float, rng: np.random.Generator
) -> FloatArray:
    """Laws [H, S, O], the two nearest of each level at exactly that total variation."""
    return np.array([apart(states, symbols, least, rng) for _ in range(horizon)])


def paid_last(transitions: IntArray, rng: np.random.Generator) -> Dynamics:
    """These moves; only the last step pays, in one place much and in the others less."""
    rewards = np.zeros(transitions.shape)
    states, actions = transitions.shape[1:]
    rewards[-1] = rng.uniform(0.0, 0.5, size=(states, actions))
    ends = Dynamics(transitions, rewards).reachable()[-1]
    rewards[-1, rng.choice(ends), rng.integers(actions)] = 0.9
    return Dynamics(transitions, rewards)
