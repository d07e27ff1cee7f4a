"""What is averaged over observations."""

from __future__ import annotations

from surepath.features.maps import (
    NAMES,
    Approximated,
    Approximation,
    Custom,
    FeatureFunction,
    Features,
    Linear,
    Nothing,
    OneHot,
    checked_rows,
)

__all__ = [
    "NAMES",
    "Approximated",
    "Approximation",
    "Custom",
    "FeatureFunction",
    "Features",
    "Linear",
    "Nothing",
    "OneHot",
    "checked_rows",
]

# Journals write this name for features of a user's own: it must not follow the file when it moves.
Custom.__module__ = __name__
