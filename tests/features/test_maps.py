"""Features: what is averaged over observations."""

from __future__ import annotations

import numpy as np
import pytest

import surepath
from surepath.features import Custom, Features, Linear, OneHot, checked_rows
from surepath.system import Counts, Moments


def test_one_hot_means_are_frequencies_however_they_were_counted() -> None:
    features = OneHot(3)
    readings = np.array([0, 2, 2, 1, 2])
    np.testing.assert_allclose(features.mean(readings), [0.2, 0.2, 0.6])
    np.testing.assert_allclose(features.mean(Counts(np.array([1, 1, 3]))), [0.2, 0.2, 0.6])
    np.testing.assert_array_equal(features.rows(readings).mean(axis=0), features.mean(readings))
    np.testing.assert_array_equal(features.rows(np.array([1])), [[0, 1, 0]])


@pytest.mark.parametrize(
    ("readings", "message"),
    [
        (np.array([0, 3]), r"0 \.\. 2.*values from 0 to 3"),
        (np.array([-1, 0]), r"0 \.\. 2.*values from -1 to 0"),
        (np.array([0.0, 1.0]), "one whole number.*float64"),
        (np.zeros((2, 2), dtype=int), r"one whole number.*shape \(2,\)"),
    ],
)
def test_one_hot_refuses_what_is_no_symbol(readings: np.ndarray, message: str) -> None:
    for use in (OneHot(3).mean, OneHot(3).rows):
        with pytest.raises(surepath.InputError, match=message):
            use(readings)


def test_linear_means_come_from_readings_or_from_their_moments() -> None:
    features = Linear(4)
    images = np.arange(24.0).reshape(6, 2, 2)
    mean = features.mean(images)
    np.testing.assert_allclose(mean, images.mean(axis=0).ravel())
    np.testing.assert_array_equal(features.mean(Moments(6, mean, np.eye(4))), mean)
    with pytest.raises(surepath.InputError, match=r"shape \(6, 4\).*shape \(6, 3\)"):
        features.mean(np.zeros((6, 3)))
    with pytest.raises(surepath.InputError, match="cannot be computed from a summary"):
        features.mean(Counts(np.array([1, 2])))


def test_a_function_of_symbols_is_averaged_over_their_counts() -> None:
    features = Custom(lambda x: np.stack([x, x**2], axis=1).astype(float), 2)
    readings = np.array([0, 2, 2, 1, 2])
    np.testing.assert_allclose(
        features.mean(Counts(np.bincount(readings))), features.mean(readings), atol=1e-12
    )
    with pytest.raises(surepath.InputError, match="cannot be computed from a summary"):
        features.mean(Moments(3, np.zeros(2), np.eye(2)))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros((3, 3)), r"shape \(3, 2\).*shape \(3, 3\)"),
        (np.zeros((2, 2)), r"shape \(3, 2\).*shape \(2, 2\)"),
        (np.zeros(3), r"shape \(3, 2\).*shape \(3,\)"),
        (np.array([[0, 0], [np.nan, 0], [0, 0]]), "must be finite.*observation 1 of the batch"),
        (np.array([[0, 0], [0, 0], [0, -np.inf]]), "must be finite.*observation 2 of the batch"),
    ],
)
def test_rows_are_checked(values: np.ndarray, message: str) -> None:
    with pytest.raises(surepath.InputError, match=message):
        checked_rows(values, 3, 2)
    with pytest.raises(surepath.InputError, match=message):
        Custom(lambda x: values, 2).rows(np.zeros(3))


@pytest.mark.parametrize("make", [OneHot, Linear, lambda d: Custom(np.abs, d)])
def test_dimensions_are_whole_and_positive(make: type) -> None:
    for dimension in (0, -1, 2.0, True):
        with pytest.raises(surepath.InputError, match="whole number"):
            make(dimension)


def test_all_are_features() -> None:
    made: list[Features] = [OneHot(2), Linear(2), Custom(np.abs, 2, radius=1.0)]
    assert [each.radius for each in made] == [1.0, None, 1.0]
