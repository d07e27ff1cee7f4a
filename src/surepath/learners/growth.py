"""Where the features of a learner see nothing, they grow, and its readings are pooled once more.

A trie is a fold of what was told. So a learner whose features can grow keeps what it was told, and
after growing it is as if it had had the new features from the beginning. Nothing here depends on
anything but what was told, so a run that is replayed from its journal grows at the same places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np

from surepath.features.growing import Growing, shares_seen
from surepath.inference.states import Automaton
from surepath.inference.tuning import TUNING
from surepath.learners.base import Answer
from surepath.readings.digests import Cloud
from surepath.readings.embedding import CloudEmbedding
from surepath.readings.trie import Node
from surepath.system import Actions, Counts, FloatArray, RewardMoments, Sample

Kept: TypeAlias = Counts | FloatArray
"""The observations of one time step, as the kernel takes them [n, p]; symbols by their counts."""

Absorbed: TypeAlias = tuple[Actions, dict[int, Cloud], dict[int, RewardMoments]]
"""Actions, what was read on their way by level, and what they paid by time step."""


@dataclass(frozen=True, slots=True)
class Told:
    """What is kept of one answer: its observations as they were before they became features."""

    actions: Actions
    observations: dict[int, Kept]  # by the level of the node they belong to
    rewards: dict[int, RewardMoments]  # by time step


class Growth:
    """What lets the features of a learner grow."""

    def __init__(self, features: Growing) -> None:
        self.features = features
        self.added = 0  # landmarks
        self.since = 0  # episodes that had been run when the first of them were added
        self._history: list[Told] = []
        self._blind = set[Actions]()  # prefixes that no landmark was left for
        self._lengths: dict[Actions, float] = {}  # sum of k(o, o) over the readings of a prefix

    def look(self, root: Node, answers: Sequence[Answer], episodes: int) -> bool:
        """Grow until all that these answers read is seen; whether that took any growing.

        The trie below `root` has the answers already.
        """
        features = self.features
        told = [self._told(answer) for answer in answers]
        self._history += [] if features.full else told
        for each in told:
            for level, kept in each.observations.items():
                features = self._seeing(features, _descend(root, each.actions[:level]), kept)
        added = features.landmarks - self.features.landmarks
        self.features = features
        self.added += added
        self.since = self.since or (episodes if added else 0)
        return added > 0

    def _seeing(self, features: Growing, node: Node, kept: Kept) -> Growing:
        """Landmarks are added until what was read at the node is seen, or there is no room."""
        self._blind.discard(node.prefix)
        if self._looks_blind(node):
            views, repeats = _views(kept, features)
            read = np.repeat(views, np.minimum(repeats, 2).astype(int), axis=0)  # once, or oftener
            while _blind(features, views, repeats):
                missing = features.missing(read, TUNING.landmarks_at_once)
                if features.full and len(missing):
                    self._blind.add(node.prefix)
                if features.full or not len(missing):
                    break
                features = features.with_landmarks(missing)
        return features

    def _told(self, answer: Answer) -> Told:
        actions = answer.raw.actions
        kept = dict[int, Kept]()
        for level in answer.observations:
            kept[level] = _kept(answer.raw.observation(level), self.features)
            views, repeats = _views(kept[level], self.features)
            length = float(repeats @ self.features.nystroem.lengths(views))
            self._lengths[actions[:level]] = self._lengths.get(actions[:level], 0.0) + length
        return Told(actions, kept, answer.rewards)

    def retold(self, embedding: CloudEmbedding) -> Iterator[Absorbed]:
        """All that was told so far, as the embedding of the grown features reads it."""
        for told in self._history:
            digests = {
                level: embedding.digest(kept)
                if isinstance(kept, Counts)
                else embedding.pooled(self.features.of_views(kept))
                for level, kept in told.observations.items()
            }
            yield told.actions, digests, told.rewards
        if self.features.full:
            self._history = []  # they will not grow any more

    def _looks_blind(self, node: Node) -> bool:
        """Whether the features see little of all that was read at the node, glitches included."""
        cloud: Cloud = node.digest
        squares = np.diag(cloud.squares) if cloud.squares.ndim > 1 else cloud.squares
        seen = squares[: self.features.nystroem.dimension].sum()
        return float(seen) < _least(self.features) * self._lengths[node.prefix]

    def notes(self) -> tuple[str, ...]:
        if not self.added:
            return ()
        return (
            f"features: {self.added} landmarks were added, the first after {self.since} episodes, "
            "where readings were far from all others",
        )

    def doubts(self, machine: Automaton) -> tuple[str, ...]:
        """Why the machine may not be trusted: prefixes put together that are hardly seen."""
        if self.features.numbers:
            return ()  # their means are seen wherever they are
        for level, layer in enumerate(machine.layers):
            for nodes in layer.members:
                blind = [n for n in nodes if n.prefix in self._blind and self._looks_blind(n)]
                if len(blind) > 1:
                    return (_doubt(level, blind),)
        return ()


def _doubt(level: int, blind: Sequence[Node]) -> str:
    one, other = (node.prefix for node in blind[:2])
    return (
        f"what is read at level {level} after {one} and after {other} is far from all landmarks of "
        "the kernel, where any two places look alike, and the run may add no more of them: use "
        'more (KernelFeatures("rbf", components=...)), a kernel with a larger length scale, or '
        "other features"
    )


def _blind(features: Growing, views: FloatArray, repeats: FloatArray) -> bool:
    """Whether many of these readings are unseen."""
    unseen = shares_seen(features.nystroem, views) < _least(features)
    return float(repeats @ unseen) > TUNING.most_unseen * repeats.sum()


def _least(features: Growing) -> float:
    return TUNING.least_seen * features.usual


def _kept(sample: Sample, features: Growing) -> Kept:
    if isinstance(sample, np.ndarray):
        return features.view(sample).copy()  # whoever told it may use its memory again
    return cast(Counts, sample)  # the only statistic that a kernel can be computed from


def _views(kept: Kept, features: Growing) -> tuple[FloatArray, FloatArray]:
    """Observations as the kernel takes them [n, p], and how often each was read [n]."""
    if isinstance(kept, Counts):
        return features.view(np.arange(len(kept.counts))), kept.counts.astype(np.float64)
    return kept, np.ones(len(kept))


def _descend(node: Node, actions: Actions) -> Node:
    """The node that the actions lead to from this one."""
    for action in actions:
        node = node.children[action]
    return node
