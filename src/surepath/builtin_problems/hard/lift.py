"""The lift: a decision process with known features as a system that shows readings.

Story. In the hard families the state is no secret; what is hidden is the direction theta in which
values grow. The lift shows exactly that much: a reading lists the features of every action in the
present state, and beside each a fresh draw of the reward that the action would pay. Whoever reads
it knows no more than a learner that may query the rewards of a state, so a lower bound on queries
becomes one on steps, divided by the A + 1 draws that a step shows: one is paid, A are read.

Theorem. With psi(o) = ((phi(s, a), Y(s, a)))_a / sqrt(2 A), where Y(s, a) is drawn anew at every
reading, E[psi | s] = ((phi(s, a), r(s, a)))_a / sqrt(2 A) has length at most 1, and Q*_h(s, a) is
linear in it with w_a = sqrt(2 A) theta in the block of a and 0 elsewhere. So d = A (d' + 1) and the
norm is sqrt(2 A) ||theta||.

Source. The step from decision processes to POMDPs in the lower bounds of Uehara, Sekhari, Lee,
Kallus and Sun, "Computationally Efficient PAC RL in POMDPs with Latent Determinism and Conditional
Embeddings"; the norms are our own.
"""

from __future__ import annotations

import numpy as np

from surepath.builtin_problems.base import Oracle, Problem, State, only_single
from surepath.builtin_problems.hard.process import LinearProcess
from surepath.builtin_problems.laws import Bernoulli
from surepath.errors import InputError
from surepath.system import FloatArray, Moments

MOST_ACTIONS = 16
"""The statistic of a reading counts the 2^A outcomes of its rewards."""


class QueryReading:
    """Features of every action beside a draw of its reward."""

    def __init__(self, features: FloatArray, rewards: FloatArray) -> None:
        self.rewards = rewards  # [A] means
        self._scale = 1 / np.sqrt(2 * len(rewards))
        blocks = np.column_stack([features, rewards])  # [A, d' + 1]
        self.mean = self._scale * blocks.ravel()
        # Where the drawn rewards are in a reading.
        self.drawn = np.arange(1, len(rewards) + 1) * blocks.shape[1] - 1

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        readings = np.tile(self.mean, (n, 1))
        readings[:, self.drawn] = self._scale * (rng.random((n, len(self.rewards))) < self.rewards)
        return readings

    def summary(self, n: int, rng: np.random.Generator) -> Moments:
        """How often each pattern of rewards was drawn, one action after the other."""
        counts, patterns = np.array([n]), np.zeros((1, 0))
        for mean in self.rewards:
            paid = rng.binomial(counts, mean)
            zeros, ones = (np.column_stack([patterns, np.full(len(counts), y)]) for y in (0.0, 1.0))
            counts = np.concatenate([counts - paid, paid])
            patterns = np.concatenate([zeros, ones])[counts > 0]
            counts = counts[counts > 0]
        average = counts @ patterns / n
        centred = patterns - average
        mean, scatter = self.mean.copy(), np.zeros((len(self.mean), len(self.mean)))
        mean[self.drawn] = self._scale * average
        block = self._scale**2 * (centred.T @ (counts[:, None] * centred))
        scatter[np.ix_(self.drawn, self.drawn)] = block
        return Moments(n, mean, scatter)


class Lifted(Problem):
    """A linear process behind readings of its features and rewards."""

    preferred_features = "linear"

    def __init__(self, process: LinearProcess) -> None:
        self.process = process
        self.horizon, self.n_actions = process.horizon, process.n_actions
        self.dimension = process.n_actions * (process.n_features + 1)
        # Independent rewards in [0, 1], each divided by sqrt(2 A): Hoeffding's lemma.
        self.observation_noise = 1 / (2 * float(np.sqrt(2 * process.n_actions)))

    @property
    def start(self) -> State:
        return self.process.start

    def move(self, step: int, state: State, action: int) -> State:
        return self.process.move(step, state, action)

    def observation_law(self, step: int, state: State) -> QueryReading:
        return QueryReading(
            self.process.features(step, state), self.process.reward_means(step, state)
        )

    def reward_law(self, step: int, state: State, action: int) -> Bernoulli:
        return Bernoulli(float(self.process.reward_means(step, state)[action]))

    def q_values(self, step: int, state: State) -> FloatArray:
        return self.process.q_values(step, state)

    def weights(self, step: int) -> FloatArray:
        """w_a, one row an action: Q*_step(s, a) = <w_a, E[psi | s]>, [A, d]."""
        block = np.append(np.sqrt(2 * self.n_actions) * self.process.weights(step), 0.0)
        rows = np.kron(np.eye(self.n_actions), block)
        return np.asarray(rows, dtype=np.float64)

    def norm_of(self, future: int) -> float:
        only_single(future, "a lifted process")
        lengths = [np.linalg.norm(self.process.weights(step)) for step in range(self.horizon)]
        return float(np.sqrt(2 * self.n_actions) * max(lengths))

    def solve(self) -> Oracle:
        return Oracle(
            actions=self.process.best_actions(),
            value=float(self.q_values(0, self.start).max()),
            gap=self.process.gap(),
            unique=self.process.unique,
            radius=1.0,  # a bound: half for the features, half for the rewards
        )


def lift(process: LinearProcess) -> Lifted:
    """The process as a problem that a learner can be given."""
    if process.n_actions > MOST_ACTIONS:
        raise InputError(
            f"a reading lists the rewards of all actions, of {MOST_ACTIONS} at most",
            got=f"{process.n_actions} actions",
            remedy="Use fewer actions: the lift multiplies the dimension by their number.",
        )
    return Lifted(process)
