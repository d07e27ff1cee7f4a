"""How often the recursion can expand a level, and how many means it then samples, at most.

Letters of the paper: N' is the most expansions of one level, F the embeddings that are sampled, R
the reward means, lambda the ridge, eps the threshold.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from surepath.errors import InputError
from surepath.theory.setting import Setting


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
    observations.
    """
    if setting.tested_levels == 0:
        return 0  # no window fits: everything is tried, and nothing is regressed
    if setting.expansions is not None and setting.future == 1:
        return setting.expansions(ridge, threshold)
    d = setting.window_dimension
    if d is None:
        raise InputError(
            "nothing is known beforehand of how often a level is expanded",
            got="features without a dimension, and no information gain that holds for them",
            remedy='Use schedule="tight", which counts as it goes; or give the rate of the '
            "kernel's information gain.",
        )
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


def has_count(setting: Setting) -> bool:
    """Whether `expansion_bound` knows a bound."""
    gained = setting.expansions is not None and setting.future == 1
    return setting.dimension is not None or gained or setting.tested_levels == 0


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
