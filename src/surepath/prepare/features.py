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

from surepath.adapters.spaces import Encoder, Encoding, encoding_of, numbers
from surepath.errors import InputError
from surepath.features import NAMES, Approximated, Custom, Features, Linear, OneHot, checked_rows
from surepath.features.kernels import (
    FourierFeatures,
    Kernel,
    Nystroem,
    check_positive,
    median_length_scale,
    pick_landmarks,
    thin,
)
from surepath.prepare.pilot import Pilot
from surepath.readings.embedding import KernelMap
from surepath.system import FloatArray, System
from surepath.theory.gain import kernel_expansion_bound
from surepath.validate import array_of, nearest, whole

EXACT_SAMPLES = 64
"""Readings a node up to which a kernel is used exactly; beyond, through landmarks."""

LANDMARKS = 256
CANDIDATES = 1024
"""Observations of the pilot, spread over it, that expansions of a kernel are counted over."""

IMAGE_COMPONENTS = 12
IMAGES = 1000
"""Images of the pilot that a projection is fitted on, and that are projected at once."""

KERNELS = ("rbf", "matern")
APPROXIMATIONS = ("exact", "nystroem", "fourier")


@dataclass(frozen=True, slots=True)
class KernelFeatures:
    """A kernel with a choice of how to compute with it.

    approximation: "exact", "nystroem" (landmarks from the pilot) or "fourier" (random features; RBF
    and Matern only).
    """

    kernel: Any  # "rbf", "matern" or a scikit-learn Gaussian-process kernel
    approximation: str = "nystroem"
    components: int = LANDMARKS

    def __post_init__(self) -> None:
        if self.approximation not in APPROXIMATIONS:
            raise InputError(
                f"there is no kernel approximation {self.approximation!r}",
                got=repr(self.approximation),
                remedy=nearest(str(self.approximation), APPROXIMATIONS),
            )
        whole("components", self.components, least=1)
        if isinstance(self.kernel, str):
            if self.kernel not in KERNELS:
                raise InputError(
                    f"there is no kernel named {self.kernel!r}",
                    got=repr(self.kernel),
                    remedy=f"{nearest(self.kernel, KERNELS)} Or pass a scikit-learn kernel.",
                )
        elif not _is_kernel(self.kernel):
            raise InputError(
                "a kernel is called with two arrays of rows, and has a method diag",
                got=repr(self.kernel),
                remedy='Pass "rbf", "matern" or a kernel of sklearn.gaussian_process.kernels.',
            )
        elif self.approximation == "fourier" and type(self.kernel).__name__ not in _SPECTRAL:
            raise InputError(
                "random Fourier features are known for RBF and Matern kernels",
                got=repr(self.kernel),
                remedy='Use KernelFeatures(kernel, "nystroem"), which takes any kernel.',
            )


_SPECTRAL = ("RBF", "Matern")


@dataclass(frozen=True, slots=True)
class Resolved:
    features: Features | KernelMap
    note: str  # what was chosen, with every scale
    expansions: Callable[[float, float], int] | None = None  # N' from ridge and threshold
    fitted: bool = False  # on the pilot: nobody can state a norm for such features in advance


def resolve(
    features: object,
    system: System,
    pilot: Callable[[], Pilot],
    samples: int,
    landmarks: int = LANDMARKS,
) -> Resolved:
    """The features that `features` stands for on this system, for so many readings a node."""
    if isinstance(features, str):
        return _named(features, system, pilot, samples, landmarks)
    if isinstance(features, KernelFeatures):
        return _kernel(features, system, pilot)
    if not isinstance(features, type):
        if all(hasattr(features, name) for name in ("dimension", "radius", "statistics", "mean")):
            return _as_given(cast(Features, features))
        if hasattr(features, "transform"):
            return _transformer(features, system, pilot())
        if _is_kernel(features):
            return _kernel(_by_count(features, samples, landmarks), system, pilot)
        if callable(features):
            name = getattr(features, "__name__", type(features).__name__)
            return _function(features, pilot(), f"the function {name}")
    raise InputError(
        "features must be a name, a scikit-learn transformer or kernel, or a function",
        got=f"the class {features.__name__}" if isinstance(features, type) else repr(features),
        remedy=f"Pass one of {', '.join(NAMES)}, or an object of these kinds"
        + (f", such as {features.__name__}(...)." if isinstance(features, type) else "."),
    )


def _is_kernel(thing: object) -> bool:
    return callable(thing) and hasattr(thing, "diag") and not isinstance(thing, type)


def _as_given(features: Features) -> Resolved:
    length = "not bounded" if features.radius is None else f"length at most {features.radius:g}"
    name = type(features).__name__
    return Resolved(features, f"{name} as given ({features.dimension} dimensions, {length})")


# ---------------------------------------------------------------- names


def _named(
    name: str, system: System, pilot: Callable[[], Pilot], samples: int, landmarks: int
) -> Resolved:
    encoding = _encoding(system)
    symbols = _symbols(system)
    if name == "auto":
        discrete = symbols is not None or (encoding is not None and encoding.discrete)
        preferred = getattr(system, "preferred_features", None)
        name = preferred or ("onehot" if discrete else "rbf")
    if name not in NAMES[1:]:
        raise InputError(
            f"there are no features named {name!r}", got=repr(name), remedy=nearest(name, NAMES)
        )
    if name in KERNELS:
        return _kernel(_by_count(name, samples, landmarks), system, pilot)
    if name == "onehot":
        return _one_hot(system, encoding)
    if encoding is not None:
        return _encoded(encoding, "linear in the encoded observation")
    dimension = getattr(system, "dimension", None) if symbols is None else 1
    if dimension is None:
        dimension = _flat(pilot().observations).shape[1]
    return Resolved(Linear(dimension), f"linear in {dimension} numbers, as they are (not bounded)")


def _one_hot(system: System, encoding: Encoding | None) -> Resolved:
    symbols = _symbols(system)
    if symbols is not None:
        return Resolved(OneHot(symbols), f"one-hot in {symbols} symbols (length 1)")
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


# ---------------------------------------------------------------- kernels


def _by_count(kernel: object, samples: int, landmarks: int) -> KernelFeatures:
    exact = samples <= EXACT_SAMPLES
    return KernelFeatures(kernel, "exact" if exact else "nystroem", landmarks)


def _kernel(choice: KernelFeatures, system: System, pilot: Callable[[], Pilot]) -> Resolved:
    sample = pilot()
    view, view_note = _view(system, sample, balanced=isinstance(choice.kernel, str))
    values = view(sample.observations)
    kernel, note = _kernel_of(choice.kernel, values)
    _check_kernel(kernel, values)
    view = _within(kernel, view)
    rng = np.random.default_rng(0)  # landmarks are part of the features, not of the noise
    symbols = _symbols(system)
    candidates = (
        pick_landmarks(values, CANDIDATES, np.random.default_rng(0))
        if symbols is None
        else view(np.arange(symbols))
    )
    gain = partial(kernel_expansion_bound, kernel, candidates)
    note = f"{note}{view_note}, k(x, x) at most 1, from {sample.describe()}"
    counted = f"; expansions counted over {len(candidates)} observations"
    if choice.approximation == "exact":
        fitted = isinstance(choice.kernel, str) or bool(view_note)
        return Resolved(KernelMap(kernel, view), f"{note}; exact{counted}", gain, fitted)
    if choice.approximation == "nystroem":
        psi = Nystroem(kernel, pick_landmarks(values, choice.components, rng))
        note += f"; approximated by {psi.dimension} landmarks (Nystroem){counted}"
    else:
        # Its inner products may exceed the kernel's, so the kernel's gain does not bound its own.
        gain = None
        psi = FourierFeatures(kernel, values.shape[1], choice.components, rng)
        note += f"; approximated by {psi.dimension} random Fourier features"
    return Resolved(Approximated(psi, view), note, gain, fitted=True)


def _kernel_of(kernel: Any, values: FloatArray) -> tuple[Kernel, str]:
    from sklearn.gaussian_process.kernels import RBF, Matern

    if not isinstance(kernel, str):
        return kernel, f"the kernel {kernel}"
    scale = median_length_scale(values)
    made: Any = RBF(scale) if kernel == "rbf" else Matern(scale, nu=2.5)
    return made, f"{type(made).__name__} with the median length scale {scale:.4g}"


def _check_kernel(kernel: Kernel, values: FloatArray) -> None:
    try:
        largest = check_positive(kernel, values)
    except InputError:
        raise
    except (ValueError, TypeError) as error:
        raise InputError(
            f"the kernel cannot be computed for observations of {values.shape[1]} numbers",
            got=f"{type(error).__name__}: {error}",
            remedy="Give it one length scale, or one for each of these numbers.",
        ) from error
    _check_size(largest)


def _within(kernel: Kernel, view: Encoder) -> Encoder:
    """The view, with k(x, x) <= 1 checked at every reading where it depends on x."""
    stationary = getattr(kernel, "is_stationary", None)
    if stationary is not None and stationary():
        return view

    def checked(observations: NDArray[Any]) -> FloatArray:
        values = view(observations)
        _check_size(float(np.max(kernel.diag(values))))
        return values

    return checked


def _check_size(largest: float) -> None:
    if largest > 1 + 1e-9:
        raise InputError(
            "the theory needs a kernel with k(x, x) at most 1",
            got=f"k(x, x) up to {largest:.4g}",
            remedy=f"Multiply the kernel by {0.9999 / largest:.4g} or less.",
        )


def _view(system: System, pilot: Pilot, *, balanced: bool) -> tuple[Encoder, str]:
    """Observations as vectors for a kernel: encoded, and images projected first."""
    encoding = _encoding(system)
    encode = encoding.encode if encoding else _flat
    if pilot.observations.ndim > 2 or (encoding and encoding.image):
        return _projected(encode, pilot)
    if balanced and encoding and len(encoding.blocks) > 1:
        return _balanced(encoding, pilot)
    return encode, ""


def _projected(encode: Encoder, pilot: Pilot) -> tuple[Encoder, str]:
    from sklearn.decomposition import PCA

    values = encode(thin(pilot.observations, IMAGES))
    size = min(IMAGE_COMPONENTS, *values.shape)
    projection: Any = PCA(size, random_state=0).fit(values)

    def project(observations: NDArray[Any]) -> FloatArray:
        batches = range(0, len(observations), IMAGES)
        parts = [projection.transform(encode(observations[b : b + IMAGES])) for b in batches]
        return np.concatenate(parts).astype(np.float64, copy=False)

    shape = "x".join(map(str, pilot.observations.shape[1:]))
    return project, f" on {size} principal components of the {shape} image"


def _balanced(encoding: Encoding, pilot: Pilot) -> tuple[Encoder, str]:
    """Members of a Dict or Tuple in units of their own: else the largest numbers hide the rest."""
    values = encoding.encode(pilot.observations)
    ends = np.cumsum(encoding.blocks)
    scales = [median_length_scale(block) for block in np.split(values, ends[:-1], axis=1)]
    divisor = np.repeat(scales, encoding.blocks)
    listed = ", ".join(f"{scale:.4g}" for scale in scales)
    return (
        lambda x: encoding.encode(x) / divisor,
        f" on {len(scales)} members, each divided by its median distance ({listed})",
    )


# ---------------------------------------------------------------- transformers and functions


def _transformer(transformer: Any, system: System, pilot: Pilot) -> Resolved:
    encoding = _encoding(system)
    encode = encoding.encode if encoding else _flat
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

    return _function(transform, pilot, note, constant=True)


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


def _function(
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


# ---------------------------------------------------------------- what the system declares


def _encoding(system: System) -> Encoding | None:
    space = getattr(system, "observation_space", None)
    return None if space is None else encoding_of(space)


def _symbols(system: System) -> int | None:
    return getattr(system, "n_observations", None)


def _flat(observations: NDArray[Any]) -> FloatArray:
    """Observations as rows of numbers, for systems that declare no space."""
    try:
        return numbers(observations)
    except InputError as error:
        if observations.dtype != object:
            raise
        raise InputError(
            "observations that are not arrays of numbers need an observation space",
            got=f"objects such as {observations.flat[0]!r}",
            remedy="Give the system the attribute observation_space (a gymnasium space), "
            "or pass a function from a batch of them to features.",
        ) from error
