"""Readings as data: what is written is what is read back, to the last bit."""

from __future__ import annotations

import base64
import json
import math
import re
from typing import Any

import numpy as np
import pytest

import surepath
from machines import coins, read_trie, shape_of, symbols, written_trie
from surepath.errors import InputError
from surepath.inference.states import derive
from surepath.readings.record import record_of, trie_of
from surepath.readings.trie import Node

NOT_A_NUMBER = base64.b64encode(np.full(6, np.nan).tobytes()).decode()


def written(root: Node) -> list[dict[str, Any]]:
    return json.loads(json.dumps(record_of(root), allow_nan=False))


def assert_equal(one: Node, other: Node) -> None:
    assert one.prefix == other.prefix
    assert one.rewards == other.rewards
    assert (one.digest is None) == (other.digest is None)
    if one.digest is not None:
        assert one.digest.count == other.digest.count
        assert one.digest.total.tobytes() == other.digest.total.tobytes()
        assert one.digest.squares.tobytes() == other.digest.squares.tobytes()
        assert one.digest.squares.shape == other.digest.squares.shape
    assert sorted(one.children) == sorted(other.children)
    for action, child in one.children.items():
        assert_equal(child, other.children[action])


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("tabular", {}),
        ("gaussian", {"reward_noise": 0.3}),
        ("gaussian", {"dimension": 70, "horizon": 3}),  # too many for a full covariance
        ("mixing", {"horizon": 4}),
    ],
)
def test_a_trie_survives_being_written(name: str, options: dict[str, Any]) -> None:
    problem = surepath.make(name, **options)
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, problem.horizon + 1, size=12)
    sequences = [tuple(rng.integers(problem.n_actions, size=n).tolist()) for n in lengths]
    root = read_trie(problem, 7, rng, sequences)
    again = trie_of(written(root))
    assert_equal(root, again)
    assert written(again) == written(root)
    one, other = (derive(trie, shape_of(problem)) for trie in (root, again))
    for a, b in zip(one.layers, other.layers, strict=True):
        assert a.prefixes == b.prefixes
        assert np.array_equal(a.mean, b.mean)
        assert np.array_equal(a.scatter, b.scatter)
        assert np.array_equal(a.target, b.target)


def test_numbers_are_exact() -> None:
    """Also those that have no short decimal, are very small or very large, or negative zero."""
    root = read_trie(surepath.make("gaussian", horizon=2), 3, np.random.default_rng(0))
    odd = np.array([0.1 + 0.2, 1e-308, -0.0, 1e200, math.pi, 5e-324])
    root.digest = type(root.digest)(3, odd, np.outer(odd, np.ones(6)))
    root.children[0].rewards.total = 0.1 + 0.2
    assert_equal(root, trie_of(written(root)))


def test_one_entry_for_each_prefix() -> None:
    root = written_trie(
        {
            (): (symbols(3, 4), None),
            (1,): (symbols(2, 5), coins(7, 0.5)),
            (0,): (symbols(1, 1), coins(2, 0.5)),
            (0, 2): (None, coins(2, 0.5)),
        }
    )
    record = record_of(root)
    assert [tuple(entry["prefix"]) for entry in record] == [(), (0,), (0, 2), (1,)]
    assert record[2]["observations"] is None
    assert record[0]["observations"][0] == 7
    assert record[3]["rewards"][:2] == (7, 3.5)
    assert_equal(root, trie_of(record[::-1]))  # in any order


@pytest.mark.parametrize(
    ("damage", "place"),
    [
        (lambda entry: entry.pop("prefix"), ""),
        (lambda entry: entry.pop("rewards"), ""),
        (lambda entry: entry.update(rewards=[1, 2]), ".rewards"),
        (lambda entry: entry.update(rewards=None), ".rewards"),
        (lambda entry: entry.update(rewards=[1, 10**400, 0]), ".rewards[1]"),
        (lambda entry: entry.update(rewards=[-1, 0, 0]), ".rewards[0]"),
        (lambda entry: entry.update(prefix=["a"]), ".prefix[0]"),
        (lambda entry: entry.update(prefix={"a": 1}), ".prefix"),
        (lambda entry: entry["observations"][1].update(float64="%%%"), ".observations"),
        (lambda entry: entry["observations"][1].update(float64="AAAA"), ".observations"),
        (lambda entry: entry["observations"][1].update(float64="\ud800"), ".observations"),
        (lambda entry: entry["observations"][1].update(shape=[5]), ".observations"),
        (lambda entry: entry["observations"][1].update(shape=[1, 6]), ".observations"),
        (lambda entry: entry["observations"][1].update(shape=[2**40, 0]), ".observations"),
        (lambda entry: entry["observations"][1].update(shape=[10**30]), ".observations"),
        (lambda entry: entry["observations"][1].update(float64=NOT_A_NUMBER), ".observations"),
        (lambda entry: entry["observations"].pop(), ".observations"),
    ],
)
def test_damaged_records_are_refused(damage: Any, place: str) -> None:
    record = written(read_trie(surepath.make("tabular", horizon=2), 5, np.random.default_rng(0)))
    damage(record[1])
    with pytest.raises(InputError, match=re.escape(f"record[1]{place}")):
        trie_of(record)
