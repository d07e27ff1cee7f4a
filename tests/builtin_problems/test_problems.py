"""The built-in problems: their oracle against enumeration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import surepath
from enumeration import (
    EVERY,
    FINITE,
    MIXING,
    OTHERS,
    TREES,
    Enumeration,
    embedding,
    enumerated,
    instances,
    vertices,
)
from surepath.builtin_problems.mixing import Mixture


def least_norm(problem: surepath.Problem, h: int, states: list[Any]) -> np.ndarray:
    """theta [d, A] of least norm with <theta_a, x(s)> = Q*(s, a) in all the states."""
    x = np.array([embedding(problem, h, state) for state in states])
    q = np.array([problem.q_values(h, state) for state in states])
    return np.linalg.lstsq(x, q, rcond=1e-10)[0]


@pytest.mark.parametrize(("name", "parameters"), instances(EVERY))
def test_the_optimum_is_the_best_of_all_sequences(name: str, parameters: dict[str, Any]) -> None:
    truth = enumerated(name, parameters)
    problem = truth.problem
    actions, value = problem.optimum
    assert value == pytest.approx(max(truth.returns.values()), abs=1e-12)
    assert truth.returns[actions] == pytest.approx(value, abs=1e-12)
    for sequence, total in truth.returns.items():
        assert problem.is_optimal(sequence) == (total > value - 1e-9)


@pytest.mark.parametrize(("name", "parameters"), instances(EVERY))
def test_q_values_obey_bellman_and_enumeration(name: str, parameters: dict[str, Any]) -> None:
    truth = enumerated(name, parameters)
    problem = truth.problem
    for prefix, state in truth.states.items():
        h = len(prefix)
        q = problem.q_values(h, state)
        assert q.shape == (problem.n_actions,)
        for action in range(problem.n_actions):
            expected = problem.reward_law(h, state, action).mean
            if h + 1 < problem.horizon:
                expected += problem.q_values(h + 1, problem.move(h, state, action)).max()
            assert q[action] == pytest.approx(expected, abs=1e-12)
        np.testing.assert_allclose(q.max() - q, truth.leads(prefix), atol=1e-12)


@pytest.mark.parametrize(("name", "parameters"), instances(EVERY))
def test_unique_means_one_best_action_in_every_reachable_state(
    name: str, parameters: dict[str, Any]
) -> None:
    truth = enumerated(name, parameters)
    n_best = {int((truth.leads(prefix) < 1e-9).sum()) for prefix in truth.states}
    assert truth.problem.oracle.unique == (n_best == {1})


@pytest.mark.parametrize(("name", "parameters"), instances(FINITE + OTHERS + TREES))
def test_the_gap_is_the_smallest_lead_in_a_reachable_state(
    name: str, parameters: dict[str, Any]
) -> None:
    truth = enumerated(name, parameters)
    assert truth.problem.gap == pytest.approx(truth.gap(), abs=1e-12)


@pytest.mark.parametrize(("name", "parameters"), instances(FINITE))
def test_norm_and_radius_are_those_of_the_reachable_states(
    name: str, parameters: dict[str, Any]
) -> None:
    truth = enumerated(name, parameters)
    problem = truth.problem
    norms, radii = [], []
    for h in range(problem.horizon):
        states = sorted(set(truth.level(h)))
        theta = least_norm(problem, h, states)
        for state in truth.level(h):
            x = embedding(problem, h, state)
            np.testing.assert_allclose(theta.T @ x, problem.q_values(h, state), atol=1e-10)
            radii.append(np.linalg.norm(x))
        norms.extend(np.linalg.norm(theta, axis=0))
    assert problem.norm == pytest.approx(max(norms), rel=1e-9)
    assert problem.radius == pytest.approx(max(radii), rel=1e-12)


@pytest.mark.parametrize(("name", "parameters"), instances(MIXING))
def test_constants_of_mixing_are_those_of_the_whole_simplex(
    name: str, parameters: dict[str, Any]
) -> None:
    truth = enumerated(name, parameters)
    problem, rng = truth.problem, np.random.default_rng(0)
    assert truth.gap() >= problem.gap - 1e-12
    leads, norms, radii = [], [], []
    for h in range(problem.horizon):
        pure = vertices(problem)
        theta = least_norm(problem, h, pure)
        norms.extend(np.linalg.norm(theta, axis=0))
        for state in pure:
            q = np.sort(problem.q_values(h, state))
            leads.extend(q[-1] - q[:-1])
            radii.append(np.linalg.norm(embedding(problem, h, state)))
        for mode in range(problem.n_modes):
            mixed = Mixture(mode, rng.dirichlet(np.ones(problem.n_components)))
            x = embedding(problem, h, mixed)
            np.testing.assert_allclose(theta.T @ x, problem.q_values(h, mixed), atol=1e-10)
            assert np.linalg.norm(x) <= problem.radius + 1e-12
    assert problem.gap == pytest.approx(min(leads, default=np.inf), abs=1e-12)
    assert problem.norm == pytest.approx(max(norms), rel=1e-9)
    assert problem.radius == pytest.approx(max(radii), rel=1e-12)


def test_dead_ends_make_the_best_action_not_unique() -> None:
    """Both answers of `unique` occur among the problems above."""
    assert surepath.make("tabular").oracle.unique
    assert not surepath.make("lock").oracle.unique


def test_unreachable_states_do_not_matter() -> None:
    """State 2 looks like state 1 and has a tiny gap, but nothing leads there."""
    machine = surepath.Tabular.from_arrays(
        transitions=[[0, 1], [1, 0], [2, 2]],
        emissions=[[0.8, 0.2], [0.3, 0.7], [0.3, 0.7]],
        rewards=[[[0.1, 0.6], [0.9, 0.2], [0.5, 0.501]]] * 3,
    )
    assert machine.optimum == ((1, 0, 0), pytest.approx(2.4))
    assert machine.gap == pytest.approx(Enumeration(machine).gap())
    assert machine.gap > 0.1
    assert np.isfinite(machine.norm)
    assert machine.oracle.unique
