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
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from surepath.errors import InputError
from surepath.validate import between, whole

MAGNITUDES = (1e-15, 1e15)
"""Quantities beyond these are mistakes, and would overflow the formulas."""

Windows: TypeAlias = Literal["product", "joint"]
"""How a future of several steps is averaged: products of node means, or joint windows."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What is assumed of a system: the quantities the theorems are stated in."""

    horizon: int  # H
    n_actions: int  # A
    dimension: int  # d, of the features of one window
    gap: float  # Delta
    norm: float  # Theta
    delta: float = 0.05
    latent_dimension: int | None = None  # d_s = dim span{x_h(s)}, where known
    radius: float = 1.0  # bound on ||psi||; on ||x_h(s)|| when the features are unbounded
    feature_noise: float | None = None  # sub-Gaussian parameter of unbounded features
    reward_noise: float = 0.5  # sub-Gaussian parameter; (high - low) / 2 for bounded rewards
    unique: bool = False  # one optimal action in every state: saves a factor H in M'
    future: int = 1  # K
    windows: Windows = "product"
    expansions: Callable[[float, float], int] | None = None  # N'(ridge, threshold) of a kernel

    def __post_init__(self) -> None:
        for name in ("horizon", "n_actions", "dimension", "future"):
            whole(name, getattr(self, name), least=1)
        if self.latent_dimension is not None:
            whole("latent_dimension", self.latent_dimension, least=1, most=self.window_dimension)
        for name in ("gap", "norm", "radius", "reward_noise"):
            between(name, getattr(self, name), *MAGNITUDES)
        if self.feature_noise is not None:
            between("feature_noise", self.feature_noise, *MAGNITUDES)
        between("delta", self.delta, 0, 1)
        if self.future > 1 and self.feature_noise is not None:
            raise InputError(
                "windows of unbounded features are not covered by the theory",
                got=f"future={self.future} with feature_noise={self.feature_noise}",
                remedy="Use bounded features.",
            )

    @property
    def continuations(self) -> int:
        """A^(K-1): windows an embedding stacks, each sampled on its own."""
        return self.n_actions ** (self.future - 1)

    @property
    def window_dimension(self) -> int:
        """Dimension of the stacked embedding."""
        return self.dimension * self.continuations

    @property
    def windows_are_products(self) -> bool:
        return self.future > 1 and self.windows == "product"

    @property
    def window_nodes(self) -> int:
        """1 + A + .. + A^(K-1): nodes of a window."""
        return sum(self.n_actions**depth for depth in range(self.future))

    @property
    def noise(self) -> float:
        """Sub-Gaussian parameter of <u, x-hat - x> for unit u and one reading a continuation.

        Hoeffding's where psi is bounded. For products of node means, x-hat - x is a sum over the
        depths of the window, each term linear in the errors of that depth given the depths above;
        a node at depth j is in A^(K-1-j) continuations, so its error counts A^(K-1-j)-fold.
        """
        base = self.radius if self.feature_noise is None else self.feature_noise
        return base * math.sqrt(self.window_nodes) if self.windows_are_products else base

    @property
    def tested_levels(self) -> int:
        """Levels whose embedding has a full window: Algorithm 1 tests the coverage of each."""
        return max(0, self.horizon - self.future + 1)

    @property
    def exhaustive_from(self) -> int:
        """First level that Compute-V* solves by trying everything (the last one when K = 1)."""
        return exhaustive_from(self.horizon, self.future)


def exhaustive_from(horizon: int, future: int) -> int:
    """First level that Compute-V* solves by trying every continuation: windows end there."""
    return max(0, horizon - max(future - 1, 1))


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


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a schedule can cost at most, and how likely it is to be wrong at most."""

    expansions: int  # N': expansions of one level
    feature_batches: int  # F: embeddings sampled
    reward_batches: int  # R: reward means sampled
    episodes: int  # F A^(K-1) M + R M'
    steps: int  # episodes times H
    failure: float  # probability that the answer is not optimal; 1 when nothing is proved
    tolerance: float  # t: what (i) and (ii) allow; 0 when (*) has no solution


# ---------------------------------------------------------------- counts


def largest_count(holds: Callable[[int], bool]) -> int:
    """Largest n with `holds(n)`, for a condition that is true up to some n and false beyond."""
    high = 1
    while holds(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def expansion_bound(setting: Setting, ridge: float, threshold: float) -> int:
    """N' = max{n: n ln(1 + eps^2) <= d ln(1 + n B^2 / (d lambda))}.

    Each expansion adds an embedding whose squared coverage u exceeds eps^2, so det(Sigma) grows by
    1 + u; and ln det(Sigma / lambda) <= d ln(1 + n B^2 / (d lambda)) for embeddings of length at
    most B. Deterministic for bounded features (B^2 = A^(K-1) radius^2); for unbounded ones B is
    radius + 1, on the event that no sampled mean is further than 1 from its expectation.

    For a kernel, ln det is bounded by its information gain instead, whatever the number of samples:
    as a function of one embedding it is increasing in a convex function, so it is largest at single
    observations. Futures of several steps multiply kernels; for those the count of d is used.
    """
    if setting.tested_levels == 0:
        return 0  # no window fits: everything is tried, and nothing is regressed
    if setting.expansions is not None and setting.future == 1:
        return setting.expansions(ridge, threshold)
    d = setting.window_dimension
    growth = math.log1p(threshold**2)
    square = _embedding_radius(setting) ** 2
    # The difference of the sides is concave in n and 0 at n = 0, so the condition is monotone.
    return largest_count(lambda n: n * growth <= d * math.log1p(n * square / (d * ridge)))


def latent_expansion_bound(setting: Setting, ridge: float, threshold: float) -> int:
    """N'_s = max{n: n (ln(1 + eps^2) - 1/4) <= d_s ln(1 + 2 n B^2 / (d_s lambda))}.

    Free of the observation dimension. Valid when every sampled embedding is within sqrt(lambda / 8)
    of its expectation: x-hat x-hat' <= 2 x x' + 2 e e', and the second part adds at most n / 4 to
    ln det.
    """
    if setting.latent_dimension is None:
        raise InputError(
            "the latent bound needs the dimension of the span of the embeddings",
            got="latent_dimension=None",
            remedy="Set latent_dimension, or use expansion_bound.",
        )
    if setting.tested_levels == 0:
        return 0
    growth = math.log1p(threshold**2) - 0.25
    if growth <= 0:
        raise InputError(
            "the latent bound needs ln(1 + threshold^2) > 1/4",
            got=f"threshold={threshold}",
            remedy="Use a threshold of at least 0.54 (1 is the default).",
        )
    d = setting.latent_dimension
    square = setting.continuations * setting.radius**2
    return largest_count(lambda n: n * growth <= d * math.log1p(2 * n * square / (d * ridge)))


def _embedding_radius(setting: Setting) -> float:
    slack = 0.0 if setting.feature_noise is None else 1.0
    return math.sqrt(setting.continuations) * setting.radius + slack


def feature_batches(setting: Setting, expansions: int) -> int:
    """F = T (T N' + 1) + N' A b (b - 1) / 2 with T tested levels and exhaustion from level b.

    At most T N' + 1 rounds of the main loop sample T embeddings each; an expansion at level h
    starts A chains that sample at levels h + 1 .. b - 1. For K = 1: T = H and b = H - 1.
    """
    levels, b = setting.tested_levels, setting.exhaustive_from
    return levels * (levels * expansions + 1) + expansions * setting.n_actions * b * (b - 1) // 2


def reward_batches(setting: Setting, expansions: int) -> int:
    """R = A T N' + N' A b (b - 1) / 2 + A b N' E, with E = A + .. + A^(H - b) at each chain's end.

    Expansions, covered visits, and the exhaustive ends of the chains; for K > 1 the main loop ends
    once in an exhaustive part of its own. For K = 1: A H N' + N' A (H-1)(H-2)/2 + A^2 (H-1) N'.
    """
    a, levels, b = setting.n_actions, setting.tested_levels, setting.exhaustive_from
    exhaustive = sum(a**depth for depth in range(1, setting.horizon - b + 1))
    chains = expansions * a * b
    ends = exhaustive if setting.future > 1 else 0
    return a * levels * expansions + chains * (b - 1) // 2 + chains * exhaustive + ends


# ---------------------------------------------------------------- what a schedule proves


def bounds(schedule: Schedule, setting: Setting) -> Bounds:
    """Counts and failure probability of any schedule, by the argument that proves most."""
    setting = replace(setting, windows=schedule.windows)  # the schedule says how it averages
    candidates = [_bounds(schedule, setting, latent=False)]
    if _has_latent_count(setting, schedule.threshold):
        latent = _bounds(schedule, setting, latent=True)
        if latent.failure < 1:  # its count holds only on the event that it pays for
            candidates.append(latent)
    return min(candidates, key=lambda b: (b.failure, b.episodes))


def _bounds(schedule: Schedule, setting: Setting, *, latent: bool) -> Bounds:
    count = latent_expansion_bound if latent else expansion_bound
    expansions = count(setting, schedule.ridge, schedule.threshold)
    f, r = feature_batches(setting, expansions), reward_batches(setting, expansions)
    episodes = f * setting.continuations * schedule.feature_samples + r * schedule.reward_samples
    tolerance = _tolerance(schedule, setting, expansions)
    failure = 1.0
    if tolerance > 0:
        failure = min(1.0, _failure(schedule, setting, tolerance, f, r, latent=latent))
    return Bounds(expansions, f, r, episodes, episodes * setting.horizon, failure, tolerance)


def _has_latent_count(setting: Setting, threshold: float) -> bool:
    known = setting.latent_dimension is not None and not setting.windows_are_products
    return known and math.log1p(threshold**2) > 0.25


def failure_bound(schedule: Schedule, setting: Setting) -> float:
    """Probability that the schedule's answer is not optimal, at most; 1 when nothing is proved."""
    return bounds(schedule, setting).failure


def _tolerance(schedule: Schedule, setting: Setting, expansions: int) -> float:
    """The largest t that satisfies (*), just inside the strict inequality."""
    bias = math.sqrt(schedule.ridge) * setting.norm * schedule.threshold
    room = setting.gap / 2 - bias
    return max(0.0, (1 - 1e-9) * room / (2 * schedule.threshold * math.sqrt(expansions) + 1))


def _failure(
    schedule: Schedule, setting: Setting, t: float, f: int, r: int, *, latent: bool
) -> float:
    m, m_reward = schedule.feature_samples, schedule.reward_samples
    # (i): <theta_a, x-hat - x> is sub-Gaussian with variance (noise Theta)^2 / M; A F statements.
    features = 2 * _statements(setting, f) * _tail(t, setting.noise * setting.norm, m)
    # (ii): a sum of at most H reward means. Its law is sub-Gaussian as a whole when the optimal
    # continuation is unique; with ties each of the H terms gets t / H.
    scale = math.sqrt(setting.horizon) if setting.unique else float(setting.horizon)
    rewards = 2 * r * _tail(t, scale * setting.reward_noise, m_reward)
    return features + rewards + _embedding_failure(schedule, setting, f, latent=latent)


def _statements(setting: Setting, f: int) -> int:
    """Statements (i): one for every action and sampled embedding.

    The node means of a window are read before its inner nodes are visited themselves, so whether
    these are visited depends on them: with products, every node of a sampled window gets its own.
    """
    spread = setting.window_nodes if setting.windows_are_products else 1
    return setting.n_actions * f * spread


def _tail(t: float, scale: float, n: int) -> float:
    """exp(-n t^2 / (2 scale^2)): one side of the sub-Gaussian tail of a mean of n."""
    return math.exp(-n * (t / scale) ** 2 / 2)


def _embedding_failure(schedule: Schedule, setting: Setting, f: int, *, latent: bool) -> float:
    """Failure of (iii): every sampled embedding is close enough for the count of expansions.

    Needed only for the latent count (distance sqrt(lambda / 8)) and for unbounded features
    (distance 1). Windows are A^(K-1) independent means: their distance is bounded one by one.
    """
    if not latent and setting.feature_noise is None:
        return 0.0
    distance = math.sqrt(schedule.ridge / 8) if latent else 1.0
    if latent and setting.feature_noise is not None:
        distance = min(distance, 1.0)
    each = distance / math.sqrt(setting.continuations)
    # ||x-hat - x|| <= noise (spread + sqrt(2 L)) / sqrt(M) fails with probability e^-L: bounded
    # differences in a Hilbert space (spread 1), or Hsu, Kakade and Zhang 2012 (spread sqrt(d)).
    spread = 1.0 if setting.feature_noise is None else math.sqrt(setting.dimension)
    excess = each * math.sqrt(schedule.feature_samples) / setting.noise - spread
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
    """
    if setting.feature_noise is not None:
        raise InputError(
            "the paper's theorem is for bounded features",
            got=f"unbounded features with noise {setting.feature_noise}",
            remedy='Use schedule="tight", which covers sub-Gaussian features.',
        )
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
        windows="joint",
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
    plain = _tight(setting, ridge, threshold, expansion_bound(setting, ridge, threshold))
    if not _has_latent_count(setting, threshold):
        return plain
    count = latent_expansion_bound(setting, ridge, threshold)
    by_latent = _tight(setting, ridge, threshold, count, distance=math.sqrt(ridge / 8))
    return min((plain, by_latent), key=lambda s: bounds(s, setting).episodes)


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
        spread = 1.0 if setting.feature_noise is None else math.sqrt(setting.dimension)
        union = math.sqrt(2 * (log_term + math.log(setting.continuations)))
        needed = math.sqrt(setting.continuations) * setting.noise * (spread + union) / distance
        m = max(m, needed**2)
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
    return math.log(statements * max(_statements(setting, f), r)) - math.log(setting.delta)


SCHEDULES: Mapping[str, Callable[[Setting], Schedule]] = {"paper": paper, "tight": tight}
"""Every fixed schedule that has a name."""
