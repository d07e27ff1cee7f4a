"""Automata learned by AALpy: what they are learned from, and the plans made in them."""

from __future__ import annotations

import random
import sys
from itertools import product

import pytest

import surepath
from sequences import small
from surepath.baselines.automata import Alergia, lstar, planned
from surepath.errors import InputError, MissingExtraError
from surepath.run.driver import drive
from surepath.run.runner import Runner

CLEAR = surepath.make("tabular", horizon=3, states=2, observations=2, actions=2, gap=0.3, seed=0)


def test_a_machine_without_chance_is_planned_exactly() -> None:
    for seed in range(5):
        rng = random.Random(seed)
        sure = {
            state: {action: [(rng.randrange(3), 1.0, rng.random())] for action in range(2)}
            for state in range(3)
        }
        worth = dict[tuple[int, ...], float]()
        for actions in product(range(2), repeat=4):
            state, worth[actions] = 0, 0.0
            for action in actions:
                ((state, _, paid),) = sure[state][action]
                worth[actions] += paid
        assert worth[planned(sure, 4, 2)] == pytest.approx(max(worth.values()))


def test_a_plan_is_best_on_average_over_what_chance_does() -> None:
    """The first action leads to a state where 0 pays, or more often to one where 1 does."""
    gamble = {
        0: {a: [(1, 0.3, 0.0), (2, 0.7, 0.0)] for a in range(2)},
        1: {0: [(0, 1.0, 1.0)], 1: [(0, 1.0, 0.0)]},
        2: {0: [(0, 1.0, 0.0)], 1: [(0, 1.0, 1.0)]},
    }
    assert planned(gamble, 2, 2)[1] == 1


def test_alergia_takes_its_episodes_and_plans() -> None:
    learner = Alergia(4, 2, 300, eps=0.5, seed=0)
    drive(learner, Runner(small(1), 0))
    assert learner.done
    assert learner.usage.episodes == 300
    assert len(learner.incumbent) == 4
    assert learner.states >= 1
    again = Alergia(4, 2, 300, eps=0.5, seed=0)
    drive(again, Runner(small(1), 0))
    assert again.incumbent == learner.incumbent


def test_alergia_needs_symbols_and_few_rewards() -> None:
    gaussian = surepath.make("gaussian", horizon=3, states=2, seed=0)
    with pytest.raises(InputError, match=r"from symbols|few different rewards"):
        drive(Alergia(3, gaussian.n_actions, 40, reward_range=gaussian.reward_range),
              Runner(gaussian, 0))  # fmt: skip


def test_lstar_finds_a_small_machine_and_leaves_chance_as_it_was() -> None:
    random.seed(5)
    before = random.getstate()
    steps, actions = lstar(CLEAR, 10**6, 0, rounds=20, walk=100)
    assert random.getstate() == before
    assert 0 < steps < 10**6
    assert len(actions) == 3
    assert (steps, actions) == lstar(CLEAR, 10**6, 0, rounds=20, walk=100)


def test_lstar_stops_when_its_steps_are_spent() -> None:
    assert lstar(CLEAR, 200, 0, rounds=20, walk=100) == (200, ())


def test_aalpy_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aalpy.learning_algs", None)
    with pytest.raises(MissingExtraError, match=r"surepath\[rivals\]"):
        lstar(CLEAR, 200, 0, rounds=20, walk=100)
