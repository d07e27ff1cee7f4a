"""Every kind of observation space becomes vectors, and a system that has it is solved."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
import pytest
from gymnasium import spaces

import surepath
from surepath.adapters.spaces import encoding_of

Read: TypeAlias = Callable[[int, int, np.random.Generator], Any]
"""From a hidden state and a number to that many readings: an array, or an iterable of objects."""

SCHEDULE = surepath.Schedule(ridge=0.05, threshold=1.0, feature_samples=500, reward_samples=500)
PAYS = np.array([[0.2, 0.1], [0.2, 0.1], [0.9, 0.1]])  # by hidden state and action
PLAN = (
    1,
    1,
    0,
    0,
)  # walk to state 2 and stay there; every action on the way pays less than staying


class Ring:
    """Three hidden states in a ring; action 1 moves on. `read` draws n readings of a state."""

    horizon, n_actions = 4, 2

    def __init__(self, space: Any, read: Read) -> None:
        self.observation_space = space
        self.read = read

    def rollout(
        self, actions: tuple[int, ...], n: int, rng: np.random.Generator
    ) -> surepath.Episodes:
        states = [sum(actions[:h]) % 3 for h in range(len(actions) + 1)]
        readings = [self.read(state, n, rng) for state in states[: self.horizon]]
        if isinstance(self.observation_space, spaces.Dict | spaces.Tuple):
            readings = [objects(each) for each in readings]
        pays = [PAYS[states[h], action] for h, action in enumerate(actions)]
        rewards = (rng.random((n, len(actions))) < pays).astype(np.float64)
        return surepath.Episodes(actions, np.stack(readings, axis=1), rewards)


def solves(name: str, **options: Any) -> surepath.Result:
    """The exact plan, from features that tell the states apart and know them again."""
    result = surepath.learn(Ring(*SPACES[name]), schedule=SCHEDULE, **options)
    assert result.actions == PLAN
    assert max(result.usage.expansions) <= 3  # as many as there are states
    assert sum(result.usage.covered) > 0
    return result


def objects(values: Iterable[Any]) -> np.ndarray:
    listed = list(values)
    array = np.empty(len(listed), dtype=object)
    for i, value in enumerate(listed):
        array[i] = value
    return array


def symbol(state: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """The state, or in one of seven readings any other."""
    return (state + rng.choice(3, size=n, p=[0.85, 0.1, 0.05])) % 3


def vector(state: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.clip(np.eye(3)[state] + rng.normal(0, 0.2, (n, 3)), -2, 2)


def digits(state: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.stack([symbol(state, n, rng), rng.integers(4, size=n)], axis=1)


def bits(state: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return (np.arange(3) == state).astype(np.int8) ^ (rng.random((n, 3)) < 0.2)


BOX = spaces.Box(-2, 2, (3,))
SPACES: dict[str, tuple[Any, Read]] = {
    "Discrete": (spaces.Discrete(3), symbol),
    "Discrete from 5": (spaces.Discrete(3, start=5), lambda *at: 5 + symbol(*at)),
    "MultiDiscrete": (spaces.MultiDiscrete([3, 4]), digits),
    "MultiDiscrete grid": (
        spaces.MultiDiscrete([[3, 4], [3, 4]]),
        lambda *at: np.stack([digits(*at), digits(*at)], axis=1),
    ),
    "MultiBinary": (spaces.MultiBinary(3), bits),
    "Box": (BOX, vector),
    "open Box": (spaces.Box(-np.inf, np.inf, (3,)), vector),
    "Dict": (
        spaces.Dict({"where": BOX, "what": spaces.Discrete(2)}),
        lambda s, n, rng: (
            {"what": int(rng.integers(2)), "where": where} for where in vector(s, n, rng)
        ),
    ),
    "discrete Dict": (
        spaces.Dict({"a": spaces.Discrete(3), "b": spaces.MultiBinary(3)}),
        lambda *at: ({"a": a, "b": b} for a, b in zip(symbol(*at), bits(*at), strict=True)),
    ),
    "Tuple": (
        spaces.Tuple((spaces.Discrete(3), spaces.Box(-1, 1, (2,)))),
        lambda s, n, rng: zip(symbol(s, n, rng), rng.uniform(-1, 1, (n, 2)), strict=True),
    ),
    "nested": (
        spaces.Dict({"in": spaces.Tuple((BOX, spaces.Dict({"x": spaces.Discrete(3)})))}),
        lambda *at: ({"in": (v, {"x": x})} for v, x in zip(vector(*at), symbol(*at), strict=True)),
    ),
}
ONE_HOT = {"Discrete", "Discrete from 5", "MultiDiscrete", "MultiDiscrete grid", "MultiBinary",
           "discrete Dict"}  # fmt: skip


@pytest.mark.parametrize("name", SPACES)
def test_auto_features_solve_every_space(name: str) -> None:
    (note,) = solves(name, seed=2).certificate.notes
    assert ("one-hot" in note) == (name in ONE_HOT)
    assert ("median length scale" in note) == (name not in ONE_HOT)


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("features", ["linear", "rbf", "matern"])
def test_named_features_solve_every_space(name: str, features: str) -> None:
    (note,) = solves(name, features=features, seed=1).certificate.notes
    if features == "linear":
        assert ("not bounded" if name == "open Box" else "divided by") in note


@pytest.mark.parametrize("name", ["Box", "open Box", "Dict", "Tuple", "nested"])
def test_one_hot_needs_a_discrete_space(name: str) -> None:
    with pytest.raises(surepath.InputError, match="one-hot features need discrete"):
        surepath.learn(Ring(*SPACES[name]), schedule=SCHEDULE, features="onehot")


def test_a_member_in_large_units_does_not_hide_the_others() -> None:
    space = spaces.Dict({"pressure": spaces.Box(0, 1e5, (1,)), "valve": spaces.Discrete(3)})
    system = Ring(
        space,
        lambda s, n, rng: (
            {"pressure": rng.uniform(0, 1e5, 1), "valve": valve} for valve in symbol(s, n, rng)
        ),
    )
    result = surepath.learn(system, schedule=SCHEDULE, features="rbf", seed=1)
    assert result.actions == PLAN
    assert "2 members, each divided by its median distance" in result.certificate.notes[0]


def test_a_future_of_two_steps_over_a_dict() -> None:
    system = Ring(*SPACES["discrete Dict"])
    result = surepath.learn(system, schedule=SCHEDULE, future=2, seed=4)
    assert result.actions == PLAN


# ---------------------------------------------------------------- the encodings themselves


def test_one_hot_of_each_part() -> None:
    encoding = encoding_of(spaces.MultiDiscrete([2, 3], start=[0, 10]))
    rows = encoding.encode(np.array([[0, 10], [1, 12]]))
    np.testing.assert_array_equal(rows, [[1, 0, 1, 0, 0], [0, 1, 0, 0, 1]])
    assert (encoding.dimension, encoding.parts, encoding.discrete) == (5, 2, True)
    assert encoding.radius == pytest.approx(np.sqrt(2))
    bits = encoding_of(spaces.MultiBinary(2)).encode(np.array([[1, 0]], dtype=np.int8))
    np.testing.assert_array_equal(bits, [[0, 1, 1, 0]])


@pytest.mark.parametrize("name", SPACES)
def test_encoded_samples_keep_their_promises(name: str) -> None:
    space = SPACES[name][0]
    space.seed(7)
    batch = objects(space.sample() for _ in range(50))
    if not isinstance(space, spaces.Dict | spaces.Tuple):
        batch = np.stack(list(batch))
    encoding = encoding_of(space)
    rows = encoding.encode(batch)
    assert rows.shape == (50, encoding.dimension)
    assert sum(encoding.blocks) == encoding.dimension
    if encoding.radius is not None:
        assert np.linalg.norm(rows, axis=1).max() <= encoding.radius + 1e-9
    if encoding.discrete:
        np.testing.assert_array_equal(rows.sum(axis=1), encoding.parts)


def test_ends_that_only_say_no_bound() -> None:
    for most in (np.inf, float(np.finfo(np.float32).max), 1e300):
        assert encoding_of(spaces.Box(-most, most, (2,), dtype=np.float64)).radius is None
    assert encoding_of(spaces.Box(0, 255, (2, 2), dtype=np.uint8)).radius == 510


BAD: dict[str, tuple[Any, Any, str]] = {
    "too large a symbol": (spaces.Discrete(3), np.array([0, 3]), r"0 \.\. 2.*3 in part 0, row 1"),
    "too small a symbol": (spaces.Discrete(3, start=2), np.array([1]), r"are 2 \.\. 4"),
    "a broken symbol": (spaces.Discrete(3), np.array([0.5]), r"0\.5 in part 0"),
    "a missing symbol": (spaces.Discrete(3), np.array([np.nan]), "must be finite"),
    "too many symbols": (spaces.Discrete(3), np.zeros((4, 2), dtype=int), "1 numbers each"),
    "a wrong shape": (spaces.Box(0, 1, (3,)), np.zeros((4, 2)), r"3 numbers each.*\(2,\)"),
    "not a number": (spaces.Box(0, 1, (1,)), np.array([[0.0], [np.inf]]), "row 1"),
    "text": (spaces.Box(0, 1, (1,)), np.array([["a"]], dtype=object), "array of numbers"),
    "no dict": (SPACES["Dict"][0], np.array([1, 2], dtype=object), "has a member"),
    "a lost key": (SPACES["Dict"][0], np.array([{"what": 1}], dtype=object), "member 'where'"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_observations_that_are_not_of_their_space(name: str) -> None:
    space, batch, message = BAD[name]
    with pytest.raises(surepath.InputError, match=message) as caught:
        encoding_of(space).encode(batch)
    assert caught.value.remedy


def test_other_spaces_are_refused() -> None:
    for space in (spaces.Text(5), spaces.Sequence(spaces.Discrete(2)), 3):
        with pytest.raises(surepath.InputError, match="must come from a Discrete"):
            encoding_of(space)
    with pytest.raises(surepath.InputError, match="at least one part"):
        encoding_of(spaces.Dict({}))


def test_readings_outside_a_box_break_the_bound_of_linear_features_only() -> None:
    system = Ring(spaces.Box(-0.5, 0.5, (3,)), vector)
    with pytest.raises(surepath.InputError, match="Widen the bound"):
        surepath.learn(system, schedule=SCHEDULE, features="linear")
    assert surepath.learn(system, schedule=SCHEDULE, features="rbf").actions == PLAN
