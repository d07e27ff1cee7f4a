"""Features of whole windows: given by the user, not products of features of one step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import surepath
from surepath.builtin_problems.gaussian import least_norm
from surepath.features import OneHot
from surepath.learners.recursion import Learner
from surepath.readings.embedding import JointEmbedding
from surepath.run.driver import drive
from surepath.run.runner import Runner
from surepath.system import Request
from surepath.theory.schedule import Count, Schedule

SYMBOLS = 3


def pairs(windows: np.ndarray) -> np.ndarray:
    """One-hot in all pairs of symbols: the tensor product of two one-hot features."""
    return np.eye(SYMBOLS**2)[SYMBOLS * windows[:, 0] + windows[:, 1]]


TURN = np.linalg.qr(np.random.default_rng(4).normal(size=(SYMBOLS**2, SYMBOLS**2)))[0]


def squeezed(windows: np.ndarray) -> np.ndarray:
    """Seven of nine directions, turned: no product of anything."""
    return pairs(windows) @ TURN[:, :7]


def problem_of(seed: int = 5) -> Any:
    return surepath.make("overcomplete", horizon=4, states=4, gap=0.25, seed=seed)


@pytest.mark.parametrize("summary", [True, False])
def test_products_are_a_special_case_sample_for_sample(summary: bool) -> None:
    problem = problem_of()
    schedule = Schedule(1e-3, 1.25, 400, 400, pool=False, windows="joint")
    plans = list[Any]()
    for features in (OneHot(SYMBOLS), surepath.WindowFeatures(pairs, SYMBOLS**2, 2, radius=1.0)):
        learner = Learner(4, 2, features, schedule, future=2)
        if not summary:
            learner.embedding.statistics = ()
        drive(learner, Runner(problem, 3))
        plans.append((learner.incumbent, learner.usage, learner.plan))
    assert plans[0] == plans[1]


def test_features_of_windows_need_not_be_products() -> None:
    """The norm of Q* in them by the exact laws of windows; certified, and exact."""
    problem = problem_of()
    exact = JointEmbedding(surepath.WindowFeatures(squeezed, 7, 2, radius=1.0), 2, 2)
    norms = list[float]()
    for level in range(3):
        states = problem.reachable[level]
        rows = np.concatenate(
            [
                np.einsum("si,sj->sij", problem.emissions[level, states], below).reshape(
                    len(states), -1
                )
                @ TURN[:, :7]
                for a in range(2)
                for below in [
                    problem.emissions[level + 1, problem.dynamics.transitions[level, states, a]]
                ]
            ],
            axis=1,
        )
        assert rows.shape[1] == exact.dimension
        norms.append(least_norm(rows @ rows.T, problem.q[level, states]))
    features = surepath.WindowFeatures(squeezed, 7, 2, radius=1.0)
    result = surepath.learn(
        problem, features=features, schedule="tight", gap=problem.gap, norm=max(norms)
    )
    assert result.certified
    assert problem.is_optimal(result.actions)
    assert result.certificate.bounds is not None
    assert result.certificate.bounds.counted is Count.OWN
    assert result.certificate.schedule is not None
    assert result.certificate.schedule.windows == "joint"


def test_a_table_of_counts_is_the_mean_over_its_windows() -> None:
    problem = problem_of()
    request = Request((0, 1), 50, range(1, 3), range(0), joint=True)
    answer = problem.summarise(request, np.random.default_rng(0))
    embedding = JointEmbedding(surepath.WindowFeatures(squeezed, 7, 2), 2, 2)
    counts = answer.windows[2].counts
    windows = np.repeat(np.indices(counts.shape).reshape(2, -1).T, counts.ravel(), axis=0)
    found = embedding.read(answer, range(1, 3))[2]
    assert found.count == 50
    assert found.value == pytest.approx(squeezed(windows).mean(axis=0))


def test_what_does_not_fit_is_refused() -> None:
    features = surepath.WindowFeatures(squeezed, 7, 2, radius=1.0)
    with pytest.raises(surepath.InputError, match="2 observations"):
        surepath.learn(problem_of(), features=features, schedule="tight", future=3, gap=1, norm=1)
    with pytest.raises(surepath.InputError, match="fixed schedules"):
        surepath.learn(problem_of(), features=features)
    long = surepath.WindowFeatures(lambda w: 2 * squeezed(w), 7, 2, radius=1.0)
    with pytest.raises(surepath.InputError, match="no longer than"):
        surepath.learn(problem_of(), features=long, schedule="tight", gap=0.2, norm=5.0)
