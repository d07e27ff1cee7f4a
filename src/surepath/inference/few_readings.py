"""How much more a reward may pay than a few readings of it have shown.

By Chernoff's bound n readings of a reward between 0 and 1 that average m exclude a mean u above
with certainty exp(-c) where n kl(m, u) >= c, kl being the divergence of two coins. So a reward is
never supposed to pay more than there can be, and less the more of it was read.

Paths are sums of rewards, and their widths the root of summed squares. That of the distance u - m
alone would promise too much: where each of k equal rewards takes a k-th of what chance may do
(n kl = c / k), together they are k such distances away, which may be more than the root of k times
the largest. What is summed is therefore the largest of k (u - m)^2 for all k up to the horizon. For
large k that is 2 c m (1 - m) / n, the square of a Gaussian's width.
"""

from __future__ import annotations

import numpy as np

from surepath.system import FloatArray

STEPS = 8
"""Of Newton's method; from above, so that what is missing only makes a distance larger."""

CERTAIN = 1e-12
"""Means this close to an end of the range are taken for it."""


def largest_square(mean: FloatArray, certainty: FloatArray, horizon: int) -> FloatArray:
    """What to sum for each reward, [N]: of its mean, with certainty c / n, in paths so long."""
    shares = np.array([2.0**k for k in range(horizon.bit_length())] + [float(horizon)])
    each = distance_above(mean, certainty / shares[:, None])  # [k, N]
    return (shares[:, None] * each**2).max(axis=0)


def distance_above(mean: FloatArray, divergence: FloatArray) -> FloatArray:
    """How far above m the mean u is where kl(m, u) is the divergence; [..., N]."""
    m = np.clip(mean, CERTAIN, 1 - CERTAIN)
    # In t = ln(u / (1 - u)) the divergence is log(1 + e^t) - m t + const: convex, and nearly
    # straight far out. Newton's steps from above come down to the root and never pass it.
    entropy = m * np.log(m) + (1 - m) * np.log1p(-m)
    straight = (divergence - entropy) / (1 - m)
    # Pinsker's inequality, and kl >= (u - m)^2 / 2 u for small means.
    near = np.minimum(
        np.sqrt(divergence / 2), divergence + np.sqrt(divergence * (divergence + 2 * m))
    )
    above = np.minimum(m + near, 1 - CERTAIN / 2)
    t = np.minimum(np.where(m + near < 1, np.log(above / (1 - above)), np.inf), straight)
    for _ in range(STEPS):
        u = 1 / (1 + np.exp(-t))
        beyond = np.logaddexp(0.0, t) - m * t + entropy - divergence
        slope = u - m
        t = t - np.divide(beyond, slope, out=np.zeros_like(t), where=(slope > 0) & (beyond > 0))
    return np.maximum(1 / (1 + np.exp(-t)) - m, 0.0)
