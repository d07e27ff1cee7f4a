"""What answers the learner of the recursion: exact means, or noise that is always the same."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np

from surepath.features import Linear
from surepath.learners.recursion import Learner
from surepath.system import Actions, Moments, Readings, Request, RewardMoments, Summary
from surepath.theory.schedule import Schedule

ONCE = Schedule(ridge=1e-8, threshold=1.0, feature_samples=1, reward_samples=1)
Answer = Callable[[Request], Readings]


class Machine:
    """A hidden automaton; `answer` reads it without noise, as a summary of exact means."""

    def __init__(self, moves: Any, embeddings: Any, rewards: Any, horizon: int) -> None:
        self.moves = np.asarray(moves)  # [states, actions] -> state
        self.embeddings = np.asarray(embeddings, dtype=float)  # [states, d]
        self.rewards = np.asarray(rewards, dtype=float)  # [states, actions]
        self.horizon = horizon
        self.n_actions = self.moves.shape[1]
        self.features = Linear(self.embeddings.shape[1])

    @classmethod
    def random(cls, seed: int, horizon: int, n_actions: int = 2, states: int = 3) -> Machine:
        rng = np.random.default_rng(seed)
        moves = rng.integers(states, size=(states, n_actions))
        rewards = rng.uniform(size=(states, n_actions))
        return cls(moves, rng.dirichlet(np.ones(states + 1), size=states), rewards, horizon)

    def path(self, actions: Actions) -> list[int]:
        states = [0]
        for action in actions:
            states.append(int(self.moves[states[-1], action]))
        return states

    def answer(self, request: Request) -> Summary:
        states, d = self.path(request.actions), self.features.dimension
        n = request.count
        return Summary(
            request.actions,
            n,
            {
                h: Moments(n, self.embeddings[states[h]], np.zeros((d, d)))
                for h in request.observations
            },
            {
                h: RewardMoments(n, float(self.rewards[states[h], request.actions[h]]), 0.0)
                for h in request.rewards
            },
        )

    def returns(self, actions: Actions) -> float:
        return float(self.rewards[self.path(actions)[:-1], list(actions)].sum())

    def optimum(self) -> tuple[Actions, float, float]:
        """Best sequence, its return, and its lead, by trying every one."""
        ranked = sorted(product(range(self.n_actions), repeat=self.horizon), key=self.returns)
        best = self.returns(ranked[-1])
        lead = best - self.returns(ranked[-2]) if len(ranked) > 1 else math.inf
        return ranked[-1], best, lead

    def learner(self, schedule: Schedule = ONCE, **options: Any) -> Learner:
        return Learner(self.horizon, self.n_actions, self.features, schedule, **options)


class Noise:
    """Readings that depend only on the kind, the prefix, and how often it was read before."""

    def __init__(self, seed: int, d: int, spread: float) -> None:
        self.seed, self.d, self.spread = seed, d, spread
        self.seen: Counter[tuple[str, Actions]] = Counter()

    def _rng(self, kind: str, prefix: Actions) -> np.random.Generator:
        visit = self.seen[kind, prefix]
        self.seen[kind, prefix] += 1
        return np.random.default_rng([self.seed, kind == "reward", visit, len(prefix), *prefix])

    def embedding(self, prefix: Actions) -> np.ndarray:
        """One of three hidden points, hit imprecisely; at most of length 1."""
        base = np.random.default_rng([self.seed, sum((3, *prefix)) % 3]).normal(size=self.d)
        x = base + self.spread * self._rng("feature", prefix).normal(size=self.d)
        return x / max(1.0, float(np.linalg.norm(x)))

    def reward(self, prefix: Actions) -> float:
        return float(self._rng("reward", prefix).uniform())

    def answer(self, request: Request) -> Summary:
        n, d = request.count, self.d
        return Summary(
            request.actions,
            n,
            {
                h: Moments(n, self.embedding(request.actions[:h]), np.zeros((d, d)))
                for h in request.observations
            },
            {
                h: RewardMoments(n, self.reward(request.actions[: h + 1]), 0.0)
                for h in request.rewards
            },
        )


def asked(learner: Learner, answer: Answer) -> Iterator[Request]:
    """Run to the end, giving every request that was answered."""
    while not learner.done:
        requests = learner.ask()
        learner.tell([answer(request) for request in requests])
        yield from requests


def finish(learner: Learner, answer: Answer) -> Learner:
    for _ in asked(learner, answer):
        pass
    return learner


def plan(learner: Learner) -> Actions:
    assert learner.plan is not None
    return tuple(decision.action for decision in learner.plan)
