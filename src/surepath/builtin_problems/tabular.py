"""A finite machine behind a noisy dial: the undercomplete tabular POMDP.

Story. A machine has S internal states and A buttons. Which state a button leads to is fixed, but
the dial only shows one of O symbols, drawn from a law that depends on the hidden state and on the
time. With O >= S linearly independent laws the *distribution* of the dial identifies the state,
though no single reading does.

Source. Example 1 of Uehara, Sekhari, Lee, Kallus and Sun, "Computationally Efficient PAC RL in
POMDPs with Latent Determinism and Conditional Embeddings": features are one-hot vectors, G_h is the
emission matrix and theta = pinv(G_h)' Q*.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from surepath.builtin_problems.finite import Dynamics, FiniteProblem, blend_until, random_dynamics
from surepath.builtin_problems.laws import Categorical, ObservationLaw
from surepath.errors import InputError
from surepath.system import FloatArray, IntArray
from surepath.validate import array_of, between, probabilities, whole


class Tabular(FiniteProblem):
    """Finite hidden states, finite observations, Bernoulli rewards."""

    def __init__(self, dynamics: Dynamics, emissions: FloatArray) -> None:
        super().__init__(dynamics, emissions)  # a one-hot vector's mean is its law
        self.emissions = emissions  # [H, S, O]
        self.n_observations = emissions.shape[2]

    def _make_observation_law(self, mean: FloatArray) -> ObservationLaw:
        return Categorical(mean)

    @classmethod
    def from_arrays(
        cls, transitions: ArrayLike, emissions: ArrayLike, rewards: ArrayLike
    ) -> Tabular:
        """A user's own machine, starting in state 0.

        rewards: means [H, S, A], each in [0, 1]. transitions: next states [H, S, A] or [S, A], or
        point-mass probabilities [H, S, A, S] or [S, A, S]. emissions: [H, S, O] or [S, O].
        """
        means = array_of("rewards", rewards, float)
        if means.ndim != 3 or 0 in means.shape:
            raise InputError(
                "rewards must be means of shape [H, S, A]",
                got=f"shape {means.shape}",
                remedy="Give one mean for every level, state and action.",
            )
        if not ((means >= 0) & (means <= 1)).all():
            h, s, a = (int(i) for i in np.argwhere(~((means >= 0) & (means <= 1)))[0])
            raise InputError(
                "reward means must lie in [0, 1]",
                got=f"rewards[{h}, {s}, {a}] = {means[h, s, a]}",
                remedy="Rescale the rewards to [0, 1].",
            )
        n_levels, n_states, n_actions = means.shape
        laws = _per_level("emissions", array_of("emissions", emissions, float), n_levels, 2)
        if laws.shape[1] != n_states:
            raise InputError(
                f"emissions must have one row for each of the {n_states} states in rewards",
                got=f"emissions for {laws.shape[1]} states",
                remedy="Give emissions of shape [H, S, O] or [S, O].",
            )
        following = _next_states(
            array_of("transitions", transitions), n_levels, n_states, n_actions
        )
        return cls(Dynamics(following, means), probabilities("emissions", laws))


def tabular(
    horizon: int = 5,
    states: int = 4,
    actions: int = 2,
    observations: int = 6,
    gap: float = 0.1,
    singular_value: float = 0.3,
    seed: int = 0,
) -> Tabular:
    """Random finite machine with a guaranteed gap and smallest emission singular value."""
    whole("horizon", horizon, least=1)
    whole("states", states, least=1)
    whole("actions", actions, least=1)
    if whole("observations", observations, least=1) < states:
        raise InputError(
            "an undercomplete problem needs at least as many observations as states",
            got=f"observations={observations}, states={states}",
            remedy="Raise observations to the number of states or more.",
        )
    rng = np.random.default_rng(whole("seed", seed, least=0))
    dynamics = random_dynamics(horizon, states, actions, between("gap", gap, 0, 1), rng)
    return Tabular(dynamics, random_emissions(horizon, states, observations, singular_value, rng))


def random_emissions(
    horizon: int, states: int, observations: int, singular_value: float, rng: np.random.Generator
) -> FloatArray:
    """Random emission laws [H, S, O] whose smallest singular value is at least `singular_value`."""
    between("singular_value", singular_value, 0, 1, closed=(False, True))
    emissions = np.empty((horizon, states, observations))
    for h in range(horizon):
        ideal = np.eye(observations)[rng.permutation(observations)[:states]]
        random = rng.dirichlet(np.ones(observations), size=states)
        emissions[h] = blend_until(random, ideal, singular_value)
    return emissions


def _per_level(
    name: str, array: NDArray[Any], n_levels: int, dimensions_of_level: int
) -> NDArray[Any]:
    """`array` with a leading axis of levels, repeated where the array is the same at each."""
    if array.ndim == dimensions_of_level:
        return np.broadcast_to(array, (n_levels, *array.shape)).copy()
    if array.ndim == dimensions_of_level + 1 and len(array) == n_levels:
        return array
    raise InputError(
        f"{name} must have {dimensions_of_level} axes, or one more for the {n_levels} levels",
        got=f"shape {array.shape}",
        remedy=f"Give {name} once, or once for each of the {n_levels} levels of rewards.",
    )


def _next_states(
    transitions: NDArray[Any], n_levels: int, n_states: int, n_actions: int
) -> IntArray:
    if transitions.dtype.kind not in "iuf":
        raise InputError(
            "transitions must be numbers",
            got=f"an array of type {transitions.dtype}",
            remedy="Give next states as whole numbers, or point masses.",
        )
    if transitions.dtype.kind == "f" or transitions.ndim == 4:
        masses = _per_level("transitions", transitions, n_levels, 3)
        if masses.shape[1:] != (n_states, n_actions, n_states):
            raise _misfit(transitions, n_states, n_actions)
        laws = probabilities("transitions", masses)
        stochastic = laws.max(axis=-1) < 1 - 1e-9
        if stochastic.any():
            h, s, a = (int(i) for i in np.argwhere(stochastic)[0])
            raise InputError(
                "transitions must be deterministic: exact plans exist only then",
                got=f"largest probability {laws[h, s, a].max():.6g} "
                f"at level {h}, state {s}, action {a}",
                remedy="Give next states as integers [H, S, A], or point masses.",
            )
        transitions = laws.argmax(axis=-1)
    following = _per_level("transitions", transitions, n_levels, 2).astype(np.int64)
    if following.shape != (n_levels, n_states, n_actions):
        raise _misfit(transitions, n_states, n_actions)
    outside = (following < 0) | (following >= n_states)
    if outside.any():
        h, s, a = (int(i) for i in np.argwhere(outside)[0])
        raise InputError(
            f"next states are 0 .. {n_states - 1}",
            got=f"transitions[{h}, {s}, {a}] = {following[h, s, a]}",
            remedy="Point every transition at one of the states.",
        )
    return following


def _misfit(transitions: NDArray[Any], n_states: int, n_actions: int) -> InputError:
    return InputError(
        f"transitions must match rewards: {n_states} states and {n_actions} actions",
        got=f"shape {transitions.shape}",
        remedy="Give next states [H, S, A] or [S, A], or point masses with one more axis of S.",
    )
