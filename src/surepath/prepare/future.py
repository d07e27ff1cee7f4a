"""How far ahead an embedding has to look, from the ranks of pilot embeddings.

Looking one more observation ahead helps as long as it raises the rank of a level's embeddings: two
states that a longer window separates were one to the shorter. The rank is counted above the noise:
each matrix of embeddings is estimated in several independent groups, whose spread gives the
standard error of their mean (in Frobenius norm, which bounds every singular value of the noise).
Singular values above three standard errors are signal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, product

import numpy as np

from surepath.errors import InputError
from surepath.features import Features
from surepath.readings.embedding import VectorEmbedding
from surepath.readings.trie import Node
from surepath.run.runner import Runner, summarises
from surepath.run.seeds import RANKS, choices_beside
from surepath.system import Actions, FloatArray, Readings, Request, steps_of

PREFIXES = 24
"""Prefixes of a level whose embeddings are compared; all where there are fewer."""

LONGEST = 5
"""Observations ahead that are tried at most: what a window costs grows like actions^future."""

GROUPS = 8
"""Independent estimates of each embedding; their spread is the noise that a rank has to exceed."""

STANDARD_ERRORS = 3.0
"""Singular values of more than so many standard errors of the noise count as signal."""


@dataclass(slots=True)
class FutureChoice:
    """The future that was chosen, why, and what choosing it cost."""

    future: int
    reason: str
    episodes: int = 0
    steps: int = 0


@dataclass(slots=True)
class _Groups:
    """Readings of prefixes in independent groups; each prefix is run once and remembered."""

    runner: Runner
    features: Features
    horizon: int
    samples: int
    budget: int | None
    episodes: int = 0
    steps: int = 0
    known: dict[Actions, list[Readings]] = field(default_factory=dict[Actions, list[Readings]])

    def read(self, prefix: Actions) -> list[Readings]:
        """The readings at the end of a prefix, by group."""
        if prefix not in self.known:
            h = len(prefix)
            each = -(-self.samples // GROUPS)
            self._charge(GROUPS * each, steps_of(prefix, self.horizon))
            request = Request(
                prefix, each, range(h, min(h + 1, self.horizon)), range(max(0, h - 1), h)
            )
            summary = summarises(self.runner.system, self.features.statistics)
            key = RANKS + len(self.known)
            self.known[prefix] = self.runner.run(key, [request] * GROUPS, summary=summary)
        return self.known[prefix]

    def _charge(self, episodes: int, steps: int) -> None:
        if self.budget is not None and self.episodes + episodes > self.budget:
            raise InputError(
                'future="auto" takes more episodes than the budget',
                got=f"{self.budget} episodes left, {self.episodes} spent, {episodes} to go on",
                remedy="Set future to a number, or raise the budget.",
            )
        self.episodes += episodes
        self.steps += episodes * steps

    def embeddings(self, prefixes: list[Actions], future: int) -> FloatArray:
        """Embeddings of the prefixes, [groups, prefixes, D]."""
        embedding = VectorEmbedding(self.features, self.runner.system.n_actions, future)

        def vector(prefix: Actions, group: int) -> FloatArray:
            node = Node()
            for member in chain(*node.window(future - 1, self.runner.system.n_actions)):
                path = prefix + member.prefix
                sample = self.read(path)[group].observation(len(path))
                member.absorb(embedding.digest(sample))
            return embedding.vector(node)

        return np.array([[vector(p, group) for p in prefixes] for group in range(GROUPS)])

    def last_rewards(self, prefixes: list[Actions]) -> FloatArray:
        """Mean rewards of the last step along every continuation, [groups, prefixes, ends]."""
        last = self.horizon - 1
        ends = list(
            product(range(self.runner.system.n_actions), repeat=self.horizon - len(prefixes[0]))
        )
        return np.array(
            [
                [[self.read(p + end)[group].reward(last).mean for end in ends] for p in prefixes]
                for group in range(GROUPS)
            ]
        )


def choose_future(
    runner: Runner,
    horizon: int,
    features: Features,
    *,
    samples: int,
    budget: int | None = None,
) -> FutureChoice:
    """The smallest future beyond which no level's rank grows.

    At the last level that a future covers no longer window fits. What would follow there are the
    last rewards, so these take the place of one more observation.
    """
    groups = _Groups(runner, features, horizon, samples, budget)
    n_actions = runner.system.n_actions
    rng = choices_beside(runner.seed, RANKS, GROUPS)
    prefixes = [_some_prefixes(n_actions, h, rng) for h in range(horizon)]

    def ranks_of(future: int) -> list[int]:
        levels = prefixes[: horizon - future + 1]
        return [rank(groups.embeddings(level, future)) for level in levels]

    longest = min(LONGEST, horizon)
    ranks = {1: ranks_of(1)}
    for future in range(1, longest + 1):
        last = horizon - future
        if future < longest:
            ranks[future + 1] = ranks_of(future + 1)
            grown = [h for h in range(last) if ranks[future + 1][h] > ranks[future][h]]
        else:
            grown = []
        extended = np.concatenate(
            [groups.embeddings(prefixes[last], future), groups.last_rewards(prefixes[last])], axis=2
        )
        if not grown and rank(extended) <= ranks[future][last]:
            reason = (
                f"looking {future + 1} observations ahead raises no level's rank over {future} "
                f"(ranks {ranks[future]})"
            )
            return FutureChoice(future, reason, groups.episodes, groups.steps)
    reason = f"the rank still grew at {longest} observations ahead, the most that is tried"
    return FutureChoice(longest, reason, groups.episodes, groups.steps)


def rank(estimates: FloatArray) -> int:
    """Singular values of the mean of independent estimates [groups, n, D] that stand out."""
    mean = estimates.mean(axis=0)
    spread = float(np.linalg.norm(estimates - mean))
    standard_error = spread / np.sqrt(len(estimates) * (len(estimates) - 1))
    signal = np.linalg.svd(mean, compute_uv=False)
    return int((signal > STANDARD_ERRORS * standard_error).sum())


def _some_prefixes(n_actions: int, length: int, rng: np.random.Generator) -> list[Actions]:
    if n_actions**length <= PREFIXES:
        return list(product(range(n_actions), repeat=length))
    drawn = rng.integers(n_actions, size=(4 * PREFIXES, length))
    return list(dict.fromkeys(tuple(map(int, row)) for row in drawn))[:PREFIXES]
