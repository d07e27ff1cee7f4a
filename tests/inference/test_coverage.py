"""What is not tried could not matter by what is known, and what could is tried."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import surepath
from machines import random_machine, read_trie, shape_of
from playing import learner_for, play
from surepath.builtin_problems.finite import Dynamics
from surepath.builtin_problems.tabular import Tabular
from surepath.inference.coverage import missing, shortage, worth_trying
from surepath.inference.judgement import judge
from surepath.inference.paths import reach
from surepath.inference.states import UNKNOWN
from surepath.inference.terms import Terms
from surepath.inference.tuning import TUNING
from surepath.readings.trie import Node


def unbounded(level: int) -> float:
    del level
    return math.inf


def test_where_many_states_are_known_some_are_enough() -> None:
    """Those already tried, and otherwise so many of those read most that the rest is predicted."""
    for tried in (0, 3, 15):
        machine = random_machine(np.random.default_rng(2), 2, 3, 20)
        states = 20
        count = np.zeros((states, 3))
        count[:tried] = 2
        count[tried:, 0] = np.arange(states - tried) + 1
        layer = replace(
            machine.layers[1],
            prefixes=[(0,)] * states,
            count=count,
            mean=np.zeros((states, 3)),
            scatter=np.zeros((states, 3)),
            target=np.full((states, 3), UNKNOWN),
            points=np.zeros((states, 2)),
        )
        machine.layers[1] = layer
        short = shortage(machine, [8, 8], unbounded)[1]
        asked = np.flatnonzero(short.any(axis=1))
        assert len(asked) == max(tried, TUNING.least_points)
        assert set(range(tried)) <= set(asked.tolist())
        rest = [state for state in asked if state >= tried]
        assert rest == [*range(states - len(rest), states)]
        layer.points = None
        short = shortage(machine, [8, 8], unbounded)[1]
        assert (short == np.maximum(8 - count, 0)).all()


@pytest.mark.parametrize("seed", range(20))
def test_every_state_of_a_path_that_may_be_as_good_is_worth_trying(seed: int) -> None:
    """Against all paths, of machines some of whose states nobody went on from."""
    rng = np.random.default_rng(seed)
    machine = random_machine(rng, 5, 2, 4)
    for layer in machine.layers[1:]:
        left = rng.random(len(layer.prefixes)) < 0.3
        layer.count[left], layer.mean[left], layer.target[left] = 0.0, 0.0, UNKNOWN
    most = [0.3 * (machine.horizon - level) for level in range(machine.horizon)]
    whole, begun = list[float](), [dict[int, float]() for _ in machine.layers]

    def walk(level: int, state: int, paid: float) -> None:
        begun[level][state] = max(paid, begun[level].get(state, -math.inf))
        layer = machine.layers[level]
        for action in np.flatnonzero(layer.count[state]).tolist():
            total = paid + float(layer.mean[state, action])
            if level + 1 == machine.horizon:
                whole.append(total)
            elif layer.target[state, action] != UNKNOWN:
                walk(level + 1, int(layer.target[state, action]), total)

    walk(0, 0, 0.0)
    best = max(whole, default=-math.inf)
    for level, found in enumerate(worth_trying(machine, most.__getitem__)):
        for state, paid in begun[level].items():
            assert found[state] == (paid + most[level] >= best)


def test_all_is_worth_trying_while_nothing_was_read_to_its_end() -> None:
    machine = random_machine(np.random.default_rng(0), 4, 3, 5)
    assert not all(each.all() for each in worth_trying(machine, lambda _: 0.0))
    machine.layers[-1].count[:] = 0.0
    assert all(each.all() for each in worth_trying(machine, lambda _: 0.0))
    assert np.isfinite(reach(machine)[-1]).all()


def test_a_state_that_was_tried_gets_its_readings_whatever_it_promises() -> None:
    machine = random_machine(np.random.default_rng(0), 4, 3, 5)
    assert missing(machine, [6] * 4, lambda _: 0.0)
    assert all((part == 1.0).all() for part in shortage(machine, [6] * 4, lambda _: 0.0))


def two_levels(first: tuple[float, float], after: tuple[float, float]) -> tuple[Node, Terms]:
    """Read 400 times: both first actions, and what follows the first of them."""
    rewards = np.array([[first, (0, 0)], [after, (1.0, 1.0)]])
    transitions = np.array([[[0, 1], [0, 0]], [[0, 0], [0, 0]]])
    problem = Tabular(Dynamics(transitions, rewards), np.array([np.eye(2)] * 2))
    root = read_trie(problem, 400, np.random.default_rng(0), [(0, 0), (0, 1), (1,)])
    terms = Terms(shape_of(problem), "calibrated", 0.05, None, 0.1, reward_range=(0.0, 1.0))
    return root, terms.tree()


def test_what_could_not_matter_is_left_alone() -> None:
    """Nothing after the second action could make up for it: what was not tried is no question."""
    root, terms = two_levels((0.9, 0.1), (0.8, 0.2))
    judged = judge(root, terms)
    assert not judged.machine.layers[1].expanded.all()
    assert not missing(judged.machine, [400, 400], terms.most_from)
    assert judged.plan.actions == (0, 0)
    assert judged.settled
    assert not judged.predicted


def test_what_could_matter_is_asked_for() -> None:
    """The second action pays a little less, and what follows it may pay more."""
    root, terms = two_levels((0.5, 0.4), (0.8, 0.2))
    judged = judge(root, terms)
    assert not judged.complete
    assert shortage(judged.machine, [1, 2], terms.most_from)[1].tolist() == [[0, 0], [2, 2]]


def test_what_only_seems_not_to_matter_stays_a_question() -> None:
    """It is not tried at first; but what is paid on the way is not known well enough for that."""
    root, terms = two_levels((1.0, 0.65), (0.8, 0.2))
    surer = replace(terms, delta=1e-12)
    judged = judge(root, surer)
    assert not missing(judged.machine, [1, 1], surer.most_from)
    (challenger,) = judged.open
    assert (challenger.action, challenger.level, challenger.path.end) == (1, 0, 1)


@pytest.mark.parametrize("seed", range(4))
def test_runs_without_merging_read_what_may_matter(seed: int) -> None:
    problem = surepath.make("continuous", seed=seed)
    learner = learner_for(problem, seed=seed, future=problem.horizon + 1)
    play(learner, problem, seed)
    judged = learner.judgement
    assert judged is not None
    assert judged.settled
    assert problem.is_optimal(judged.plan.actions)
    least = learner.terms.first_readings
    assert not missing(judged.machine, least, learner.terms.most_from)
    last = judged.machine.layers[-1]
    assert 0 < last.expanded.sum() < problem.n_actions ** (problem.horizon - 1) / 2
