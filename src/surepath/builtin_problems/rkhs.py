"""Marks on a bench under a blurred eye: continuous readings, and a Q* of exactly known norm.

Story. A machine stands at one of a few marks on a bench. An action moves it to another mark, always
the same one; some moves pay. An eye reports where the machine is, with Gaussian noise that is as
large as the marks are close, so that a single reading may be nearer to another mark. Learned is not
the mark but a function of the place, through an RBF kernel on the readings.

Source. The kernel setting of Uehara, Sekhari, Lee, Kallus and Sun, "Computationally Efficient PAC
RL in POMDPs with Latent Determinism and Conditional Embeddings" (appendix on RKHS), made so that
all of its constants can be had: the mean embedding of a Gaussian reading under an RBF kernel is an
RBF of a longer length scale, so inner products of embeddings, and with them the norm of Q*, have a
closed form (`GaussianReadings.rbf_products`). The construction is ours.

Q* is drawn by its differences, the rewards, divided by the largest of them so that they lie in
[0, 1]; machines are drawn until gap and norm of Q* are as asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from surepath.builtin_problems.finite import Dynamics
from surepath.builtin_problems.gaussian import GaussianReadings
from surepath.errors import InputError
from surepath.system import FloatArray
from surepath.validate import between, whole

TRIES = 20_000
"""Random machines that are drawn in search of one with the gap and the ratio asked for."""

PAYING = 0.3
"""Share of moves that pay at all: few, so that Q* is not far above its gap."""

BENCH = 2.0
"""Marks lie between minus and plus so many length scales in every direction."""


class Marks(GaussianReadings):
    """Gaussian readings of places, with the norm of Q* under an RBF kernel."""

    def __init__(
        self, dynamics: Dynamics, places: FloatArray, noise: float, length_scale: float
    ) -> None:
        super().__init__(dynamics, places, noise)
        self.length_scale = length_scale

    @property
    def preferred_features(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        from sklearn.gaussian_process.kernels import RBF  # pyright: ignore[reportMissingTypeStubs]

        return RBF(self.length_scale)

    def norm_of(self, future: int) -> float:
        return self.rbf_norm(self.length_scale, future)


def rkhs(
    horizon: int = 3,
    states: int = 3,
    actions: int = 2,
    dimension: int = 1,
    noise: float = 0.3,
    length_scale: float = 1.0,
    gap: float = 0.5,
    ratio: float = 2.6,
    seed: int = 0,
) -> Marks:
    """Places seen through Gaussian noise; Q* in the space of an RBF kernel, its norm exact.

    The gap is at least `gap`, the norm at most `ratio` times the gap, the last level has at least
    two states that can be reached, and no action is the best in all of them.
    """
    whole("horizon", horizon, least=1)
    whole("states", states, least=1)
    whole("actions", actions, least=1)
    whole("dimension", dimension, least=1)
    between("noise", noise, 0, np.inf)
    between("length_scale", length_scale, 0, np.inf)
    between("gap", gap, 0, 1)
    between("ratio", ratio, 0, np.inf)
    rng = np.random.default_rng(whole("seed", seed, least=0))
    for _ in range(TRIES):
        dynamics = _random(horizon, states, actions, rng)
        places = BENCH * length_scale * rng.uniform(-1, 1, size=(horizon, states, dimension))
        problem = Marks(dynamics, places, noise, length_scale)
        if _keeps(problem, gap, ratio):
            return problem
    raise InputError(
        "no machine was found with that gap and ratio of norm and gap",
        got=f"gap={gap}, ratio={ratio} with {states} states, horizon {horizon}, noise {noise}",
        remedy="Allow a larger ratio or a smaller gap, or fewer states or levels.",
    )


def _random(horizon: int, states: int, actions: int, rng: np.random.Generator) -> Dynamics:
    transitions = rng.integers(states, size=(horizon, states, actions))
    pays = rng.random((horizon, states, actions)) < PAYING
    rewards = np.where(pays, rng.uniform(size=pays.shape), 0.0)
    return Dynamics(transitions, rewards / max(rewards.max(), 1e-300))


def _keeps(problem: Marks, gap: float, ratio: float) -> bool:
    if not (gap <= problem.gap < np.inf) or _dull(problem):
        return False
    try:
        return problem.norm <= ratio * problem.gap
    except InputError:  # marks too close to each other
        return False


def _dull(problem: Marks) -> bool:
    """Whether the plan could be found without telling states apart."""
    if problem.horizon == 1:
        return False
    last = problem.reachable[-1]
    values = problem.q[-1, last]
    agreed = (values == values.max(axis=1, keepdims=True)).all(axis=0).any()
    return len(last) < 2 or bool(agreed)
