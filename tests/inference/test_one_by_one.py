"""Sorting one by one, with a course that was guessed: a guess changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from surepath.inference.comparison import LARGEST_COMPARISON, Against, Comparison, Pairs, in_use
from surepath.inference.one_by_one import once_more, one_by_one
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
        labels, pools = one_by_one(samples, comparison.against(samples), order, guess)
        assert labels.tolist() == expected.tolist(), name
        for state in range(len(pools)):
            assert np.allclose(pools[state], samples[labels == state].sum(axis=0)), name


class Counted(Symbols):
    """Says how often it was asked to compare."""

    calls = 0

    def against(self, other: FloatArray) -> Against:
        odds = super().against(other)

        def counting(one: FloatArray, pairs: Pairs) -> FloatArray:
            self.calls += 1
            return odds(one, pairs)

        return counting


def test_a_right_guess_is_held_against_the_samples_once() -> None:
    samples, _ = symbols(np.random.default_rng(0), 40)
    order, counted = list(range(40)), Counted()
    labels, _ = one_by_one(samples, counted.against(samples), order, np.full(40, UNKNOWN))
    unguided, counted.calls = counted.calls, 0
    one_by_one(samples, counted.against(samples), order, labels)
    # The second window is held against the states of the first, too. One sample fits a state that
    # was known before less than one that is found in its window.
    windows = 2
    assert counted.calls <= windows + 2 < unguided


@pytest.mark.parametrize("guided", [True, False])
def test_what_goes_together_is_seen_at_once(guided: bool) -> None:
    """Of new samples that belong to one new state it is not found one after the other."""
    counts = np.tile(np.diag([40.0, 40.0, 40.0]), (5, 1))[:, None, :]
    counted, guess = Counted(), np.tile(np.arange(3), 5)
    labels, pools = one_by_one(
        counts, counted.against(counts), range(15), guess if guided else np.full(15, UNKNOWN)
    )
    assert labels.tolist() == guess.tolist()
    assert counted.calls <= 3
    counted.calls = 0
    assert once_more(counts, counted.against(counts), range(15), labels, pools).tolist() == (
        labels.tolist()
    )
    assert counted.calls == 1  # nothing fits another state: its own need not be asked


def test_what_is_in_use_is_found_without_sorting() -> None:
    rng = np.random.default_rng(0)
    for size in (1, 7, 300):
        places = rng.integers(size, size=40)
        used, place = in_use(places, size)
        expected = np.unique(places, return_inverse=True)
        assert np.array_equal(used, expected[0])
        assert np.array_equal(place, expected[1])


@pytest.mark.parametrize("largest", [3, LARGEST_TABLE - 1, LARGEST_TABLE, 10**7])
def test_odds_of_pairs_are_those_of_their_samples(largest: int) -> None:
    rng = np.random.default_rng(1)
    one, other = rng.integers(largest + 1, size=(2, 5, 2, 4)).astype(float)
    pairs = rng.integers(5, size=(2, 9))
    expected = Symbols().log_odds(one[pairs[0]], other[pairs[1]])
    found = Symbols().against(other)(one, (pairs[0], pairs[1]))
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-6)


def test_counts_that_are_not_whole_are_not_looked_up() -> None:
    one, other = np.full((1, 1, 3), 2.5), np.full((1, 1, 3), 1.25)
    below, above = (Symbols().log_odds(np.floor(one) + up, np.floor(other) + up) for up in (0, 1))
    between = Symbols().log_odds(one, other)
    assert min(below, above) < between < max(below, above)


def test_distances_are_the_same_however_many_are_asked_for_at_once() -> None:
    rng, features = np.random.default_rng(0), 120
    many = 3 * LARGEST_COMPARISON // features
    read = rng.integers(1, 60, size=(many, 1, 1)).astype(float)
    means, scatter = rng.standard_normal((2, many, 1, features))
    samples = np.concatenate([read, read * means, read * (means**2 + scatter**2), read], axis=-1)
    kind, ways = Vectors(np.ones((1, features))), np.zeros((1, 1), dtype=np.int64)
    whole = kind.apart(samples[:1], samples, ways)
    for i in range(0, many, 17):
        alone = kind.apart(samples[:1], samples[i : i + 1], ways)
        assert alone.squared[0] == whole.squared[i]


@pytest.mark.parametrize("seed", range(6))
def test_pairs_that_are_left_out_are_of_different_laws(seed: int) -> None:
    """Whatever is compared with less work is found as by comparing all of it."""
    rng = np.random.default_rng(seed)
    positions, features = (1, 40) if seed % 2 else (3, 15)
    read = rng.integers(0 if positions > 1 else 1, 60, size=(80, positions, 1)).astype(float)
    places = rng.choice([0.3, 1.0, 3.0], size=(6, 1, 1)) * rng.standard_normal(
        (6, positions, features)
    )
    scatter = rng.gamma(2, 0.5, size=(80, positions, features))
    means = places[rng.integers(6, size=80)] + np.sqrt(scatter / np.maximum(read, 1)) * (
        rng.standard_normal((80, positions, features))
    )
    means *= read > 0
    samples = np.concatenate(
        [read, read * means, read * (means**2 + scatter), read * rng.uniform(1, 3, read.shape)],
        axis=-1,
    )
    comparison = Vectors(rng.uniform(0, 1, (positions, features)))
    one, other = samples[:20], samples[20:]
    pairs = np.repeat(np.arange(20), 60), np.tile(np.arange(60), 20)
    exact = comparison.log_odds(one[pairs[0]], other[pairs[1]])
    found = comparison.against(other)(one, pairs)
    assert (found == -np.inf).sum() > 300  # some work is saved
    assert (exact > 0).sum() > 30
    assert np.where(found > 0, found, 0) == pytest.approx(np.maximum(exact, 0), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("kind", [symbols, vectors])
@pytest.mark.parametrize("seed", range(4))
def test_looking_once_more_is_one_after_the_other(kind: object, seed: int) -> None:
    assert callable(kind)
    rng = np.random.default_rng(seed)
    samples, comparison = kind(rng, 40)
    order: list[int] = rng.permutation(40).tolist()
    labels = rng.integers(5, size=40)
    expected, pools = labels.copy(), [samples[labels == state].sum(axis=0) for state in range(5)]
    given = np.array(pools)
    for i in order:
        own = int(expected[i])
        rest = [pool - samples[i] if s == own else pool for s, pool in enumerate(pools)]
        odds = [float(comparison.log_odds(each, samples[i])) for each in rest]
        if max(odds) > max(odds[own], 0):
            expected[i] = int(np.argmax(odds))
            pools[own] = pools[own] - samples[i]
            pools[expected[i]] = pools[expected[i]] + samples[i]
    assert (expected != labels).any()
    assert (
        once_more(samples, comparison.against(samples), order, labels, given).tolist()
        == expected.tolist()
    )
