"""The terms of an adaptive run: what follows from the system, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

import surepath
from machines import Raw
from surepath.errors import InputError
from surepath.inference.proposal import Route
from surepath.inference.terms import MOST_SEQUENCES, SEPARATION, Terms
from surepath.inference.tuning import TUNING
from surepath.prepare.adaptive_run import AdaptiveRun
from surepath.prepare.call import Call
from surepath.prepare.proved_run import ProvedRun
from surepath.prepare.start import start
from surepath.readings.embedding import COVARIANCE_LIMIT


def terms(env: object, **options: Any) -> Terms:
    run = start(Call.of(env, **options))
    assert isinstance(run, AdaptiveRun | ProvedRun)
    return run.terms


def test_the_shape_is_that_of_the_system() -> None:
    problem = surepath.make("tabular", horizon=6, actions=3, observations=7)
    shape = terms(problem, horizon=4, future=2).shape
    assert (shape.horizon, shape.n_actions, shape.dimension, shape.future) == (4, 3, 7, 2)
    assert shape.symbols
    real = terms(surepath.make("gaussian", dimension=5)).shape
    assert (real.dimension, real.symbols) == (5, False)


def test_defaults_need_to_know_nothing() -> None:
    found = terms(Raw(surepath.make("lock")), delta=0.2)
    assert found.guarantee == "calibrated"
    assert found.delta == 0.2
    assert found.gap is None
    assert found.norm is None


def test_an_oracle_is_not_asked_for_the_gap() -> None:
    """What an adaptive run is not told it has to find out, also on a built-in problem."""
    assert terms(surepath.make("lock")).gap is None
    assert terms(surepath.make("lock"), gap=0.3).gap == 0.3


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-4.0, 6.0), (10.0, 10.5)])
def test_the_range_says_the_noise_and_not_the_tolerance(low: float, high: float) -> None:
    raw = Raw(surepath.make("lock"))
    found = terms(raw, reward_range=(low, high))
    assert found.tolerance is None
    assert found.tolerance_share is None
    assert found.allowed_loss(value=3.0, paid=0.4) == pytest.approx(0.4 / 8)
    assert found.reward_noise == pytest.approx((high - low) / 2)
    assert found.reward_range == (low, high)


def test_no_tolerance_at_all_is_refused_with_the_reason() -> None:
    with pytest.raises(InputError, match=r"worth the same.*gap="):
        surepath.learn(surepath.make("lock", horizon=3), tolerance=0)


def test_a_tolerance_is_a_number_or_a_share_of_the_value() -> None:
    raw = Raw(surepath.make("lock"))
    number, share = terms(raw, tolerance=0.25), terms(raw, tolerance=" 2% ")
    assert (number.tolerance, number.tolerance_share) == (0.25, None)
    assert (share.tolerance, share.tolerance_share) == (None, pytest.approx(0.02))


def test_the_separation_and_whether_to_predict_are_those_of_the_call() -> None:
    raw = Raw(surepath.make("lock"))
    assert (terms(raw).separation, terms(raw).predict) == (SEPARATION, True)
    assert terms(raw, separation=0.1).separation == 0.1
    assert terms(raw, separation="exact").separation == "exact"
    assert not terms(raw, predict=False).predict


def test_a_future_begins_with_one_observation_and_grows_where_nobody_says_otherwise() -> None:
    for problem in (surepath.make("overcomplete"), surepath.make("lock")):
        for future in (None, "auto"):
            run = start(Call.of(problem, future=future))
            assert isinstance(run, AdaptiveRun)
            assert run.terms.shape.future == 1
            assert run.task.episodes == 0
            assert Call.of(problem, future=future).future_grows
        assert terms(problem, future=2).shape.future == 2
        assert not Call.of(problem, future=2).future_grows
        assert not Call.of(problem, future="auto", schedule="tight").future_grows
        assert not Call.of(problem, guarantee="proved", norm=3.0).future_grows
        assert not Call.of(problem, guarantee="proved").future_grows
        assert Call.of(problem, guarantee="proved", separation=0.2).future_grows


@pytest.mark.parametrize(("actions", "most"), [(2, 11), (4, 6), (32, 3), (33, 2)])
def test_a_future_with_too_many_continuations_is_refused(actions: int, most: int) -> None:
    raw = Raw(surepath.make("lock", horizon=20, actions=actions))
    assert terms(raw, future=most).shape.continuations <= TUNING.most_continuations
    with pytest.raises(InputError, match="at most 1024 ways to go on"):
        terms(raw, future=most + 1)
    # Beyond the horizon nothing is merged, and there are no windows.
    assert terms(raw, future=21).shape.continuations == 1


def test_rewards_without_a_range_need_their_noise() -> None:
    noisy = surepath.make("gaussian", reward_noise=0.4)
    found = terms(noisy)
    assert found.reward_noise == 0.4
    assert found.allowed_loss(value=3.0, paid=0.0) == pytest.approx(2 * 0.4 / 8)
    raw = Raw(noisy)
    assert terms(raw, features="linear", reward_range=(-np.inf, np.inf)).reward_noise == 0.4
    del raw.reward_noise
    with pytest.raises(InputError, match="need their noise to be known"):
        terms(raw, features="linear", reward_range=(-np.inf, np.inf))


# ---------------------------------------------------------------- proved


def test_a_proof_rests_on_what_it_is_given_and_on_no_oracle() -> None:
    problem = surepath.make("tabular", seed=3)
    for system in (problem, Raw(problem)):
        tree = terms(system, guarantee="proved")
        assert (tree.route, tree.separation, tree.norm) == (Route.TREE, None, None)
        apart = terms(system, guarantee="proved", separation=0.2)
        assert (apart.route, apart.separation, apart.norm) == (Route.SEPARATION, 0.2, None)
        linear = terms(system, guarantee="proved", norm=9.0)
        assert (linear.route, linear.separation, linear.norm) == (Route.NORM, None, 9.0)
        assert not tree.shared_noise


def test_a_proof_takes_the_size_of_the_features() -> None:
    """Half the largest distance between two of them, or their noise."""
    symbols = terms(surepath.make("tabular"), guarantee="proved", norm=3.0)
    assert (symbols.radius, symbols.feature_noise) == (pytest.approx(0.5**0.5), None)
    problem = surepath.make("gaussian", noise=0.7)
    real = terms(problem, guarantee="proved", norm=3.0)
    assert real.feature_noise == 0.7
    assert real.radius == pytest.approx(problem.radius)


def test_what_cannot_be_proved_is_refused() -> None:
    problem = surepath.make("overcomplete")
    with pytest.raises(InputError, match="a future of 1"):
        terms(problem, future=2, guarantee="proved", norm=3.0)
    with pytest.raises(InputError, match="bound on the features"):
        terms(Raw(surepath.make("gaussian")), features="linear", guarantee="proved", norm=3.0)
    with pytest.raises(InputError, match="not on both"):
        terms(problem, guarantee="proved", norm=3.0, separation=0.2)
    with pytest.raises(InputError, match="exact readings needs symbols"):
        terms(surepath.make("gaussian"), guarantee="proved", separation="exact")
    many = surepath.make("lock", horizon=MOST_SEQUENCES.bit_length(), actions=2)
    with pytest.raises(InputError, match=r"reads every sequence.*Give separation="):
        terms(many, guarantee="proved")
    with pytest.raises(InputError, match="there is no guarantee"):
        terms(problem, guarantee="sworn")
    with pytest.raises(InputError, match="for the adaptive schedule only"):
        Call.of(surepath.make("lock"), schedule="tight", guarantee="proved")


def test_kernels_are_taken_through_landmarks() -> None:
    problem = surepath.make("continuous", horizon=2)
    exact = surepath.KernelFeatures(RBF(1.0), "exact")
    with pytest.raises(InputError, match="through landmarks"):
        terms(problem, features=exact)
    found = terms(problem)
    assert not found.shape.symbols
    assert found.shape.dimension <= COVARIANCE_LIMIT
