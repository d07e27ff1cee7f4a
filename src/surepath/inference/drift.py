"""Does the system change while the run goes on? What is read of a prefix must not depend on when.

The readings of one prefix are draws from one law, whichever episode they come from, and whatever
made the learner ask for them. So they must not follow the number of the episode. Within every
prefix the readings are regressed on functions of that number: a slow change from the start, one
that fades, and sudden ones at a quarter, half and three quarters of the run. Only readings of the
same prefix are compared with each other: which prefixes are read when is the learner's choice, and
says nothing about the system.

Given which values were read of a prefix, every order of them is equally likely as long as nothing
changes. That gives each slope a mean of zero and a known variance, for any law of the readings
(the permutation test of a correlation: Pitman, "Significance tests which may be applied to samples
from any populations. II", Journal of the Royal Statistical Society Supplement 4, 1937). Strictly
this holds for requests that were fixed in advance. The learner reads on where much was paid. Of
many prefixes some were paid more than they are worth, by chance, and are paid less later on: that
looks like rewards that fade. So rewards count as moving only if they also move against what was to
be expected of a prefix beside all others of its step (Buehlmann's credibility: what few readings
say is drawn towards the mean of all prefixes). The slopes are pooled over the prefixes in four
ways:

    all rewards move by the same amount      the sum of the slopes
    all rewards move by the same share       their sum, weighted by the mean reward
    rewards move, each prefix its own way    the sum of their squares
    observations move, likewise              the sum of their squares, over prefixes and features

The probabilities of a false alarm are those of one look, at the end of a run. Whoever asks for
results after every round sees the weaker signs about ten times as often; those that were chance
pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np

from surepath.inference.independence import ROUNDING, normal_score
from surepath.inference.time_slopes import Course, History, Slopes, Stream
from surepath.inference.tuning import TUNING
from surepath.readings.digests import Cloud
from surepath.readings.trie import Node
from surepath.system import Actions, FloatArray, RewardMoments
from surepath.theory.special import normal_quantile

What: TypeAlias = Literal["rewards", "observations"]


def sudden(start: float) -> Course:
    return lambda times: (times > start).astype(np.float64)


def gradual(start: float) -> Course:
    return lambda times: np.maximum(times - start, 0.0)


COURSES: tuple[Course, ...] = (gradual(0.0), np.log, sudden(0.25), sudden(0.5), sudden(0.75))
"""The changes that are looked for. Others are seen by the ones that are most like them."""

STARTS = tuple(start / 16 for start in range(16))
"""Where a change that was found may have begun."""


@dataclass(frozen=True, slots=True)
class Pool:
    """One way to put the slopes of many prefixes together: a score for each course."""

    what: What
    name: str
    scores: Callable[[Sequence[Slopes]], list[float]]  # in standard deviations
    sums: Callable[[Sequence[Slopes]], FloatArray] | None = None  # of the slopes, where these count

    def agreed(self, one: Sequence[Slopes], other: Sequence[Slopes]) -> list[float]:
        """What both say of the same readings: the smaller score, 0 where they contradict."""
        found = np.minimum(self.scores(one), self.scores(other))
        if self.sums is not None:
            found = np.where(self.sums(one) * self.sums(other) > 0, found, 0.0)
        return [float(score) for score in found]


class Drift:
    """What was read of every prefix over the run, and whether it moved."""

    def __init__(self, reward_range: tuple[float, float]) -> None:
        self._reward_range = reward_range
        self._episodes = 0
        self._rewards: dict[Node, History] = {}
        self._observations: dict[Node, History] = {}
        self._scores: dict[str, list[float]] | None = None  # until more is read

    def add(
        self,
        root: Node,
        actions: Actions,
        observations: Mapping[int, Cloud],
        rewards: Mapping[int, RewardMoments],
    ) -> None:
        """The readings of one request, whose path is in the trie of this root."""
        count = observations[0].count
        time = self._episodes + (count + 1) / 2
        self._episodes += count
        self._scores = None
        node = root
        for level in range(len(actions) + 1):
            if level:
                node = node.children[actions[level - 1]]
                told = rewards[level - 1]
                total = np.array([count * told.mean])
                _history(self._rewards, node).add(count, time, total)
            if level in observations:
                total = observations[level].total
                _history(self._observations, node).add(count, time, total)

    def doubt(self) -> str:
        """Why the system may have changed during the run; empty when little speaks for it."""
        return self._text(TUNING.drift_alarm)

    def warning(self) -> str:
        """The same, where it is worth a remark but not yet a reason to refuse."""
        return "" if self.doubt() else self._text(TUNING.drift_warning)

    def scores(self) -> dict[str, list[float]]:
        """By what may have moved: how far it follows each course, in standard deviations."""
        if self._scores is None:
            streams = self._streams()
            slopes = {
                what: [Slopes.of(stream, COURSES) for stream in each]
                for what, each in streams.items()
            }
            expected = [Slopes.of(each, COURSES) for each in self._beside(streams["rewards"])]
            self._scores = {
                pool.name: pool.agreed(slopes[pool.what], expected)
                if pool.what == "rewards"
                else pool.scores(slopes[pool.what])
                for pool in POOLS
                if slopes[pool.what]
            }
        return self._scores

    def _beside(self, streams: Sequence[Stream]) -> list[Stream]:
        """Rewards with what was to be expected of each prefix beside all others of its step."""
        steps = dict[int, list[tuple[float, ...]]]()
        for node, history in self._rewards.items():
            if node.rewards.count > 1:
                tally, noise = node.rewards, node.rewards.scatter / (node.rewards.count - 1)
                row = (*history.first, tally.count, tally.mean, noise)
                steps.setdefault(node.level, []).append(row)
        usual = {level: _usual(np.array(rows)) for level, rows in steps.items()}
        found = list[Stream]()
        for each in streams:
            mean, spread = usual[each.node.level]
            worth = float(each.variance[0]) / spread if spread > 0 else 0.0
            found.append(replace(each, prior=(worth, mean)))
        return found

    def _text(self, limit: float) -> str:
        """What moved most, where that has less than this probability when nothing does."""
        most = {name: max(found) for name, found in self.scores().items()}
        pool = max(POOLS, key=lambda pool: most.get(pool.name, 0.0))
        tests = len(COURSES) * len(POOLS)
        if most.get(pool.name, 0.0) < -float(normal_quantile(limit / tests)):
            return ""
        return self._said(pool, most[pool.name])

    def _said(self, pool: Pool, score: float) -> str:
        streams = self._streams()[pool.what]
        start, course = _beginning(pool, streams)
        place, feature = _strongest(streams, course)
        before, after = (_average(place, feature, late, start) for late in (False, True))
        step = place.node.level
        thing = (
            f"the reward of step {step - 1}"
            if pool.what == "rewards"
            else f"feature {feature} of what is read at step {step}"
        )
        began = 1 + int(start * self._episodes)
        return (
            f"{pool.what} changed while the run went on ({score:.1f} standard deviations), from "
            f"about episode {began} of {self._episodes}: after {place.node.prefix}, for example, "
            f"{thing} averaged {before} and then {after}. What was read at different times does "
            "not belong to one system: find what drifts (wear, warmth, calibration), hold it still "
            "or reset it before every episode, and begin a new run"
        )

    # ------------------------------------------------------------ what was read, prefix by prefix

    def _streams(self) -> dict[What, list[Stream]]:
        rewards = (self._of_rewards(*item) for item in self._rewards.items())
        observations = (self._of_observations(*item) for item in self._observations.items())
        return {
            "rewards": [stream for stream in rewards if stream is not None],
            "observations": [stream for stream in observations if stream is not None],
        }

    def _of_rewards(self, node: Node, history: History) -> Stream | None:
        parts, tally = history.parts(self._episodes), node.rewards
        variance = tally.scatter / max(1, tally.count - 1)
        if len(parts[0]) < 2 or variance <= (ROUNDING * tally.mean) ** 2:
            return None
        # If all rewards but the rarest are at an end of the range, this is how far away those are.
        low, high = self._reward_range
        away = min(tally.mean - low, high - tally.mean)  # 0 where rounding leaves all at an end
        reach = variance / away if away > 0 else math.inf
        if tally.count * variance < TUNING.drift_events * reach * reach:
            return None
        return Stream(node, *parts, np.array([variance]), np.ones(3), reach=reach)

    def _of_observations(self, node: Node, history: History) -> Stream | None:
        parts, cloud = history.parts(self._episodes), node.digest
        if len(parts[0]) < 2:
            return None
        variance, traces = _spread(cloud)
        return Stream(node, *parts, variance, traces) if variance.any() else None


def _history(of: dict[Node, History], node: Node) -> History:
    """That of the node, which is new where there is none yet."""
    found = of.get(node)
    if found is None:
        found = of[node] = History()
    return found


def _usual(read: FloatArray) -> tuple[float, float]:
    """What prefixes of a step pay on average, and how much they differ at least: mean, and variance
    of means beyond noise and its own error; 0 where nothing can be told.

    read: [n, 5], for each of them number and sum of the rewards that were read first, which nobody
    had chosen it for yet; then number, mean and variance of all of them.
    """
    if len(read) < TUNING.drift_prefixes:
        return 0.0, 0.0
    first, total, counts, means, variances = read.T
    noise = float((variances / first).mean())
    error = noise * math.sqrt(2 / len(read))
    beyond = max(float((total / first).var(ddof=1)) - noise - error, error / 10)
    weights = beyond / (beyond + variances / counts) if beyond > 0 else counts
    return float(weights @ means / weights.sum()), beyond


def _spread(cloud: Cloud) -> tuple[FloatArray, FloatArray]:
    """Variances of the features, 0 where they tell nothing; and the traces of their correlations.

    Where the covariances were not recorded, all features may be one.
    """
    whole = cloud.squares.ndim == 2
    squares = np.diag(cloud.squares) if whole else cloud.squares
    freedom = max(1, cloud.count - 1)
    variance = (squares - cloud.total * cloud.value) / freedom
    # What a constant leaves is rounding. And a symbol that was hardly ever read, or hardly ever
    # missed, may come early or late by chance.
    symbol = np.isclose(squares, cloud.total, rtol=ROUNDING, atol=0)
    rare = np.minimum(cloud.total, cloud.count - cloud.total) < TUNING.drift_events
    keep = (variance > ROUNDING * squares / freedom) & ~(symbol & rare)
    variance = np.where(keep, variance, 0.0)
    if not whole:
        size = float(keep.sum())
        return variance, np.array([size, size**2, size**3])
    covariance = (cloud.squares - np.outer(cloud.total, cloud.value))[np.ix_(keep, keep)] / freedom
    scale = np.sqrt(variance[keep])  # multiplied after the root: the product may underflow before
    related = covariance / np.outer(scale, scale)
    second = related @ related
    return variance, np.array([keep.sum(), np.trace(second), (second * related).sum()])


# ---------------------------------------------------------------- the four ways to pool


def _summed(weigh: Callable[[Stream], float], slopes: Sequence[Slopes]) -> FloatArray:
    """[c], the weighted sums of all slopes."""
    shares = np.array([weigh(each.stream) for each in slopes])
    return shares @ np.array([each.slope[:, 0] for each in slopes])


def _together(weigh: Callable[[Stream], float], slopes: Sequence[Slopes]) -> list[float]:
    """The scores of the weighted sums of all slopes."""
    shares = np.array([weigh(each.stream) for each in slopes])
    found = abs(_summed(weigh, slopes))
    variances = np.array([each.stream.variance[0] for each in slopes])
    reaches = np.array([each.stream.reach for each in slopes])
    variance = (shares**2 * variances) @ np.array([each.weight for each in slopes])
    largest = np.array([each.largest for each in slopes]) * (abs(shares) * reaches)[:, None]
    # Where few rewards decide, large sums are likelier than of Gaussian ones: Bernstein's bound.
    scale = variance + largest.max(axis=0) * found / 3
    return [
        normal_score(slope**2 / square, 1.0, 2.0) if square > 0 else 0.0
        for slope, square in zip(found.tolist(), scale.tolist(), strict=True)
    ]


def _apart(slopes: Sequence[Slopes]) -> list[float]:
    """The scores of the sums of squared slopes.

    Each is a sum of squares of Gaussian numbers with different weights. Its tail is that of the
    chi-square with the same mean, variance and third moment (Imhof, "Computing the distribution of
    quadratic forms in normal variables", Biometrika 48, 1961).
    """
    found, powers = 0.0, np.zeros(3)
    for each in slopes:
        varies = each.stream.variance > 0
        found = found + (each.slope[:, varies] ** 2 / each.stream.variance[varies]).sum(axis=1)
        powers = powers + each.weight[:, None] ** (1, 2, 3) * each.stream.traces
    return [_of_squares(*row) for row in np.column_stack([found, powers]).tolist()]


def _of_squares(found: float, first: float, second: float, third: float) -> float:
    if third <= 0:
        return 0.0
    freedom = second**3 / third**2
    alike = freedom + (found - first) * math.sqrt(freedom / second)
    return normal_score(max(alike, 0.0), freedom, 2 * freedom)


def _by(weigh: Callable[[Stream], float]) -> tuple[Any, Any]:
    """Scores and sums of slopes that are weighed so."""
    return partial(_together, weigh), partial(_summed, weigh)


POOLS = (
    Pool("rewards", "all rewards by an amount", *_by(lambda _: 1.0)),
    Pool("rewards", "all rewards by a share", *_by(lambda stream: float(stream.mean[0]))),
    Pool("rewards", "rewards, each in its own way", _apart),
    Pool("observations", "observations, each in its own way", _apart),
)


# ---------------------------------------------------------------- what to say of it


def _beginning(pool: Pool, streams: Sequence[Stream]) -> tuple[float, Course]:
    """The most likely beginning of a change that was found, as a share of the run; its course."""
    courses = [(start, course(start)) for start in STARTS for course in (gradual, sudden)]
    slopes = [Slopes.of(stream, [course for _, course in courses]) for stream in streams]
    return courses[int(np.argmax(pool.scores(slopes)))]


def _strongest(streams: Sequence[Stream], course: Course) -> tuple[Stream, int]:
    """The prefix and the feature that moved most surely."""

    def moved(stream: Stream) -> FloatArray:
        found = Slopes.of(stream, [course])
        slope, scale = found.slope[0], stream.variance * found.weight[0]
        return np.divide(slope**2, scale, out=np.zeros_like(slope), where=scale > 0)

    place = max(streams, key=lambda stream: float(moved(stream).max()))
    return place, int(moved(place).argmax())


def _average(place: Stream, feature: int, late: bool, start: float) -> str:
    """The mean of what was read before or after the beginning of a change, and of how many."""
    chosen = (place.times > max(start, place.times.min())) == late
    count = place.counts[chosen].sum()
    return f"{place.totals[chosen, feature].sum() / count:.3g} ({count:.0f} readings)"
