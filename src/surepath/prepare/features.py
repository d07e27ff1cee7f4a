"""From what a user names as features to what the learner averages.

Names, scikit-learn transformers and kernels, and plain functions all end as finite-dimensional
features or as a kernel. Whatever had to be estimated for that (a length scale, landmarks, a fitted
transformer, a scale) comes from one pilot sample, and the note says which.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from surepath.adapters.spaces import Encoding
from surepath.errors import InputError
from surepath.features import NAMES, Custom, Features, Linear, OneHot, WindowFeatures
from surepath.prepare.fitted_features import function_features, transformer_features
from surepath.prepare.kernel_features import (
    KERNELS,
    LANDMARKS,
    KernelFeatures,
    exact_or_landmarks,
    is_kernel,
    kernel_features,
)
from surepath.prepare.pilot import Pilot
from surepath.prepare.resolved import Resolved, encoding_of, flat_rows
from surepath.system import Declared, System
from surepath.theory.setting import SQRT2
from surepath.validate import nearest


def resolve(
    features: object,
    system: System,
    pilot: Callable[[], Pilot],
    samples: int,
    landmarks: int = LANDMARKS,
    *,
    grow: bool = False,
) -> Resolved:
    """The features that `features` stands for on this system, for so many readings a node.

    grow: whether landmarks of a kernel may be added during the run.
    """
    if isinstance(features, str) and features == "auto":
        features = Declared(system).preferred_features or features
    if isinstance(features, str):
        return _named(features, system, pilot, samples, landmarks, grow=grow)
    if not isinstance(features, type):
        named = ("dimension", "radius", "statistics", "mean")
        finite = all(hasattr(features, name) for name in named)
        if finite or isinstance(features, WindowFeatures):
            return _as_given(cast(Features | WindowFeatures, features))
        if hasattr(features, "transform"):
            return transformer_features(features, system, pilot())
        if is_kernel(features):
            features = exact_or_landmarks(features, samples, landmarks)
        if isinstance(features, KernelFeatures):
            return kernel_features(features, system, pilot, grow=grow)
        if callable(features):
            name = getattr(features, "__name__", type(features).__name__)
            return function_features(features, pilot(), f"the function {name}")
    raise InputError(
        "features must be a name, a scikit-learn transformer or kernel, or a function",
        got=f"the class {features.__name__}" if isinstance(features, type) else repr(features),
        remedy=f"Pass one of {', '.join(NAMES)}, or an object of these kinds"
        + (f", such as {features.__name__}(...)." if isinstance(features, type) else "."),
    )


def _as_given(features: Features | WindowFeatures) -> Resolved:
    length = "not bounded" if features.radius is None else f"length at most {features.radius:g}"
    name = type(features).__name__
    return Resolved(features, f"{name} as given ({features.dimension} dimensions, {length})")


def _named(
    name: str,
    system: System,
    pilot: Callable[[], Pilot],
    samples: int,
    landmarks: int,
    *,
    grow: bool,
) -> Resolved:
    encoding = encoding_of(system)
    symbols = Declared(system).n_observations
    if name == "auto":
        discrete = symbols is not None or (encoding is not None and encoding.discrete)
        name = "onehot" if discrete else "rbf"
    if name not in NAMES[1:]:
        raise InputError(
            f"there are no features named {name!r}", got=repr(name), remedy=nearest(name, NAMES)
        )
    if name in KERNELS:
        choice = exact_or_landmarks(name, samples, landmarks)
        return kernel_features(choice, system, pilot, grow=grow)
    if name == "onehot":
        return _one_hot(system, encoding)
    if encoding is not None:
        return _encoded(encoding, "linear in the encoded observation")
    dimension = Declared(system).dimension if symbols is None else 1
    if dimension is None:
        dimension = flat_rows(pilot().observations).shape[1]
    return Resolved(Linear(dimension), f"linear in {dimension} numbers, as they are (not bounded)")


def _one_hot(system: System, encoding: Encoding | None) -> Resolved:
    symbols = Declared(system).n_observations
    if symbols is not None:
        note = f"one-hot in {symbols} symbols (length 1)"
        return Resolved(OneHot(symbols), note, diameter=SQRT2)
    if encoding is None or not encoding.discrete:
        raise InputError(
            "one-hot features need discrete observations",
            got=f"a {type(system).__name__} without n_observations or a discrete observation_space",
            remedy="Give the system the attribute n_observations, or use other features.",
        )
    return _encoded(encoding, f"one-hot in {encoding.parts} parts")


def _encoded(encoding: Encoding, note: str) -> Resolved:
    """Encoded observations as features, scaled to length at most 1 where they are bounded."""
    radius = encoding.radius
    if not radius:
        features = Custom(encoding.encode, encoding.dimension)
        return Resolved(features, f"{note} ({encoding.dimension} dimensions, not bounded)")

    note = f"{note} ({encoding.dimension} dimensions, divided by {radius:.4g})"
    return Resolved(
        Custom(lambda x: encoding.encode(x) / radius, encoding.dimension, radius=1.0), note
    )
