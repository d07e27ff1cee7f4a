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

import numpy as np
from numpy.typing import NDArray

from surepath.inference.comparison import Against, Comparison, in_use
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
    """Samples and the states that they were put into: G of them, and S."""

    samples: FloatArray
    against: Against  # of the samples
    labels: IntArray
    pools: FloatArray  # all that was read of each state

    def look_again(self, left: IntArray) -> None:
        """Move each of these samples, one after the other, to a state that it fits better.

        At first it is guessed that none moves; then, as long as that was wrong, that those move
        which would if the states changed as was guessed.
        """
        before, others = self._odds(left)
        odds, guess, sure = before.copy(), self.labels[left], 0
        stages, at = self._stages(left, guess)
        while True:
            better = self._better(odds[sure:], left[sure:], stages, at[sure:-1])
            wrong = np.flatnonzero(better != guess[sure:])
            if not len(wrong):
                break
            guess[sure:] = better
            sure += int(wrong[0]) + 1  # the first that is wrong is found by what is right
            stages, at = self._stages(left, guess)
            odds[sure:] = before[sure:]
            changed = np.where(others, at[:-1], UNKNOWN)
            _compare(self.against, stages, changed[sure:], left[sure:], odds[sure:])
        self.labels[left] = guess
        changed = at[-1] != UNKNOWN
        self.pools[changed] = stages[at[-1, changed]]

    def _odds(self, left: IntArray) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Log-odds that these samples come from each state, [n, S]; and which are not their own."""
        states = np.arange(len(self.pools))
        others = self.labels[left, None] != states
        odds = np.full(others.shape, -np.inf)
        _compare(self.against, self.pools, np.where(others, states, UNKNOWN), left, odds)
        return odds, others

    def _stages(self, left: IntArray, guess: IntArray) -> tuple[FloatArray, IntArray]:
        """The states that change as these samples move, and which of them each finds, [n + 1, S].

        UNKNOWN where a state is as it was before; at last what there is when all have moved.
        """
        stages, at = list[FloatArray](), np.full((len(left) + 1, len(self.pools)), UNKNOWN)
        own = self.labels[left]
        for step in np.flatnonzero(guess != own).tolist():
            sample = self.samples[left[step]]
            for state, change in ((own.item(step), -sample), (guess.item(step), sample)):
                last: int = at.item(step, state)
                pool: FloatArray = self.pools[state] if last == UNKNOWN else stages[last]
                at[step + 1 :, state] = len(stages)
                stages.append(pool + change)
        return np.array(stages).reshape(-1, *self.samples.shape[1:]), at

    def _better(
        self, odds: FloatArray, left: IntArray, stages: FloatArray, at: IntArray
    ) -> IntArray:
        """The states that these samples fit better than their own, else these.

        A sample's own state is taken without that sample. It matters only where another one is
        fitted at all.
        """
        found = self.labels[left]
        best = odds.argmax(axis=1)
        most = odds[np.arange(len(best)), best]
        tempted = np.flatnonzero(most > 0)
        if len(tempted):
            which, own = left[tempted], found[tempted]
            rest, now = self.pools[own], at[tempted, own]
            rest[now != UNKNOWN] = stages[now[now != UNKNOWN]]
            fits = self.against(rest - self.samples[which], (np.arange(len(which)), which))
            moving = tempted[most[tempted] > fits]
            found[moving] = best[moving]
        return found


class _Window:
    """The next steps of a course: C of them, where S states are known.

    A state that is found on the way has the number of known ones and of the steps before it, until
    all of them are known.
    """

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
        self._wrong = 0  # times that it was guessed wrong

    @property
    def misled(self) -> bool:
        """Whether it was guessed wrong more than a few times."""
        return 4 * self._wrong > len(self._steps)

    def states(self) -> IntArray:
        """What is found, step by step."""
        guess = self._guess()
        self._look(np.unique(guess), guess, 0)
        while len(wrong := np.flatnonzero((found := self._found()) != guess)):
            self._wrong += 1
            sure = int(wrong[0]) + 1  # the first that is wrong is found by what is right
            self._look(np.union1d(guess[wrong], found[wrong]), found, sure)
            guess = found
        known = len(self._pools)
        founders = np.unique(guess[guess >= known])
        return np.where(guess < known, guess, known + np.searchsorted(founders, guess))

    def _guess(self) -> IntArray:
        """What will be found: that a sample fits a state best will not change soon.

        Those that fit none found a state with what they were together with the last time.
        """
        known, states, of = len(self._pools), list[int](), dict[int, int]()
        best = np.where(self._first.max(axis=1) > 0, self._first.argmax(axis=1), UNKNOWN).tolist()
        for step, (likely, before) in enumerate(zip(best, self._before, strict=True)):
            state = likely if likely != UNKNOWN else of.get(before, known + step)
            if before != UNKNOWN:
                of.setdefault(before, state)
            states.append(state)
        return np.array(states)

    def _look(self, states: IntArray, guess: IntArray, start: int) -> None:
        """Hold the samples from `start` on against these states, as they are known by the guess."""
        self._odds[start:, states] = self._first[start:, states]
        stages, last = self._samples[self._steps], dict[int, int]()
        for step, state in enumerate(guess.tolist()):
            if state in last:
                stages[step] += stages[last[state]]
            elif state < len(self._pools):
                stages[step] += self._pools[state]
            last[state] = step
        joined = np.where(guess[:, None] == states, np.arange(len(guess))[:, None], UNKNOWN)
        at = np.full(self._odds.shape, UNKNOWN)
        at[1:, states] = np.maximum.accumulate(joined, axis=0)[:-1]
        _compare(self._against, stages, at[start:], self._steps[start:], self._odds[start:])

    def _found(self) -> IntArray:
        """What is found at each step, where those before it are guessed right.

        What fits a state that was guessed to be new goes where the step goes that was to found it.
        """
        known, steps = len(self._pools), np.arange(len(self._steps))
        best = self._odds.argmax(axis=1)
        found = np.where(self._odds[steps, best] > 0, best, known + steps)
        for step in np.flatnonzero((found >= known) & (found != known + steps)).tolist():
            found[step] = found[found[step] - known]
        return found


def _compare(
    against: Against,
    stages: FloatArray,
    at: IntArray,
    samples: IntArray,
    odds: FloatArray,
) -> None:
    """Write into odds [n, S] those of the samples with the states as they find them.

    at: which stage that is, [n, S]; nothing is written where UNKNOWN.
    """
    sample, state = np.nonzero(at != UNKNOWN)
    if len(sample):
        used, place = in_use(at[sample, state], len(stages))
        odds[sample, state] = against(stages[used], (place, samples[sample]))


def _pooled(pools: FloatArray, samples: FloatArray, labels: IntArray) -> FloatArray:
    """All that was read of each state, with these samples."""
    further = max(int(labels.max()) + 1 - len(pools), 0)
    pools = np.concatenate([pools, np.zeros((further, *pools.shape[1:]))])
    np.add.at(pools, labels, samples)
    return pools
