"""Merging or not: by what is foreseen to be cheaper, and what was read counts either way."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import surepath
from machines import read_trie, shape_of
from surepath.builtin_problems.finite import Dynamics
from surepath.builtin_problems.tabular import Tabular
from surepath.inference.guarantee_widths import Calibrated
from surepath.inference.judgement import judge
from surepath.inference.terms import Terms
from surepath.inference.tuning import TUNING
from surepath.learners.bare_tree import MOST_LEAVES, TreeOrMachine, loses, tree_episodes


def terms_of(problem: Tabular, **options: Any) -> Terms:
    given: dict[str, Any] = {"delta": 0.05, "gap": None, "tolerance": None, **options}
    return Terms(shape_of(problem), "calibrated", reward_range=(0.0, 1.0), **given)


def test_few_sequences_are_read_as_a_tree_from_the_beginning() -> None:
    problem = surepath.make("overcomplete", seed=3)
    assert problem.n_actions**problem.horizon <= TUNING.tree_at_first
    result = surepath.learn(problem)
    assert result.certified
    assert problem.is_optimal(result.actions)
    if result.certificate.terms.shape.merges:  # it may find out that states can be told apart
        assert any("one machine" in note for note in result.certificate.notes)
    else:
        assert result.certificate.rests_on == ()
        assert not any("hidden states of a level" in a for a in result.certificate.assumptions)


def test_what_is_given_is_kept() -> None:
    """A future that was given, exact readings and many sequences: there is nothing to choose."""
    small, large = (surepath.make("tabular", horizon=h, seed=0) for h in (3, 12))
    assert large.n_actions**large.horizon > MOST_LEAVES
    assert TreeOrMachine(terms_of(small), may_choose=False).first == terms_of(small)
    exact = terms_of(small, separation="exact")
    assert TreeOrMachine(exact, may_choose=True).first == exact
    assert TreeOrMachine(terms_of(large), may_choose=True).first == terms_of(large)
    assert not TreeOrMachine(terms_of(small), may_choose=True).first.shape.merges
    result = surepath.learn(small, future=1)
    assert result.certificate.terms.shape.future == 1


def test_episodes_of_the_tree_are_foreseen_from_what_sequences_lose() -> None:
    """Two levels, known means: each sequence as often as its last reward's noise asks for."""
    rewards = np.array([[[0.5, 0.5], [0, 0]], [[0.9, 0.4], [0.6, 0.1]]])
    transitions = np.array([[[0, 1], [0, 0]], [[0, 0], [0, 0]]])
    laws = np.array([[[1.0, 0.0], [0.0, 1.0]]] * 2)
    problem = Tabular(Dynamics(transitions, rewards), laws)
    terms = terms_of(problem, tolerance=0.1)
    root = read_trie(problem, 4000, np.random.default_rng(0))
    judged = judge(root, terms)
    assert judged.whole
    strength = Calibrated.under(terms).strength
    needed = [
        2 * strength * (mean * (1 - mean) + 0.25 / 2) / max(lost, 0.1) ** 2
        for mean, lost in ((0.4, 0.5), (0.6, 0.3), (0.1, 0.8))
    ]
    assert max(needed) < 4000  # all of it was read
    assert tree_episodes(judged, terms, root) == 0
    few = read_trie(problem, 8, np.random.default_rng(0))
    foreseen = tree_episodes(judge(root, terms), terms, few)
    expected = sum(max(each, TUNING.first_on_tree) - 8 for each in needed) + max(needed) - 8
    assert foreseen == pytest.approx(expected, rel=0.1)


def test_what_the_tree_has_ruled_out_is_no_reason_to_leave_it() -> None:
    problem = surepath.make("tabular", horizon=3, states=3, actions=2, observations=4, seed=0)
    terms = terms_of(problem).tree()
    worst, *_, second, best = sorted(product(range(2), repeat=3), key=problem.expected_return)
    known = judge(read_trie(problem, 2000, np.random.default_rng(0)), terms)
    assert [loses(known, each, terms) for each in (best, worst)] == [False, True]
    hardly = judge(read_trie(problem, 2, np.random.default_rng(0)), terms)
    assert not loses(hardly, second, terms)


def test_a_run_goes_over_to_the_tree_where_states_are_hard_to_tell_apart() -> None:
    """Seven levels, 128 sequences of which all but a few lose clearly; many symbols."""
    found = list[bool]()
    for seed in range(4):
        problem = surepath.make(
            "tabular", horizon=7, states=5, actions=2, observations=30, gap=0.2, seed=seed
        )
        result = surepath.learn(problem, seed=seed)
        assert problem.is_optimal(result.actions)
        ways = [note for note in result.certificate.notes if " because " in note]
        found.append(not result.certificate.terms.shape.merges)
        assert found[-1] == bool(ways and ways[-1].startswith("the bare tree"))
    assert any(found)


@pytest.mark.parametrize("name", ["overcomplete", "tabular"])
def test_runs_that_choose_are_resumed_and_verified(name: str, tmp_path: Any) -> None:
    path, problem = tmp_path / "run.db", surepath.make(name, horizon=5, seed=2)
    whole = surepath.learn(problem, seed=1)
    surepath.learn(problem, seed=1, journal=path, budget=whole.episodes // 2)
    resumed = surepath.learn(problem, seed=1, journal=path)
    assert resumed.episodes == whole.episodes
    assert resumed.to_dict()["certificate"] == whole.to_dict()["certificate"]
    assert surepath.verify(path).certified == whole.certified
