"""The first episodes where there are few sequences: whole ones, drawn by how likely each is best.

With few sequences a good one is found by trying them, long before it is known which prefixes are
one state. What each reward of the bare tree may be is a Gaussian belief: that of its level, as
spread as the rewards of that level turned out to be, and what was read of it. A whole world is
drawn from the belief, and the sequence that is best in it is run (W. R. Thompson, "On the
likelihood that one unknown probability exceeds another in view of the evidence of two samples",
Biometrika 25, 1933). Nothing is claimed by the belief: what was read counts like all else.

It ends when most worlds have the same best sequence. Where hidden states are few, to know them is
the quicker way: so it also ends when there are a few times as many episodes, whoever asked for
them, as what looks alike has edges, and sooner where every world still has another best sequence,
as in search of a needle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from surepath.inference.judgement import judge
from surepath.inference.terms import Terms
from surepath.inference.tuning import TUNING
from surepath.learners.ahead import Wanted
from surepath.readings.columns import TrieColumns
from surepath.readings.trie import Node
from surepath.results.usage import states_of
from surepath.system import Actions, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Belief:
    """Of the rewards of one level, each by itself: Gaussian."""

    mean: FloatArray  # [parents, A], in the order of their actions
    deviation: FloatArray  # [parents, A]


class Scout:
    """Whole sequences of a system that has few, until one of them is probably the best."""

    def __init__(self, *, needed: bool) -> None:
        """needed: else it is over from the beginning."""
        self._going = needed
        self.best: Actions = ()  # by what is believed on average, as long as it goes on
        self._edges = 0  # of the machine, when it was looked at last
        self._look_at = 0  # episodes at which it is looked at again

    def decided(self) -> list[int]:
        """What has to be known to go on, as data."""
        return [int(self._going), self._edges, self._look_at]

    def catch_up(self, decided: list[int]) -> None:
        """Be where these data say."""
        going, self._edges, self._look_at = decided
        self._going = bool(going)

    def wanted(
        self,
        root: Node,
        columns: TrieColumns,
        terms: Terms,
        choices: np.random.Generator,
        at_once: int,
    ) -> list[Wanted]:
        """What to run next; nothing once it is over."""
        if not self._going:
            return []
        if root.count >= self._look_at:
            machine = judge(root, terms, look_on=False, columns=columns).machine
            self._edges = states_of(machine) * machine.n_actions
            self._look_at = 2 * root.count + TUNING.scouts_at_once
        beliefs = beliefs_of(columns, terms)
        self.best = best_of([belief.mean[None] for belief in beliefs])[0]
        drawn = best_of(drawn_from(beliefs, max(TUNING.scouts, at_once), choices))
        if self._over(drawn, root.count):
            self._going = False
            return []
        drawn = drawn[: max(TUNING.scouts_at_once, at_once)]
        return [(each, drawn.count(each)) for each in dict.fromkeys(drawn)]

    def _over(self, drawn: Sequence[Actions], episodes: int) -> bool:
        sure = drawn.count(self.best) >= TUNING.scouts_agree * len(drawn)
        in_the_dark = len(set(drawn)) >= TUNING.scouts_in_the_dark * len(drawn)
        enough = 1 if in_the_dark else TUNING.scouts_an_edge
        return sure or episodes >= enough * self._edges


def beliefs_of(columns: TrieColumns, terms: Terms) -> list[Belief]:
    """By level."""
    found, place, shape = list[Belief](), np.zeros(1, dtype=np.int64), terms.shape
    for level in range(shape.horizon):
        below, actions = columns.level(level + 1), shape.actions_at(level)
        size = (found[-1].mean.size if found else 1, actions)
        read = np.zeros((3, math.prod(size)))
        kept = below.action < actions
        place = place[below.parent] * actions + below.action
        read[:, place[kept]] = below.rewards[kept].T
        count, total, scatter = read.reshape(3, *size)
        found.append(belief_of(count, total, scatter, terms.reward_noise**2))
    return found


def belief_of(count: FloatArray, total: FloatArray, scatter: FloatArray, most: float) -> Belief:
    """Of the rewards of a level, from the number, sum and scatter of what was read of each.

    Their spread, and the noise of one reading, are those that the level shows; as if one reward and
    two readings more had shown the largest variance there can be.
    """
    read = count > 0
    n, mean = count[read], total[read] / count[read]
    noise = (scatter.sum() + 2 * most) / (np.maximum(n - 1, 0).sum() + 2)
    usual = float(total.sum() / n.sum()) if len(n) else 0.0
    apart = float((n * (mean - usual) ** 2).sum()) - (len(n) - 1) * noise
    weight = float(n.sum() - (n**2).sum() / n.sum()) if len(n) > 1 else 0.0
    spread = max(apart / weight, 0.0) if weight > 0 else 0.0
    spread = (len(n) * spread + most) / (len(n) + 1)
    precision = 1 / spread + count / noise
    return Belief((usual / spread + total / noise) / precision, 1 / np.sqrt(precision))


def drawn_from(
    beliefs: Sequence[Belief], worlds: int, choices: np.random.Generator
) -> list[FloatArray]:
    """Rewards of that many worlds, [worlds, parents, A] for each level."""
    return [
        each.mean + each.deviation * choices.standard_normal((worlds, *each.mean.shape))
        for each in beliefs
    ]


def best_of(rewards: Sequence[FloatArray]) -> list[Actions]:
    """The sequence that is paid most in each world, by the rewards of every prefix."""
    worlds = np.arange(len(rewards[0]))
    chosen, onwards = list[IntArray](), np.zeros(rewards[-1].shape).reshape(len(worlds), -1)
    for level in reversed(rewards):
        q = level + onwards.reshape(level.shape)
        chosen.append(q.argmax(axis=2))
        onwards = q.max(axis=2)
    actions, place = list[IntArray](), np.zeros(len(worlds), dtype=np.int64)
    for best, level in zip(reversed(chosen), rewards, strict=True):
        actions.append(best[worlds, place])
        place = place * level.shape[2] + actions[-1]
    return [tuple(map(int, each)) for each in np.stack(actions, axis=1)]
