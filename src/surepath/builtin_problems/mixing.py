"""A reactor with modes: more hidden states than anyone can list, and still linear.

Story. A sealed reactor is in one of a few modes (valve settings) and holds a mixture of
`components` reagents, a composition c on the simplex. An action switches the mode, and stirs: the
composition becomes B c with a stochastic matrix B that depends on mode, action and time. Every
action sequence leaves its own composition behind, so latent states number about actions^h. The
sensor catches one molecule: its kind is drawn from the composition, and then misread.

The yield of an action is linear in the composition, and in each mode one action is best for every
composition, by at least `gap`. Then V* and Q* are linear in the vector with c in the block of the
mode (d = modes * components), although the best action differs between modes. Methods that tell
states apart one by one cannot even store them.

Source. Our own construction for the setting of Uehara, Sekhari, Lee, Kallus and Sun,
"Computationally Efficient PAC RL in POMDPs with Latent Determinism and Conditional Embeddings"
(linear Q*, G_h = emission matrix of mode and kind). The oracle is dynamic programming on the
weights w_h(mode, action): Q*_h((mode, c), action) = <w_h(mode, action), c>.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from surepath.builtin_problems.base import Oracle, Problem, only_single, pseudo_inverse
from surepath.builtin_problems.laws import Bernoulli, Categorical
from surepath.builtin_problems.tabular import random_emissions
from surepath.system import FloatArray, IntArray
from surepath.validate import between, whole


class Mixture(NamedTuple):
    mode: int
    composition: FloatArray  # [components], on the simplex


@dataclass(frozen=True, slots=True)
class Reactor:
    """The parts of a mixing problem; the yields make one action best in each mode and level."""

    switches: IntArray  # [H, modes, A] next mode
    stirs: FloatArray  # [H, modes, A, components, components], columns on the simplex
    yields: FloatArray  # [H, modes, A, components], in [0, 1]: reward mean is <yield, c>
    composition: FloatArray  # [components] at the start; the first mode is 0


class Mixing(Problem):
    def __init__(self, reactor: Reactor, emissions: FloatArray) -> None:
        self.reactor = reactor
        self.emissions = emissions  # [H, modes * components, O]
        self.horizon, self.n_modes, self.n_actions, self.n_components = reactor.yields.shape
        self.n_observations = self.dimension = emissions.shape[2]
        self.latent_dimension = len(emissions[0])  # modes * components

    @property
    def start(self) -> Mixture:
        return Mixture(0, self.reactor.composition)

    def move(self, step: int, state: Mixture, action: int) -> Mixture:
        stir = self.reactor.stirs[step, state.mode, action]
        switch = int(self.reactor.switches[step, state.mode, action])
        return Mixture(switch, stir @ state.composition)

    def observation_law(self, step: int, state: Mixture) -> Categorical:
        return Categorical(state.composition @ self._block(step, state.mode))

    def reward_law(self, step: int, state: Mixture, action: int) -> Bernoulli:
        return Bernoulli(float(self.reactor.yields[step, state.mode, action] @ state.composition))

    def _block(self, step: int, mode: int) -> FloatArray:
        """Emission laws of the kinds of one mode, [components, O]."""
        first = mode * self.n_components
        return self.emissions[step, first : first + self.n_components]

    @cached_property
    def weights(self) -> FloatArray:
        """w[h, mode, action, component]: Q* = <w, composition>, by backward induction."""
        return optimal_weights(self.reactor)

    def q_values(self, step: int, state: Mixture) -> FloatArray:
        return self.weights[step, state.mode] @ state.composition

    def solve(self) -> Oracle:
        weights = self.weights
        best = weights.min(axis=3).argmax(axis=2)  # [H, modes]: dominates in every component
        leads = np.take_along_axis(weights, best[:, :, None, None], axis=2) - weights
        others = np.arange(self.n_actions) != best[:, :, None]
        state, actions = self.start, list[int]()
        for h in range(self.horizon):
            actions.append(int(best[h, state.mode]))
            state = self.move(h, state, actions[-1])
        return Oracle(
            actions=tuple(actions),
            value=float(self.q_values(0, self.start).max()),
            # Exact over the whole simplex: a linear form is smallest at a vertex.
            gap=float(leads[others].min()) if self.n_actions > 1 else np.inf,
            unique=True,
            radius=float(np.linalg.norm(self.emissions, axis=2).max()),
        )

    def norm_of(self, future: int) -> float:
        only_single(future, "a mixing problem")
        by_action = self.weights.transpose(0, 2, 1, 3)  # [H, A, modes, components]
        flat = by_action.reshape(self.horizon, self.n_actions, len(self.emissions[0]))
        inverse = pseudo_inverse(self.emissions)  # [H, O, modes * components]
        thetas = np.einsum("haw,how->hao", flat, inverse)
        return float(np.linalg.norm(thetas, axis=2).max())


def optimal_weights(reactor: Reactor) -> FloatArray:
    weights = reactor.yields.copy()
    for h in range(len(weights) - 2, -1, -1):
        # One action dominates componentwise in each mode, so V* is linear there.
        following = weights[h + 1].max(axis=1)  # [modes, components]
        chosen = following[reactor.switches[h]]  # [modes, A, components]
        weights[h] += np.einsum("maji,maj->mai", reactor.stirs[h], chosen)
    return weights


def mixing(
    horizon: int = 6,
    actions: int = 3,
    modes: int = 2,
    components: int = 2,
    observations: int | None = None,
    gap: float = 0.1,
    singular_value: float = 0.3,
    stirs: int | None = None,
    seed: int = 0,
) -> Mixing:
    """Random reactor with about actions^h latent states and Q* linear in modes * components.

    stirs: how many stirring matrices a level has, shared by the actions of all modes. Level h then
    has at most modes * stirs^h latent states while everything else stays as large as it was. By
    default every action of every mode has its own.
    """
    whole("horizon", horizon, least=1)
    whole("actions", actions, least=1)
    dimension = whole("modes", modes, least=1) * whole("components", components, least=2)
    if observations is None:
        observations = dimension + 2
    whole("observations", observations, least=dimension)
    between("gap", gap, 0, 0.4, closed=(False, True))
    if stirs is not None:
        whole("stirs", stirs, least=1, most=actions)
    rng = np.random.default_rng(whole("seed", seed, least=0))
    reactor = _random_reactor(horizon, actions, modes, components, gap, stirs, rng)
    emissions = random_emissions(horizon, dimension, observations, singular_value, rng)
    return Mixing(reactor, emissions)


def _random_reactor(
    horizon: int,
    actions: int,
    modes: int,
    components: int,
    gap: float,
    stirs: int | None,
    rng: np.random.Generator,
) -> Reactor:
    shape = (horizon, modes, actions)
    switches = rng.integers(modes, size=shape)
    different = shape if stirs is None else (horizon, 1, stirs)
    stirred = rng.dirichlet(np.ones(components), size=(*different, components)).swapaxes(-1, -2)
    if stirs is not None:
        shared = stirred[:, :, np.arange(actions) % stirs]
        stirred = np.broadcast_to(shared, (*shape, components, components))
    # Half identity: stirring moves the composition without washing out where it came from.
    mixers = 0.5 * np.eye(components) + 0.5 * stirred
    yields = np.empty((*shape, components))
    following = np.zeros((modes, components))
    for h in range(horizon - 1, -1, -1):
        later = np.einsum("maji,maj->mai", mixers[h], following[switches[h]])
        yields[h], following = _dominated_yields(later, gap, rng)
    return Reactor(switches, mixers, yields, rng.dirichlet(2 * np.ones(components)))


def _dominated_yields(
    later: FloatArray, gap: float, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Yields [modes, A, components] that make one action of each mode best by `gap`, and V*.

    V* is drawn in a band of width (1 - gap) / 2 placed above the band of the values that follow,
    just so high that the best action's yield and all smaller yields fit into [0, 1].
    """
    modes, actions, components = later.shape
    width = (1 - gap) / 2
    values = later.min() + width + gap + width * rng.random((modes, components))
    # The other actions stay below V* - gap; any yield between 0 and that will do.
    room = np.minimum(1.0, values[:, None] - later - gap)
    yields = room * rng.random((modes, actions, components))
    for mode in range(modes):
        best = int(rng.integers(len(later[mode])))
        yields[mode, best] = values[mode] - later[mode, best]
    return yields, values
