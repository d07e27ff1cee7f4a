"""State merging with dynamic programming: the method for hidden states that can be listed.

Level by level every action of every known state is tried, each equally often. Ends whose mean
readings are close are the same state; what is left is a finite machine, solved backwards. It
follows the deterministic case of Jin, Kakade, Krishnamurthy and Liu, "Sample-Efficient
Reinforcement Learning of Undercomplete POMDPs" (2020), extended to noisy rewards of state and
action; the constants of `theory_samples` are our own.

It has to be told how far apart the states of a level look (`separation`), and how often to try
(`samples`, which depends on the gap): it has no way to find out, and no certificate.
"""

from __future__ import annotations

import math

import numpy as np

from surepath.builtin_problems.finite import FiniteProblem
from surepath.features import Features
from surepath.learners.base import Answer, Asking
from surepath.readings.embedding import VectorEmbedding
from surepath.results.certificate import Level
from surepath.system import Actions, FloatArray, IntArray, Request
from surepath.validate import between, whole

MOST_STATES = 64
"""States that a level may have before further ends count as the nearest of them."""


class Merging(Asking):
    """Sans-IO: `ask` for all edges of a level at once, `tell`, until `plan` is there.

    With too few samples noise looks like new states, and every state asks for more samples. So a
    level holds at most `most_states`; once it is full, further ends are taken for the nearest of
    them, and `crowded` says that this happened.
    """

    def __init__(
        self,
        horizon: int,
        n_actions: int,
        features: Features,
        separation: float,
        samples: int,
        *,
        reward_range: tuple[float, float] = (0.0, 1.0),
        most_states: int = MOST_STATES,
    ) -> None:
        super().__init__(horizon, n_actions, VectorEmbedding(features, n_actions), reward_range)
        self.separation = between("separation", separation, 0, math.inf, closed=(False, True))
        self.samples = whole("samples", samples, least=1)
        self.most_states = whole("most_states", most_states, least=1)
        self.crowded = False
        self._prefixes: list[Actions] = [()]  # a way to reach each state of the present level
        self._rewards: list[FloatArray] = []  # by level, [S, A]
        self._targets: list[IntArray] = []  # by level but the last, [S, A]
        self._advance(None)

    @property
    def states(self) -> tuple[int, ...]:
        """How many states each level has, as far as they are known."""
        return tuple(map(len, self._rewards))

    def status(self) -> dict[str, str]:
        return {
            "level": f"{len(self._rewards)}/{self.horizon}",
            "states": str(sum(self.states)),
            "episodes": f"{self.usage.episodes:.3g}",
        }

    def _advance(self, answers: list[Answer] | None) -> None:
        if answers is not None:
            self._close_level(answers)
        if len(self._rewards) == self.horizon:
            self._solve()
        else:
            self._pending = self._open_level()

    def _open_level(self) -> tuple[Request, ...]:
        level, tried = len(self._rewards), len(self._prefixes) * self.n_actions
        self.usage.expansions[level] = len(self._prefixes)
        self.usage.nodes += tried
        self.usage.reward_batches += tried
        followed = level + 1 < self.horizon
        self.usage.feature_batches += tried if followed else 0
        return tuple(
            Request(
                (*prefix, action),
                self.samples,
                range(level + 1, level + 2) if followed else range(0),
                range(level, level + 1),
            )
            for prefix in self._prefixes
            for action in range(self.n_actions)
        )

    def _close_level(self, answers: list[Answer]) -> None:
        level, shape = len(self._rewards), (len(self._prefixes), self.n_actions)
        rewards = np.array([answer.rewards[level].mean for answer in answers])
        self._rewards.append(rewards.reshape(shape))
        if level + 1 < self.horizon:
            means = [answer.observations[level + 1].value for answer in answers]
            targets, firsts = self._merge(means)
            self._targets.append(targets.reshape(shape))
            edges = [(*prefix, a) for prefix in self._prefixes for a in range(self.n_actions)]
            self._prefixes = [edges[first] for first in firsts]

    def _merge(self, means: list[FloatArray]) -> tuple[IntArray, list[int]]:
        """The state of each mean, and the mean that each state was first seen as."""
        targets, firsts = np.empty(len(means), dtype=np.int64), list[int]()
        points = np.array(means)
        for i, point in enumerate(points):
            distances = np.linalg.norm(points[firsts] - point, axis=1)
            close = np.flatnonzero(distances <= self.separation / 2)
            if len(close):
                targets[i] = close[0]
            elif len(firsts) < self.most_states:
                targets[i] = len(firsts)
                firsts.append(i)
            else:
                targets[i] = distances.argmin()
                self.crowded = True
        return targets, firsts

    def _solve(self) -> None:
        """Backward dynamic programming on the machine that was found."""
        values = [self._rewards[-1]]
        for rewards, targets in zip(self._rewards[-2::-1], self._targets[::-1], strict=True):
            values.insert(0, rewards + values[0].max(axis=1)[targets])
        state, decisions = 0, list[Level]()
        for level, q in enumerate(values):
            action = int(q[state].argmax())
            estimates = tuple(q[state].tolist())
            decisions.append(
                Level.decided(level, action, estimates, 0.0, self.samples, "expansion")
            )
            if level < len(self._targets):
                state = int(self._targets[level][state, action])
        self.plan = tuple(decisions)
        self.incumbent = tuple(decision.action for decision in decisions)
        self.value = max(decisions[0].estimates)


def true_separation(problem: FiniteProblem) -> float:
    """Smallest distance between the mean readings of two states of a level, both reachable.

    Infinite where every level has one state only: there is nothing to tell apart.
    """
    levels = (problem.embeddings[h, states] for h, states in enumerate(problem.reachable))
    return min(map(_closest, levels))


def _closest(points: FloatArray) -> float:
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    return float(distances[np.triu_indices(len(points), 1)].min(initial=math.inf))


def theory_samples(
    horizon: int, states: int, n_actions: int, separation: float, gap: float, delta: float
) -> int:
    """Tries of every edge with which merging is exact with probability at least 1 - delta.

    For rewards in [0, 1] and features no longer than 1. With L = ln(4 H S A / delta), every mean
    reading is within separation / 4 of its expectation after 16 (1 + sqrt(L))^2 / separation^2
    tries, and every mean reward within gap / (2 H) after 2 H^2 L / gap^2.
    """
    edges = math.prod(
        whole(name, value, least=1)
        for name, value in (("horizon", horizon), ("states", states), ("n_actions", n_actions))
    )
    between("separation", separation, 0, math.inf, closed=(False, True))
    between("gap", gap, 0, math.inf, closed=(False, True))
    log = math.log(4 * edges / between("delta", delta, 0, 1))
    readings = 16 * (1 + math.sqrt(log)) ** 2 / separation**2
    rewards = 2 * horizon**2 * log / gap**2
    return max(1, math.ceil(max(readings, rewards)))
