"""The problem with a Q* of known norm under a kernel, and runs that are certified on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

import surepath
from surepath.builtin_problems.gaussian import GaussianReadings, least_norm
from surepath.builtin_problems.rkhs import Marks, rkhs
from surepath.errors import InputError
from surepath.theory.schedule import Count


def on_a_grid(problem: GaussianReadings, level: int, length_scale: float) -> Any:
    """Mean embeddings at the places of a fine grid, and the grid's kernel matrix; one dimension."""
    grid = np.linspace(-6, 6, 241)
    noise = float(problem.observation_noise or 0)
    kernel: Any = RBF(length_scale)
    matrix = kernel(grid[:, None], grid[:, None])
    places = problem.embeddings[level, problem.reachable[level], 0]
    laws = np.exp(-((grid - places[:, None]) ** 2) / (2 * noise**2))
    return laws / laws.sum(axis=1, keepdims=True), matrix


@pytest.mark.parametrize("seed", range(3))
def test_inner_products_are_those_of_the_mean_embeddings(seed: int) -> None:
    """By numerical integration: the sum over a fine grid of law, kernel and law."""
    problem = rkhs(seed=seed)
    for level, states in enumerate(problem.reachable):
        laws, matrix = on_a_grid(problem, level, 1.0)
        exact = problem.rbf_products(level, states, 1.0)
        assert exact == pytest.approx(laws @ matrix @ laws.T, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_norm_is_that_of_the_function_and_half_of_it_is_not(seed: int) -> None:
    """The least norm on a grid with which Q* is reached: the oracle's has to be enough.

    theta = sum of c_i k(g_i, .) over the grid has <theta, x(s)> = (laws K c)_s, |theta|^2 = c'Kc.
    """
    problem = rkhs(seed=seed)
    reached = 0.0
    for level, states in enumerate(problem.reachable):
        laws, matrix = on_a_grid(problem, level, 1.0)
        products = laws @ matrix @ laws.T
        weights = np.linalg.solve(products, problem.q[level, states])  # theta in the laws' span
        coefficients = laws.T @ weights
        assert laws @ matrix @ coefficients == pytest.approx(problem.q[level, states], abs=1e-6)
        squares = np.einsum("ga,ga->a", coefficients, matrix @ coefficients)
        reached = max(reached, float(np.sqrt(squares.max())))

    def enough(norm: float) -> bool:
        return norm >= (1 - 1e-5) * reached

    assert enough(problem.norm)
    assert not enough(problem.norm / 2)
    assert not enough(problem.norm * 0.999)


def test_the_gaussian_problem_has_a_norm_under_a_kernel_too() -> None:
    problem = surepath.make("gaussian", horizon=3, states=3, dimension=3, noise=0.5, seed=1)
    assert isinstance(problem, GaussianReadings)
    rng = np.random.default_rng(0)
    states = problem.reachable[2]
    drawn = [problem.embeddings[2, s] + 0.5 * rng.normal(size=(4000, 3)) for s in states]
    kernel: Any = RBF(2.0)
    estimate = np.array([[kernel(a, b).mean() for b in drawn] for a in drawn])
    assert problem.rbf_products(2, states, 2.0) == pytest.approx(estimate, abs=0.02)
    direct = [
        least_norm(problem.rbf_products(h, s, 2.0), problem.q[h, s])
        for h, s in enumerate(problem.reachable)
    ]
    assert problem.rbf_norm(2.0) == max(direct)


def test_states_that_look_alike_have_no_norm() -> None:
    with pytest.raises(InputError, match="too close"):
        least_norm(np.ones((2, 2)), np.array([[0.0], [1.0]]))
    with pytest.raises(InputError, match="ratio"):
        rkhs(ratio=0.5)


def test_it_keeps_its_promises() -> None:
    for seed in range(20):
        problem = rkhs(seed=seed, gap=0.4, ratio=3.0)
        assert problem.gap >= 0.4
        assert problem.norm <= 3.0 * problem.gap
        assert problem.dynamics.rewards.min() >= 0
        assert problem.dynamics.rewards.max() == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_tight_is_certified_and_exact_on_a_continuous_sensor(seed: int) -> None:
    problem = rkhs(seed=seed)
    result = surepath.learn(problem, schedule="tight", seed=seed)
    most, usage = result.certificate.bounds, result.usage
    assert result.certified
    assert problem.is_optimal(result.actions)
    assert most is not None
    assert most.counted is Count.OWN
    assert max(usage.expansions) <= most.expansions
    assert usage.feature_batches <= most.feature_batches
    assert usage.reward_batches <= most.reward_batches


def test_a_kernel_of_two_steps_is_certified() -> None:
    """By products of mean embeddings, with the norm of windows in closed form."""
    problem = rkhs(horizon=2, seed=0)
    assert isinstance(problem, Marks)
    result = surepath.learn(problem, schedule="tight", future=2)
    assert result.certified
    assert problem.is_optimal(result.actions)
    assert problem.norm_of(2) > 0
