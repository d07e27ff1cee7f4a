"""A finite machine behind a noisy instrument: discrete states, Gaussian readings in R^d.

Story. A lab instrument has a few internal configurations. Each reading is a vector of d channels:
the configuration's own signature plus white noise that is as large as the signature itself.
Averages separate the configurations, single readings do not. Rewards are Bernoulli, or Gaussian
when `reward_noise` is given.

Source. Example 2 of Uehara, Sekhari, Lee, Kallus and Sun, "Computationally Efficient PAC RL in
POMDPs with Latent Determinism and Conditional Embeddings": o ~ N(mu_(s,h), noise^2 I), features are
the readings themselves, G_h has the signatures as columns. The readings are not bounded, so the
theory's sub-Gaussian variant applies.
"""

from __future__ import annotations

import numpy as np

from surepath.builtin_problems.finite import Dynamics, FiniteProblem, blend_until, random_dynamics
from surepath.builtin_problems.laws import Gaussian, ObservationLaw
from surepath.errors import InputError
from surepath.system import FloatArray, IntArray
from surepath.validate import between, whole


class GaussianReadings(FiniteProblem):
    """Finite hidden states, readings with isotropic Gaussian noise."""

    preferred_features = "linear"

    def __init__(
        self,
        dynamics: Dynamics,
        signatures: FloatArray,
        noise: float,
        reward_noise: float | None = None,
    ) -> None:
        self.observation_noise = self._noise = noise
        super().__init__(dynamics, signatures, reward_noise=reward_noise)

    def _make_observation_law(self, mean: FloatArray) -> ObservationLaw:
        return Gaussian(mean, self._noise)

    def rbf_products(
        self, level: int, states: IntArray, length_scale: float, future: int = 1
    ) -> FloatArray:
        """Inner products of the states' mean embeddings under an RBF kernel, exact, [n, n].

        Of o ~ N(m, s^2 I) and o' ~ N(m', s^2 I) in d dimensions, o - o' is normal with variance
        2 s^2, and the mean of exp(-|o - o'|^2 / (2 l^2)) over it is
        (l^2 / w)^(d/2) exp(-|m - m'|^2 / (2 w)) with w = l^2 + 2 s^2. Windows follow the product
        rule: the first factor times the sum over actions of what follows.
        """
        places = self.embeddings[level, states]
        width = length_scale**2 + 2 * self._noise**2
        squares = np.square(places[:, None] - places[None]).sum(axis=2)
        scale = (length_scale**2 / width) ** (self.dimension / 2)
        own = scale * np.exp(-squares / (2 * width))
        if future == 1:
            return own
        below = [
            self.rbf_products(
                level + 1, self.dynamics.transitions[level, states, a], length_scale, future - 1
            )
            for a in range(self.n_actions)
        ]
        return own * np.sum(below, axis=0)

    def rbf_norm(self, length_scale: float, future: int = 1) -> float:
        """Theta under an RBF kernel: of theta in the span of the embeddings x(s), <theta, x> = q
        has the one solution theta = sum over s of (G^-1 q)_s x(s), whose square is q' G^-1 q.
        """
        between("length_scale", length_scale, 0, np.inf)
        levels = self.reachable[: max(0, self.horizon - future + 1)]
        norms = [
            least_norm(self.rbf_products(h, s, length_scale, future), self.q[h, s])
            for h, s in enumerate(levels)
        ]
        return max(norms, default=1.0)


def least_norm(products: FloatArray, values: FloatArray) -> float:
    """Largest norm, over the columns of `values` [n, A], of theta with <theta, x_i> = value_i."""
    smallest = float(np.linalg.eigvalsh(products)[0])
    if smallest < LEAST_EIGENVALUE:
        raise InputError(
            "the mean embeddings of the states are too close to each other to be told apart",
            got=f"smallest eigenvalue {smallest:.2e} of their inner products",
            remedy="Use a shorter length scale, or a longer future.",
        )
    squares = np.einsum("sa,sa->a", values, np.linalg.solve(products, values))
    return float(np.sqrt(squares.max()))


LEAST_EIGENVALUE = 1e-9
"""Of inner products, below which states count as looking alike."""


def gaussian(
    horizon: int = 5,
    states: int = 4,
    actions: int = 2,
    dimension: int = 6,
    noise: float = 1.0,
    reward_noise: float | None = None,
    gap: float = 0.1,
    singular_value: float = 0.3,
    seed: int = 0,
) -> GaussianReadings:
    """Random finite machine with Gaussian readings, guaranteed gap and smallest singular value."""
    whole("horizon", horizon, least=1)
    whole("states", states, least=1)
    whole("actions", actions, least=1)
    if whole("dimension", dimension, least=1) < states:
        raise InputError(
            "the signatures of the states are independent only in as many dimensions as states",
            got=f"dimension={dimension}, states={states}",
            remedy="Raise dimension to the number of states or more.",
        )
    between("noise", noise, 0, np.inf)
    if reward_noise is not None:
        between("reward_noise", reward_noise, 0, np.inf)
    between("singular_value", singular_value, 0, 1, closed=(False, True))
    rng = np.random.default_rng(whole("seed", seed, least=0))
    dynamics = random_dynamics(horizon, states, actions, between("gap", gap, 0, 1), rng)
    signatures = np.empty((horizon, states, dimension))
    for h in range(horizon):
        ideal = np.linalg.qr(rng.standard_normal((dimension, states)))[0].T
        directions = rng.standard_normal((states, dimension))
        unit = directions / np.linalg.norm(directions, axis=1, keepdims=True)
        signatures[h] = blend_until(unit, ideal, singular_value)
    return GaussianReadings(dynamics, signatures, noise, reward_noise)
