"""Samples sorted into states one after the other, each by the states that were found before it.

What this comes to depends on the order, so it has to be done one by one; but mostly it comes to the
same as the last time. So the whole course is guessed, and held against what the samples say, all
steps at once. As far as it is right, it is what would have been found; from the first step where it
is not, one goes on one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surepath.inference.comparison import LARGEST_COMPARISON, Comparison
from surepath.readings.columns import UNKNOWN
from surepath.system import FloatArray, IntArray


def one_by_one(
    samples: FloatArray, comparison: Comparison, order: Sequence[int], guess: IntArray
) -> tuple[IntArray, FloatArray]:
    """The state of each sample, and all that was read of each state.

    A sample belongs to the state that it most likely comes from; to a new one where it more likely
    comes from none. guess: states, by whatever numbers; UNKNOWN where there is none. It changes
    only how long this takes.
    """
    course = np.array(order, dtype=np.int64)
    right = _right(samples, comparison, course, guess)
    labels = np.full(len(samples), UNKNOWN)
    labels[course[: len(right)]] = right
    pools = np.zeros((int(right.max(initial=-1)) + 1, *samples.shape[1:]))
    np.add.at(pools, right, samples[course[: len(right)]])
    for i in order[len(right) :]:
        odds = comparison.log_odds(pools, samples[i])
        if len(pools) and odds.max() > 0:
            labels[i] = odds.argmax()
            pools[labels[i]] += samples[i]
        else:
            labels[i] = len(pools)
            pools = np.concatenate([pools, samples[i : i + 1]])
    return labels, pools


def _right(
    samples: FloatArray, comparison: Comparison, course: IntArray, guess: IntArray
) -> IntArray:
    """The states of the first steps of the course, as far as the guess is what is found there."""
    guessed = _numbered(guess[course])
    if not len(guessed):
        return guessed
    states, width = int(guessed.max()) + 1, int(np.prod(samples.shape[1:]))
    pooled = _pooled(samples[course[: len(guessed)]], guessed, states)
    last = np.full(states, UNKNOWN)  # step at which a state was last added to
    several = max(1, LARGEST_COMPARISON // (states * width))
    for start in range(0, len(guessed), several):
        part = guessed[start : start + several]
        steps = np.arange(start, start + len(part))
        added = np.full((len(part) + 1, states), UNKNOWN)
        added[0] = last
        added[np.arange(1, len(part) + 1), part] = steps
        added = np.maximum.accumulate(added, axis=0)
        odds, last = _odds(samples[course[steps]], comparison, pooled, added[:-1]), added[-1]
        new: IntArray = (added[:-1] != UNKNOWN).sum(axis=1)  # the number that a new one would have
        found: IntArray = np.where(odds.max(axis=1) > 0, odds.argmax(axis=1), new)
        wrong = np.flatnonzero(found != part)
        if len(wrong):
            return guessed[: start + int(wrong[0])]
    return guessed


def _numbered(guess: IntArray) -> IntArray:
    """States in the order in which they appear, up to the first that nothing is known of."""
    unknown = np.flatnonzero(guess == UNKNOWN)
    known = guess[: int(unknown[0])] if len(unknown) else guess
    first = np.full(int(known.max(initial=-1)) + 1, len(known))
    first[known[::-1]] = np.arange(len(known))[::-1]
    place = np.empty_like(first)
    place[np.argsort(first, kind="stable")] = np.arange(len(first))
    return place[known]


def _pooled(samples: FloatArray, labels: IntArray, states: int) -> FloatArray:
    """What is known of the state of each step after it."""
    pools, found = np.zeros((states, *samples.shape[1:])), np.empty_like(samples)
    for step, state in enumerate(labels.tolist()):
        pools[state] += samples[step]
        found[step] = pools[state]
    return found


def _odds(
    samples: FloatArray, comparison: Comparison, pooled: FloatArray, added: IntArray
) -> FloatArray:
    """Log-odds of each sample and each state as it was last added to; none where it was not."""
    odds = np.full(added.shape, -np.inf)
    pairs = np.nonzero(added != UNKNOWN)
    if not len(pairs[0]):
        return odds
    place = added[pairs]
    if len(pooled) > len(place):  # only what is needed
        needed, place = np.unique(place, return_inverse=True)
        pooled = pooled[needed]
    odds[pairs] = comparison.log_odds_of(pooled, samples, (place, pairs[0]))
    return odds
