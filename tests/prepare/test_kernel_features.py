"""Kernels as features: exact, approximated, and what is said of them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.gaussian_process.kernels import RBF, DotProduct, Matern, RationalQuadratic

import surepath
from cranes import FEW, SCHEDULE, Camera, Crane, learn, pilot, resolved, solves
from surepath.features import Approximated
from surepath.features.growing import Growing, shares_seen
from surepath.prepare.call import Call
from surepath.prepare.fixed_run import FixedRun
from surepath.prepare.task import plan_task
from surepath.readings.embedding import KernelMap
from surepath.results.assumptions import of_fixed
from surepath.theory.schedule import Count, bounds
from surepath.theory.setting import SQRT2

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


def test_expansions_of_a_kernel_on_real_readings_are_counted_as_they_come() -> None:
    """A kernel with a length scale of one's own, used exactly; nobody takes the pilot for all."""
    schedule = surepath.Schedule(ridge=0.05, threshold=1.0, feature_samples=60, reward_samples=300)
    features = surepath.KernelFeatures(RBF(0.7), "exact")
    result = learn(features, schedule=schedule, gap=0.3, norm=3.0)
    assert result.certificate.bounds is not None
    assert result.certificate.bounds.counted is Count.OWN
    assert not any("pilot" in text for text in result.certificate.assumptions)


def test_a_rate_of_the_gain_is_an_assumption_that_is_named() -> None:
    gain = surepath.GainRate(factor=4.0, exponent=0.25)
    task = plan_task(
        Call.of(
            surepath.make("tabular"),
            features=surepath.KernelFeatures(RBF(0.7), "exact", gain=gain),
            schedule=surepath.Schedule(1e-3, 1.0, 10**9, 10**9),
            gap=0.1,
            norm=1.0,
        )
    )
    run = FixedRun.of(task)
    assert run.setting is not None
    assert run.setting.expansions == gain.expansions
    proved = bounds(run.schedule, replace(run.setting, latent_dimension=None))
    assert proved.counted is Count.GAIN
    assert proved.expansions == gain.expansions(1e-3, 1.0)
    assert gain.claim in of_fixed(run.setting, run.sources, proved.counted)


@pytest.mark.parametrize(("kernel", "apart"), [(RBF(0.7), SQRT2), (DotProduct(0.1) * 0.03, None)])
def test_kernels_that_are_never_negative_are_narrow(kernel: Any, apart: float | None) -> None:
    features = surepath.KernelFeatures(kernel, "exact")
    call = Call.of(surepath.make("tabular"), features=features, schedule="tight", gap=0.1, norm=1.0)
    assert plan_task(call).psi.diameter == apart


def test_the_median_length_scale_is_stated() -> None:
    rows = pilot().observations
    distances = np.linalg.norm(rows[:, None] - rows[None], axis=2)
    median = np.median(distances[np.triu_indices(len(rows), 1)])
    stated = re.search(r"median length scale ([\d.]+)", resolved("rbf").note)
    assert stated is not None
    assert float(stated.group(1)) == pytest.approx(median, rel=0.1)


# ---------------------------------------------------------------- landmarks that join the first


def adaptive(features: Any, system: Any = None) -> Any:
    """What an adaptive run begins with."""
    return plan_task(Call.of(system or Crane(), features=features, future=1)).psi.features


@pytest.mark.parametrize(
    ("features", "landmarks"),
    [("auto", 64), (RBF(0.7), 64), (surepath.KernelFeatures("matern", "nystroem", 20), 20)],
)
def test_landmarks_of_adaptive_runs_can_grow(features: Any, landmarks: int) -> None:
    growing = adaptive(features)
    assert isinstance(growing, Growing)
    assert growing.landmarks == growing.components == landmarks
    assert growing.most == 2 * landmarks
    assert growing.usual == pytest.approx(1, abs=0.05)
    seen = shares_seen(growing.nystroem, pilot().observations)
    assert growing.usual == pytest.approx(np.median(seen), abs=1e-3)


def test_features_that_see_everywhere_and_those_of_fixed_schedules_do_not_grow() -> None:
    assert not isinstance(adaptive(surepath.KernelFeatures("rbf", "fourier", 16)), Growing)
    assert not isinstance(adaptive("linear"), Growing)
    assert not isinstance(resolved("rbf").features, Growing)


def test_something_new_in_an_image_is_seen() -> None:
    """Its principal components alone would not show it: the pilot had nothing of the kind."""
    features = adaptive("rbf", Camera())
    plain = Camera().read(0, 500, np.random.default_rng(0))
    components = features.view(plain)[:, :-1]
    lit = plain.copy()
    lit[:, 3, 2] = 255  # a lamp that no episode of the pilot ever saw
    changed = features.view(lit)
    moved = np.abs(changed[:, :-1] - components).mean()
    assert (changed[:, -1] - features.view(plain)[:, -1]).min() > 5 * moved
    before, after = (features.rows(images) for images in (plain, lit))
    noise = np.sqrt(before.var(axis=0).sum() / len(before))
    assert np.linalg.norm(after.mean(axis=0) - before.mean(axis=0)) > 10 * noise


@pytest.mark.parametrize(("numbers", "kernel"), [(2, 64), (17, 63), (64, 16), (65, 64)])
def test_numbers_stand_beside_the_kernel_of_an_adaptive_run(numbers: int, kernel: int) -> None:
    """All covariances are recorded as long as both fit; a long observation has the kernel alone."""
    beside = numbers <= 64
    problem = surepath.make("gaussian", horizon=2, states=2, dimension=numbers)
    task = plan_task(Call.of(problem, features="rbf"))
    features = task.features
    assert isinstance(features, Growing)
    assert features.nystroem.dimension == kernel
    assert features.landmarks == 64
    assert features.dimension == kernel + (numbers if beside else 0)
    assert (f"the {numbers} numbers themselves" in task.notes[0]) == beside
    assert ("much quieter than the others does not show" in task.notes[0]) != beside
