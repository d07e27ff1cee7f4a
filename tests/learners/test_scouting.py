"""Few sequences: whole ones are tried first, drawn by how likely each is the best."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import surepath
from machines import read_trie, shape_of
from surepath.inference.judgement import judge
from surepath.inference.states import columns_of
from surepath.inference.terms import Terms
from surepath.inference.tuning import TUNING
from surepath.learners.base import Asking
from surepath.learners.scouting import Scout, belief_of, beliefs_of, best_of
from surepath.prepare.adaptive_run import AdaptiveRun
from surepath.prepare.call import Call
from surepath.prepare.proved_run import ProvedRun
from surepath.prepare.start import start
from surepath.readings.trie import Node
from surepath.results.usage import states_of
from surepath.run.driver import drive
from surepath.run.runner import Runner
from surepath.system import Actions, FloatArray


def terms_of(problem: Any) -> Terms:
    shape = shape_of(problem)
    return Terms(shape, "calibrated", reward_range=(0.0, 1.0), delta=0.05, gap=None, tolerance=None)


# ---------------------------------------------------------------- what is believed


def test_the_best_sequence_of_a_world_is_that_of_all_sequences() -> None:
    """Also where the last step has fewer actions."""
    rng = np.random.default_rng(0)
    shapes = [(5, 1, 3), (5, 3, 3), (5, 9, 2)]
    levels = [rng.normal(size=shape) for shape in shapes]

    def value(world: int, actions: Actions) -> float:
        place, total = 0, 0.0
        for level, action in zip(levels, actions, strict=True):
            total += float(level[world, place, action])
            place = place * level.shape[2] + action
        return total

    sequences = list(product(range(3), range(3), range(2)))
    for world, found in enumerate(best_of(levels)):
        assert found == max(sequences, key=lambda each: value(world, each))


def told(*several: list[float]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Number, sum and scatter of what was read of each action of one place."""
    count = np.array([[len(each) for each in several]], dtype=float)
    total = np.array([[sum(each) for each in several]])
    scatter = np.array([[len(each) * np.var(each) if each else 0.0 for each in several]])
    return count, total, scatter


def test_a_belief_lies_between_what_was_read_and_what_is_usual() -> None:
    belief = belief_of(*told([0.2] * 9, [1.0], []), most=0.25)
    usual = 2.8 / 10
    mean, deviation = belief.mean[0], belief.deviation[0]
    assert 0.2 < mean[0] < usual < mean[1] < 1.0
    assert mean[2] == pytest.approx(usual)
    assert deviation[0] < deviation[1] < deviation[2]


def test_with_many_readings_a_belief_is_their_mean_and_its_error() -> None:
    rng = np.random.default_rng(1)
    several = [list(rng.normal(mean, 0.3, 20_000)) for mean in (0.1, 0.5, 0.9)]
    belief = belief_of(*told(*several), most=0.25)
    assert belief.mean[0] == pytest.approx([np.mean(each) for each in several], abs=1e-4)
    assert belief.deviation[0] == pytest.approx(0.3 / np.sqrt(20_000), rel=0.02)


def test_with_no_reading_all_is_possible() -> None:
    belief = belief_of(*told([], []), most=0.25)
    assert (belief.deviation == 0.5).all()


def test_every_reward_is_believed_at_its_own_prefix() -> None:
    """The place of a prefix in its level is that of its actions in order, whenever it was read."""
    problem = surepath.make("tabular", horizon=3, states=3, observations=4, seed=0)
    terms = terms_of(problem)
    root = read_trie(problem, 500, np.random.default_rng(0))
    beliefs = beliefs_of(columns_of(root, terms.shape), terms)
    for level, belief in enumerate(beliefs):
        for actions in product(range(problem.n_actions), repeat=level + 1):
            node = root
            for action in actions:
                node = node.child(action)
            place = 0
            for action in actions[:-1]:
                place = place * problem.n_actions + action
            mean = node.rewards.total / node.rewards.count
            assert belief.mean[place, actions[-1]] == pytest.approx(mean, abs=0.01)


# ---------------------------------------------------------------- when it is over


def wanted(scout: Scout, root: Node, terms: Terms) -> list[tuple[Actions, int]]:
    columns = columns_of(root, terms.shape)
    return scout.wanted(root, columns, terms, np.random.default_rng(0), 1)


def test_it_is_over_where_it_is_not_needed() -> None:
    problem = surepath.make("tabular", horizon=3, states=3, observations=4, seed=0)
    terms = terms_of(problem)
    assert wanted(Scout(needed=False), Node(), terms) == []
    first = wanted(Scout(needed=True), Node(), terms)
    assert sum(count for _, count in first) == TUNING.scouts_at_once


def test_it_is_over_when_most_worlds_agree() -> None:
    """And stays so; what was read by somebody else counts."""
    problem = surepath.make("tabular", horizon=3, states=3, observations=4, seed=0)
    terms = terms_of(problem)
    scout = Scout(needed=True)
    assert wanted(scout, read_trie(problem, 4000, np.random.default_rng(0)), terms) == []
    assert problem.is_optimal(scout.best)
    assert wanted(scout, Node(), terms) == []


def episodes_of_scouts(problem: Any, seed: int, **options: Any) -> tuple[int, int]:
    """Episodes of a run while it scouts, and edges of its machine then."""
    run = start(Call.of(problem, seed=seed, **options))
    assert isinstance(run, AdaptiveRun)
    learner, spent = run.learner, 0

    def watch(_: Asking) -> bool:
        nonlocal spent
        if not learner.decided()["scouting"][0]:
            return True
        spent = learner.usage.episodes
        return False

    drive(learner, Runner(problem, seed), watch=watch)
    machine = judge(learner.root, learner.terms, columns=learner.columns).machine
    return spent, machine.n_actions * states_of(machine)


def test_a_needle_is_not_looked_for_in_the_dark() -> None:
    """Of 1024 sequences of a lock one pays, and its states are few: they are soon learned."""
    for seed in range(5):
        problem = surepath.make("lock", horizon=5, actions=4, seed=seed)
        spent, edges = episodes_of_scouts(problem, seed)
        assert spent <= 2 * edges


@pytest.mark.parametrize("options", [{"future": 1}, {"guarantee": "proved"}])
def test_who_says_how_to_look_gets_no_scouts(options: dict[str, Any]) -> None:
    problem = surepath.make("tabular", horizon=3, states=3, observations=4, seed=0)
    run = start(Call.of(problem, **options))
    assert isinstance(run, AdaptiveRun | ProvedRun)
    proposer = run.learner if isinstance(run, AdaptiveRun) else run.learner.proposer
    assert not proposer.decided()["scouting"][0]


# ---------------------------------------------------------------- what it is good for


def test_good_sequences_are_found_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of instances on which only one of the two is right after 120 episodes, with scouts it is."""

    def never(*_: object) -> list[tuple[Actions, int]]:
        return []

    def right(seed: int) -> bool:
        problem = surepath.make(
            "tabular", horizon=4, states=5, actions=3, observations=8, seed=seed
        )
        run = start(Call.of(problem, seed=seed))
        drive(run.learner, Runner(problem, seed), budget=120)
        found = run.learner.incumbent
        return len(found) == problem.horizon and problem.is_optimal(found)

    mine = [right(seed) for seed in range(40)]
    monkeypatch.setattr(Scout, "wanted", never)
    without = [right(seed) for seed in range(40)]
    apart = [ours for ours, theirs in zip(mine, without, strict=True) if ours != theirs]
    assert sum(apart) > binom.ppf(0.99, len(apart), 0.5)
