"""A graph that leaks: every move may fall through the floor, and only one action pays.

Story. A walker stands at s_0 and can head for any of m places. Place j is reached with a chance
between alpha and 3 alpha, and otherwise the walker falls to f and stays there. One action a*, the
same everywhere, is the right one: it pays at once and ends the walk. Every other action costs a
little, as much as its chance of arriving is worth. So the best plan is to play a* first, and its
lead over the others is a constant in every place. Yet nothing but a* itself speaks of a*, until the
last step; and there few walkers are left, a share of at most (3 alpha)^(horizon - 1). Whoever wants
to know a* tries the m actions one by one, or repeats a walk exponentially often.

Theorem. Even with Q* linear in known features of the state and a constant gap, planning is
exponentially hard once transitions are random: any learner needs a constant times
min(m, 2^(horizon - 1)) episodes (alpha = 1/6), with m exponential in the dimension. It is the lower
bound that Uehara, Sekhari, Lee, Kallus and Sun give for stochastic latent transitions in
"Computationally Efficient PAC RL in POMDPs with Latent Determinism and Conditional Embeddings". The
printed formula there has the vector of the state where that of the action belongs.

Source. Wang, Wang and Kakade, "An exponential lower bound for linearly realizable MDP with constant
suboptimality gap", 2021. This is our two-vector variant: a place has a vector v_i, an action a
vector u_j, all 2 m + 1 of coherence at most alpha, so that every action can be taken everywhere,
the start is fixed and the gap holds in every place. Raw rewards, with p_ij = <v_i, u_j> + 2 alpha
and c_j = <v_j, u_a*> (c_a* = 1), H the horizon:

    j != a*: to s_j with probability p_ij, else to f; pays -2 alpha p_ij
    j  = a*: to f; pays p_(i a*)                        last step: pays p_ij c_j, for every j
    f: absorbing, pays 0

Q*_h(s_i, j) = p_ij c_j at every step h: by induction -2 alpha p_ij + p_ij V*(s_j) is
p_ij (c_j + 2 alpha - 2 alpha), because V*(s_j) = p_(j a*) = c_j + 2 alpha. The lead of a* is at
least alpha - 3 alpha^2. Rewards are paid as Bernoulli variables after a shift and a scale to
[0, 1].

The same graph without leaks. With `leak=False` action j != a* always arrives at s_j, and is charged
what the leak would have cost: it pays -2 alpha p_ij - (1 - p_ij) V*(s_j) before the last step. Then
r + V*(s_j) is what it was, so Q*, its features and the raw lead are unchanged and transitions are
deterministic. What is charged depends on V*, so here every reward speaks of a*. Raw rewards lie in
[alpha^2 - 3 alpha, 3 alpha]: -2 alpha p - (1 - p) V is least for V = 3 alpha, and there it is
alpha p - 3 alpha with p >= alpha.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from surepath.builtin_problems.base import Oracle, Problem, only_single
from surepath.builtin_problems.hard.vectors import spread_vectors
from surepath.builtin_problems.laws import Bernoulli
from surepath.errors import InputError
from surepath.system import Actions, Episodes, FloatArray, Moments, Request, RewardMoments, Summary
from surepath.validate import between, whole

MOST_ACTIONS = 2048
"""Tables of places by actions stay small."""


class Belief(NamedTuple):
    """Where a walk is: at a place, or fallen; certain in one episode, a chance given a prefix."""

    alive: float  # probability of not having fallen
    place: int  # where, if so: 0 is the start, j + 1 is where action j leads


class Sighting:
    """What is seen of a belief: the features of the place, or those of having fallen."""

    def __init__(self, alive: float, place: FloatArray, fallen: FloatArray) -> None:
        self.alive = alive
        self.place, self.fallen = place, fallen  # [d] each
        self.mean = alive * place + (1 - alive) * fallen

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        return self.rows(rng.random(n) < self.alive)

    def summary(self, n: int, rng: np.random.Generator) -> Moments:
        return self.moments(int(rng.binomial(n, self.alive)), n)

    def rows(self, alive: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> FloatArray:
        """What walkers see of whom it is known who is alive."""
        return np.where(alive[:, None], self.place, self.fallen)

    def moments(self, alive: int, n: int) -> Moments:
        """The statistic of n sightings, so many of them alive."""
        apart = self.place - self.fallen
        scatter = alive * (n - alive) / n * np.outer(apart, apart)
        return Moments(n, self.fallen + alive / n * apart, scatter)


class Leaking(Problem):
    """The leaking graph. Its hidden state is random unless `leak` is False.

    Given the actions, what is hidden is a `Belief`, and beliefs do move deterministically: `path`,
    `move`, the laws and `q_values` are about beliefs. Single episodes are walks: their steps depend
    on each other through being alive, and a reading shows the place itself. Open-loop values are
    linear in beliefs, so the best sequence is as good as the best policy; but the lead of the right
    action shrinks with the chance of being alive, and so does `gap`, which is over beliefs like all
    the rest. `state_gap`, over places, does not: it is the gap that the theorem is about.
    """

    preferred_features = "linear"

    def __init__(
        self,
        horizon: int,
        places: FloatArray,  # [m + 1, d']: v
        moves: FloatArray,  # [m, d']: u
        secret: int,
        *,
        alpha: float,
        leak: bool,
    ) -> None:
        self.horizon, self.n_actions = horizon, len(moves)
        self.secret, self.alpha, self.leak = secret, alpha, leak
        vectors = np.column_stack([np.ones((len(places), 2)), places])
        fallen = np.eye(1, vectors.shape[1])
        self.features = np.vstack([vectors, fallen]) / np.sqrt(3)  # [m + 2, d]: phi, f is the last
        self.dimension = self.features.shape[1]
        self.latent_dimension = min(self.n_actions, self.dimension)
        # Two points apart by sqrt(2/3): Hoeffding's lemma for a bounded variable.
        self.observation_noise = float(np.sqrt(2 / 3)) / 2
        self._moves = moves
        self.arrival = places @ moves.T + 2 * alpha  # [m + 1, m]: p_ij
        self.pointing = places[1:] @ moves[secret]  # [m]: c_j
        self.pointing[secret] = 1.0
        early, least = -2 * alpha * self.arrival, -6 * alpha**2
        if not leak:  # charge what the leak would have cost
            early -= (1 - self.arrival) * self.arrival[1:, secret]
            least = alpha**2 - 3 * alpha
        early[:, secret] = self.arrival[:, secret]
        # Shift and scale raw rewards from [least, 3 alpha] to [0, 1].
        self.scale = 1 / (3 * alpha - least)  # kappa
        self.fallen_reward = -least * self.scale
        last = self.arrival * self.pointing
        # Rounding must not lead out of it where the coherence is alpha exactly.
        self._early, self._last = (
            np.clip((raw - least) * self.scale, 0.0, 1.0) for raw in (early, last)
        )

    @property
    def start(self) -> Belief:
        return Belief(1.0, 0)

    def chance(self, place: int, action: int) -> float:
        """Of arriving."""
        if action == self.secret:
            return 0.0
        return float(self.arrival[place, action]) if self.leak else 1.0

    def reward(self, step: int, place: int, action: int) -> float:
        """Mean reward of an action in a place."""
        table = self._last if step == self.horizon - 1 else self._early
        return float(table[place, action])

    def move(self, step: int, state: Belief, action: int) -> Belief:  # noqa: ARG002
        return Belief(state.alive * self.chance(state.place, action), action + 1)

    def sample_move(
        self,
        step: int,  # noqa: ARG002 - as `move` has it
        state: Belief,
        action: int,
        rng: np.random.Generator,
    ) -> Belief:
        """Where one walk is next: certain again."""
        arrives = rng.random() < state.alive * self.chance(state.place, action)
        return Belief(float(arrives), action + 1)

    def observation_law(self, step: int, state: Belief) -> Sighting:  # noqa: ARG002
        return Sighting(state.alive, self.features[state.place], self.features[-1])

    def reward_law(self, step: int, state: Belief, action: int) -> Bernoulli:
        alive = state.alive * self.reward(step, state.place, action)
        return Bernoulli(alive + (1 - state.alive) * self.fallen_reward)

    def q_values(self, step: int, state: Belief) -> FloatArray:
        """Open-loop Q*_step(belief, .), exact; that of a place where the belief is certain."""
        raw = state.alive * self.arrival[state.place] * self.pointing
        return self.scale * raw + self.fallen_reward * (self.horizon - step)

    def weights(self, step: int) -> FloatArray:
        """w_a, one row an action: Q*_step(., a) = <w_a, phi(.)>, [m, d]."""
        c = self.scale * self.pointing
        shared = np.full(len(c), self.fallen_reward * (self.horizon - step))
        rows = [shared, 2 * self.alpha * c, c[:, None] * self._moves]
        return np.sqrt(3) * np.column_stack(rows)

    def norm_of(self, future: int) -> float:
        only_single(future, "a leaking graph")
        return float(np.linalg.norm(self.weights(0), axis=1).max())

    def solve(self) -> Oracle:
        """Closed form: a* is best in every place, and after it everything ties."""
        return Oracle(
            actions=(self.secret,) + (0,) * (self.horizon - 1),
            value=float(self.q_values(0, self.start).max()),
            gap=float(self.belief_gaps().min()),
            unique=self.horizon == 1,
            radius=1.0,
        )

    @property
    def state_gap(self) -> float:
        """Smallest lead over a suboptimal action in a place that a walk comes to."""
        places = [0] if self.horizon == 1 else [0, *self._other_places()]
        return float(self._leads[places].min())

    def belief_gap(self, prefix: Actions) -> float:
        """Smallest lead over a suboptimal action after a prefix; infinity where all are tied."""
        belief = self.path(prefix)[-1]
        return belief.alive * float(self._leads[belief.place].min()) if belief.alive else np.inf

    def belief_gaps(self) -> FloatArray:
        """By level, the smallest `belief_gap` of all prefixes that long: [H].

        The least chance of being alive at each place, level by level, times the lead there.
        """
        chances = self.arrival if self.leak else np.ones_like(self.arrival)
        alive = np.full(self.n_actions + 1, np.inf)
        alive[0] = 1.0
        gaps = np.empty(self.horizon)
        for level in range(self.horizon):
            known = np.isfinite(alive)
            gaps[level] = (alive[known] * self._leads[known].min(axis=1)).min()
            reached = (alive[known, None] * chances[known]).min(axis=0)
            alive = np.concatenate([[np.inf], reached])
            alive[self.secret + 1] = np.inf
        return gaps

    @cached_property
    def _leads(self) -> FloatArray:
        """Lead of a* over each of the others, in every place: [m + 1, m - 1]."""
        right = self.arrival[:, self.secret, None]
        return self.scale * np.delete(right - self.arrival * self.pointing, self.secret, axis=1)

    def _other_places(self) -> list[int]:
        """Places a walk comes to: where a* would lead is none of them."""
        return [j + 1 for j in range(self.n_actions) if j != self.secret]

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        path = self.path(actions)
        observations = np.empty((n, len(path), self.dimension))
        rewards = np.empty((n, len(actions)))
        alive = np.ones(n, dtype=np.bool_)
        for step, belief in enumerate(path):
            observations[:, step] = self.observation_law(step, belief).rows(alive)
            if step < len(actions):
                mean = self.reward(step, belief.place, actions[step])
                rewards[:, step] = rng.random(n) < np.where(alive, mean, self.fallen_reward)
                alive &= rng.random(n) < self.chance(belief.place, actions[step])
        return Episodes(actions, observations, rewards)

    def summarise(self, request: Request, rng: np.random.Generator) -> Summary:
        """How many are alive at each step, and of both kinds how many are paid: binomial all.

        Given who is alive when, the rewards of all steps are independent.
        """
        n, alive = request.count, request.count
        observations, rewards = dict[int, Moments](), dict[int, RewardMoments]()
        for step, belief in enumerate(self.path(request.actions)):
            if step in request.observations:
                observations[step] = self.observation_law(step, belief).moments(alive, n)
            if step < len(request.actions):
                action = request.actions[step]
                if step in request.rewards:
                    paid = rng.binomial(alive, self.reward(step, belief.place, action))
                    paid += rng.binomial(n - alive, self.fallen_reward)
                    rewards[step] = RewardMoments(n, paid / n, paid * (1 - paid / n))
                alive = int(rng.binomial(alive, self.chance(belief.place, action)))
        return Summary(request.actions, n, observations, rewards)


def leaking(
    horizon: int = 4,
    actions: int = 5,
    alpha: float = 1 / 6,
    leak: bool = True,
    dimension: int | None = None,
    secret: int | None = None,
    seed: int = 0,
) -> Leaking:
    """Lower bound: random transitions, constant gap, one action in many to find.

    `leak=False` has the same sizes, features and Q* up to scale with deterministic transitions.
    `dimension`: that of the vectors, as random signs; quadratic phases where it is left out.
    """
    whole("horizon", horizon, least=1)
    whole("actions", actions, least=2, most=MOST_ACTIONS)
    between("alpha", alpha, 0.05, 1 / 3, closed=(True, False))
    rng = np.random.default_rng(whole("seed", seed, least=0))
    vectors = spread_vectors(2 * actions + 1, alpha, dimension, rng)
    hidden = int(rng.integers(actions))
    if secret is not None:
        hidden = whole("secret", secret, least=0, most=actions - 1)
    places, moves = vectors[: actions + 1], vectors[actions + 1 :]
    return Leaking(horizon, places, moves, hidden, alpha=alpha, leak=_flag("leak", leak))


def _flag(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise InputError(
        f"{name} must be True or False",
        got=repr(value),
        remedy=f"Set {name} to True or False.",
    )
