"""Do the steps of an episode depend on each other? With a deterministic hidden state they do not.

Given the actions, the hidden path is fixed and the noise of different steps is independent. Where a
transition or the start is random, what is seen at a step says where one is, and so says something
about what is seen at the next: dependence between steps refutes latent determinism.

For each pair of neighbouring steps the squared length of the cross-covariance between what was read
at the one (features and reward) and at the other is compared with its mean and variance under
random re-pairing of the episodes, and summed over batches. (The permutation mean and the leading
term of the permutation variance of this statistic: Josse, Pages and Husson, "Testing the
significance of the RV coefficient", Computational Statistics & Data Analysis 53, 2008.)
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from surepath.features import Features
from surepath.inference.succession import Succession
from surepath.inference.tuning import TUNING
from surepath.system import Actions, Episodes, FloatArray
from surepath.theory.special import chi_square_tail, normal_below, normal_quantile

ROUNDING = 1e-12
"""Relative error of centring."""


MOST_WAITING = 1024
"""Sequences of which a few episodes are kept until there are more: images are large."""


def normal_tail(score: float) -> float:
    """The probability that a Gaussian number is larger than the score."""
    return float(normal_below(-score))


class Dependence:
    """Running statistics of the dependence between neighbouring steps."""

    def __init__(self, features: Features) -> None:
        self.features = features  # may be replaced: every batch is a test of its own
        self._found: dict[int, float] = {}
        self._expected: dict[int, float] = {}
        self._variance: dict[int, float] = {}
        self._waiting: dict[Actions, Episodes] = {}  # for more of the same
        self.succession = Succession()  # of the same batches: another test

    def add(self, episodes: Episodes) -> None:
        """Those of a request; few of them wait until the same actions are run again."""
        episodes = _with(self._waiting.pop(episodes.actions, None), episodes)
        if episodes.count < TUNING.dependence_batch:
            if len(self._waiting) < MOST_WAITING:
                self._waiting[episodes.actions] = _copied(episodes)
            return
        steps = min(episodes.observations.shape[1], len(episodes.actions) + 1)
        read = [self._read(episodes, step) for step in range(steps)]
        for step, rows in enumerate(read):
            self.succession.add(step, rows, standardised(episodes.rewards[:, step : step + 1]))
        for step, (one, other) in enumerate(pairwise(read)):
            found, expected, spread = paired(one, other)
            self._found[step] = self._found.get(step, 0.0) + found
            self._expected[step] = self._expected.get(step, 0.0) + expected
            self._variance[step] = self._variance.get(step, 0.0) + spread

    def _read(self, episodes: Episodes, step: int) -> FloatArray:
        """What was read at a step, centred: features and, where there is one, the reward."""
        rows = self.features.rows(episodes.observations[:, step])
        if step < len(episodes.actions):
            rows = np.column_stack([rows, episodes.rewards[:, step]])
        return standardised(rows)

    @property
    def scores(self) -> dict[int, float]:
        """By step: how far its dependence on the next one is from what independence gives."""
        return {
            step: normal_score(self._found[step], self._expected[step], variance)
            for step, variance in self._variance.items()
            if variance > 0
        }

    def doubt(self) -> str:
        """Why the hidden state may not move deterministically; empty when little speaks for it."""
        return self._text(TUNING.dependence_alarm)

    @property
    def hopeless(self) -> bool:
        """Whether nothing that is still to be read can take the doubt away."""
        return any(score > TUNING.dependence_hopeless for score in self.scores.values())

    def warning(self) -> str:
        """The same, where it is worth a remark but not yet a reason to refuse."""
        return "" if self.doubt() else self._text(TUNING.dependence_warning)

    def _text(self, limit: float) -> str:
        guilty = {step: score for step, score in self.scores.items() if score > limit}
        if not guilty:
            return ""
        step = min(guilty)
        return (
            f"what is read at steps {step} and {step + 1} of the same actions depends on each other"
            f" ({guilty[step]:.1f} standard deviations): the hidden state does not move "
            f"deterministically up to step {step}, or the start is not always the same"
        )


def _copied(episodes: Episodes) -> Episodes:
    """Whoever told them may use their memory again."""
    return Episodes(episodes.actions, episodes.observations.copy(), episodes.rewards.copy())


def _with(before: Episodes | None, episodes: Episodes) -> Episodes:
    """Both together, as far as they have the same shape."""
    if before is None or before.observations.shape[1:] != episodes.observations.shape[1:]:
        return episodes
    return Episodes(
        episodes.actions,
        np.concatenate([before.observations, episodes.observations]),
        np.concatenate([before.rewards, episodes.rewards]),
    )


def standardised(rows: FloatArray) -> FloatArray:
    """Readings of one place, centred: those features in which enough of them stand out.

    A feature in which only a few readings stand out is left out: when these meet by chance, the
    product is larger than the test's variance says. The others are scaled to unit length, so that
    none outweighs the rest.
    """
    mean = rows.mean(axis=0)
    rows = rows - mean
    square = rows**2
    squares = square.sum(axis=0)
    enough = squares**2 >= TUNING.dependence_events * (square**2).sum(axis=0)
    # What a constant leaves when it is centred is rounding.
    keep = enough & (squares > len(rows) * (ROUNDING * mean) ** 2)
    return rows[:, keep] / np.sqrt(squares[keep])


def paired(one: FloatArray, other: FloatArray) -> tuple[float, float, float]:
    """The squared cross-covariance of standardised readings of the same episodes.

    With its mean and its variance under random re-pairing of the episodes.
    """
    freedom = len(one) - 1
    ours, theirs = one.T @ one, other.T @ other
    expected = float(np.trace(ours) * np.trace(theirs)) / freedom
    spread = 2 * float((ours**2).sum() * (theirs**2).sum()) / freedom**2
    return float(((one.T @ other) ** 2).sum()), expected, spread


def normal_score(found: float, expected: float, variance: float) -> float:
    """The dependence found, in standard deviations: the normal score of the same tail probability.

    A sum of squares has the tail of a chi-square; the one with the same mean and variance is taken
    (Satterthwaite). Where the tail is below the smallest double, the distance from what is expected
    in standard deviations is taken as it stands.
    """
    freedom = 2 * expected**2 / variance
    rare: float = chi_square_tail(freedom, found * freedom / expected)
    if rare == 0:
        return (found - expected) / variance**0.5
    return -float(normal_quantile(rare))
