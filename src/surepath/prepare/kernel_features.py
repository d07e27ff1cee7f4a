"""Kernels as features: exact, through landmarks of the pilot, or by random Fourier features."""

# scikit-learn ships no types; what is used of it is narrowed where it is used:
# pyright: reportMissingTypeStubs=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surepath.adapters.spaces import Encoder, Encoding
from surepath.errors import InputError
from surepath.features import Approximated
from surepath.features.growing import Growing, Numbers, shares_seen
from surepath.features.kernels import (
    FourierFeatures,
    Kernel,
    Nystroem,
    check_positive,
    median_length_scale,
    never_negative,
    pick_landmarks,
    thin,
)
from surepath.prepare.pilot import Pilot
from surepath.prepare.resolved import Resolved, encoding_of, flat_rows
from surepath.readings.embedding import COVARIANCE_LIMIT, KernelMap
from surepath.system import Declared, FloatArray, System
from surepath.theory.gain import GainRate, kernel_expansion_bound
from surepath.theory.setting import SQRT2
from surepath.validate import nearest, whole

EXACT_SAMPLES = 64
"""Readings a node up to which a kernel is used exactly; beyond, through landmarks."""

LANDMARKS = 256
"""Features that stand in for a kernel, where nothing else is said."""

CANDIDATES = 1024
"""Observations of the pilot, far apart, over which the information gain of a kernel is bounded."""

IMAGE_COMPONENTS = 12
"""Principal components that an image is reduced to before a kernel sees it."""

LARGE_IMAGE = 2048
"""Numbers beyond which an image that comes as a row of them is reduced so; a smaller one, such as a
grid of cells, is seen as it is."""

IMAGES = 1000
"""Images of the pilot that a projection is fitted on, and that are projected at once."""

ROOM = 2
"""Most landmarks that a run may come to have, in units of those it begins with."""

MOST_NUMBERS = 64
"""Numbers of an observation up to which they stand beside the features of the kernel themselves, in
runs that are told when features do not suffice."""

LEAST_FEATURES = 16
"""Features that a kernel keeps beside so many numbers."""

Counting: TypeAlias = Callable[[float, float], int]
"""N' from ridge and threshold."""

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
    gain: GainRate | None = None  # of its information gain, where it is known

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
        elif not is_kernel(self.kernel):
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


def is_kernel(thing: object) -> bool:
    return callable(thing) and hasattr(thing, "diag") and not isinstance(thing, type)


def exact_or_landmarks(kernel: object, samples: int, landmarks: int) -> KernelFeatures:
    """The kernel, used exactly for few readings a node and otherwise through landmarks."""
    exact = samples <= EXACT_SAMPLES
    return KernelFeatures(kernel, "exact" if exact else "nystroem", landmarks)


def kernel_features(
    choice: KernelFeatures, system: System, pilot: Callable[[], Pilot], *, grow: bool = False
) -> Resolved:
    """The features that a choice of kernel stands for, with scales and landmarks of the pilot.

    grow: whether landmarks may be added during the run.
    """
    sample = pilot()
    view, view_note = _view(system, sample, balanced=isinstance(choice.kernel, str))
    values = view(sample.observations)
    kernel, note = _kernel_of(choice.kernel, values)
    _check_kernel(kernel, values)
    view = _within(kernel, view)
    rng = np.random.default_rng(0)  # landmarks are part of the features, not of the noise
    symbols = Declared(system).n_observations
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
        return _exact(choice, KernelMap(kernel, view), note, gain if symbols else None, fitted)
    if choice.approximation == "nystroem":
        if grow:
            features = _growing(kernel, view, choice.components, values)
            note += f"; approximated by {features.landmarks} landmarks (Nystroem){counted}"
            note += _beside(features, values.shape[1])
            return Resolved(features, note, gain, fitted=True)
        nystroem = Nystroem(kernel, pick_landmarks(values, choice.components, rng))
        note += f"; approximated by {nystroem.dimension} landmarks (Nystroem){counted}"
        return Resolved(Approximated(nystroem, view), note, gain, fitted=True)
    # Its inner products may exceed the kernel's, so the kernel's gain does not bound its own.
    psi = FourierFeatures(kernel, values.shape[1], choice.components, rng)
    note += f"; approximated by {psi.dimension} random Fourier features"
    return Resolved(Approximated(psi, view), note, fitted=True)


def _exact(
    choice: KernelFeatures, kernel: KernelMap, note: str, counted: Counting | None, fitted: bool
) -> Resolved:
    """The kernel itself; `counted` bounds its expansions where every observation is known."""
    rests_on = ""
    if choice.gain is not None:
        counted, rests_on = choice.gain.expansions, choice.gain.claim
        note += f"; exact; {rests_on}"
    elif counted is not None:
        note += "; exact; expansions counted over all symbols"
    else:
        note += "; exact; expansions counted as they come"
    apart = SQRT2 if never_negative(kernel.kernel) else None
    return Resolved(kernel, note, counted, fitted, rests_on, apart)


def _growing(kernel: Kernel, view: Encoder, components: int, values: FloatArray) -> Growing:
    """With the numbers beside the kernel; it makes room for them, so that all covariances count."""
    landmarks = pick_landmarks(values, components, np.random.default_rng(0))
    numbers = values.shape[1] if values.shape[1] <= MOST_NUMBERS else 0
    if numbers and components <= COVARIANCE_LIMIT:
        components = min(components, max(COVARIANCE_LIMIT - numbers, LEAST_FEATURES))
    nystroem = Nystroem(kernel, landmarks, components)
    return Growing(
        nystroem,
        view,
        components=components,
        most=ROOM * len(landmarks),
        usual=float(np.median(shares_seen(nystroem, values))),
        numbers=Numbers.like(values) if numbers else None,
    )


def _beside(features: Growing, numbers: int) -> str:
    if features.numbers:
        return f"; beside it the {numbers} numbers themselves"
    return (
        f"; the {numbers} numbers are seen through it alone, in units of the median distance: one "
        "that is much quieter than the others does not show"
    )


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
    encoding = encoding_of(system)
    encode = encoding.encode if encoding else flat_rows
    row = Declared(system).image_shape
    if row is not None and prod(row) > LARGE_IMAGE:
        return _projected(encode, pilot, row)
    if pilot.observations.ndim > 2 or (encoding and encoding.image):
        return _projected(encode, pilot, pilot.observations.shape[1:])
    if balanced and encoding and len(encoding.blocks) > 1:
        return _balanced(encoding, pilot)
    return encode, ""


def _projected(encode: Encoder, pilot: Pilot, shape: tuple[int, ...]) -> tuple[Encoder, str]:
    from sklearn.decomposition import PCA

    values = encode(thin(pilot.observations, IMAGES))
    size = min(IMAGE_COMPONENTS, *values.shape)
    projection: Any = PCA(size, random_state=0).fit(values)

    def project(observations: NDArray[Any]) -> FloatArray:
        batches = range(0, len(observations), IMAGES)
        parts = [_components(projection, encode(observations[b : b + IMAGES])) for b in batches]
        return np.concatenate(parts)

    named = "x".join(map(str, shape))
    note = f" on {size} principal components of the {named} image, and the length of the rest"
    return project, note


def _components(projection: Any, values: FloatArray) -> FloatArray:
    """Principal components, and last the length of what they leave out.

    An image of something that the pilot never saw may have the components of one that it did see.
    What is left out is then longer.
    """
    parts = np.asarray(projection.transform(values), dtype=np.float64)
    left = np.square(values - projection.mean_).sum(axis=1) - np.square(parts).sum(axis=1)
    return np.column_stack([parts, np.sqrt(np.maximum(left, 0.0))])


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
