"""The trie as arrays says what the trie says, however it came to be."""

from __future__ import annotations

import numpy as np
import pytest

from machines import coins, features_of, read_trie, shape_of
from surepath import make
from surepath.inference.separation import Separation
from surepath.inference.states import Layer, columns_of, derive
from surepath.readings.columns import Grouped, TrieColumns, sums_by
from surepath.readings.embedding import CloudEmbedding
from surepath.readings.trie import Node
from surepath.system import Request


def told(root: Node, rng: np.random.Generator, times: int, columns: TrieColumns | None) -> None:
    """Some episodes of random sequences, one sequence after the other."""
    problem = make("tabular", horizon=4, states=3, actions=2, observations=4, seed=0)
    embedding = CloudEmbedding(features_of(problem), problem.n_actions)
    for _ in range(times):
        actions = tuple(rng.integers(2, size=rng.integers(1, 5)).tolist())
        observed = range(min(len(actions) + 1, problem.horizon))
        answer = problem.summarise(Request(actions, 5, observed, range(len(actions))), rng)
        root.take_in(actions, embedding.read(answer, observed), answer.rewards)
        if columns is not None:
            columns.touch(actions)


def contents(columns: TrieColumns, level: int) -> dict[tuple[int, ...], list[float]]:
    part, above = columns.level(level), columns.level(max(level - 1, 0))
    for node, parent, action in zip(part.nodes, part.parent, part.action, strict=True):
        assert node.parent is None or above.nodes[parent] is node.parent
        assert node.action == action
    rows = np.column_stack([part.rewards, part.read, part.features])
    return {node.prefix: row.tolist() for node, row in zip(part.nodes, rows, strict=True)}


def test_rows_hold_what_the_nodes_hold() -> None:
    root = Node()
    told(root, np.random.default_rng(0), 60, None)
    columns = TrieColumns(root, 4)
    for level in range(5):
        for prefix, row in contents(columns, level).items():
            node = root
            for action in prefix:
                node = node.children[action]
            tally = node.rewards
            assert row[:4] == [tally.count, tally.total, tally.scatter, node.count]
            assert row[4:] == (4 * [0.0] if node.digest is None else node.digest.total.tolist())


def test_columns_that_were_kept_up_are_those_made_anew() -> None:
    """And so is the machine, to the last digit, in whatever order its nodes were met."""
    root, rng = Node(), np.random.default_rng(1)
    kept = TrieColumns(root, 4)
    shape = shape_of(make("tabular", horizon=4, states=3, actions=2, observations=4, seed=0))
    for _ in range(20):
        told(root, rng, 5, kept)
        anew = columns_of(root, shape)
        for level in range(5):
            assert contents(kept, level) == contents(anew, level)
        for one, other in zip(
            derive(root, shape, columns=kept).layers, derive(root, shape).layers, strict=True
        ):
            assert one.prefixes == other.prefixes
            assert one.members == other.members
            for name in ("count", "mean", "scatter", "target"):
                assert np.array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize(("name", "future"), [("tabular", 1), ("tabular", 2), ("gaussian", 1)])
def test_a_level_is_derived_anew_only_where_something_was_read(name: str, future: int) -> None:
    """And what is kept is what would be found from scratch, merges included."""
    options = {"dimension": 4} if name == "gaussian" else {"observations": 4}
    problem = make(name, horizon=4, states=3, actions=2, seed=0, **options)
    root, rng, test = Node(), np.random.default_rng(2), Separation(0.5, 3.0)
    embedding, shape = CloudEmbedding(features_of(problem), 2), shape_of(problem, future)
    kept, before, found_again = columns_of(root, shape), list[Layer](), 0
    for _ in range(30):
        actions = tuple(rng.integers(2, size=rng.integers(1, 5)).tolist())
        observed = range(min(len(actions) + 1, 4))
        answer = problem.summarise(Request(actions, 5, observed, range(len(actions))), rng)
        root.take_in(actions, embedding.read(answer, observed), answer.rewards)
        kept.touch(actions)
        now, anew = (derive(root, shape, test, columns) for columns in (kept, None))
        for one, other in zip(now.layers, anew.layers, strict=True):
            assert one.prefixes == other.prefixes
            assert np.array_equal(one.mean, other.mean)
            assert np.array_equal(one.target, other.target)
            assert (one.points is None) == (other.points is None)
            if one.sorting is not None and other.sorting is not None:
                mine, theirs = one.sorting.merges, other.sorting.merges
                assert np.array_equal(mine.evidence, theirs.evidence)
        found_again += sum(a.mean is b.mean for a, b in zip(before, now.layers, strict=False))
        before = now.layers
    assert found_again > 10
    again = derive(root, shape, test, kept)
    assert all(a.mean is b.mean for a, b in zip(before, again.layers, strict=True))


def test_predictions_that_somebody_forbids_are_forbidden_to_nobody_else() -> None:
    root = Node()
    told(root, np.random.default_rng(3), 6, None)
    shape = shape_of(make("tabular", horizon=4, states=3, actions=2, observations=4, seed=0))
    columns = columns_of(root, shape)
    one = derive(root, shape, columns=columns)
    predicted = [layer.points is not None for layer in one.layers]
    one.forbid_predictions()
    other = derive(root, shape, columns=columns)
    assert any(predicted)
    assert [layer.points is not None for layer in other.layers] == predicted


def test_where_nobody_has_been_there_are_no_rows() -> None:
    columns = TrieColumns(Node(), 3)
    assert len(columns.level(0)) == 1
    assert len(columns.level(7)) == 0
    assert columns.level(7).features.shape == (0, 3)


def test_pooled_rewards_of_a_machine_are_those_of_all_its_nodes() -> None:
    problem = make("tabular", horizon=3, states=3, actions=2, observations=4, seed=2)
    root = read_trie(problem, 50, np.random.default_rng(0))
    for layer in derive(root, shape_of(problem)).layers:
        for state, nodes in enumerate(layer.members):
            for action in range(2):
                ends = [node.children[action].rewards for node in nodes]
                count, total = sum(t.count for t in ends), sum(t.total for t in ends)
                about = [t.scatter + t.count * (t.mean - total / count) ** 2 for t in ends]
                assert layer.count[state, action] == count
                assert layer.mean[state, action] == pytest.approx(total / count, rel=1e-12)
                assert layer.scatter[state, action] == pytest.approx(sum(about), rel=1e-12)


def test_groups_are_followed_down_in_their_order() -> None:
    root = Node()
    for action in (2, 0, 1):
        for then in (1, 0):
            root.child(action).child(then).rewards.add(coins(2, 0.5))
    columns = TrieColumns(root)
    first = Grouped(columns.level(1), np.array([1, 2]), np.array([5, 3]))  # after 0 and after 1
    below = first.below(columns.level(2))
    assert [(node.prefix, group) for node, group in below.nodes()] == [
        ((0, 1), 5), ((0, 0), 5), ((1, 1), 3), ((1, 0), 3),
    ]  # fmt: skip
    assert below.actions.tolist() == [1, 0, 1, 0]


def test_sums_by_group() -> None:
    rng = np.random.default_rng(0)
    for width in ((), (3,), (2, 2)):
        groups, values = rng.integers(4, size=30), rng.random((30, *width))
        expected = [values[groups == group].sum(axis=0) for group in range(6)]
        assert np.allclose(sums_by(groups, values, 6), expected, rtol=1e-13)
    nothing = sums_by(np.zeros(0, dtype=int), np.zeros((0, 2)), 3)
    assert nothing.dtype == np.float64
    assert nothing.tolist() == [[0, 0]] * 3
