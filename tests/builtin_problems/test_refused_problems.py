"""What makes no problem is refused, and how."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import surepath
from enumeration import (
    embedding,
    short,
)


def refusal(call: Callable[[], object]) -> surepath.InputError:
    """The error of a refused call; it says what is wrong, what was found and what to do."""
    with pytest.raises(surepath.InputError) as caught:
        call()
    error = caught.value
    for part in (error.what, str(error.got), error.remedy):
        assert part.strip()
        assert part in str(error)
    return error


H, S, A = 3, 2, 2
NEXT = np.zeros((H, S, A), dtype=int)
MASSES = np.eye(S)[NEXT]
LAWS = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
MEANS = np.full((H, S, A), 0.5)
ROW = slice(None)


def altered(array: np.ndarray, where: tuple[Any, ...], value: object) -> np.ndarray:
    copy = array.copy()
    copy[where] = value
    return copy


WRONG_ARRAYS: dict[str, tuple[str, Any, str]] = {
    "sum not one": ("emissions", altered(LAWS, (1, 2), 0.6), "emissions[0, 1]"),
    "one nan": (
        "emissions",
        altered(np.stack([LAWS] * H), (2, 0, 0), np.nan),
        "emissions[2, 0]",
    ),
    "negative": ("emissions", altered(LAWS, (0, ROW), (-0.1, 0.9, 0.2)), "emissions[0, 0]"),
    "infinite": ("emissions", altered(LAWS, (1, ROW), (np.inf, -np.inf, 1)), "emissions[0, 1]"),
    "laws of one state": ("emissions", LAWS[:1], "1 states"),
    "laws of one axis": ("emissions", LAWS[0], "(3,)"),
    "laws of two levels": ("emissions", np.stack([LAWS] * 2), "(2, 2, 3)"),
    "reward above 1": ("rewards", altered(MEANS, (1, 0, 1), 1.5), "rewards[1, 0, 1] = 1.5"),
    "reward below 0": ("rewards", altered(MEANS, (2, 1, 0), -0.1), "rewards[2, 1, 0] = -0.1"),
    "reward nan": ("rewards", altered(MEANS, (0, 0, 0), np.nan), "rewards[0, 0, 0] = nan"),
    "rewards of two axes": ("rewards", MEANS[0], "(2, 2)"),
    "rewards of no level": ("rewards", MEANS[:0], "(0, 2, 2)"),
    "ragged rewards": ("rewards", [[[0.5, 0.5], [0.5]]], "rewards"),
    "no such state": ("transitions", altered(NEXT, (1, 1, 0), 2), "transitions[1, 1, 0] = 2"),
    "state below 0": ("transitions", altered(NEXT, (0, 0, 1), -1), "transitions[0, 0, 1] = -1"),
    "moves of one action": ("transitions", NEXT[:, :, :1], "(3, 2, 1)"),
    "moves of one axis": ("transitions", NEXT[0, 0], "(2,)"),
    "moves of two levels": ("transitions", NEXT[:2], "(2, 2, 2)"),
    "words for moves": ("transitions", [["left", "right"]] * S, "transitions"),
    "moves to nowhere": ("transitions", [[0, None]] * S, "transitions"),
    "ragged moves": ("transitions", [[0, 1], [0]], "transitions"),
    "stochastic": ("transitions", altered(MASSES, (2, 1, 0), 0.5), "level 2, state 1, action 0"),
    "mass lost": ("transitions", altered(MASSES, (1, 0, 1, 0), 0.9), "transitions[1, 0, 1]"),
    "mass nan": ("transitions", altered(MASSES, (0, 1, 1, 0), np.nan), "transitions[0, 1, 1]"),
    "mass negative": ("transitions", altered(MASSES, (0, 1, 1), (-1, 2)), "transitions[0, 1, 1]"),
    "masses on three states": ("transitions", np.eye(S + 1)[NEXT], "(3, 2, 2, 3)"),
    "masses on one state": ("transitions", MASSES[..., :1], "(3, 2, 2, 1)"),
}


@pytest.mark.parametrize(("argument", "wrong", "mentions"), WRONG_ARRAYS.values(), ids=WRONG_ARRAYS)
def test_arrays_that_are_no_machine_are_refused(argument: str, wrong: Any, mentions: str) -> None:
    arrays = {"transitions": NEXT, "emissions": LAWS, "rewards": MEANS}
    assert surepath.Tabular.from_arrays(**arrays).horizon == H
    error = refusal(lambda: surepath.Tabular.from_arrays(**arrays | {argument: wrong}))
    assert mentions in str(error)


@pytest.mark.parametrize("transitions", [NEXT, NEXT[0], MASSES, MASSES[0], MASSES.astype(int)])
@pytest.mark.parametrize("emissions", [LAWS, np.stack([LAWS] * H), LAWS.tolist()])
def test_every_documented_form_of_a_machine_is_the_same_machine(
    transitions: np.ndarray, emissions: Any
) -> None:
    rewards = np.linspace(0, 1, MEANS.size).reshape(MEANS.shape)
    machine = surepath.Tabular.from_arrays(transitions, emissions, rewards)
    assert (machine.horizon, machine.n_actions, machine.n_observations) == (H, A, 3)
    assert machine.optimum == ((1, 1, 1), pytest.approx(rewards[:, 0, 1].sum()))
    for h, state in itertools.product(range(H), range(S)):
        np.testing.assert_allclose(embedding(machine, h, state), LAWS[state])


@pytest.mark.parametrize(
    "read", [lambda m: m.norm, lambda m: m.norm_of(1)], ids=["norm", "norm of a future"]
)
def test_emissions_that_hide_a_state_are_refused_by_level(read: Callable[[Any], object]) -> None:
    alike = np.stack([LAWS, LAWS, LAWS[[0, 0]]])
    machine = surepath.Tabular.from_arrays([[0, 1], [1, 0]], alike, MEANS)
    error = refusal(lambda: read(machine))
    assert "level 2" in str(error)
    assert "singular value" in str(error.got)


def test_more_states_than_observations_hide_a_state() -> None:
    machine = surepath.Tabular.from_arrays([[0, 1], [1, 0]], np.ones((S, 1)), MEANS)
    assert "level 1" in str(refusal(lambda: machine.norm))


@pytest.mark.parametrize(
    ("name", "parameters", "mentions"),
    [
        ("lok", {}, "'lock'"),
        ("tabula", {}, "'tabular'"),
        ("xyzzy", {}, "lock, mixing"),
        ("lock", {"horizn": 3}, "'horizon'"),
        ("gaussian", {"dimensions": 3}, "'dimension'"),
        ("tabular", {"states": 5, "observations": 4}, "observations=4"),
        ("gaussian", {"states": 5, "dimension": 4}, "dimension=4"),
        ("mixing", {"modes": 2, "components": 3, "observations": 5}, "at least 6"),
        ("lock", {"observations": 2}, "observations"),
        ("lock", {"actions": 1}, "actions"),
        ("lock", {"prize": 0.3, "bait": 0.3}, "bait=0.3"),
        ("lock", {"prize": 1.1}, "prize"),
        ("lock", {"bait": -0.1}, "bait"),
        ("mixing", {"components": 1}, "components"),
        ("mixing", {"modes": 0}, "modes"),
        ("mixing", {"stirs": 0}, "stirs"),
        ("mixing", {"stirs": 4, "actions": 3}, "stirs"),
        ("mixing", {"gap": 0.5}, "gap"),
        ("tabular", {"gap": 0.0}, "gap"),
        ("tabular", {"gap": 0.999, "actions": 6}, "gap=0.999"),
        ("tabular", {"singular_value": 1.1}, "singular_value"),
        ("gaussian", {"singular_value": float("nan")}, "singular_value"),
        ("gaussian", {"noise": 0.0}, "noise"),
        ("gaussian", {"noise": float("inf")}, "noise"),
        ("gaussian", {"reward_noise": -1.0}, "reward_noise"),
        *((name, {"horizon": bad}, "horizon") for name in surepath.problems() for bad in (0, -1)),
        *(
            (name, {"horizon": bad}, "horizon")
            for name in surepath.problems()
            for bad in (2.5, "3")
        ),
        *((name, {"seed": -1}, "seed") for name in surepath.problems()),
        *((name, {"actions": True}, "actions") for name in surepath.problems()),
    ],
)
def test_parameters_that_make_no_problem_are_refused(
    name: str, parameters: dict[str, Any], mentions: str
) -> None:
    assert mentions in str(refusal(lambda: surepath.make(name, **parameters)))


@pytest.mark.parametrize("name", surepath.problems())
@pytest.mark.parametrize("step", [0, 1, 2])
@pytest.mark.parametrize("action", [-1, 99, 0.5])
def test_unknown_actions_are_refused_at_every_step(name: str, step: int, action: Any) -> None:
    problem = short(name)
    plan = tuple(action if h == step else 0 for h in range(problem.horizon))
    rng = np.random.default_rng(0)
    for call in (
        lambda: problem.path(plan),
        lambda: problem.expected_return(plan),
        lambda: problem.rollout(plan, 2, rng),
    ):
        assert f"action {action} at step {step}" in str(refusal(call).got)


@pytest.mark.parametrize("name", surepath.problems())
@pytest.mark.parametrize("missing", [3, 1, -1])
def test_the_return_of_a_sequence_of_another_length_is_refused(name: str, missing: int) -> None:
    problem = short(name)
    refusal(lambda: problem.expected_return((0,) * (problem.horizon - missing)))
