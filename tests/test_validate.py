"""The shared checks: what passes unchanged, what is refused, and what the refusal says."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surepath import InputError
from surepath.errors import visible
from surepath.validate import (
    array_of,
    between,
    finite_observations,
    nearest,
    probabilities,
    whole,
)

SETTINGS = settings(max_examples=60)


def refusal(call: Callable[[], object]) -> InputError:
    """The error of a refused call; it says what is wrong, what was found and what to do."""
    with pytest.raises(InputError) as caught:
        call()
    error = caught.value
    for part in (error.what, str(error.got), error.remedy):
        assert part.strip()
        assert visible(part) in str(error)
    return error


# ---- whole numbers


@pytest.mark.parametrize("value", [1, 7, 10**30, np.int64(7), np.uint8(3)])
def test_whole_numbers_pass_as_ints(value: object) -> None:
    checked = whole("count", value, least=1)
    assert checked == value
    assert type(checked) is int


def test_both_ends_of_a_whole_range_are_allowed() -> None:
    assert [whole("count", value, least=2, most=4) for value in (2, 3, 4)] == [2, 3, 4]


@pytest.mark.parametrize("value", [0, -3, 2.0, 1.5, float("nan"), "2", None, True, np.True_, [2]])
def test_other_things_than_whole_numbers_are_refused(value: object) -> None:
    error = refusal(lambda: whole("count", value, least=1))
    assert "count" in error.what
    assert "at least 1" in error.remedy
    assert error.got == repr(value)


@pytest.mark.parametrize("value", [1, 5])
def test_whole_numbers_out_of_range_are_refused_with_the_range(value: int) -> None:
    error = refusal(lambda: whole("count", value, least=2, most=4))
    assert "between 2 and 4" in error.what
    assert "between 2 and 4" in error.remedy


# ---- numbers in an interval


@pytest.mark.parametrize("value", [0.5, np.float32(0.5), np.float64(0.5)])
def test_numbers_inside_pass_as_floats(value: object) -> None:
    checked = between("share", value, 0, 1)
    assert checked == 0.5
    assert type(checked) is float


@pytest.mark.parametrize("value", [0, 1])
@pytest.mark.parametrize("closed", [(False, False), (True, False), (False, True), (True, True)])
def test_an_end_belongs_to_an_interval_closed_there(value: int, closed: tuple[bool, bool]) -> None:
    if closed[value]:
        assert between("share", value, 0, 1, closed=closed) == value
    else:
        error = refusal(lambda: between("share", value, 0, 1, closed=closed))
        left, right = "[" if closed[0] else "(", "]" if closed[1] else ")"
        assert f"{left}0, 1{right}" in error.what


@pytest.mark.parametrize(
    "value", [-0.1, 1.1, float("nan"), float("inf"), -float("inf"), "0.5", None, True, [0.5], 0.5j]
)
def test_other_things_than_numbers_inside_are_refused(value: object) -> None:
    error = refusal(lambda: between("share", value, 0, 1, closed=(True, True)))
    assert "share" in error.what
    assert "[0, 1]" in error.remedy
    assert error.got == repr(value)


def test_an_open_end_at_infinity_refuses_infinity() -> None:
    assert between("noise", 1e300, 0, np.inf) == 1e300
    refusal(lambda: between("noise", np.inf, 0, np.inf))


# ---- probability vectors


@SETTINGS
@given(
    shape=st.lists(st.integers(1, 3), min_size=0, max_size=2),
    width=st.integers(1, 5),
    seed=st.integers(0, 10**6),
)
def test_probabilities_pass_and_sum_to_one(shape: list[int], width: int, seed: int) -> None:
    rows = np.random.default_rng(seed).dirichlet(np.ones(width), size=tuple(shape))
    checked = probabilities("laws", rows)
    np.testing.assert_allclose(checked, rows, atol=1e-12)
    np.testing.assert_allclose(checked.sum(axis=-1), 1, atol=1e-15)


def test_rounding_is_repaired_and_the_argument_left_alone() -> None:
    rows = np.array([[0.5, 0.5 + 5e-10], [1.0, 0.0]])
    given_rows = rows.copy()
    assert abs(probabilities("laws", rows).sum(axis=1) - 1).max() < 1e-15
    np.testing.assert_array_equal(rows, given_rows)


@SETTINGS
@given(
    bad=st.sampled_from([np.nan, np.inf, -np.inf, -0.2, 0.9]),
    where=st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 3)),
)
def test_the_first_bad_row_is_named(bad: float, where: tuple[int, int, int]) -> None:
    rows = np.full((2, 3, 4), 0.25)
    rows[where] = bad
    rows[1, 2, 0] = 0.9  # a later row is bad as well
    error = refusal(lambda: probabilities("laws", rows))
    assert "laws" in error.what
    assert f"laws[{where[0]}, {where[1]}]" in str(error.got)


@pytest.mark.parametrize(
    "row", [[0.6, 0.6], [0.2, 0.2], [0.0, 0.0], [1.5, -0.5], [0.5, 0.5 + 1e-6]]
)
def test_the_sum_of_a_bad_row_is_shown(row: list[float]) -> None:
    error = refusal(lambda: probabilities("laws", np.array([[0.5, 0.5], row])))
    assert f"laws[1] = {np.array(row)} with sum {sum(row):.6g}" == error.got


def test_opposite_infinities_are_refused_without_a_warning() -> None:
    error = refusal(lambda: probabilities("laws", np.array([[np.inf, -np.inf]])))
    assert "laws[0]" in str(error.got)


# ---- arrays


def test_arrays_keep_their_values_and_take_the_kind() -> None:
    assert array_of("table", [[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    checked = array_of("table", [[1, 2], [3, 4]], float)
    assert checked.dtype == np.float64
    assert checked.shape == (2, 2)


@pytest.mark.parametrize("values", [[[1, 2], [3]], [["a", "b"]], [[None, {}]]])
def test_what_is_no_array_of_numbers_is_refused(values: object) -> None:
    error = refusal(lambda: array_of("table", values, float))
    assert "table" in error.what
    assert "table" in error.remedy


# ---- finite observations


@pytest.mark.parametrize("kind", ["i8", "u1", "?", "U3", "f4", "f8"])
@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (2, 3), (2, 3, 4)])
def test_finite_observations_pass_and_so_does_what_is_no_float(
    kind: str, shape: tuple[int, ...]
) -> None:
    finite_observations(np.zeros(shape, dtype=kind), str)


@SETTINGS
@given(
    bad=st.sampled_from([np.nan, np.inf, -np.inf, -1e101]),
    where=st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 3)),
    axes=st.integers(1, 3),
)
def test_the_first_observation_that_is_not_finite_is_named(
    bad: float, where: tuple[int, int, int], axes: int
) -> None:
    observations = np.zeros((3, 2, 4))
    observations[where] = bad
    observations[2, 1, 3] = np.nan  # a later one is bad as well
    error = refusal(lambda: finite_observations(observations, lambda i: f"at place {i}", axes=axes))
    assert error.what.startswith("observations must be finite")
    assert str(error.got) == f"{observations[where[:axes]]} at place {where[:axes]}"


@pytest.mark.parametrize("kind", ["f2", "f4", "f8"])
def test_the_largest_number_that_fits_is_no_infinity(kind: str) -> None:
    finite_observations(np.array([min(1e100, float(np.finfo(kind).max))], dtype=kind), str)
    with pytest.raises(InputError, match="must be finite"):
        finite_observations(np.array([np.inf], dtype=kind), str)


def test_long_observations_are_shortened_in_the_message() -> None:
    error = refusal(
        lambda: finite_observations(np.full((1, 10**4), np.nan), "in row {0[0]}".format)
    )
    assert "..." in str(error.got)
    assert len(str(error.got)) < 100


# ---- suggestions


@pytest.mark.parametrize(
    ("word", "meant"), [("lok", "lock"), ("Lock", "lock"), ("horizn", "horizon"), ("gap", "gap")]
)
def test_the_nearest_word_is_suggested(word: str, meant: str) -> None:
    hint = nearest(word, ["lock", "horizon", "gap"])
    assert hint == f"Did you mean '{meant}'? Known: gap, horizon, lock."


def test_without_a_near_word_all_are_listed() -> None:
    assert nearest("xyzzy", ["lock", "gap"]) == "Known: gap, lock."
