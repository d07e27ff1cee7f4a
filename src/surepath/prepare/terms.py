"""The terms of an adaptive run: what it is held to, and what it may assume."""

from __future__ import annotations

import math
from dataclasses import replace

from surepath.errors import InputError
from surepath.features import Features, OneHot
from surepath.inference.guarantee_widths import widths_of
from surepath.inference.states import Shape
from surepath.inference.terms import Terms
from surepath.inference.tuning import TUNING
from surepath.prepare.call import Call
from surepath.prepare.feature_sizes import size_of
from surepath.prepare.resolved import Resolved
from surepath.readings.embedding import KernelMap
from surepath.system import Declared, System


def landmark_features(psi: Resolved) -> Features:
    """The features, which must be finite-dimensional."""
    if isinstance(psi.features, KernelMap):
        raise InputError(
            "the adaptive schedule takes kernels through landmarks",
            got=psi.note,
            remedy='Use KernelFeatures(kernel, "nystroem"), or a fixed schedule.',
        )
    return psi.features


def terms_of(call: Call, psi: Resolved, features: Features, future: int) -> Terms:
    """What the run is held to; refuses what cannot be."""
    noise = _reward_noise(call.system, call.rewards)
    symbols = isinstance(features, OneHot)
    terms = Terms(
        shape=Shape(call.horizon, call.system.n_actions, features.dimension, symbols, future),
        guarantee=call.guarantee,
        delta=call.delta,
        gap=call.gap,
        resolution=TUNING.resolution * 2 * noise,
        reward_range=call.rewards,
        reward_noise=noise,
    )
    return _proved(terms, call, psi, future) if call.guarantee == "proved" else terms


def _proved(terms: Terms, call: Call, psi: Resolved, future: int) -> Terms:
    """What a proof rests on beside the terms of every adaptive run."""
    norm = call.norm
    if norm is None and call.oracle is not None:
        norm = call.oracle.norm
    widths_of(replace(terms, norm=norm))  # says what is wrong without a norm
    if psi.fitted or future > 1:
        raise InputError(
            'guarantee="proved" needs features whose norm can be stated, and a future of 1',
            got=f"{psi.note}, future={future}",
            remedy='Use one-hot, linear or Custom features, or guarantee="calibrated".',
        )
    radius, feature_noise, _ = size_of(call.system, psi, future)
    return replace(terms, norm=norm, radius=radius, feature_noise=feature_noise)


def _reward_noise(system: System, reward_range: tuple[float, float]) -> float:
    """The sub-Gaussian parameter of rewards: half their range, or what the system says."""
    span = reward_range[1] - reward_range[0]
    noise = span / 2 if math.isfinite(span) else Declared(system).reward_noise
    if not noise:
        raise InputError(
            "rewards without a range need their noise to be known, and positive",
            got=f"reward_range={reward_range}, reward_noise={noise}",
            remedy="Give the system the attribute reward_noise (a standard deviation), or a finite "
            "reward_range.",
        )
    return float(noise)
