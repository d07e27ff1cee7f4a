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
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Kernel,
    Matern,
    PairwiseKernel,
    RationalQuadratic,
    WhiteKernel,
)
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
from places import ROOT
from surepath.features import Approximated, Linear, OneHot
from surepath.prepare.features import resolve
from surepath.prepare.pilot import EPISODES, SEQUENCES, Pilot, draw_pilot
from surepath.prepare.resolved import Resolved
from surepath.readings.embedding import KernelMap
from surepath.run.runner import Runner

GUIDE = ROOT / "docs" / "features.md"
SCHEDULE = surepath.Schedule(ridge=0.05, threshold=1.0, feature_samples=500, reward_samples=500)
FEW = surepath.Schedule(ridge=0.05, threshold=1.0, feature_samples=64, reward_samples=500)
PILOT = SEQUENCES * EPISODES


class Crane:
    """Three hidden places in a ring, behind two noisy coordinates; only the third pays well."""

    horizon, n_actions = 4, 2
    places = np.array([[1.0, 0.0], [-0.5, 0.8], [-0.5, -0.8]])  # around 0: centring loses nothing
    pays = np.array([[0.2, 0.1], [0.2, 0.1], [0.9, 0.1]])  # by place and action
    plan = (1, 1, 0, 0)

    def rollout(
        self, actions: tuple[int, ...], n: int, rng: np.random.Generator
    ) -> surepath.Episodes:
        at = [sum(actions[:h]) % 3 for h in range(len(actions) + 1)]
        readings = [self.read(place, n, rng) for place in at[: self.horizon]]
        pays = [self.pays[at[h], action] for h, action in enumerate(actions)]
        rewards = (rng.random((n, len(actions))) < pays).astype(np.float64)
        return surepath.Episodes(actions, np.stack(readings, axis=1), rewards)

    def read(self, place: int, n: int, rng: np.random.Generator) -> np.ndarray:
        return self.places[place] + rng.normal(0, 0.2, (n, 2))


class Camera(Crane):
    """The same, seen by a camera of 8x8 pixels."""

    shape = (8, 8)

    def read(self, place: int, n: int, rng: np.random.Generator) -> np.ndarray:
        rows, columns = np.mgrid[-1 : 1 : self.shape[0] * 1j, -1 : 1 : self.shape[1] * 1j]
        x, y = self.places[place]
        image = 200 * np.exp(-4 * ((columns - x) ** 2 + (rows - y) ** 2))
        noisy = image + rng.normal(20, 10, (n, *self.shape))
        return np.clip(noisy, 0, 255).astype(np.uint8)


def learn(features: Any, system: Any = None, **options: Any) -> surepath.Result:
    chosen = {"schedule": SCHEDULE, "seed": 3, **options}
    return surepath.learn(system or Crane(), features=features, **chosen)


def solves(features: Any, system: Any = None, **options: Any) -> surepath.Result:
    """The exact plan, from features that tell the places apart and know them again."""
    result = learn(features, system, **options)
    assert result.actions == (system or Crane()).plan
    assert max(result.usage.expansions) <= 3  # as many as there are places
    assert sum(result.usage.covered) > 0
    return result


def resolved(features: object, system: Any = None) -> Resolved:
    system = system or Crane()
    return resolve(features, system, lambda: draw_pilot(Runner(system), 4), 500)


def pilot() -> Pilot:
    return draw_pilot(Runner(Crane()), 4)


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
        solves(features, Symbols())
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


# ---------------------------------------------------------------- kernels

KERNELS: dict[str, Any] = {
    "rbf": "rbf",
    "matern": "matern",
    "RBF": RBF(0.7),
    "anisotropic": RBF([0.7, 0.9]),
    "Matern": Matern(0.8, nu=1.5),
    "sum": 0.5 * RBF(0.7) + 0.5 * Matern(0.7, nu=0.5),
    "product": RBF(1.0) * RationalQuadratic(1.0, 1.0),
    "not stationary": 0.05 * DotProduct(1.0) ** 2,
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_exact_and_approximated(name: str) -> None:
    exact, approximated = (solves(KERNELS[name], schedule=schedule) for schedule in (FEW, SCHEDULE))
    assert "; exact" in exact.certificate.notes[0]
    assert "landmarks (Nystroem)" in approximated.certificate.notes[0]
    assert "k(x, x) at most 1" in exact.certificate.notes[0]


@pytest.mark.parametrize("kernel", ["rbf", "matern", RBF(0.7), Matern(0.7)])
def test_kernels_by_random_features(kernel: Any) -> None:
    features = surepath.KernelFeatures(kernel, "fourier", components=128)
    result = solves(features)
    assert "128 random Fourier features" in result.certificate.notes[0]
    assert resolved(features).expansions is None  # counted by their dimension


def test_the_choice_between_exact_and_approximated_can_be_made() -> None:
    exact = surepath.KernelFeatures("rbf", "exact")
    assert isinstance(resolved(exact).features, KernelMap)
    assert isinstance(resolved("rbf").features, Approximated)
    coarse = solves(surepath.KernelFeatures(RBF(0.7), "nystroem", components=20))
    assert "20 landmarks" in coarse.certificate.notes[0]


@pytest.mark.parametrize(
    "features", ["rbf", surepath.KernelFeatures("rbf", "fourier", 16), PCA(2), np.cos]
)
def test_nothing_is_proved_of_features_fitted_on_a_pilot(features: Any) -> None:
    """Their norm cannot be known in advance, so a norm that is given proves nothing."""
    result = (
        solves(features, gap=0.3, norm=3.0)
        if features is not np.cos
        else learn(features, gap=0.3, norm=3.0)
    )
    assert not result.certified
    assert "fitted on a pilot" in result.certificate.reason
    with pytest.raises(surepath.InputError, match="fitted on a pilot"):
        learn(features, schedule="tight", gap=0.3, norm=3.0)


def test_expansions_of_a_kernel_are_counted() -> None:
    """A kernel with a length scale of one's own, used exactly, is counted by its gain."""
    schedule = surepath.Schedule(ridge=0.05, threshold=1.0, feature_samples=60, reward_samples=300)
    features = surepath.KernelFeatures(RBF(0.7), "exact")
    result = learn(features, schedule=schedule, gap=0.3, norm=3.0)
    assert result.certificate.bounds is not None
    assert 0 < max(result.usage.expansions) <= result.certificate.bounds.expansions
    assert any("information gain" in text for text in result.certificate.assumptions)


def test_the_median_length_scale_is_stated() -> None:
    rows = pilot().observations
    distances = np.linalg.norm(rows[:, None] - rows[None], axis=2)
    median = np.median(distances[np.triu_indices(len(rows), 1)])
    stated = re.search(r"median length scale ([\d.]+)", resolved("rbf").note)
    assert stated is not None
    assert float(stated.group(1)) == pytest.approx(median, rel=0.1)


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


# ---------------------------------------------------------------- errors


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
    "one-dimensional": (lambda: lambda x: x[:, 0], r"\[n, d\].*shape \(1024,\).*values\[:, None\]"),
    "three-dimensional": (lambda: lambda x: x[None], r"shape \(1, 1024, 2\)"),
    "empty": (lambda: lambda x: x[:, :0], r"shape \(1024, 0\)"),
    "too few rows": (lambda: lambda x: x[:-1], r"shape \(1024, 2\).*shape \(1023, 2\)"),
    "other rows": (lambda: lambda x: x[:, : 1 + (len(x) == 1024)], r"\(500, 2\).*\(500, 1\)"),
    "complex": (lambda: lambda x: np.exp(1j * x), "must be real.*complex128"),
    "text": (lambda: lambda x: [["a"]] * len(x), "features must be an array of numbers"),
    "ragged": (lambda: lambda x: [[1], [1, 2]], "features must be an array of numbers"),
    "not finite": (lambda: lambda x: np.log(np.maximum(x, 0) * 0 + np.nan), "must be finite"),
    "growing": (Growing, r"shape \(500, 1\).*shape \(500, 2\)"),
    "unfit to fit": (
        lambda: PCA(40),
        "PCA could not be fitted.*n_components=40.*1024 observations",
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
        (Greedy(), "5 episodes of.*exactly 4 times"),
        (Blind(), "3 observations for the 3 actions"),
        (Shifting(), r"one shape.*\(2,\), \(4,\), \(6,\), \(8,\)"),
    ):
        with pytest.raises(surepath.InputError, match=message):
            learn("rbf", system)


def test_preferred_features_are_names_too() -> None:
    class Odd(Crane):
        preferred_features = "rbff"

    with pytest.raises(surepath.InputError, match=r"no features named 'rbff'.*'rbf'"):
        learn("auto", Odd())


# ---------------------------------------------------------------- the guide


def test_every_example_of_the_guide_runs(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert blocks
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(GUIDE), "exec"), names)
    # What is printed in the guide is what is printed.
    printed = capsys.readouterr().out
    for comment in re.findall(r"\n# (.*?)(?:\.\.\.)?\n```", GUIDE.read_text(), re.DOTALL):
        said = " ".join(line.removeprefix("# ") for line in comment.splitlines())
        assert said.strip() in printed
