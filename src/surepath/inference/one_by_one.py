"""Samples sorted into states one after the other, each by the states that were found before it.

What this comes to depends on the order, so it has to be done one by one; but a single sample hardly
changes what is known of a state. So the next steps are guessed, and held against what the samples
say, all of them at once. As far as the guess is right, it is what would have been found; at the
first step where it is not, what is found there is known too. Then the rest is guessed again, and
only the states that the difference is about are looked at again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from surepath.inference.comparison import Against, Comparison
from surepath.readings.columns import UNKNOWN
from surepath.system import FloatArray, IntArray

FEWEST_STEPS, MOST_STEPS = 16, 256
"""That are guessed at once: twice as many whenever most were right, else half as many."""

LOOKED_AT_AGAIN = 64
"""Samples that are looked at again at once: whenever one of them moves, the rest of them are held
against the two states that it changes."""


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
    labels, pools = np.full(len(samples), UNKNOWN), np.zeros((0, *samples.shape[1:]))
    start, several = 0, FEWEST_STEPS
    while start < len(course):
        steps = course[start : start + several]
        window = _Window(samples, against, steps, pools, guess[steps].tolist())
        labels[steps] = window.states()
        pools = _pooled(pools, samples[steps], labels[steps])
        start += several
        several = max(several // 2, FEWEST_STEPS) if window.misled else 2 * several
        several = min(several, MOST_STEPS)
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
    course = np.array(order, dtype=np.int64)
    for start in range(0, len(course), LOOKED_AT_AGAIN):
        found.look_again(course[start : start + LOOKED_AT_AGAIN])
    return found.labels


@dataclass(frozen=True, slots=True)
class _Found:
    """Samples and the states that they were put into."""

    samples: FloatArray
    against: Against  # of the samples
    labels: IntArray
    pools: FloatArray  # all that was read of each state

    def look_again(self, left: IntArray) -> None:
        """Move each of these samples, one after the other, to a state that it fits better."""
        odds = self.odds(np.arange(len(self.pools)), left)
        while len(left):
            own = odds[np.arange(len(left)), self.labels[left]]
            misplaced = np.flatnonzero(odds.max(axis=1) > np.maximum(own, 0))
            if not len(misplaced):
                break
            first = int(misplaced[0])
            changed = self.move(int(left[first]), int(odds[first].argmax()))
            left, odds = left[first + 1 :], odds[first + 1 :]
            odds[:, changed] = self.odds(changed, left)

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


class _Window:
    """The next steps of a course: C of them, where S states are known."""

    def __init__(
        self,
        samples: FloatArray,
        against: Against,
        steps: IntArray,
        pools: FloatArray,
        before: list[int],
    ) -> None:
        """`pools` is what is known of the states, `before` what was found the last time."""
        self._samples, self._against, self._steps, self._pools = samples, against, steps, pools
        self._before, size, known = before, len(steps), len(pools)
        # Each sample with each state as it is known at its step, as far as the guess is right.
        self._odds = np.full((size, known + size), -np.inf)
        if known:
            pairs = np.tile(np.arange(known), size), np.repeat(steps, known)
            self._odds[:, :known] = against(pools, pairs).reshape(size, known)
        self._first = self._odds.copy()  # as the states are known before the first step
        self._likely: list[int] = np.where(
            self._first.max(axis=1) > 0, self._first.argmax(axis=1), UNKNOWN
        ).tolist()
        self._wrong = 0  # steps that were guessed wrong

    @property
    def misled(self) -> bool:
        """Whether more than a few were guessed wrong."""
        return 4 * self._wrong > len(self._steps)

    def states(self) -> IntArray:
        """What is found, step by step."""
        guess = self._guess([])
        self._look(np.unique(guess), guess, 0)
        while len(wrong := np.flatnonzero((found := self._found(guess)) != guess)):
            self._wrong += 1
            sure = int(wrong[0]) + 1  # the first that is wrong is found by what is right
            better = self._guess(found[:sure].tolist())
            other = better != guess
            self._look(np.union1d(guess[other], better[other]), better, sure)
            guess = better
        return guess

    def _guess(self, sure: list[int]) -> IntArray:
        """What will be found, where this was found in the first steps.

        That a sample fits a state best will not change soon. Those that fit none found a state
        with what they were together with the last time.
        """
        states, known = sure.copy(), max([len(self._pools) - 1, *sure]) + 1
        of = dict(zip(self._before, sure, strict=False))
        of.pop(UNKNOWN, None)
        for likely, before in zip(
            self._likely[len(sure) :], self._before[len(sure) :], strict=True
        ):
            state = likely if likely != UNKNOWN else of.get(before, known)
            if before != UNKNOWN:
                of.setdefault(before, state)
            states.append(state)
            known = max(known, state + 1)
        return np.array(states)

    def _look(self, states: IntArray, guess: IntArray, start: int) -> None:
        """Hold the samples from `start` on against these states, as they are known by the guess."""
        self._odds[start:, states] = self._first[start:, states]
        known, stages, pairs = len(self._pools), list[FloatArray](), list[tuple[int, int, int]]()
        for state in states.tolist():
            added = np.flatnonzero(guess == state).tolist()
            for step, last in pairwise([*added, len(guess) - 1]):
                sample = self._samples[self._steps[step]]
                if step != added[0]:
                    sample = stages[-1] + sample
                elif state < known:
                    sample = self._pools[state] + sample
                pairs += [(len(stages), t, state) for t in range(max(step + 1, start), last + 1)]
                stages.append(sample)
        if pairs:
            stage, step, state = np.array(pairs).T
            found = self._against(np.array(stages), (stage, self._steps[step]))
            self._odds[step, state] = found

    def _found(self, guess: IntArray) -> IntArray:
        """What is found at each step, where those before it are guessed right."""
        known = np.maximum.accumulate(np.append(len(self._pools) - 1, guess))[:-1] + 1
        best = self._odds.argmax(axis=1)
        return np.where(self._odds[np.arange(len(best)), best] > 0, best, known)


def _pooled(pools: FloatArray, samples: FloatArray, labels: IntArray) -> FloatArray:
    """All that was read of each state, with these samples."""
    further = max(int(labels.max()) + 1 - len(pools), 0)
    pools = np.concatenate([pools, np.zeros((further, *pools.shape[1:]))])
    np.add.at(pools, labels, samples)
    return pools
