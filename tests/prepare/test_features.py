"""From what a user names as features to a plan."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)

import surepath
from cranes import PILOT, SCHEDULE, Camera, Crane, learn, pilot, resolved, solves
from surepath.features import Linear, OneHot
from surepath.prepare.pilot import draw_pilot
from surepath.run.runner import Runner

# ---------------------------------------------------------------- scikit-learn transformers

TRANSFORMERS: dict[str, Callable[[], Any]] = {
    "scaler": StandardScaler,
    "pca": lambda: make_pipeline(StandardScaler(), PCA(2)),
    "polynomial": lambda: PolynomialFeatures(2),
    "fourier": lambda: RBFSampler(n_components=50, gamma=0.5),
    "nystroem": lambda: Nystroem(n_components=30, gamma=0.5),
    "bins": lambda: KBinsDiscretizer(6, encode="onehot", strategy="uniform"),
    "function": lambda: FunctionTransformer(np.tanh),
    "union": lambda: make_union(StandardScaler(), Normalizer()),
    "scaler before a function": lambda: make_pipeline(StandardScaler(), FunctionTransformer()),
}


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_transformers_fitted_or_not(name: str) -> None:
    unfitted = TRANSFORMERS[name]()
    before = str(vars(unfitted))
    result = solves(unfitted)
    assert str(vars(unfitted)) == before  # the user's object is not touched
    assert result == learn(TRANSFORMERS[name]())  # also where it has random parts of its own
    fitted = TRANSFORMERS[name]().fit(pilot().observations)
    result = solves(fitted)
    assert "as it was fitted" in result.certificate.notes[0]
    assert re.search(r"divided by [\d.]+ and cut", result.certificate.notes[0])


def test_an_unfitted_transformer_is_fitted_on_the_stated_pilot() -> None:
    note = learn(StandardScaler()).certificate.notes[0]
    assert f"StandardScaler, fitted on a pilot of {PILOT} random episodes" in note
    assert f"({4 * PILOT} observations)" in note


def test_centred_features_keep_a_constant() -> None:
    """Two places at opposite ends: once centred, each embedding is minus the other."""

    class Seesaw(Crane):
        places = np.array([[-1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
        pays = np.array([[0.68, 0.1], [0.95, 0.1], [0.95, 0.1]])
        plan = (1, 0, 0, 0)

    solves(StandardScaler(), Seesaw())
    centred = StandardScaler().fit(draw_pilot(Runner(Seesaw()), 4).observations)
    assert learn(centred.transform, Seesaw()).actions != Seesaw.plan  # a function is used as it is
    psi = resolved(StandardScaler(), Seesaw())
    assert isinstance(psi.features, surepath.Custom)
    rows = psi.features.rows(pilot().observations)
    np.testing.assert_allclose(rows[:, -1], np.sqrt(0.5))
    assert "joined by a constant" in psi.note


def test_transformers_of_ones_own() -> None:
    class Shift:  # no scikit-learn class, and fit returns nothing
        def fit(self, rows: np.ndarray) -> None:
            self.middle = rows.mean(axis=0)

        def transform(self, rows: np.ndarray) -> np.ndarray:
            return rows - self.middle

    class Signs:  # nothing to fit
        def transform(self, rows: np.ndarray) -> np.ndarray:
            return np.sign(rows)

    shift = Shift()
    solves(shift)
    assert not vars(shift)
    solves(Signs())


def test_tables_are_taken_as_arrays() -> None:
    scaler = StandardScaler().set_output(transform="pandas")
    solves(scaler)


def test_symbols_reach_a_transformer_as_numbers() -> None:
    class Symbols(Crane):
        n_observations = 3

        def read(self, place: int, n: int, rng: np.random.Generator) -> np.ndarray:
            return (place + rng.choice(3, size=n, p=[0.8, 0.1, 0.1])) % 3

    for features in ("auto", "onehot", "rbf", OneHotEncoder(), OneHot(3)):
        solves(features, Symbols(), seed=1)
    note = learn("linear", Symbols()).certificate.notes[0]
    assert "linear in 1 numbers" in note


@pytest.mark.parametrize("size", [0.01, 1.0, 1e200])
def test_functions_are_scaled_by_their_largest_length(size: float) -> None:
    def psi(batch: np.ndarray) -> np.ndarray:
        return size * np.column_stack([np.ones(len(batch)), batch])

    features = resolved(psi).features
    assert isinstance(features, surepath.Custom)
    assert features.radius == 1.0
    lengths = np.linalg.norm(features.rows(pilot().observations), axis=1)
    assert lengths.max() == pytest.approx(1.0)
    far = features.rows(np.full((1, 2), 1e3))
    assert np.linalg.norm(far) == pytest.approx(1.0)  # cut
    result = solves(psi)
    assert "the function psi (3 dimensions, divided by " in result.certificate.notes[0]


def test_functions_may_return_sparse_matrices_and_lists() -> None:
    sparse = KBinsDiscretizer(6, encode="onehot", strategy="uniform").fit(pilot().observations)
    solves(sparse.transform)
    solves(lambda batch: [[1.0, *row] for row in batch])


def test_functions_see_the_observations_as_they_are() -> None:
    class Named(Crane):
        def read(self, place: int, n: int, rng: np.random.Generator) -> np.ndarray:
            rows = super().read(place, n, rng)
            return np.array([{"x": x, "y": y} for x, y in rows], dtype=object)

    def psi(batch: np.ndarray) -> np.ndarray:
        return np.array([[1.0, each["x"], each["y"]] for each in batch])

    solves(psi, Named())
    for features in ("auto", "linear", "rbf", StandardScaler(), RBF()):
        with pytest.raises(surepath.InputError, match=r"need an observation space.*'x'"):
            learn(features, Named())


# ---------------------------------------------------------------- images


@pytest.mark.parametrize("features", ["auto", "linear", "rbf", "matern", RBF(100.0)])
def test_images(features: Any) -> None:
    result = learn(features, Camera(), reward_range=(0, 1))
    if features == "linear":  # in pixels from 0 to 255, nothing is divided
        assert "64 numbers" in result.certificate.notes[0]
    else:
        assert "12 principal components of the 8x8 image" in result.certificate.notes[0]
    assert result.actions == Crane.plan


@pytest.mark.parametrize(
    "features", [make_pipeline(StandardScaler(), PCA(5)), lambda x: x.reshape(len(x), -1)]
)
def test_transformers_of_images_get_them_flat(features: Any) -> None:
    solves(features, Camera())


def test_colour_images_and_very_small_ones() -> None:
    class Colour(Camera):
        def read(self, place: int, n: int, rng: np.random.Generator) -> np.ndarray:
            return np.repeat(super().read(place, n, rng)[..., None], 3, axis=-1)

    class Few(Camera):
        shape = (2, 3)

    assert "8x8x3 image" in learn("auto", Colour()).certificate.notes[0]
    few = learn("auto", Few())
    assert "6 principal components of the 2x3 image" in few.certificate.notes[0]
    assert few.actions == Crane.plan


# ---------------------------------------------------------------- pilot, seeds, passing through


@pytest.mark.parametrize("features", ["rbf", StandardScaler(), np.tanh, RBF(0.7)])
def test_the_pilot_is_charged(features: Any) -> None:
    result = learn(features)
    learner = surepath.Learner(4, 2, resolved(features).features, SCHEDULE)
    for request in iter(learner.ask, ()):
        rng = np.random.default_rng(len(request))
        learner.tell([Crane().rollout(r.actions, r.count, rng) for r in request])
    # The same nodes are visited whatever the noise, so only the pilot makes the difference.
    assert result.episodes - learner.usage.episodes == PILOT
    assert result.steps - learner.usage.steps == 4 * PILOT


def test_no_pilot_where_none_is_needed() -> None:
    class Counting(Crane):
        calls = 0

        def rollout(
            self, actions: tuple[int, ...], n: int, rng: np.random.Generator
        ) -> surepath.Episodes:
            self.calls += n
            return super().rollout(actions, n, rng)

    for features, extra in ((Linear(2), 0), ("linear", PILOT), ("rbf", PILOT)):
        system = Counting()
        result = learn(features, system)
        assert result.episodes == system.calls
        assert system.calls % 500 == extra % 500
    declared = Counting()
    declared.dimension = 2  # type: ignore[attr-defined]
    assert learn("linear", declared).episodes % 500 == 0


@pytest.mark.parametrize("features", ["rbf", RBFSampler(n_components=20), np.tanh])
def test_same_seed_same_result(features: Any) -> None:
    first, again, other = (learn(features, seed=seed) for seed in (5, 5, 7))
    assert first == again
    assert first.value != other.value


def test_a_feature_object_passes_through_unchanged() -> None:
    for features in (OneHot(3), Linear(2), surepath.Custom(np.tanh, 2, radius=1.5)):
        assert resolved(features).features is features
    note = learn(surepath.Custom(np.tanh, 2, radius=1.5)).certificate.notes[0]
    assert note == "features: Custom as given (2 dimensions, length at most 1.5)"


def test_a_pilot_of_one_level() -> None:
    result = learn("rbf", horizon=1)
    assert result.actions == (0,)
    assert result.episodes == PILOT + 500 + 2 * 500


def test_importing_surepath_stays_light() -> None:
    heavy = ("sklearn", "gymnasium", "pandas", "matplotlib")
    code = f"import sys, surepath; print([m for m in {heavy!r} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
