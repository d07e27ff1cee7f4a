"""From what a user names as features to what the learner averages.

Names, scikit-learn transformers and kernels, and plain functions all end as finite-dimensional
features or as a kernel. Whatever had to be estimated for that (a length scale, landmarks, a fitted
transformer, a scale) comes from one pilot sample, and the note says which.
"""

# scikit-learn ships no types; what is used of it is narrowed where it is used:
# pyright: reportMissingTypeStubs=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from surepath.adapters.spaces import Encoding, encoding_of
from surepath.embedding import KernelMap
from surepath.errors import InputError
from surepath.features import Custom, Features, Linear, OneHot, checked_rows
from surepath.gain import kernel_expansion_bound
from surepath.kernels import (
    FourierFeatures,
    Kernel,
    Nystroem,
    check_positive,
    median_length_scale,
    pick_landmarks,
)
from surepath.pilot import Pilot
from surepath.system import FloatArray, System
from surepath.validate import nearest, whole

EXACT_SAMPLES = 64
"""Readings a node up to which a kernel is used exactly; beyond, through landmarks."""

LANDMARKS = 256
IMAGE_COMPONENTS = 12

NAMES = ("auto", "onehot", "linear", "rbf", "matern")


@dataclass(frozen=True, slots=True)
class KernelFeatures:
    """A kernel with a choice of how to compute with it.

    approximation: "exact", "nystroem" (landmarks from the pilot) or "fourier" (random features; RBF
    and Matern only).
    """

    kernel: Any  # "rbf", "matern" or a scikit-learn Gaussian-process kernel
    approximation: str = "nystroem"
    components: int = LANDMARKS


@dataclass(frozen=True, slots=True)
class Resolved:
    features: Features | KernelMap
    note: str  # what was chosen, with every scale
    expansions: Callable[[float, float], int] | None = None  # N' from ridge and threshold


def resolve(features: object, system: System, pilot: Callable[[], Pilot], samples: int) -> Resolved:
    """The features that `features` stands for on this system, for so many readings a node."""
    if isinstance(features, str):
        return _named(features, system, pilot, samples)
    if isinstance(features, KernelFeatures):
        return _kernel(features, system, pilot)
    if all(hasattr(features, name) for name in ("dimension", "radius", "statistics", "mean")):
        return Resolved(cast(Features, features), type(features).__name__)
    if hasattr(features, "transform"):
        return _transformer(features, system, pilot())
    if hasattr(features, "diag") and hasattr(features, "is_stationary"):
        return _kernel(_by_count(features, samples), system, pilot)
    if callable(features):
        return _function(features, pilot(), f"the function {getattr(features, '__name__', '?')}")
    raise InputError(
        "features must be a name, a scikit-learn transformer or kernel, or a function",
        got=repr(features),
        remedy=f"Pass one of {', '.join(NAMES)}, or an object of these kinds.",
    )


def _named(name: str, system: System, pilot: Callable[[], Pilot], samples: int) -> Resolved:
    if name not in NAMES:
        raise InputError(
            f"there are no features named {name!r}", got=repr(name), remedy=nearest(name, NAMES)
        )
    encoding = _encoding(system)
    if name == "auto":
        name = getattr(system, "preferred_features", "") or (
            "onehot" if _symbols(system) or (encoding and encoding.discrete) else "rbf"
        )
    if name in ("rbf", "matern"):
        return _kernel(_by_count(name, samples), system, pilot)
    if name == "onehot":
        return _one_hot(system, encoding)
    dimension = getattr(system, "dimension", None)
    if encoding is not None:
        return _encoded(encoding, "linear in the encoded observation")
    if dimension is None:
        dimension = int(np.prod(pilot().observations.shape[1:]))
    return Resolved(Linear(dimension), f"linear in {dimension} numbers")


def _one_hot(system: System, encoding: Encoding | None) -> Resolved:
    symbols = _symbols(system)
    if symbols is not None:
        return Resolved(OneHot(symbols), f"one-hot in {symbols} symbols")
    if encoding is None or not encoding.discrete:
        raise InputError(
            "one-hot features need discrete observations",
            got=f"a {type(system).__name__} without n_observations or a discrete observation_space",
            remedy="Give the system the attribute n_observations, or use other features.",
        )
    return _encoded(encoding, f"one-hot in {encoding.parts} parts")


def _encoded(encoding: Encoding, note: str) -> Resolved:
    """Encoded observations as features, scaled to length at most 1 where they are bounded."""
    scale = encoding.radius or 1.0
    bounded = f", divided by {scale:.4g}" if encoding.radius else ", not bounded"
    return Resolved(
        Custom(
            lambda x: encoding.encode(x) / scale,
            encoding.dimension,
            radius=1.0 if encoding.radius else None,
        ),
        f"{note} ({encoding.dimension} dimensions{bounded})",
    )


def _by_count(kernel: object, samples: int) -> KernelFeatures:
    return KernelFeatures(kernel, "exact" if samples <= EXACT_SAMPLES else "nystroem")


def _kernel(choice: KernelFeatures, system: System, pilot: Callable[[], Pilot]) -> Resolved:
    sample = pilot()
    view, view_note = _view(system, sample)
    values = view(sample.observations)
    kernel, note = _kernel_of(choice.kernel, values)
    largest = check_positive(kernel, values)
    if largest > 1 + 1e-9:
        raise InputError(
            "the theory needs a kernel with k(x, x) at most 1",
            got=f"k(x, x) up to {largest:.4g} on the pilot",
            remedy="Divide the kernel by that number.",
        )
    note = f"{note}{view_note}, from {sample.describe()}"
    gain = partial(kernel_expansion_bound, kernel, values)
    if choice.approximation == "exact":
        return Resolved(KernelMap(kernel, view), f"{note}; exact", gain)
    rng = np.random.default_rng(0)  # landmarks are part of the features, not of the noise
    whole("components", choice.components, least=1)
    if choice.approximation == "nystroem":
        approximation = Nystroem(kernel, pick_landmarks(values, choice.components, rng))
        note += f"; approximated by {approximation.dimension} landmarks (Nystroem)"
    elif choice.approximation == "fourier":
        approximation = FourierFeatures(kernel, values.shape[1], choice.components, rng)
        note += f"; approximated by {approximation.dimension} random Fourier features"
    else:
        raise InputError(
            f"there is no kernel approximation {choice.approximation!r}",
            got=repr(choice.approximation),
            remedy=nearest(choice.approximation, ("exact", "nystroem", "fourier")),
        )
    features = Custom(
        lambda x: approximation.transform(view(x)), approximation.dimension, radius=1.0
    )
    return Resolved(features, note, gain)


def _kernel_of(kernel: Any, values: FloatArray) -> tuple[Kernel, str]:
    from sklearn.gaussian_process.kernels import RBF, Matern

    if kernel not in ("rbf", "matern"):
        return kernel, f"the kernel {kernel}"
    scale = median_length_scale(values)
    made: Any = RBF(scale) if kernel == "rbf" else Matern(scale, nu=2.5)
    return made, f"{made} with the median length scale"


def _view(system: System, pilot: Pilot) -> tuple[Callable[[NDArray[Any]], FloatArray], str]:
    """Observations as vectors for a kernel: encoded, and images projected first."""
    encoding = _encoding(system)
    shape = pilot.observations.shape[1:]
    encode = encoding.encode if encoding else _flat
    if len(shape) < 2 and not (encoding and encoding.image):
        return encode, ""
    from sklearn.decomposition import PCA

    projection = PCA(IMAGE_COMPONENTS, svd_solver="full").fit(encode(pilot.observations))
    return (
        lambda x: np.asarray(projection.transform(_flat(x)), dtype=np.float64),
        f" on {IMAGE_COMPONENTS} principal components of the {'x'.join(map(str, shape))} image",
    )


def _transformer(transformer: Any, system: System, pilot: Pilot) -> Resolved:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    encoding = _encoding(system)
    encode = encoding.encode if encoding else _flat
    name = type(transformer).__name__
    note = f"the transformer {name} as it was fitted"
    try:
        check_is_fitted(transformer)
    except NotFittedError:
        transformer = transformer.fit(encode(pilot.observations))
        note = f"the transformer {name}, fitted on {pilot.describe()}"

    def transform(observations: NDArray[Any]) -> FloatArray:
        values = transformer.transform(encode(observations))
        return np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=float)

    return _function(transform, pilot, note)


def _function(function: Callable[[NDArray[Any]], Any], pilot: Pilot, note: str) -> Resolved:
    """A user's psi, divided by its largest length on the pilot; what exceeds 1 is cut to 1."""
    values = np.asarray(function(pilot.observations), dtype=np.float64)
    if values.ndim != 2:
        raise InputError(
            "a feature function must return an array [n, d]",
            got=f"shape {values.shape} for {len(pilot.observations)} observations",
            remedy="Return one row of features for every observation.",
        )
    dimension = values.shape[1]
    checked_rows(values, len(pilot.observations), dimension)
    scale = float(np.linalg.norm(values, axis=1).max()) or 1.0

    def bounded(observations: NDArray[Any]) -> FloatArray:
        rows = checked_rows(np.asarray(function(observations)), len(observations), dimension)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True) / scale
        return rows / scale / np.maximum(lengths, 1.0)

    return Resolved(
        Custom(bounded, dimension, radius=1.0),
        f"{note} ({dimension} dimensions, divided by {scale:.4g} and cut at length 1)",
    )


def _encoding(system: System) -> Encoding | None:
    space = getattr(system, "observation_space", None)
    return None if space is None else encoding_of(space)


def _symbols(system: System) -> int | None:
    return getattr(system, "n_observations", None)


def _flat(observations: NDArray[Any]) -> FloatArray:
    return np.asarray(observations, dtype=np.float64).reshape(len(observations), -1)
