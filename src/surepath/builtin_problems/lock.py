"""A combination lock with a foggy window: one sequence in A^H opens it.

Story. The lock has `horizon` wheels to turn in order, each with `actions` positions. While every
turn so far was right the mechanism is in one of two good states, and which turn is right next
depends on which; one wrong turn and it is dead until the reset. The prize is paid at the end and
only in a good state. A wrong turn pays a little at once (the bait), so following rewards leads
astray. The window shows a noisy symbol, so whether the lock is still alive can only be told from
repeated looks. Undirected exploration needs about actions^horizon tries.

Source. Combination locks are the classical hard case for undirected exploration (Kakade, "On the
sample complexity of reinforcement learning", 2003); the two good states and the bait follow the
rich-observation variant of Misra, Henaff, Krishnamurthy and Langford, "Kinematic state abstraction
and provably efficient rich-observation reinforcement learning", 2020. Constants are our own.
"""

from __future__ import annotations

import numpy as np

from surepath.builtin_problems.finite import Dynamics
from surepath.builtin_problems.tabular import Tabular, random_emissions
from surepath.errors import InputError
from surepath.system import FloatArray, IntArray
from surepath.validate import between, whole

DEAD = 2
"""States 0 and 1 are good."""


def lock(
    horizon: int = 10,
    actions: int = 4,
    observations: int = 6,
    prize: float = 0.9,
    bait: float = 0.1,
    singular_value: float = 0.4,
    seed: int = 0,
) -> Tabular:
    """Combination lock behind noisy symbols; gap = prize - bait whatever the horizon."""
    whole("horizon", horizon, least=1)
    whole("actions", actions, least=2)
    whole("observations", observations, least=3)
    between("prize", prize, 0, 1, closed=(False, True))
    if between("bait", bait, 0, 1, closed=(True, False)) >= prize:
        raise InputError(
            "the bait must be smaller than the prize, or the lock is not worth opening",
            got=f"bait={bait}, prize={prize}",
            remedy="Lower bait or raise prize.",
        )
    rng = np.random.default_rng(whole("seed", seed, least=0))
    code = rng.integers(actions, size=(horizon, 2))
    dynamics = Dynamics(
        _transitions(code, actions, rng), _rewards(code, actions, prize=prize, bait=bait)
    )
    return Tabular(dynamics, random_emissions(horizon, 3, observations, singular_value, rng))


def _transitions(code: IntArray, actions: int, rng: np.random.Generator) -> IntArray:
    transitions = np.full((len(code), 3, actions), DEAD)
    for h, good in np.ndindex(code.shape):
        transitions[h, good, code[h, good]] = rng.integers(2)
    return transitions


def _rewards(code: IntArray, actions: int, *, prize: float, bait: float) -> FloatArray:
    rewards = np.zeros((len(code), 3, actions))
    for h, good in np.ndindex(code.shape):
        rewards[h, good] = bait
        rewards[h, good, code[h, good]] = prize if h == len(code) - 1 else 0.0
    return rewards
