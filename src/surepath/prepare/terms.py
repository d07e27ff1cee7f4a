"""Agreeing on the terms of an adaptive run: what it is held to, and what it may assume."""

from __future__ import annotations

import math
from dataclasses import replace

from surepath.errors import InputError
from surepath.features import Linear, OneHot
from surepath.inference.judgement import Terms
from surepath.inference.states import Shape
from surepath.prepare.features import Resolved
from surepath.readings.embedding import KernelMap
from surepath.system import System

GUARANTEES = ("calibrated", "proved")

RESOLUTION = 0.1
"""Plans whose values are closer than this share of one reward's range count as equal, where no gap
is given."""


def terms_of(
    system: System,
    horizon: int,
    psi: Resolved,
    future: int,
    *,
    guarantee: str,
    delta: float,
    gap: float | None,
    norm: float | None,
    reward_range: tuple[float, float],
) -> Terms:
    """What an adaptive run is held to; refuses what cannot be."""
    if isinstance(psi.features, KernelMap):
        raise InputError(
            "the adaptive schedule takes kernels through landmarks",
            got=psi.note,
            remedy='Use KernelFeatures(kernel, "nystroem"), or a fixed schedule.',
        )
    noise = _reward_noise(system, reward_range)
    symbols = isinstance(psi.features, OneHot)
    terms = Terms(
        shape=Shape(horizon, system.n_actions, psi.features.dimension, symbols, future),
        guarantee="calibrated",
        delta=delta,
        gap=gap,
        resolution=RESOLUTION * 2 * noise,
        reward_range=reward_range,
        reward_noise=noise,
    )
    if guarantee == "calibrated":
        return terms
    if norm is None:
        raise InputError(
            'guarantee="proved" needs norm, a bound on the weights of Q*',
            got="norm=None",
            remedy="Give norm (a larger one is always safe, and costs more episodes), or use "
            'guarantee="calibrated".',
        )
    if psi.fitted or future > 1:
        raise InputError(
            'guarantee="proved" needs features whose norm can be stated, and a future of 1',
            got=f"{psi.note}, future={future}",
            remedy='Use one-hot, linear or Custom features, or guarantee="calibrated".',
        )
    radius, feature_noise, _ = size_of(system, psi, future)
    return replace(terms, guarantee="proved", norm=norm, radius=radius, feature_noise=feature_noise)


def _reward_noise(system: System, reward_range: tuple[float, float]) -> float:
    """The sub-Gaussian parameter of rewards: half their range, or what the system says."""
    span = reward_range[1] - reward_range[0]
    noise = span / 2 if math.isfinite(span) else getattr(system, "reward_noise", None)
    if not noise:
        raise InputError(
            "rewards without a range need their noise to be known, and positive",
            got=f"reward_range={reward_range}, reward_noise={noise}",
            remedy="Give the system the attribute reward_noise (a standard deviation), or a finite "
            "reward_range.",
        )
    return float(noise)


def size_of(env: System, psi: Resolved, future: int) -> tuple[float, float | None, int]:
    """Radius, noise where unbounded, and dimension of the features."""
    if isinstance(psi.features, KernelMap):
        if future > 1:
            raise InputError(
                "nothing is proved for windows of a kernel that is used exactly",
                got=f"future={future} with gap and norm, or with a named schedule",
                remedy="Leave out gap and norm and pass a Schedule of your own, or approximate "
                "the kernel by landmarks.",
            )
        return 1.0, None, 1  # counted by the information gain
    if psi.features.radius is not None:
        return psi.features.radius, None, psi.features.dimension
    # What the system says of its observations holds for features that are the observations.
    plain = env if isinstance(psi.features, Linear) and future == 1 else None
    noise, radius = getattr(plain, "observation_noise", None), getattr(plain, "radius", None)
    if noise is None or radius is None:
        raise InputError(
            "a proof needs a bound on the features; or linear ones of a future of 1, and the noise "
            "of the observations",
            got=f"{psi.note}, future={future}",
            remedy="Use bounded features, such as Custom(function, dimension, radius=1.0), "
            "or give the system the attributes observation_noise and radius.",
        )
    return radius, noise, psi.features.dimension
