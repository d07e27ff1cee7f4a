"""Landmarks see what lies around them; more are added where that is not enough."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, DotProduct

from caverns import outlook
from surepath.features.growing import SEEN_WELL, Growing, Numbers, shares_seen
from surepath.features.kernels import Nystroem

FAR = np.array([30.0, 0.0])


def place(at: np.ndarray, n: int = 8, noise: float = 0.15) -> np.ndarray:
    return at + np.random.default_rng(1).normal(0, noise, (n, 2))


def grow(features: Growing, views: np.ndarray, several: int = 4) -> Growing:
    return features.with_landmarks(features.missing(views, several))


def test_what_is_seen_falls_with_the_distance_from_the_landmarks() -> None:
    nystroem = Nystroem(RBF(1.0), np.zeros((1, 2)))
    distances = np.array([0.0, 0.5, 1.0, 2.0, 40.0])
    views = np.stack([distances, np.zeros(5)], axis=1)
    np.testing.assert_allclose(shares_seen(nystroem, views), np.exp(-(distances**2)), atol=1e-12)


def test_a_kernel_of_few_features_sees_everything_however_far() -> None:
    landmarks = np.random.default_rng(0).normal(size=(8, 2))
    nystroem = Nystroem(DotProduct(1.0) ** 2, landmarks)
    np.testing.assert_allclose(shares_seen(nystroem, 100 * place(FAR)), 1, atol=1e-6)


def test_an_observation_without_length_hides_nothing() -> None:
    nystroem = Nystroem(DotProduct(0.0), np.ones((1, 2)))
    assert shares_seen(nystroem, np.zeros((1, 2))) == [1]


def test_two_far_places_look_alike_until_landmarks_are_added() -> None:
    features = outlook()
    one, other = (place(FAR + np.array([0.0, y])) for y in (0, 1))
    assert np.abs(features.mean(one) - features.mean(other)).max() < 1e-9
    grown = grow(features, one)
    assert 2 <= grown.landmarks - features.landmarks <= 4
    assert shares_seen(grown.nystroem, one).min() > 1 - 10 * SEEN_WELL
    assert np.linalg.norm(grown.mean(one) - grown.mean(other)) > 0.3


def test_the_sides_of_a_new_place_are_told_apart() -> None:
    grown = grow(outlook(), place(FAR))
    for side in np.array([[0.4, 0.0], [0.0, 0.4], [0.3, 0.3]]):
        one, other = grown.mean(place(FAR + side)), grown.mean(place(FAR - side))
        assert np.linalg.norm(one - other) > 0.3


def test_what_was_seen_is_seen_as_before() -> None:
    features = outlook(64)
    grown = grow(features, place(FAR))
    assert grown.dimension == 64
    rows = np.random.default_rng(2).uniform(-1.5, 1.5, (50, 2))
    before, after = (f.rows(rows) @ f.rows(rows).T for f in (features, grown))
    np.testing.assert_allclose(after, before, atol=1e-4)


def test_there_are_never_more_features_than_components() -> None:
    features = outlook(16)
    for far in range(5):
        features = grow(features, place(FAR * (far + 1)), 3)
        assert features.dimension == 16
        assert features.rows(place(FAR)).shape == (8, 16)
    assert features.landmarks == 31


def test_features_join_the_first_ones_where_these_were_few() -> None:
    few = outlook(4, components=16)
    assert few.dimension == 4
    assert grow(few, place(FAR)).dimension == grow(few, place(FAR)).landmarks > 4


def test_no_landmark_is_added_beyond_the_limit_or_where_all_is_seen() -> None:
    features = outlook(16, most=18)
    grown = grow(features, place(FAR))
    assert (grown.landmarks, grown.full) == (18, True)
    assert grow(grown, place(-FAR)).landmarks == 18
    assert grow(features, np.zeros((8, 2))).landmarks == 16


def test_a_glitch_is_not_chosen() -> None:
    readings = np.vstack([place(FAR), [[-500.0, 700.0]]])
    for landmark in outlook().missing(readings, 9):
        np.testing.assert_allclose(landmark, FAR, atol=1.0)


def test_readings_that_have_nothing_in_common_are_no_place() -> None:
    scattered = np.random.default_rng(3).uniform(-1e4, 1e4, (8, 2))
    assert len(outlook().missing(scattered, 4)) == 0
    assert len(outlook().missing(scattered[:1], 4)) == 1  # of a single one nobody can say


def test_more_features_than_components_are_refused() -> None:
    nystroem = Nystroem(RBF(1.0), np.eye(3))
    with pytest.raises(ValueError, match="components"):
        Growing(nystroem, lambda x: x, components=2, most=4)


# ---------------------------------------------------------------- the numbers themselves


def with_numbers(numbers: Numbers | None) -> Growing:
    plain = outlook()
    return Growing(
        plain.nystroem, plain.view, components=plain.components, most=plain.most, numbers=numbers
    )


def noise_units(features: Growing, one: np.ndarray, other: np.ndarray) -> float:
    """The distance between two places, in units of the noise of one reading there."""
    rows = [features.rows(views) for views in (one, other)]
    noise = sum(np.cov(each.T) for each in rows) / 2
    apart = rows[0].mean(axis=0) - rows[1].mean(axis=0)
    return float(np.sqrt(apart @ np.linalg.pinv(noise, rcond=1e-12) @ apart))


def test_places_that_are_close_for_the_kernel_are_apart_for_a_good_sensor() -> None:
    """The kernel is 1.5 wide; the places are 0.003 apart, the noise is 0.002."""
    one, other = (place(FAR + np.array([0.0, y]), 4000, 0.002) for y in (0, 0.003))
    numbers = with_numbers(Numbers.like(place(np.zeros(2))))
    assert noise_units(numbers, one, other) == pytest.approx(1.5, rel=0.1)


def test_numbers_are_about_as_long_as_the_features_of_the_kernel() -> None:
    views = place(FAR, 500, 7.0)
    assert np.square(Numbers.like(views).of(views)).sum(axis=1).mean() == pytest.approx(1)
    assert Numbers.like(np.ones((3, 2))).unit == 1  # there is nothing to measure


def test_numbers_stay_when_landmarks_join() -> None:
    features = with_numbers(Numbers.like(place(np.zeros(2))))
    grown = grow(features, place(FAR))
    assert grown.dimension - grown.nystroem.dimension == 2
    np.testing.assert_array_equal(grown.rows(place(FAR))[:, -2:], features.rows(place(FAR))[:, -2:])
    np.testing.assert_allclose(grown.mean(place(FAR)), grown.rows(place(FAR)).mean(axis=0))


def test_what_is_missing_is_what_the_landmarks_do_not_see() -> None:
    numbers = with_numbers(Numbers.like(place(np.zeros(2))))
    np.testing.assert_array_equal(
        numbers.missing(place(FAR), 4), with_numbers(None).missing(place(FAR), 4)
    )
