"""Features that cannot be used say what is wrong and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Kernel,
    PairwiseKernel,
    WhiteKernel,
)
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import surepath
from cranes import Camera, Crane, learn, pilot, resolved
from surepath.prepare.pilot import EPISODES, SEQUENCES
from surepath.readings.embedding import KernelMap

READ = SEQUENCES * EPISODES * Crane.horizon
"""Observations of a pilot: those after the last action are not read."""


class Hollow(Kernel):
    """Symmetric and finite, but its Gram matrix has negative eigenvalues."""

    def __init__(self) -> None:  # scikit-learn prints the arguments of this
        pass

    def __call__(self, x: Any, y: Any = None, eval_gradient: bool = False) -> np.ndarray:
        distances = np.linalg.norm(x[:, None] - (x if y is None else y)[None], axis=2)
        return np.where(distances < 1, 1.0, 0.0)

    def diag(self, x: np.ndarray) -> np.ndarray:
        return np.ones(len(x))

    def is_stationary(self) -> bool:
        return True


class Growing:
    """A transformer whose rows get longer with every call."""

    calls = 0

    def transform(self, rows: np.ndarray) -> np.ndarray:
        self.calls += 1
        return np.ones((len(rows), self.calls))


def broken(rows: np.ndarray) -> np.ndarray:
    raise ValueError("no such table")


ERRORS: dict[str, tuple[Callable[[], Any], str]] = {
    "a misspelt name": (lambda: "martern", "no features named 'martern'.*Did you mean 'matern'"),
    "an unknown name": (lambda: "q", "Known: auto, linear, matern, onehot, rbf"),
    "no features": (lambda: None, "features must be a name"),
    "an array": (lambda: np.eye(2), "features must be a name"),
    "a class": (lambda: StandardScaler, r"the class StandardScaler.*StandardScaler\(\.\.\.\)"),
    "a kernel class": (lambda: RBF, r"the class RBF.*RBF\(\.\.\.\)"),
    "one-hot": (lambda: "onehot", "need discrete observations.*Crane"),
    "one-dimensional": (
        lambda: lambda x: x[:, 0],
        rf"\[n, d\].*shape \({READ},\).*values\[:, None\]",
    ),
    "three-dimensional": (lambda: lambda x: x[None], rf"shape \(1, {READ}, 2\)"),
    "empty": (lambda: lambda x: x[:, :0], rf"shape \({READ}, 0\)"),
    "too few rows": (lambda: lambda x: x[:-1], rf"shape \({READ}, 2\).*shape \({READ - 1}, 2\)"),
    "other rows": (lambda: lambda x: x[:, : 1 + (len(x) == READ)], r"\(500, 2\).*\(500, 1\)"),
    "complex": (lambda: lambda x: np.exp(1j * x), "must be real.*complex128"),
    "text": (lambda: lambda x: [["a"]] * len(x), "features must be an array of numbers"),
    "ragged": (lambda: lambda x: [[1], [1, 2]], "features must be an array of numbers"),
    "not finite": (lambda: lambda x: np.log(np.maximum(x, 0) * 0 + np.nan), "must be finite"),
    "growing": (Growing, r"shape \(500, 1\).*shape \(500, 2\)"),
    "unfit to fit": (
        lambda: PCA(40),
        f"PCA could not be fitted.*n_components=40.*{READ} observations",
    ),
    "broken": (lambda: FunctionTransformer(broken), "FunctionTransformer must take.*no such table"),
    "fitted elsewhere": (
        lambda: StandardScaler().fit(np.eye(5)),
        "observations of 2 numbers.*expecting 5 features",
    ),
    "too large a kernel": (lambda: 4.0 * RBF(), r"k\(x, x\) at most 1.*up to 4.*by 0\.25 or less"),
    "a growing kernel": (DotProduct, r"k\(x, x\) at most 1"),
    "noise": (lambda: 0.5 * RBF() + WhiteKernel(0.5), "Leave out noise terms"),
    "not positive": (Hollow, r"positive definite.*smallest eigenvalue -\d"),
    "sigmoid": (
        lambda: 0.5 * PairwiseKernel(metric="sigmoid", gamma=1.0),
        r"positive definite.*smallest eigenvalue -\d",
    ),
    "scales": (lambda: RBF([1.0, 2.0, 3.0]), "observations of 2 numbers.*one length scale"),
    "an odd number": (lambda: surepath.KernelFeatures("rbf", "fourier", 5), "even dimension"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_bad_features_say_what_is_wrong_and_what_to_do(name: str) -> None:
    make, message = ERRORS[name]
    with pytest.raises(surepath.InputError, match=message) as caught:
        learn(make())
    assert caught.value.what
    assert caught.value.got
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rfb",), "no kernel named 'rfb'.*Did you mean 'rbf'"),
        ((3,), "called with two arrays"),
        ((RBF,), "called with two arrays"),
        (("rbf", "nystrom"), "no kernel approximation 'nystrom'.*Did you mean 'nystroem'"),
        (("rbf", None), "no kernel approximation None"),
        (("rbf", "nystroem", 0), "components must be a whole number"),
        ((ConstantKernel(0.5) * RBF(), "fourier"), 'Use KernelFeatures(kernel, "nystroem")'),
    ],
)
def test_kernel_choices_are_checked_when_they_are_made(arguments: Any, message: str) -> None:
    with pytest.raises(surepath.InputError) as caught:
        surepath.KernelFeatures(*arguments)
    assert re.search(re.escape(message).replace(r"\.\*", ".*"), str(caught.value))


def test_a_kernel_that_grows_is_watched_beyond_the_pilot() -> None:
    rows = pilot().observations
    kernel = DotProduct(0.0) * ConstantKernel(1 / float((rows**2).sum(axis=1).max()))
    for choice in ("exact", "nystroem"):
        features = resolved(surepath.KernelFeatures(kernel, choice)).features
        use = features.view if isinstance(features, KernelMap) else features.rows
        use(rows)
        with pytest.raises(surepath.InputError, match=r"k\(x, x\) at most 1"):
            use(2 * rows)


@pytest.mark.parametrize("features", ["rbf", "linear", StandardScaler(), RBF()])
@pytest.mark.parametrize("system", [Crane, Camera])
def test_readings_that_are_not_finite(features: Any, system: type[Crane]) -> None:
    class Torn(system):  # type: ignore[misc, valid-type]
        def read(self, place: int, n: int, rng: np.random.Generator) -> np.ndarray:
            rows = super().read(place, n, rng).astype(float)
            rows[n // 2] = np.nan
            return rows

    with pytest.raises(surepath.InputError, match="must be finite"):
        learn(features, Torn())


def test_systems_that_return_something_else_are_caught_by_the_pilot() -> None:
    class Greedy(Crane):
        def rollout(
            self, actions: tuple[int, ...], n: int, rng: np.random.Generator
        ) -> surepath.Episodes:
            return super().rollout(actions, n + 1, rng)

    class Blind(Crane):
        def rollout(
            self, actions: tuple[int, ...], n: int, rng: np.random.Generator
        ) -> surepath.Episodes:
            episodes = super().rollout(actions, n, rng)
            return surepath.Episodes(actions, episodes.observations[:, :-1], episodes.rewards)

    class Shifting(Crane):
        def read(self, place: int, n: int, rng: np.random.Generator) -> np.ndarray:
            return super().read(place, n, rng)

        def rollout(
            self, actions: tuple[int, ...], n: int, rng: np.random.Generator
        ) -> surepath.Episodes:
            episodes = super().rollout(actions, n, rng)
            wide = np.repeat(episodes.observations, 1 + sum(actions), axis=2)
            return surepath.Episodes(actions, wide, episodes.rewards)

    for system, message in (
        (Greedy(), f"{EPISODES + 1} episodes of.*exactly {EPISODES} times"),
        (Blind(), "3 observations for the 4 actions"),
        (Shifting(), r"one shape.*\(2,\), \(4,\), \(6,\), \(8,\)"),
    ):
        with pytest.raises(surepath.InputError, match=message):
            learn("rbf", system)


def test_preferred_features_are_names_too() -> None:
    class Odd(Crane):
        preferred_features = "rbff"

    with pytest.raises(surepath.InputError, match=r"no features named 'rbff'.*'rbf'"):
        learn("auto", Odd())
