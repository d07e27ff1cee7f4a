"""Samples sorted into states one after the other, each by the states that were found before it.

What this comes to depends on the order, so it has to be done one by one; but mostly it comes to the
same as the last time. So the whole course is guessed, and held against what the samples say, all
steps at once. As far as it is right, it is what would have been found; from the first step where it
is not, one goes on one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from surepath.inference.comparison import LARGEST_COMPARISON, Against, Comparison
from surepath.readings.columns import UNKNOWN
from surepath.system import FloatArray, IntArray

FEWEST_STEPS = 16
"""Of a guessed course that are held against the samples at once, however much they take."""


def sorted_into_states(
    samples: FloatArray, comparison: Comparison, order: Sequence[int], guess: IntArray
) -> tuple[IntArray, IntArray]:
    """The state of each sample: as found one by one, and once that was looked at again."""
    against = comparison.against(samples)
    labels, pools = one_by_one(samples, against, order, guess)
    return labels, once_more(samples, against, order, labels, pools)


def one_by_one(
    samples: FloatArray, against: Against, order: Sequence[int], guess: IntArray
) -> tuple[IntArray, FloatArray]:
    """The state of each sample, and all that was read of each state.

    A sample belongs to the state that it most likely comes from; to a new one where it more likely
    comes from none. against: of the samples. guess: states, by whatever numbers; UNKNOWN where
    there is none. It changes only how long this takes.
    """
    course = np.array(order, dtype=np.int64)
    right = _right(samples, against, course, guess)
    labels = np.full(len(samples), UNKNOWN)
    labels[course[: len(right)]] = right
    pools = np.zeros((int(right.max(initial=-1)) + 1, *samples.shape[1:]))
    np.add.at(pools, right, samples[course[: len(right)]])
    for i in order[len(right) :]:
        odds = against(pools, (np.arange(len(pools)), np.full(len(pools), i)))
        if len(pools) and odds.max() > 0:
            labels[i] = odds.argmax()
            pools[labels[i]] += samples[i]
        else:
            labels[i] = len(pools)
            pools = np.concatenate([pools, samples[i : i + 1]])
    return labels, pools


def once_more(
    samples: FloatArray,
    against: Against,
    order: Sequence[int],
    labels: IntArray,
    pools: FloatArray,
) -> IntArray:
    """The states of the samples, each looked at again now that a state is known by all of them."""
    found = _Found(samples, against, labels.copy(), pools.copy())
    left = np.array(order, dtype=np.int64)
    odds = found.odds(np.arange(len(pools)), left)
    while len(left):
        own = odds[np.arange(len(left)), found.labels[left]]
        misplaced = np.flatnonzero(odds.max(axis=1) > np.maximum(own, 0))
        if not len(misplaced):
            break
        first = int(misplaced[0])
        changed = found.move(int(left[first]), int(odds[first].argmax()))
        left, odds = left[first + 1 :], odds[first + 1 :]
        odds[:, changed] = found.odds(changed, left)
    return found.labels


@dataclass(frozen=True, slots=True)
class _Found:
    """Samples and the states that they were put into."""

    samples: FloatArray
    against: Against  # of the samples
    labels: IntArray
    pools: FloatArray  # all that was read of each state

    def move(self, i: int, new: int) -> IntArray:
        """To another state; the two states that are changed by it."""
        old = int(self.labels[i])
        self.labels[i] = new
        self.pools[old] -= self.samples[i]
        self.pools[new] += self.samples[i]
        return np.array([old, new])

    def odds(self, states: IntArray, which: IntArray) -> FloatArray:
        """Log-odds that these samples come from these states, not from another law: [G, S].

        A sample's own state is taken without that sample; 0 where nothing else is known of it.
        """
        odds, own = np.zeros((len(which), len(states))), self.labels[which, None] == states
        sample, state = np.nonzero(~own)
        odds[sample, state] = self.against(self.pools[states], (state, which[sample]))
        sample, state = np.nonzero(own)
        mine = which[sample]
        rest = self.pools[states[state]] - self.samples[mine]
        odds[sample, state] = self.against(rest, (np.arange(len(rest)), mine))
        return odds


def _right(samples: FloatArray, against: Against, course: IntArray, guess: IntArray) -> IntArray:
    """The states of the first steps of the course, as far as the guess is what is found there."""
    guessed = _numbered(guess[course])
    if not len(guessed):
        return guessed
    states, width = int(guessed.max()) + 1, int(np.prod(samples.shape[1:]))
    pooled = _pooled(samples[course[: len(guessed)]], guessed, states)
    last = np.full(states, UNKNOWN)  # step at which a state was last added to
    several = max(FEWEST_STEPS, LARGEST_COMPARISON // (states * width))
    for start in range(0, len(guessed), several):
        part = guessed[start : start + several]
        steps = np.arange(start, start + len(part))
        added = np.full((len(part) + 1, states), UNKNOWN)
        added[0] = last
        added[np.arange(1, len(part) + 1), part] = steps
        added = np.maximum.accumulate(added, axis=0)
        odds, last = _odds(against, course[steps], pooled, added[:-1]), added[-1]
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


def _odds(against: Against, course: IntArray, pooled: FloatArray, added: IntArray) -> FloatArray:
    """Log-odds of each sample and each state as it was last added to; none where it was not."""
    odds = np.full(added.shape, -np.inf)
    pairs = np.nonzero(added != UNKNOWN)
    if not len(pairs[0]):
        return odds
    place = added[pairs]
    if len(pooled) > len(place):  # only what is needed
        needed, place = np.unique(place, return_inverse=True)
        pooled = pooled[needed]
    odds[pairs] = against(pooled, (place, course[pairs[0]]))
    return odds
