"""A needle that shows in one quiet direction only: a number among many, or along a slant.

Story. From the start one action leads to the needle, one to each of two other places, and all
others into the hay. Needle and hay differ by a little more than the separation, in the one
direction in which their readings have little noise. Holding the needle takes one action at every
step, and it pays much in the last. Whoever measures that difference with the noise of other
directions, or of other places, takes the needle for hay.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from surepath.bench.families.case import Case, Family
from surepath.bench.families.machines import Untold, drawn
from surepath.builtin_problems.finite import Dynamics
from surepath.builtin_problems.gaussian import GaussianReadings
from surepath.builtin_problems.laws import Gaussian
from surepath.builtin_problems.truth import distance_of, variation_of
from surepath.system import FloatArray

START, HAY, NEEDLE, FIRST, SECOND = range(5)

APART = 1.01 * distance_of(0.3)
"""Between needle and hay, in standard deviations of their quiet direction."""


class Shaped(Gaussian):
    """Gaussian readings whose noise has a shape: a factor [p, p] times independent numbers."""

    def __init__(self, mean: FloatArray, factor: FloatArray) -> None:
        super().__init__(mean, 1.0)
        self.factor = factor

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        return self.mean + rng.standard_normal((n, len(self.mean))) @ self.factor.T


class ShapedNoise(GaussianReadings):
    """A finite machine with a shape of noise for every state."""

    def __init__(self, dynamics: Dynamics, means: FloatArray, factors: FloatArray) -> None:
        levels = (dynamics.transitions.shape[0], *means.shape)
        super().__init__(dynamics, np.broadcast_to(means, levels).copy(), 1.0)
        self.factors = factors  # [S, p, p]

    def observation_law(self, step: int, state: int) -> Gaussian:
        return Shaped(self.embeddings[step, state], self.factors[state])

    @property
    def separation(self) -> float:
        """The least between two states, each pair in that noise of the two that makes it closer."""
        means: FloatArray = self.embeddings[0]
        whitening, nearest = np.linalg.inv(self.factors), np.inf
        for one, other in combinations(range(HAY, len(means)), 2):
            for each in (one, other):
                apart: FloatArray = whitening[each] @ (means[one] - means[other])
                nearest = min(nearest, float(np.linalg.norm(apart)))
        return variation_of(nearest)


def needle_by(means: FloatArray, factors: FloatArray, rng: np.random.Generator) -> Case:
    """The story, with these readings [S, p] and shapes of their noise [S, p, p]."""
    horizon, actions = drawn(3, 4, rng), drawn(4, 8, rng)
    transitions = np.empty((horizon, 5, actions), dtype=np.int64)
    transitions[:] = np.arange(5)[:, None]
    transitions[:, START] = HAY
    transitions[0, START, rng.permutation(actions)[:3]] = (NEEDLE, FIRST, SECOND)
    transitions[:, NEEDLE] = HAY
    transitions[np.arange(horizon), NEEDLE, rng.integers(actions, size=horizon)] = NEEDLE
    rewards = np.zeros(transitions.shape)
    rewards[-1] = 0.3
    rewards[-1, NEEDLE, rng.integers(actions)] = 0.95
    machine = ShapedNoise(Dynamics(transitions, rewards), means, factors)
    value = machine.oracle.value
    return Case(Untold(machine), value, machine.expected_return, machine.separation)


def quiet_number(rng: np.random.Generator) -> Case:
    """Seventeen to thirty numbers, one of which has a tenth to a hundredth of the others' noise."""
    numbers = drawn(17, 30, rng)
    scale = np.ones(numbers)
    scale[0] = rng.choice([0.01, 0.1])
    means = np.zeros((5, numbers))
    means[NEEDLE, 0] = APART * scale[0]
    means[FIRST], means[SECOND] = 3.0, -3.0
    return needle_by(means, np.broadcast_to(np.diag(scale), (5, numbers, numbers)), rng)


def slanted(rng: np.random.Generator) -> Case:
    """Needle and hay are quiet along a slant, the other places loud in every number."""
    numbers = drawn(4, 10, rng)
    slant = rng.standard_normal(numbers)
    slant /= np.linalg.norm(slant)
    quiet = rng.choice([0.01, 0.1])
    factors = np.array([np.eye(numbers) - (1 - quiet) * np.outer(slant, slant)] * 5)
    means = np.zeros((5, numbers))
    means[NEEDLE] = APART * quiet * slant
    for place, axis in ((FIRST, 0), (SECOND, 1)):
        factors[place] = np.diag(rng.uniform(1.0, 4.0, numbers))
        means[place, axis] = 40.0
    return needle_by(means, factors, rng)


FAMILIES = (
    Family("a quiet number among many", quiet_number, 40_000, runs=60),
    Family("quiet along a slant", slanted, 40_000),
)
