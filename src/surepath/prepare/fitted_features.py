"""Transformers and functions of the user's as features, scaled by what they give on the pilot."""

# scikit-learn ships no types; what is used of it is narrowed where it is used:
# pyright: reportMissingTypeStubs=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from surepath.errors import InputError
from surepath.features import Custom, checked_rows
from surepath.prepare.pilot import Pilot
from surepath.prepare.resolved import Resolved, encoding_of, flat_rows
from surepath.system import FloatArray, System
from surepath.validate import array_of


def transformer_features(transformer: Any, system: System, pilot: Pilot) -> Resolved:
    encoding = encoding_of(system)
    encode = encoding.encode if encoding else flat_rows
    rows = encode(pilot.observations)
    name = type(transformer).__name__
    note = f"the transformer {name} as it was fitted"
    if _needs_fit(transformer, rows):
        transformer = _fitted(transformer, rows)
        note = f"the transformer {name}, fitted on {pilot.describe()}"

    def transform(observations: NDArray[Any]) -> Any:
        values = encode(observations)
        try:
            return transformer.transform(values)
        except (ValueError, TypeError, AttributeError) as error:
            raise InputError(
                f"the transformer {name} must take observations of {values.shape[1]} numbers",
                got=f"{type(error).__name__}: {error}",
                remedy="Fit it on observations of this system, or pass it unfitted.",
            ) from error

    return function_features(transform, pilot, note, constant=True)


def _needs_fit(transformer: Any, rows: FloatArray) -> bool:
    """Whether it says that it is not fitted, or lacks what fitting would have set.

    A pipeline only knows of its last step, so the transformer is tried.
    """
    if not hasattr(transformer, "fit"):
        return False
    try:
        transformer.transform(rows)
    except AttributeError:  # NotFittedError is one
        return True
    except (ValueError, TypeError):
        return False  # fitted, but on something else: its use says so
    return False


def _fitted(transformer: Any, rows: FloatArray) -> Any:
    """A fitted copy, the same for the same rows; the user's own object stays as it is."""
    from sklearn.base import clone

    copy = cast(Any, clone(transformer, safe=False))
    if hasattr(copy, "get_params"):
        given: dict[str, Any] = copy.get_params()
        random = [key for key in given if key.split("__")[-1] == "random_state"]
        copy.set_params(**{key: 0 for key in random if given[key] is None})
    try:
        copy.fit(rows)
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(
            f"the transformer {type(transformer).__name__} could not be fitted",
            got=f"{type(error).__name__}: {error}",
            remedy=f"It was fitted on {len(rows)} observations of {rows.shape[1]} numbers; change "
            "its parameters, or fit it yourself and pass it fitted.",
        ) from error
    return copy


def function_features(
    function: Callable[[NDArray[Any]], Any], pilot: Pilot, note: str, *, constant: bool = False
) -> Resolved:
    """A user's psi, divided by its largest length on the pilot; what exceeds 1 is cut to 1.

    constant: append a constant coordinate. Transformers centre, and without it a function of the
    features would have to vanish at that centre.
    """
    dimension, scale = _scale(function, pilot)

    def bounded(observations: NDArray[Any]) -> FloatArray:
        rows = checked_rows(_dense(function(observations)), len(observations), dimension) / scale
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
        return np.column_stack((rows, np.ones(len(rows)))) / np.sqrt(2) if constant else rows

    cut = f"divided by {scale:.4g} and cut at length 1"
    if constant:
        cut += ", then joined by a constant and divided by 1.414"
    total = dimension + constant
    features = Custom(bounded, total, radius=1.0)
    return Resolved(features, f"{note} ({total} dimensions, {cut})", fitted=True)


def _scale(function: Callable[[NDArray[Any]], Any], pilot: Pilot) -> tuple[int, float]:
    """Number of features and their largest length on the pilot."""
    n = len(pilot.observations)
    values = _dense(function(pilot.observations))
    if values.ndim != 2 or values.shape[1] == 0:
        raise InputError(
            "a feature function must return an array [n, d]",
            got=f"shape {values.shape} for {n} observations",
            remedy="Return one row of features for every observation; for one number each, "
            "values[:, None].",
        )
    rows = checked_rows(values, n, values.shape[1])
    scale = float(np.abs(rows).max())
    if scale > 0:
        scale *= float(np.linalg.norm(rows / scale, axis=1).max())
    return rows.shape[1], scale or 1.0


def _dense(values: Any) -> FloatArray:
    """What a function or transformer returned (a sparse matrix, a table) as an array of floats."""
    array = array_of("features", values.toarray() if hasattr(values, "toarray") else values)
    if np.iscomplexobj(array):
        raise InputError(
            "features must be real",
            got=f"values of type {array.dtype}",
            remedy="Return real and imaginary parts as separate columns.",
        )
    return cast(FloatArray, array_of("features", array, float))
