"""Sorting one by one, with a course that was guessed: a guess changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from surepath.inference.comparison import Comparison
from surepath.inference.one_by_one import one_by_one
from surepath.inference.symbols import LARGEST_TABLE, Symbols
from surepath.inference.vectors import Vectors
from surepath.readings.columns import UNKNOWN
from surepath.system import FloatArray, IntArray


def symbols(rng: np.random.Generator, samples: int) -> tuple[FloatArray, Comparison]:
    laws = rng.dirichlet(np.full(6, 0.4), size=4)
    counts = [rng.multinomial(rng.integers(1, 60), laws[rng.integers(4)]) for _ in range(samples)]
    return np.array(counts, dtype=float)[:, None, :], Symbols()


def vectors(rng: np.random.Generator, samples: int) -> tuple[FloatArray, Comparison]:
    places = 2 * rng.standard_normal((4, 3))
    found = np.zeros((samples, 1, 8))
    for row in found[:, 0]:
        read = places[rng.integers(4)] + rng.standard_normal((rng.integers(2, 40), 3))
        row[:] = [len(read), *read.sum(axis=0), *(read**2).sum(axis=0), len(read)]
    return found, Vectors(np.ones((1, 3)))


def by_hand(samples: FloatArray, comparison: Comparison, order: list[int]) -> IntArray:
    labels, pools = np.full(len(samples), UNKNOWN), list[FloatArray]()
    for i in order:
        odds = [float(comparison.log_odds(pool, samples[i])) for pool in pools]
        if pools and max(odds) > 0:
            labels[i] = int(np.argmax(odds))
            pools[labels[i]] = pools[labels[i]] + samples[i]
        else:
            labels[i] = len(pools)
            pools.append(samples[i])
    return labels


@pytest.mark.parametrize("kind", [symbols, vectors])
@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_guessed_the_same_is_found(kind: object, seed: int) -> None:
    assert callable(kind)
    rng = np.random.default_rng(seed)
    samples, comparison = kind(rng, 40)
    order: list[int] = rng.permutation(40).tolist()
    expected = by_hand(samples, comparison, order)
    assert 1 < expected.max() < 39
    half = np.where(np.isin(np.arange(40), order[:20]), expected, UNKNOWN)
    wrong = expected.copy()
    wrong[order[10]] = expected.max() + 1 - expected[order[10]]
    guesses = {
        "nothing": np.full(40, UNKNOWN),
        "all": expected,
        "other numbers": 7 - expected,
        "the first half": half,
        "one wrong": wrong,
        "anything": rng.integers(5, size=40),
    }
    for name, guess in guesses.items():
        labels, pools = one_by_one(samples, comparison, order, guess)
        assert labels.tolist() == expected.tolist(), name
        for state in range(len(pools)):
            assert np.allclose(pools[state], samples[labels == state].sum(axis=0)), name


def test_a_right_guess_takes_few_comparisons() -> None:
    class Counted(Symbols):
        calls = 0

        def log_odds(self, one: FloatArray, other: FloatArray) -> FloatArray:
            self.calls += 1
            return super().log_odds(one, other)

    samples, _ = symbols(np.random.default_rng(0), 40)
    order = list(range(40))
    counted = Counted()
    labels, _ = one_by_one(samples, counted, order, np.full(40, UNKNOWN))
    assert counted.calls == 40
    counted.calls = 0
    one_by_one(samples, counted, order, labels)
    assert counted.calls == 0


@pytest.mark.parametrize("largest", [3, LARGEST_TABLE - 1, LARGEST_TABLE, 10**7])
def test_odds_of_pairs_are_those_of_their_samples(largest: int) -> None:
    rng = np.random.default_rng(1)
    one, other = rng.integers(largest + 1, size=(2, 5, 2, 4)).astype(float)
    pairs = rng.integers(5, size=(2, 9))
    expected = Symbols().log_odds(one[pairs[0]], other[pairs[1]])
    found = Symbols().log_odds_of(one, other, (pairs[0], pairs[1]))
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-6)


def test_counts_that_are_not_whole_are_not_looked_up() -> None:
    one, other = np.full((1, 1, 3), 2.5), np.full((1, 1, 3), 1.25)
    below, above = (Symbols().log_odds(np.floor(one) + up, np.floor(other) + up) for up in (0, 1))
    between = Symbols().log_odds(one, other)
    assert min(below, above) < between < max(below, above)
