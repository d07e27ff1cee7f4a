"""Slips: with some chance an action leads to another state than it does else.

That other state is most likely one that the pilot has seen. So for every level it is asked how much
more likely a reading, or a reward, would be had the episode gone to another state of that level and
then on with its actions. If the path is always the same, these scores of an episode are independent
from step to step; if some episodes slip, their scores are high together. What is summed is the
product of the scores of two steps, over all pairs of steps from that level on: the score of a rare
slip, less what the laws of single readings have to do with it.

The states and their laws are made of what was read after each prefix, at each step by itself. None
of that changes when the readings of a step change places among episodes with the same actions; the
mean (0) and the variance of the sum over all such changes are known exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surepath.doctor.looks import likely_machine, states_of
from surepath.doctor.pilot import Pilot
from surepath.inference.states import UNKNOWN, Automaton
from surepath.system import FloatArray, IntArray

RARE = 0.2
"""The chance of a slip for which scores are best. It also bounds them, to between -1.25 and 5."""

SHARED = 8.0
"""Readings of a state as heavy as which its law is taken to be that of its level."""

MOST = 16
"""Other states of a level at most, those most read, that a slip may lead to."""

NOTHING = 1e-9
"""A score that is so close to its mean is equal to it but for rounding."""


@dataclass(frozen=True, slots=True)
class Slip:
    """Standard deviations by which scores of an episode are high together."""

    after: float  # over all pairs of steps from the level on
    there: float  # over those of which one is of this level


@dataclass(slots=True)
class _Scores:
    """The sum of products of scores of pairs, and its variance over changes of places."""

    groups: list[IntArray]
    sum: FloatArray | float = 0.0  # of the scores of earlier ones, [n, K]
    covers: list[FloatArray] | None = None  # of these, by group, [K, K]
    found: float = 0.0
    variance: float = 0.0

    def meet(self, scores: FloatArray, covers: list[FloatArray]) -> None:
        """Pair these scores with all earlier ones."""
        if self.covers is None:
            return
        self.found += float((self.sum * scores).sum())
        for group, one, other in zip(self.groups, self.covers, covers, strict=True):
            self.variance += float((one * other).sum()) / (len(group) - 1)

    def add(self, scores: FloatArray, covers: list[FloatArray]) -> None:
        self.sum = self.sum + scores
        known = self.covers or [np.zeros_like(each) for each in covers]
        self.covers = [one + other for one, other in zip(known, covers, strict=True)]

    @property
    def score(self) -> float:
        return self.found / self.variance**0.5 if self.variance > 0 else 0.0


def slips(pilot: Pilot) -> list[Slip]:
    """For every level but the start: how much looks like a slip of the action before it."""
    machine = likely_machine(pilot)
    states = states_of(pilot, machine)
    likely = [_likely(pilot, level, states[level]) for level in range(pilot.call.horizon)]
    groups = [each for each in pilot.groups(pilot.call.horizon) if len(each) > 1]
    return [
        _slip(pilot, machine, states, likely, groups, level)
        for level in range(1, pilot.call.horizon)
    ]


def _slip(
    pilot: Pilot,
    machine: Automaton,
    states: list[IntArray],
    likely: list[tuple[FloatArray, FloatArray]],
    groups: list[IntArray],
    level: int,
) -> Slip:
    after, there = _Scores(groups), _Scores(groups)
    often = np.argsort(-np.bincount(states[level]), kind="stable")[:MOST]
    others = np.tile(often, (pilot.episodes, 1))  # [n, K], where a slip would have led by now
    for step in range(level, pilot.call.horizon):
        for logs in likely[step]:
            scores = _scores(logs, states[step], others, groups)
            covers = [scores[group].T @ scores[group] for group in groups]
            after.meet(scores, covers)
            there.meet(scores, covers)
            after.add(scores, covers)
            if step == level:
                there.add(scores, covers)
        target = machine.layers[step].target
        action = np.minimum(pilot.actions[:, [step]], target.shape[1] - 1)
        others = np.where(others == UNKNOWN, UNKNOWN, target[others, action])
    return Slip(after.score, there.score)


def _scores(
    logs: FloatArray, state: IntArray, others: IntArray, groups: list[IntArray]
) -> FloatArray:
    """How much more likely the others make what was read, less the mean of its group, [n, K]."""
    rows = np.arange(len(state))[:, None]
    more = np.where(others == UNKNOWN, 0.0, logs[rows, others] - logs[rows, state[:, None]])
    odds = np.expm1(np.clip(more, -50.0, 50.0))
    scores, centred = odds / (1 + RARE * odds), np.zeros(odds.shape)
    for group in groups:
        centred[group] = scores[group] - scores[group].mean(axis=0)
    centred[np.abs(centred) < NOTHING] = 0.0
    return centred


def _likely(pilot: Pilot, level: int, state: IntArray) -> tuple[FloatArray, FloatArray]:
    """Logarithms of how likely each state makes what was read and what was paid, [n, S] each."""
    rows, paid = pilot.rows[level], pilot.rewards[:, level]
    several = int(state.max()) + 1
    laws = _means(rows, state, several, rows.mean(axis=0))
    read = _symbols(rows, laws) if pilot.symbols else _bell(rows, laws, state)
    action, n_actions = pilot.actions[:, level], pilot.call.system.n_actions
    usual = _means(paid[:, None], action, n_actions, paid.mean())
    pays = _means(
        paid[:, None], state * n_actions + action, several * n_actions, np.tile(usual, (several, 1))
    ).reshape(several, n_actions)
    apart = (paid[:, None] - pays[:, action].T) ** 2  # [n, S]
    noise = float(apart[np.arange(len(state)), state].mean())
    return read, -apart / (2 * noise) if noise > 0 else np.zeros_like(apart)


def _means(rows: FloatArray, kind: IntArray, several: int, usual: FloatArray) -> FloatArray:
    """Of each kind, beside a few readings that are as usual."""
    total = np.zeros((several, rows.shape[1]))
    np.add.at(total, kind, rows)
    count = np.bincount(kind, minlength=several)[:, None]
    return (total + SHARED * usual) / (count + SHARED)


def _symbols(rows: FloatArray, laws: FloatArray) -> FloatArray:
    """Logarithms of the laws; what was never read is none of them, and is multiplied by 0."""
    return rows @ np.log(np.maximum(laws, 1e-300)).T


def _bell(rows: FloatArray, means: FloatArray, state: IntArray) -> FloatArray:
    """Logarithms of Gaussian laws with these means and one covariance, but for what they share."""
    within = rows - means[state]
    cover = within.T @ within / len(rows)
    size = len(cover)
    cover = cover + np.eye(size) * max(1e-3 * float(np.trace(cover)) / size, 1e-12)
    along = np.linalg.solve(cover, means.T)  # [d, S]
    return rows @ along - 0.5 * np.einsum("sd,ds->s", means, along)
