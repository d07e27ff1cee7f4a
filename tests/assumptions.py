"""A small setting that the tests of the theory change in one respect or another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from surepath.theory.setting import Setting

THOROUGH = settings(deadline=None, derandomize=True, max_examples=300)


def setting(**changes: Any) -> Setting:
    """Three levels, two actions, four observations, and rewards in [0, 1]."""
    return replace(Setting(3, 2, 4, gap=0.30, norm=4.36, delta=0.05, unique=True), **changes)


@st.composite
def random_settings(draw: st.DrawFn, *, for_paper: bool = False) -> Setting:
    """The paper has bounded features, of length 1, so that no gap exceeds twice the norm."""
    n_actions, dimension = draw(st.integers(1, 6)), draw(st.integers(1, 30))
    noise = None if for_paper else draw(st.none() | st.floats(0.01, 10))
    future = draw(st.integers(1, 5)) if noise is None else 1
    latent = draw(st.none() | st.integers(1, dimension))
    norm = 10 ** draw(st.floats(-1, 2))
    return Setting(
        horizon=draw(st.integers(1, 12)),
        n_actions=n_actions,
        dimension=dimension,
        gap=norm * 10 ** draw(st.floats(-4, 0.3 if for_paper else 2)),
        norm=norm,
        delta=10 ** draw(st.floats(-6, -0.01)),
        latent_dimension=latent,
        radius=10 ** draw(st.floats(-1, 1.5)),
        feature_noise=noise,
        reward_noise=10 ** draw(st.floats(-2, 1)),
        unique=draw(st.booleans()),
        future=future,
        windows=draw(st.sampled_from(["product", "joint"])),
    )
