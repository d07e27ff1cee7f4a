"""What may be assumed of a system, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from assumptions import setting
from surepath.errors import InputError
from surepath.theory.setting import SQRT2

BAD_SETTINGS: tuple[tuple[str, Any], ...] = (
    *(("horizon", value) for value in (0, -1, 1.5, True, None)),
    *(("n_actions", value) for value in (0, 2.0)),
    *(("dimension", value) for value in (0, -3)),
    *(("future", value) for value in (0, 1.0)),
    *(("latent_dimension", value) for value in (0, 5, 2.0)),
    *(("gap", value) for value in (0, -0.1, math.nan, math.inf, "1", None)),
    *(("norm", value) for value in (0, -1, math.nan, math.inf)),
    *(("radius", value) for value in (0, -1, math.nan)),
    *(("reward_noise", value) for value in (0, -1, math.nan)),
    *(("delta", value) for value in (0, 1, -0.1, 2, math.nan)),
    *(("diameter", value) for value in (0, -1.0, math.nan)),
    *(("feature_noise", value) for value in (0, -1.0, math.nan, math.inf)),
)


@pytest.mark.parametrize(("name", "value"), BAD_SETTINGS)
def test_bad_settings_are_refused(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=name):
        setting(**{name: value})


def test_latent_dimension_may_reach_that_of_a_window() -> None:
    assert setting(latent_dimension=8, future=2).latent_dimension == 8
    with pytest.raises(InputError, match="latent_dimension"):
        setting(latent_dimension=9, future=2)


def test_windows_of_unbounded_features_are_refused() -> None:
    """The tensor product of two unbounded readings has heavier tails than either."""
    for windows in ("product", "joint"):
        with pytest.raises(InputError, match="bounded features"):
            setting(future=2, feature_noise=1.0, windows=windows)


def mean_exponential(law: np.ndarray, along: np.ndarray, scale: float) -> float:
    """E exp(scale <u, psi - x>) for one-hot psi."""
    return float(law @ np.exp(scale * (along - law @ along)))


def test_the_noise_of_one_hot_features_is_half_their_diameter() -> None:
    """Hoeffding's lemma along every direction; and for no smaller parameter."""
    noise = setting(diameter=SQRT2).noise
    rng = np.random.default_rng(0)
    for _ in range(300):
        law, along = rng.dirichlet(np.full(4, 0.5)), rng.normal(size=4)
        along /= np.linalg.norm(along)
        for scale in (-3.0, -0.3, 0.3, 1.0, 5.0):
            assert mean_exponential(law, along, scale) <= np.exp((scale * noise) ** 2 / 2)
    law, along = np.array([0.5, 0.5]), np.array([1.0, -1.0]) / SQRT2
    assert mean_exponential(law, along, 0.3) > np.exp((0.3 * 0.98 * noise) ** 2 / 2)


def test_the_spread_of_a_narrow_set_is_that_of_its_ball() -> None:
    """One-hot: E ||psi - x||^2 = 1 - |p|^2, as close to 1 as there are symbols."""
    assert setting().spread == 1.0
    narrow = setting(diameter=SQRT2)
    assert narrow.noise * narrow.spread == pytest.approx(1.0)
    small = setting(diameter=0.5)
    assert small.noise * small.spread == pytest.approx(0.5 / SQRT2)
