"""What may be assumed of a system, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import pytest

from assumptions import setting
from surepath.errors import InputError

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
