"""A row of a journal: what is encoded comes back, and damage shows."""

from __future__ import annotations

import sqlite3
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from surepath.errors import InputError
from surepath.journal.rows import Row, check_row, decode, encode, joined
from surepath.system import Counts, Episodes, Moments, RewardMoments, Summary


def same(mine: Any, theirs: Any) -> bool:
    return (
        mine.dtype == theirs.dtype
        and mine.shape == theirs.shape
        and mine.tobytes() == theirs.tobytes()
    )


def kept(rows: list[Row]) -> list[Row]:
    """The rows after a round trip through their encoding."""
    return [decode(encode(each, number)) for number, each in enumerate(rows, start=1)]


DTYPES = [
    "?",
    "i1",
    "u1",
    "<i2",
    ">i4",
    "<i8",
    "<u8",
    "<f2",
    "<f4",
    ">f8",
    "<c16",
    "<U3",
    "S2",
    "<M8[ms]",
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (1, 2, 0), (0, 3, 2), (2, 1, 2, 2)])
def test_arrays_of_every_type_and_shape_come_back(dtype: str, shape: tuple[int, ...]) -> None:
    values = np.arange(np.prod(shape)).reshape(shape).astype("i8").astype(dtype)
    readings = Episodes((0, 1), values, np.zeros((shape[0], 2)))
    (found,) = kept([Row(1, 2, 3, readings)])
    assert (found.batch, found.request, found.first) == (1, 2, 3)
    assert isinstance(found.readings, Episodes)
    assert same(found.readings.observations, values)
    assert found.readings.observations.flags.writeable


@given(
    observations=hnp.arrays(
        st.one_of(hnp.floating_dtypes(), hnp.integer_dtypes(), hnp.boolean_dtypes()),
        hnp.array_shapes(min_dims=2, max_dims=4, min_side=0, max_side=4),
    ),
    actions=st.lists(st.integers(0, 9), max_size=4),
)
@settings(max_examples=60)
def test_arrays_round_trip(observations: Any, actions: list[int]) -> None:
    shape = (len(observations), len(actions))
    rewards = np.linspace(0, 1, shape[0] * shape[1]).reshape(shape)
    readings = Episodes(tuple(actions), observations, rewards)
    (found,) = kept([Row(0, 0, 0, readings)])
    assert isinstance(found.readings, Episodes)
    assert found.readings.actions == tuple(actions)
    assert same(found.readings.observations, observations)
    assert same(found.readings.rewards, readings.rewards)


@pytest.mark.parametrize("order", ["F", "swapped", "strided"])
def test_the_order_in_memory_does_not_matter(order: str) -> None:
    base = np.arange(24.0).reshape(2, 3, 4)
    values = {
        "F": np.asfortranarray(base),
        "swapped": np.ascontiguousarray(base.swapaxes(0, 1)).swapaxes(0, 1),
        "strided": np.repeat(base, 2, axis=2)[..., ::2],
    }[order]
    (found,) = kept([Row(0, 0, 0, Episodes((0, 1), values, np.zeros((2, 2))))])
    assert isinstance(found.readings, Episodes)
    assert np.array_equal(found.readings.observations, base)


SUMMARIES = [
    Summary((0, 1), 5, {0: Counts(np.array([2, 3])), 1: Counts(np.array([5, 0]))},
            {0: RewardMoments(5, 0.2, 0.1), 1: RewardMoments(5, 1 / 3, 0.0)}),
    Summary((1,), 2**62, {0: Moments(2**62, np.array([0.1, -1e300]), np.diag([1.0, 5e-324]))}, {}),
    Summary((), 3, {}, {}),
    Summary((), 0, {0: Counts(np.zeros(0, dtype=np.int64))}, {}),
]  # fmt: skip


@pytest.mark.parametrize("summary", SUMMARIES)
def test_summaries_come_back(summary: Summary) -> None:
    (found,) = kept([Row(0, 0, 0, summary)])
    assert isinstance(found.readings, Summary)
    assert found.readings.count == summary.count
    assert found.readings.actions == summary.actions
    assert found.readings.rewards == summary.rewards
    assert repr(found.readings.observations) == repr(summary.observations)


@pytest.mark.parametrize("column", range(11))
def test_a_change_of_any_column_shows(column: int) -> None:
    values = list(encode(Row(1, 2, 3, SUMMARIES[0]), 4))
    check_row(values)
    old = values[column]
    values[column] = old + (b"x" if isinstance(old, bytes) else "x" if isinstance(old, str) else 1)
    for read in (check_row, decode):
        with pytest.raises(sqlite3.DatabaseError, match="checksum of batch"):
            read(values)


PART = Episodes((0, 1), np.zeros((2, 3)), np.zeros((2, 2)))


@pytest.mark.parametrize(
    "other",
    [
        Episodes((0, 1), np.zeros((2, 3, 1)), np.zeros((2, 2))),
        Episodes((0, 1), np.zeros((2, 3), "M8[s]"), np.zeros((2, 2))),
        Summary((0, 1), 2, {}, {}),
    ],
)
def test_parts_of_another_form_are_not_joined(other: Episodes | Summary) -> None:
    with pytest.raises(InputError, match="parts of a request do not fit together"):
        joined((0, 1), [(0, PART), (2, other)])
