"""Predicted values and their measured errors, against explicit refits and exact truths."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from surepath.inference.states import UNKNOWN, Automaton, Layer
from surepath.inference.tuning import TUNING
from surepath.inference.values import Values, estimate

MOST = 7.0  # that a reward can be
SPAN = 1.0
SURE = 1e-6  # probability with which a statistical threshold may be missed by a sound law


def layer_of(
    points: np.ndarray | None,
    mean: np.ndarray,
    expanded: np.ndarray,
    target: np.ndarray | None = None,
) -> Layer:
    count = np.where(expanded[:, None], 9.0, 0.0) * np.ones_like(mean)
    return Layer(
        [(0,)] * len(mean),
        count,
        np.where(count > 0, mean, 0.0),
        np.zeros_like(mean),
        np.full(mean.shape, UNKNOWN) if target is None else target,
        points=points,
    )


def predicted(points: np.ndarray, mean: np.ndarray, known: int) -> tuple[np.ndarray, np.ndarray]:
    """Values and variances of the states after the first `known`, as a level of their own."""
    expanded = np.arange(len(points)) < known
    values = estimate(Automaton([layer_of(points, mean, expanded)], mean.shape[1]), MOST, SPAN)
    assert np.array_equal(values.q[0][:known], mean[:known])
    assert (values.variance[0][:known] == 0).all()
    return values.q[0][known:], values.variance[0][known:]


def refitted(points: np.ndarray, mean: np.ndarray, known: int) -> tuple[np.ndarray, np.ndarray]:
    """The same by leaving out and solving again, in the primal.

    All is possible of states farther from the rest than any state that was left out is.
    """
    centre, y = points[:known].mean(axis=0), mean[:known]
    size = ((points[:known] - centre) ** 2).sum() / known
    constant = np.full((len(points), 1), TUNING.constant_length * np.sqrt(size))
    rows = np.hstack([points - centre, constant])
    x, z = rows[:known], rows[known:]

    def fit(rows: np.ndarray, values: np.ndarray, ridge: float, at: np.ndarray) -> np.ndarray:
        sigma = rows.T @ rows + ridge * np.eye(rows.shape[1])
        return at @ np.linalg.solve(sigma, rows.T @ values)

    def distance(rows: np.ndarray, ridge: float, at: np.ndarray) -> float:
        """ridge (1 + x' (X'X + ridge)^-1 x): the variance of a prediction, up to a scale."""
        sigma = rows.T @ rows + ridge * np.eye(rows.shape[1])
        return ridge * (1 + at @ np.linalg.solve(sigma, at))

    choices = []
    for ridge in np.array(TUNING.ridges) * size:
        others = [np.delete(np.arange(known), i) for i in range(known)]
        missed = np.array([y[i] - fit(x[o], y[o], ridge, x[i]) for i, o in enumerate(others)])
        away = np.array([distance(x[o], ridge, x[i]) for i, o in enumerate(others)])
        choices.append(((missed**2).mean(), ridge, missed, away))
    _, ridge, missed, away = min(choices, key=lambda choice: choice[0])
    far = np.array([distance(x, ridge, row) for row in z])
    inside = (far <= away.max()) & (np.median(away) <= TUNING.new_direction * size + ridge)
    values = np.array([fit(x, y, ridge, row) for row in z])
    values[~inside] = MOST
    # One more state, at a usual distance, counts as missed by a whole reward.
    errors = [*(missed**2 / away[:, None]).mean(axis=1), SPAN**2 / size]
    scale = max(np.mean(errors), TUNING.largest_error_share * max(errors))
    return values, np.where(inside, scale * far, 0.0)


@pytest.mark.parametrize(("known", "d"), [(12, 2), (12, 6), (15, 20), (40, 4)])
@pytest.mark.parametrize("noise", [1e-3, 0.3])
def test_equals_leaving_out_and_fitting_again(known: int, d: int, noise: float) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        points = rng.normal(size=(known + 5, d)) + 3
        mean = points @ rng.normal(size=(d, 2)) + noise * rng.normal(size=(known + 5, 2))
        values, variance = predicted(points, mean, known)
        expected, spread = refitted(points, mean, known)
        assert values == pytest.approx(expected, rel=1e-6, abs=1e-6)
        assert variance == pytest.approx(spread, rel=1e-4)


@pytest.mark.parametrize("known", [TUNING.least_points, 30])
def test_linear_values_are_predicted_exactly(known: int) -> None:
    """Up to the smallest ridge, a millionth of the mean squared length of the points."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        points = rng.dirichlet(np.ones(4), size=known + 20)
        mean = points @ rng.normal(size=(4, 3)) + 0.3
        values, variance = predicted(points, mean, known)
        inside = variance > 0
        assert inside.sum() > 10
        assert np.abs(values - mean[known:])[inside].max() < 1e-3
        assert np.sqrt(variance).max() < 1e-2
        assert (values[~inside] == MOST).all()


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_states_that_pay_nothing_do_not_promise_that_none_pays(noise: float) -> None:
    """Each state has a direction of its own beside what all share: one of them may pay."""
    known = 14
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 40)) + 2.5 * np.eye(40)
    mean = noise * rng.normal(size=(40, 2))
    _, variance = predicted(points, mean, known)
    assert (variance > 0).any()  # something is predicted
    assert np.sqrt(variance[variance > 0]).min() > 0.05


def test_values_of_pure_noise_are_predicted_with_their_own_variance() -> None:
    """Nothing to learn: predictions are about the mean, and errors about as large as the noise."""
    known, states = 60, 500
    points = np.random.default_rng(0).normal(size=(known + states, 3))
    ratios, hits = list[float](), list[float]()
    for seed in range(20):
        mean = np.random.default_rng([1, seed]).normal(size=(known + states, 1))
        values, variance = predicted(points, mean, known)
        ratios.append(float(np.median(variance)) / float(mean[:known].var()))
        errors = np.abs(values - mean[known:])[variance > 0, 0]
        hits.append(float((errors < 2 * np.sqrt(variance[variance > 0])).mean()))
    # A fifth of the largest of 60 squared errors is usually a little more than their mean.
    assert 0.8 < np.median(ratios) < 1.6
    # Two standard deviations hold about 95%; the scale is estimated from 60 errors.
    assert 0.9 < np.mean(hits) < 0.99


def test_errors_are_as_large_as_predicted() -> None:
    """Linear values with noise: squared errors in units of their variance average about 1."""
    known, others, seeds, d = 40, 40, 200, 5
    scores = list[float]()
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        points = rng.normal(size=(known + others, d))
        mean = points @ rng.normal(size=(d, 2)) + 0.2 * rng.normal(size=(known + others, 2))
        values, variance = predicted(points, mean, known)
        inside = variance > 0
        assert inside.mean() > 0.5
        squares = (values - mean[known:])[inside] ** 2 / variance[inside, None]
        scores.append(float(squares.mean()))
    # The largest part of a score's own spread is that of the 2 * 40 errors that set the scale.
    error = stats.norm.isf(SURE) * np.std(scores) / np.sqrt(seeds)
    assert 0.9 - error < np.mean(scores) < 1.15 + error


def test_farther_from_what_was_tried_errors_grow_until_nothing_is_said() -> None:
    rng = np.random.default_rng(1)
    points = rng.normal(size=(33, 2))
    points[30] = points[:30].mean(axis=0)
    points[31] = points[np.linalg.norm(points[:30] - points[30], axis=1).argmax()]
    points[32] = points[30] + [30.0, 0.0]
    mean = points @ rng.normal(size=(2, 2)) + 0.1 * rng.normal(size=(33, 2))
    values, variance = predicted(points, mean, 30)
    assert 0 < variance[0] < variance[1]
    assert variance[2] == 0
    assert (values[2] == MOST).all()


def test_points_that_share_no_direction_say_nothing_of_each_other() -> None:
    """Each state has a symbol of its own: what some are worth says nothing of the rest."""
    mean = np.random.default_rng(0).random((30, 2))
    values, variance = predicted(np.eye(30), mean, 20)
    assert (values == MOST).all()
    assert (variance == 0).all()


# ---------------------------------------------------------------- where nothing is predicted


@pytest.mark.parametrize("points", [None, np.random.default_rng(0).normal(size=(20, 2))])
def test_without_enough_points_all_is_possible(points: np.ndarray | None) -> None:
    """The most that can be earned from there on, for every action."""
    known = TUNING.least_points - 1 if points is not None else 15
    layers = [
        layer_of(points, np.full((20, 2), 0.5), np.arange(20) < known, np.zeros((20, 2), int)),
        layer_of(None, np.array([[0.2, 0.7]]), np.array([True])),
    ]
    values = estimate(Automaton(layers, 2), 0.9, SPAN)
    assert values.q[0][:known] == pytest.approx(0.5 + 0.7)
    assert values.q[0][known:] == pytest.approx(2 * 0.9)
    assert (values.variance[0] == 0).all()


def test_backward_induction() -> None:
    """Q is the reward and the best of what follows."""
    rng = np.random.default_rng(2)
    sizes = [1, 3, 4]
    layers = [
        layer_of(None, rng.random((n, 2)), np.full(n, True), rng.integers(following, size=(n, 2)))
        for n, following in zip(sizes, [*sizes[1:], 1], strict=True)
    ]
    values = estimate(Automaton(layers, 2), 1.0, SPAN)
    expected = Values([layer.mean.copy() for layer in layers], [])
    for level in (1, 0):
        for state in range(sizes[level]):
            for action in range(2):
                following = int(layers[level].target[state, action])
                expected.q[level][state, action] += max(expected.q[level + 1][following])
    for level in range(3):
        assert values.q[level] == pytest.approx(expected.q[level])
        assert values.best(level) == pytest.approx(expected.q[level].max(axis=1))
