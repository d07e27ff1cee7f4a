"""Machines against the hidden states they are to find, with readings as good as exact."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

import surepath
from machines import coins, follow, read_trie, shape_of, symbols, written_trie
from surepath.builtin_problems import Problem
from surepath.inference.comparison import Apart
from surepath.inference.separation import Separation
from surepath.inference.states import (
    UNKNOWN,
    Automaton,
    Shape,
    derive,
    equal_readings,
    same_readings,
)
from surepath.inference.symbols import Symbols
from surepath.readings.digests import Cloud
from surepath.readings.trie import Node, Tally
from surepath.system import RewardMoments

EXACT = 10**9  # readings of every sequence: whatever differs is told apart

PROBLEMS: list[tuple[str, dict[str, Any]]] = [
    ("tabular", {"horizon": 4, "states": 3, "actions": 3, "observations": 4}),
    ("tabular", {"horizon": 7, "states": 5, "actions": 2, "observations": 5}),
    ("gaussian", {"horizon": 5, "states": 4, "actions": 2, "dimension": 4}),
    ("lock", {"horizon": 5, "actions": 3}),
]


def build(name: str, options: dict[str, Any], seed: int) -> tuple[Any, Node]:
    problem: Any = surepath.make(name, seed=seed, **options)
    return problem, read_trie(problem, EXACT, np.random.default_rng([1, seed]))


def hidden(problem: Problem, node: Node) -> int:
    return int(problem.path(node.prefix)[node.level])


def assert_same(one: Automaton, other: Automaton) -> None:
    for a, b in zip(one.layers, other.layers, strict=True):
        assert a.prefixes == b.prefixes
        assert [[n.prefix for n in nodes] for nodes in a.members] == [
            [n.prefix for n in nodes] for nodes in b.members
        ]
        for name in ("count", "mean", "scatter", "target"):
            assert np.array_equal(getattr(a, name), getattr(b, name)), name


# ---------------------------------------------------------------- the hidden states


@pytest.mark.parametrize(("name", "options"), PROBLEMS)
@pytest.mark.parametrize("seed", range(4))
def test_states_are_the_reachable_ones(name: str, options: dict[str, Any], seed: int) -> None:
    """As many as there are, each with all its prefixes, and moved as the hidden state moves."""
    problem, root = build(name, options, seed)
    machine = derive(root, shape_of(problem))
    names = list[list[int]]()  # the hidden state behind each state of the machine, by level
    for level, layer in enumerate(machine.layers):
        found = [{hidden(problem, node) for node in nodes} for nodes in layer.members]
        assert all(len(states) == 1 for states in found)
        names.append([states.pop() for states in found])
        assert sorted(names[-1]) == problem.reachable[level].tolist()
        prefixes = [node.prefix for nodes in layer.members for node in nodes]
        assert sorted(prefixes) == sorted(product(range(problem.n_actions), repeat=level))
    for level, layer in enumerate(machine.layers[:-1]):
        moved = problem.dynamics.transitions[level, names[level]]
        assert np.array_equal(np.array(names[level + 1])[layer.target], moved)
    assert (machine.layers[-1].target == UNKNOWN).all()


@pytest.mark.parametrize("count", [3, 40, EXACT])
def test_edges_pool_every_reading_of_theirs(count: int) -> None:
    """Rewards are those of all nodes of a state, whichever prefix paid them."""
    problem = surepath.make("tabular", horizon=4, actions=3, seed=5)
    root = read_trie(problem, count, np.random.default_rng(0))
    for layer in derive(root, shape_of(problem)).layers:
        for state, nodes in enumerate(layer.members):
            for action in range(problem.n_actions):
                tallies = [node.children[action].rewards for node in nodes]
                n, total = sum(t.count for t in tallies), sum(t.total for t in tallies)
                assert layer.count[state, action] == n
                assert layer.mean[state, action] == pytest.approx(total / n)
                # What lies between the nodes is scatter as well.
                parts = [t.scatter + t.count * (t.mean - total / n) ** 2 for t in tallies]
                assert layer.scatter[state, action] == pytest.approx(sum(parts))


@pytest.mark.parametrize("count", [3, 40, EXACT])
def test_deriving_again_gives_the_same_machine(count: int) -> None:
    for seed in range(5):
        problem = surepath.make("tabular", horizon=4, actions=3, seed=seed)
        root = read_trie(problem, count, np.random.default_rng(seed))
        shape = shape_of(problem)
        assert_same(derive(root, shape), derive(root, shape))


@pytest.mark.parametrize("count", [3, 40, EXACT])
def test_prefixes_lead_to_their_states(count: int) -> None:
    for seed in range(5):
        problem = surepath.make("gaussian", horizon=4, seed=seed)
        machine = derive(read_trie(problem, count, np.random.default_rng(seed)), shape_of(problem))
        for level, layer in enumerate(machine.layers[1:], start=1):
            for state, prefix in enumerate(layer.prefixes):
                last, action = follow(machine, prefix)[-1]
                assert machine.layers[level - 1].target[last, action] == state


def test_what_was_not_tried_is_unknown() -> None:
    problem = surepath.make("tabular", horizon=3, actions=2, seed=1)
    root = read_trie(problem, EXACT, np.random.default_rng(0), [(0, 1), (0, 0, 1)])
    first, second, third = derive(root, shape_of(problem)).layers
    assert first.target.tolist() == [[0, UNKNOWN]]
    assert first.count.tolist() == [[2 * EXACT, 0]]
    assert first.expanded.tolist() == [False]
    assert second.expanded.tolist() == [True]
    assert third.count.sum() == EXACT
    empty = derive(Node(), shape_of(problem))
    assert [len(layer.members) for layer in empty.layers] == [1, 0, 0]
    assert sum(len(layer.edges) for layer in empty.layers) == 2


def test_mean_features_of_the_states() -> None:
    """They are what values are predicted from: the embeddings, up to the noise of the readings."""
    problem, root = build("tabular", PROBLEMS[0][1], 2)
    machine = derive(root, shape_of(problem))
    # Where all states were tried, nothing is predicted.
    assert [layer.points for layer in machine.layers] == [None] * problem.horizon
    for layer in machine.layers:
        for node in layer.members[0]:
            node.children[0].rewards = Tally()
    machine = derive(root, shape_of(problem))
    assert machine.layers[0].points is None
    for level, layer in enumerate(machine.layers[1:], start=1):
        states = [hidden(problem, nodes[0]) for nodes in layer.members]
        assert layer.points == pytest.approx(problem.embeddings[level, states], abs=1e-3)


# ---------------------------------------------------------------- futures of several looks


def test_two_looks_tell_apart_what_one_does_not() -> None:
    for seed in range(5):
        problem: Any = surepath.make("overcomplete", horizon=5, seed=seed)
        root = read_trie(problem, EXACT, np.random.default_rng(seed))
        machine = derive(root, shape_of(problem, future=2))
        for level in range(problem.horizon - 1):
            found = [{hidden(problem, n) for n in nodes} for nodes in machine.layers[level].members]
            assert all(len(states) == 1 for states in found)
            assert len(found) == len(problem.reachable[level])


@pytest.mark.parametrize("future", [2, 3, 4])
def test_levels_without_a_full_window_never_merge(future: int) -> None:
    """Every edge into one of the last future - 1 levels has an end of its own."""
    problem = surepath.make("tabular", horizon=4, states=2, actions=2, observations=3, seed=3)
    machine = derive(
        read_trie(problem, EXACT, np.random.default_rng(0)), shape_of(problem, future=future)
    )
    sizes = [len(layer.members) for layer in machine.layers]
    for level in range(1, 4):
        if level + future > problem.horizon:
            assert sizes[level] == 2 * sizes[level - 1]
            assert sorted(machine.layers[level - 1].target.ravel()) == [*range(sizes[level])]
        else:
            assert sizes[level] <= 2


def test_windows_that_are_read_in_part_are_compared_by_what_was_read() -> None:
    """Two looks ahead; below one of the ends nobody has taken action 1."""
    problem: Any = surepath.make("tabular", horizon=4, states=2, actions=2, observations=3, seed=3)
    every = [p for p in product(range(2), repeat=3) if p[:2] != (0, 1)]
    machine = derive(
        read_trie(problem, EXACT, np.random.default_rng(0), every), shape_of(problem, future=2)
    )
    found = [{hidden(problem, n) for n in nodes} for nodes in machine.layers[1].members]
    assert all(len(states) == 1 for states in found)
    assert len(found) == len(problem.reachable[1])


# ---------------------------------------------------------------- evidence


def three_places() -> Node:
    """Actions 0 and 1 lead to one law, action 2 to another."""
    far, near = symbols(900, 100), symbols(100, 900)
    return written_trie(
        {
            (): (symbols(1000, 1000), None),
            (0,): (far, coins(1000, 0.5)),
            (1,): (symbols(450, 50), coins(500, 0.5)),
            (2,): (near, coins(1000, 0.5)),
        }
    )


def test_the_evidence_for_each_end() -> None:
    """The end read most founds its state; the others of it are tested against the separation."""
    separation = Separation(0.3, math.log(20))
    sorting = derive(three_places(), Shape(2, 3, 2, symbols=True), separation).layers[0].sorting
    assert sorting is not None
    assert sorting.labels[0] == sorting.labels[1] != sorting.labels[2]
    merges = sorting.merges
    assert np.isinf(merges.evidence).tolist() == [True, False, True]
    # Equal shares at 1000 and 500 readings.
    assert merges.apart.distance[1] == pytest.approx(0)
    assert merges.apart.variance[1] == pytest.approx((1 / 1000 + 1 / 500) / 4)
    none = np.zeros(1)
    apart = Apart(none, np.array([(1 / 1000 + 1 / 500) / 4]), none, np.ones(1), none)
    assert merges.evidence[1] == pytest.approx(Symbols().log_evidence(apart, 0.3)[0])
    assert (merges.own[1], merges.rest[1]) == (500, 1000)
    assert isinstance(sorting.comparison, Symbols)


def test_where_no_separation_is_tested_every_end_is_as_sure_as_can_be() -> None:
    sorting = derive(three_places(), Shape(2, 3, 2, symbols=True)).layers[0].sorting
    assert sorting is not None
    assert sorting.labels[0] == sorting.labels[1] != sorting.labels[2]
    assert np.isinf(sorting.merges.evidence).all()


def test_testing_a_separation_does_not_change_the_machine() -> None:
    for name, options in PROBLEMS:
        problem: Any = surepath.make(name, seed=3, **options)
        root = read_trie(problem, 40, np.random.default_rng(3))
        shape = shape_of(problem)
        assert_same(derive(root, shape), derive(root, shape, Separation(0.3, math.log(20))))


def test_a_machine_pays_when_rewards_differ() -> None:
    """Within a place or between places; as long as all are the same nothing is known of them."""

    def machine(*rewards: RewardMoments) -> Automaton:
        entries = {(a,): (None, pays) for a, pays in enumerate(rewards)}
        root = written_trie({(): (symbols(1, 1), None), **entries})
        return derive(root, Shape(1, len(rewards), 2, symbols=True))

    assert not machine(coins(8, 0.0), coins(9, 0.0)).pays
    assert not machine(RewardMoments(8, 0.25, 0.0), RewardMoments(5, 0.25, 0.0)).pays
    assert machine(coins(8, 0.0), RewardMoments(8, 0.25, 0.0)).pays
    assert machine(coins(8, 0.0), coins(9, 1 / 9)).pays
    assert machine(RewardMoments(8, 0.5, 2.0), RewardMoments(8, 0.5, 2.0)).pays
    assert not derive(Node(), Shape(1, 2, 2, symbols=True)).pays


def test_predictions_can_be_forbidden() -> None:
    problem, root = build("tabular", PROBLEMS[0][1], 2)
    machine = derive(root, shape_of(problem))
    machine.forbid_predictions()
    assert all(layer.points is None for layer in machine.layers)


def test_equal_readings_are_one_state_however_often_they_were_read() -> None:
    """A mean of three tenths is not a tenth to the last digit."""

    def tenths(count: int) -> Cloud:
        total = np.add.reduce([np.array([0.1, 7.0])] * count)
        return Cloud(count, total, np.diag(total**2 / count))

    assert tenths(3).value[0] != tenths(1).value[0]
    entries = {(action,): (tenths(n), coins(n, 0.5)) for action, n in enumerate((3, 1, 7))}
    other = Cloud(1, np.array([0.1 + 1e-9, 7.0]), np.eye(2))
    root = written_trie({(): (tenths(11), None), **entries, (3,): (other, coins(1, 0.5))})
    exact = Separation(math.inf, math.log(20))
    sorting = derive(root, Shape(2, 4, 2, symbols=False), exact).layers[0].sorting
    assert sorting is not None
    assert sorting.labels[:3].tolist() == [sorting.labels[0]] * 3
    assert sorting.labels[3] != sorting.labels[0]


def test_rows_that_are_equal_but_for_rounding_are_found() -> None:
    """As comparing every row with all before it would."""
    rng = np.random.default_rng(0)
    rows = rng.integers(3, size=(200, 3)) * 0.1
    rows *= 1 + rng.integers(-2, 3, size=rows.shape) * 1e-16
    found, seen = same_readings(rows), list[np.ndarray]()
    for row, group in zip(rows, found, strict=True):
        alike = [i for i, other in enumerate(seen) if equal_readings(row, other)]
        assert int(group) == (alike[0] if alike else len(seen))
        if not alike:
            seen.append(row)
    assert len(seen) == 27
    assert same_readings(np.zeros((0, 2))).tolist() == []


def test_features_of_one_reading_are_equal_however_they_were_rounded() -> None:
    """As those of a kernel are, which are rounded by how many readings are looked at at once."""
    row = np.array([0.12, 0.4, 1e-5])
    other = row * (1 + 3e-12)
    assert equal_readings(row, other)
    assert same_readings(np.array([row, other, row * (1 + 1e-7)])).tolist() == [0, 0, 1]
