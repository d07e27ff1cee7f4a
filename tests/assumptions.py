"""A small setting that the tests of the theory change in one respect or another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from surepath.theory.setting import Setting


def setting(**changes: Any) -> Setting:
    """Three levels, two actions, four observations, and rewards in [0, 1]."""
    return replace(Setting(3, 2, 4, gap=0.30, norm=4.36, delta=0.05, unique=True), **changes)
