"""How far ahead an embedding has to look, from the ranks of pilot embeddings.

Looking one more observation ahead helps as long as it raises the rank of a level's embeddings: two
states that a longer window separates were one to the shorter. The rank is counted above the noise.
Each embedding is estimated twice, from independent halves; half of the difference of the two
matrices has the law of the noise of their mean, so singular values above twice its largest one are
signal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, product
from typing import TypeAlias

import numpy as np

from surepath.embedding import VectorEmbedding, embed
from surepath.features import Features
from surepath.run.driver import answer, generator, summarises
from surepath.system import Actions, FloatArray, Readings, Request, System, steps_of
from surepath.trie import Node

PREFIXES = 24
"""Prefixes of a level whose embeddings are compared; all where there are fewer."""

LONGEST = 5
RANKS = 2**33
"""Batch number of this noise: beyond every batch of a run, and beside the pilot's."""


Pair: TypeAlias = tuple[FloatArray, FloatArray]
"""The same matrix from two independent halves."""


@dataclass(slots=True)
class FutureChoice:
    future: int
    reason: str
    ranks: dict[int, list[int]]  # by future: rank at each level that was compared
    episodes: int = 0
    steps: int = 0


@dataclass(slots=True)
class _Halves:
    """Means of observations and rewards from two independent halves, read once for each prefix."""

    system: System
    features: Features
    horizon: int
    samples: int
    seed: int
    episodes: int = 0
    steps: int = 0
    known: dict[Actions, tuple[Readings, Readings]] = field(
        default_factory=dict[Actions, tuple[Readings, Readings]]
    )

    def read(self, prefix: Actions) -> tuple[Readings, Readings]:
        if prefix not in self.known:
            h = len(prefix)
            request = Request(
                prefix, self.samples, range(h, min(h + 1, self.horizon)), range(max(0, h - 1), h)
            )
            summary = summarises(self.system, embed(self.features, 1, 1, "product"))
            key = RANKS + len(self.known)
            self.known[prefix] = (
                answer(self.system, request, generator(self.seed, key, 0), summary=summary),
                answer(self.system, request, generator(self.seed, key, 1), summary=summary),
            )
            self.episodes += 2 * self.samples
            self.steps += 2 * self.samples * steps_of(prefix, self.horizon)
        return self.known[prefix]

    def embeddings(self, prefixes: list[Actions], future: int) -> Pair:
        """Embeddings of the prefixes by each half, [prefixes, D]."""
        embedding = VectorEmbedding(self.features, self.system.n_actions, future)
        halves: tuple[list[FloatArray], list[FloatArray]] = [], []
        for prefix in prefixes:
            for half, rows in enumerate(halves):
                node = Node()
                for member in chain(*node.window(future - 1, self.system.n_actions)):
                    path = prefix + member.prefix
                    sample = self.read(path)[half].observation(len(path))
                    member.absorb(embedding.digest(sample))
                rows.append(embedding.vector(node))
        return np.array(halves[0]), np.array(halves[1])

    def last_rewards(self, prefixes: list[Actions]) -> Pair:
        """Mean rewards of the last step along every continuation, by each half."""
        left = self.horizon - len(prefixes[0])
        ends = list(product(range(self.system.n_actions), repeat=left))
        first, second = (
            np.array(
                [
                    [self.read(prefix + end)[half].reward(self.horizon - 1).mean for end in ends]
                    for prefix in prefixes
                ]
            )
            for half in range(2)
        )
        return first, second


def choose_future(
    system: System, horizon: int, features: Features, *, samples: int, seed: int
) -> FutureChoice:
    """The smallest future beyond which no level's rank grows.

    At the last level that a future covers no longer window fits. What would follow there are the
    last rewards, so these take the place of one more observation.
    """
    halves = _Halves(system, features, horizon, samples, seed)
    rng = generator(seed, RANKS, 0)
    prefixes = [_some_prefixes(system.n_actions, h, rng) for h in range(horizon)]

    def ranks_of(future: int) -> list[int]:
        levels = prefixes[: horizon - future + 1]
        return [rank(*halves.embeddings(level, future)) for level in levels]

    longest = min(LONGEST, horizon)
    ranks = {1: ranks_of(1)}
    for future in range(1, longest + 1):
        last = horizon - future
        if future < longest:
            ranks[future + 1] = ranks_of(future + 1)
            grown = [h for h in range(last) if ranks[future + 1][h] > ranks[future][h]]
        else:
            grown = []
        extended = _beside(
            halves.embeddings(prefixes[last], future), halves.last_rewards(prefixes[last])
        )
        if not grown and rank(*extended) <= ranks[future][last]:
            reason = (
                f"looking {future + 1} observations ahead raises no level's rank over {future} "
                f"(ranks {ranks[future]})"
            )
            return FutureChoice(future, reason, ranks, halves.episodes, halves.steps)
    reason = f"the rank still grew at {longest} observations ahead, the most that is tried"
    return FutureChoice(longest, reason, ranks, halves.episodes, halves.steps)


def rank(first: FloatArray, second: FloatArray) -> int:
    """Singular values of the mean of two noisy copies that stand out from their difference."""
    noise = float(np.linalg.norm(first - second, 2)) / 2
    signal = np.linalg.svd((first + second) / 2, compute_uv=False)
    return int((signal > 2 * noise).sum())


def _beside(left: Pair, right: Pair) -> Pair:
    first, second = (np.concatenate([left[half], right[half]], axis=1) for half in range(2))
    return first, second


def _some_prefixes(n_actions: int, length: int, rng: np.random.Generator) -> list[Actions]:
    if n_actions**length <= PREFIXES:
        return list(product(range(n_actions), repeat=length))
    drawn = rng.integers(n_actions, size=(4 * PREFIXES, length))
    return list(dict.fromkeys(tuple(map(int, row)) for row in drawn))[:PREFIXES]
