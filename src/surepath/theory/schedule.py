"""How much to sample, and what that proves: pure functions from a setting to numbers.

Notation of the code and of Uehara, Sekhari, Lee, Kallus and Sun (the paper): horizon H, n_actions
A, dimension d, gap Delta, norm Theta, ridge lambda, threshold epsilon, feature_samples M,
reward_samples M', expansions N' (most expansions of one level).

The statement behind every schedule. Let Q*_h(s, a) = <theta_(a;h), x_h(s)> with ||theta|| <= Theta,
every positive gap >= Delta, and let t be such that (i) every sampled embedding has
|<theta_(a;h), x-hat - x>| <= t for all a and (ii) the reward noise summed along the optimal
continuation of every expanded (or last-level) node and action is at most t. If

    sqrt(lambda) Theta epsilon + 2 t epsilon sqrt(N') + t < Delta / 2                        (*)

then every regression prediction at a covered node errs by less than Delta / 2, every greedy action
is optimal, and so is the returned sequence. `failure_bound` turns a schedule into the probability
that (i) or (ii) fails for the largest t that satisfies (*); `paper` and `tight` choose schedules.
`own_counts.py` needs no N': it holds a run to what it took.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from surepath.decoding.kinds import Unbounded
from surepath.errors import InputError
from surepath.theory.expansion_bounds import (
    expansion_bound,
    feature_batches,
    has_count,
    latent_expansion_bound,
    reward_batches,
)
from surepath.theory.setting import MAGNITUDES, Setting, Windows
from surepath.validate import between, whole


@dataclass(frozen=True, slots=True)
class Schedule:
    """How the recursion samples and decides.

    With pool=False it is the algorithm as printed: fresh samples at every visit, and the main loop
    samples its whole greedy path before it looks for an uncovered level. With pool=True a prefix is
    sampled once: its embedding, rewards and value are kept in the trie and never drawn again.
    """

    ridge: float  # lambda
    threshold: float  # epsilon
    feature_samples: int  # M, per continuation of a window
    reward_samples: int  # M'
    pool: bool = True
    windows: Windows = "product"
    name: str = "custom"

    def __post_init__(self) -> None:
        if self.windows not in ("product", "joint"):
            raise InputError(
                "windows are products of node means, or joint",
                got=repr(self.windows),
                remedy='Set windows to "product" or "joint".',
            )
        between("ridge", self.ridge, 0, math.inf)
        between("threshold", self.threshold, *MAGNITUDES)
        whole("feature_samples", self.feature_samples, least=1)
        whole("reward_samples", self.reward_samples, least=1)


class Count(StrEnum):
    """Why a level cannot be expanded more often, or why it need not be known."""

    DIMENSION = "dimension"  # of the features
    LATENT = "latent dimension"  # of the span of the embeddings of a level
    GAIN = "information gain"  # of the kernel
    OWN = "own counts"  # nothing is known beforehand: the run is held to what it took


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a schedule can cost at most, and how likely it is to be wrong at most."""

    expansions: int  # N': expansions of one level
    feature_batches: int  # F: embeddings sampled
    reward_batches: int  # R: reward means sampled
    episodes: int  # F A^(K-1) M + R M'
    steps: int  # episodes times H
    failure: float  # probability that the answer is not optimal; 1 when nothing is proved
    tolerance: Unbounded  # t: what (i) and (ii) allow; 0 when (*) has no solution
    counted: Count = Count.DIMENSION  # what the number of expansions rests on


# ---------------------------------------------------------------- what a schedule proves


def bounds(schedule: Schedule, setting: Setting) -> Bounds:
    """Counts and failure probability of any schedule, by the argument that proves most."""
    setting = replace(setting, windows=schedule.windows)  # the schedule says how it averages
    candidates: list[Bounds] = []
    if has_count(setting) or not _has_latent_count(setting, schedule.threshold):
        n = expansion_bound(setting, schedule.ridge, schedule.threshold)
        by_gain = setting.dimension is None
        candidates.append(
            bounds_at(schedule, setting, n, Count.GAIN if by_gain else Count.DIMENSION)
        )
    if _has_latent_count(setting, schedule.threshold):
        n = latent_expansion_bound(setting, schedule.ridge, schedule.threshold)
        latent = bounds_at(schedule, setting, n, Count.LATENT)
        if latent.failure < 1 or not candidates:  # it holds only on the event that it pays for
            candidates.append(latent)
    return min(candidates, key=lambda b: (b.failure, b.episodes))


def bounds_at(schedule: Schedule, setting: Setting, expansions: int, counted: Count) -> Bounds:
    """Counts and failure probability if no level is expanded more often."""
    f, r = feature_batches(setting, expansions), reward_batches(setting, expansions)
    episodes = f * setting.continuations * schedule.feature_samples + r * schedule.reward_samples
    tolerance = _tolerance(schedule, setting, expansions)
    failure = 1.0
    if tolerance > 0:
        failure = min(1.0, _failure(schedule, setting, tolerance, f, r, counted))
    steps = episodes * setting.horizon
    return Bounds(expansions, f, r, episodes, steps, failure, tolerance, counted)


def _has_latent_count(setting: Setting, threshold: float) -> bool:
    return setting.latent_dimension is not None and math.log1p(threshold**2) > 0.25


def failure_bound(schedule: Schedule, setting: Setting) -> float:
    """Probability that the schedule's answer is not optimal, at most; 1 when nothing is proved."""
    return bounds(schedule, setting).failure


def _tolerance(schedule: Schedule, setting: Setting, expansions: int) -> float:
    """The largest t that satisfies (*), just inside the strict inequality."""
    bias = math.sqrt(schedule.ridge) * setting.norm * schedule.threshold
    room = setting.gap / 2 - bias
    return max(0.0, (1 - 1e-9) * room / (2 * schedule.threshold * math.sqrt(expansions) + 1))


def _failure(
    schedule: Schedule, setting: Setting, t: float, f: int, r: int, counted: Count
) -> float:
    m, m_reward = schedule.feature_samples, schedule.reward_samples
    # (i): <theta_a, x-hat - x> is sub-Gaussian with variance (noise Theta)^2 / M; A F statements.
    features = 2 * setting.n_actions * f * _tail(t, setting.noise * setting.norm, m)
    rewards = 2 * r * _tail(t, reward_scale(setting), m_reward)  # (ii)
    return features + rewards + _embedding_failure(schedule, setting, f, counted)


def reward_scale(setting: Setting) -> float:
    """Of (ii), for means of one reading: a sum of at most H of them.

    Its law is sub-Gaussian as a whole when the optimal continuation is unique; with ties each of
    the H terms gets t / H.
    """
    terms = math.sqrt(setting.horizon) if setting.unique else float(setting.horizon)
    return terms * setting.reward_noise


def _tail(t: float, scale: float, n: int) -> float:
    """exp(-n t^2 / (2 scale^2)): one side of the sub-Gaussian tail of a mean of n."""
    return math.exp(-n * (t / scale) ** 2 / 2)


def _embedding_failure(schedule: Schedule, setting: Setting, f: int, counted: Count) -> float:
    """Failure of (iii): every sampled embedding is close enough for the count of expansions.

    Needed only for the latent count (distance sqrt(lambda / 8)) and for the count of unbounded
    features by their dimension (distance 1). Windows are A^(K-1) independent means: their distance
    is bounded one by one.
    """
    latent = counted is Count.LATENT
    if counted is Count.OWN or (not latent and setting.feature_noise is None):
        return 0.0
    distance = math.sqrt(schedule.ridge / 8) if latent else 1.0
    if latent and setting.feature_noise is not None:
        distance = min(distance, 1.0)
    each = distance / math.sqrt(setting.continuations)
    # ||x-hat - x|| <= noise (spread + sqrt(2 L)) / sqrt(M) fails with probability e^-L: bounded
    # differences in a Hilbert space, or Hsu, Kakade and Zhang 2012 (spread sqrt(d)).
    excess = each * math.sqrt(schedule.feature_samples) / setting.noise - setting.spread
    if excess <= 0:
        return 1.0
    return f * setting.continuations * math.exp(-(excess**2) / 2)


# ---------------------------------------------------------------- fixed schedules


def paper(setting: Setting) -> Schedule:
    """The paper's parameters with every constant explicit.

    lambda = 1, eps = Delta / (6 Theta), |<theta, x-hat - x>| <= Delta / (12 sqrt(N' eps)) and each
    reward mean within Delta / (12 H sqrt(N' eps)): the paper omits this H, though its reward noise
    is a sum of up to H means. Hoeffding and L = ln(4 max(A F, R) / delta) give
    M = 288 noise^2 Theta^2 N' eps L / Delta^2 and M' = 288 reward_noise^2 H^2 N' eps L / Delta^2.
    A future of several steps is averaged by joint windows, whatever the setting says.
    """
    if setting.feature_noise is not None:
        raise InputError(
            "the paper's theorem is for bounded features",
            got=f"unbounded features with noise {setting.feature_noise}",
            remedy='Use schedule="tight", which covers sub-Gaussian features.',
        )
    setting = replace(setting, windows="joint")
    threshold = setting.gap / (6 * setting.norm)
    n = expansion_bound(setting, 1.0, threshold)
    log_term = _log_term(setting, n, 4)
    # The paper's (b) bounds x-hat' Sigma^-1 x-hat by eps: true is eps^2, which is smaller where eps
    # is below 1, as it is for features of length 1. The 1/4 is its min with Delta / 6.
    scale = 288 * max(n * max(threshold, threshold**2), 0.25) * log_term / setting.gap**2
    return Schedule(
        ridge=1.0,
        threshold=threshold,
        feature_samples=math.ceil(scale * (setting.noise * setting.norm) ** 2),
        reward_samples=math.ceil(scale * (setting.reward_noise * setting.horizon) ** 2),
        pool=False,
        windows=setting.windows,
        name="paper",
    )


def tight(setting: Setting, threshold: float = 1.0) -> Schedule:
    """The sharpened parameters: lambda = (Delta / (6 Theta eps))^2 with a threshold near 1.

    t = Delta / (12 eps sqrt(N')) makes the left side of (*) at most 5 Delta / 12 (for
    eps sqrt(N') >= 1), hence M = 288 noise^2 Theta^2 eps^2 N' L / Delta^2 and
    M' = 288 reward_noise^2 H eps^2 N' L / Delta^2 (H^2 where ties are possible).
    L = ln(4 max(A F, R) / delta), or ln(6 max(A F, R) / delta) when the embeddings must also be
    close in norm: for unbounded features, and for the count by the latent dimension, which is used
    where it is known and cheaper.
    """
    between("threshold", threshold, 0, math.inf)
    ridge = (setting.gap / (6 * setting.norm * threshold)) ** 2
    latent = _has_latent_count(setting, threshold)
    candidates: list[Schedule] = []
    if has_count(setting) or not latent:
        n = expansion_bound(setting, ridge, threshold)
        candidates.append(_tight(setting, ridge, threshold, n))
    if latent:
        n = latent_expansion_bound(setting, ridge, threshold)
        candidates.append(_tight(setting, ridge, threshold, n, distance=math.sqrt(ridge / 8)))
    return min(candidates, key=lambda s: bounds(s, setting).episodes)


def _tight(
    setting: Setting, ridge: float, threshold: float, n: int, distance: float | None = None
) -> Schedule:
    if setting.feature_noise is not None:
        distance = min(1.0, distance or 1.0)
    log_term = _log_term(setting, n, 4 if distance is None else 6)
    tolerance = setting.gap / (12 * threshold * math.sqrt(max(n, 1 / threshold**2)))
    per_unit = 2 * log_term / tolerance**2
    m = per_unit * (setting.noise * setting.norm) ** 2
    if distance is not None:
        union = math.sqrt(2 * (log_term + math.log(setting.continuations)))
        length = setting.noise * (setting.spread + union)
        m = max(m, setting.continuations * (length / distance) ** 2)
    terms = setting.horizon if setting.unique else setting.horizon**2
    return Schedule(
        ridge=ridge,
        threshold=threshold,
        feature_samples=math.ceil(m),
        reward_samples=math.ceil(per_unit * setting.reward_noise**2 * terms),
        windows=setting.windows,
        name="tight",
    )


def _log_term(setting: Setting, expansions: int, statements: int) -> float:
    f, r = feature_batches(setting, expansions), reward_batches(setting, expansions)
    return math.log(statements * max(setting.n_actions * f, r)) - math.log(setting.delta)


Rule: TypeAlias = Callable[[Setting], Schedule]
"""How a schedule follows from what is assumed."""

SCHEDULES: Mapping[str, Rule] = {"paper": paper, "tight": tight}
"""The schedules that are asked for by name. `windows` of what a rule returns says how it averages,
so that a run is judged with `replace(setting, windows=schedule.windows)`, as `bounds` does."""
