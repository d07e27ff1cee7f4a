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
    WindowFeatures,
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
    "WindowFeatures",
    "checked_rows",
]

# Journals write these names for features of a user's own: they must not follow the file when it
# moves.
Custom.__module__ = WindowFeatures.__module__ = __name__
