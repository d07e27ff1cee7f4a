"""A last step that only measures: what is paid there is paid for the state, whatever led to it."""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

import surepath
from surepath.doctor.pilot import requests_of_pilot
from surepath.prepare.call import Call

SIZES = (1, 3, 5, 4)
"""States by level: three choices, and the ends that are measured."""


class Measured:
    """A machine that is read without noise and paid, with noise, for where it ends."""

    horizon, n_actions, n_observations = len(SIZES), 3, sum(SIZES)

    def __init__(self, seed: int = 0, last_actions: int | None = 1) -> None:
        if last_actions is not None:
            self.last_actions = last_actions
        rng = np.random.default_rng(seed)
        self.moves = [rng.integers(below, size=(size, 3)) for size, below in pairwise(SIZES)]
        self.pay = rng.permutation(SIZES[-1]) / SIZES[-1]

    def path(self, actions: tuple[int, ...]) -> list[int]:
        states = [0]
        for moves, action in zip(self.moves, actions, strict=False):
            states.append(int(moves[states[-1], action]))
        return states

    def rollout(
        self, actions: tuple[int, ...], n: int, rng: np.random.Generator
    ) -> surepath.Episodes:
        path = self.path(actions)
        seen = [sum(SIZES[:level]) + state for level, state in enumerate(path)]
        rewards = np.zeros((n, len(actions)))
        if len(actions) == self.horizon:
            rewards[:, -1] = rng.random(n) < self.pay[path[-1]]
        return surepath.Episodes(actions, np.tile(seen, (n, 1)), rewards)

    def best(self) -> float:
        orders = product(range(3), repeat=self.horizon - 1)
        return max(float(self.pay[self.path(order)[-1]]) for order in orders)


def learned(system: Measured, **options: object) -> surepath.Result:
    return surepath.learn(system, separation="exact", return_range=(0, 1), **options)


def test_the_last_step_is_no_choice() -> None:
    for seed in range(5):
        system = Measured(seed)
        result = learned(system, seed=seed)
        assert result.certified
        assert result.actions[-1] == 0
        assert system.pay[system.path(result.actions)[-1]] == system.best()
        assert [len(level.estimates) for level in result.certificate.levels] == [3, 3, 3, 1]


def test_it_saves_what_trying_equal_actions_costs() -> None:
    told, untold = (
        [learned(Measured(seed, last), seed=seed).episodes for seed in range(3)]
        for last in (1, None)
    )
    assert sum(told) < 0.6 * sum(untold)  # a third of the last edges


def test_ends_are_read_before_they_are_measured() -> None:
    system, walked = Measured(), list[int]()
    rollout = system.rollout

    def noted(actions: tuple[int, ...], n: int, rng: np.random.Generator) -> surepath.Episodes:
        walked.append(len(actions))
        return rollout(actions, n, rng)

    system.rollout = noted
    assert learned(system).certified
    first = walked.index(system.horizon)
    assert walked[:first].count(system.horizon - 1) >= SIZES[-1]


def test_it_is_verified_from_files(tmp_path: Path) -> None:
    journal, saved = tmp_path / "run.db", tmp_path / "run.json"
    result = learned(Measured(), journal=journal)
    result.save(saved)
    assert surepath.verify(saved).agrees
    found = surepath.verify(journal)
    assert found.agrees
    assert found.taken == ()
    assert surepath.load(saved).certificate == result.certificate
    assert len(result.to_dataframe()) == 4


def test_other_last_actions_say_nothing() -> None:
    """Episodes from before may have taken them."""
    system, rng = Measured(), np.random.default_rng(0)
    before = [system.rollout((a, b, c, 2), 20, rng) for a, b, c in product(range(3), repeat=3)]
    given = learned(system, data=before)
    assert given.certified
    assert all(level.samples > 0 for level in given.certificate.levels)
    assert given.actions[-1] == 0


def test_a_shorter_horizon_ends_with_a_choice() -> None:
    result = learned(Measured(), horizon=3, budget=200)
    assert len(result.certificate.levels[-1].estimates) == 3


def test_the_doctor_does_not_try_what_does_not_differ() -> None:
    requests = requests_of_pilot(Call.of(Measured()), 400)
    assert {request.actions[-1] for request in requests} == {0}
    assert {request.actions[-2] for request in requests} == {0, 1, 2}
    assert surepath.diagnose(Measured(), episodes=400, separation="exact").forecasts


def test_all_actions_may_be_said_to_differ() -> None:
    system = Measured(last_actions=3)
    assert learned(system).episodes == learned(Measured(last_actions=None)).episodes


def test_a_number_that_is_none_is_refused() -> None:
    with pytest.raises(surepath.InputError, match="last_actions"):
        learned(Measured(last_actions=0))
