"""The exact gap of the password game, without visiting its states one by one.

In a round that begins with stakes sigma and with the wrong bits z (those where the last guess x and
the password differ), the leads of a state are sigma times a function of two numbers: S, the bits
changed once the undecided wrong ones are, and B, the decided bits that are wrong. With
f(S, B) = (q + (1 - S/p)^2) (1 - B/p)^2 the lead is

    f(S, B) - f(S - 1, B + 1)   for changing the next bit where it is wrong,
    f(S, B) - f(S + 1, B + 1)   for keeping it, or changing a wrong one by force, else.

Which (S, B) occur depends on the order of the bits only through how many wrong and right ones come
before and after the next one. Which stakes a round can begin with is a shortest-path problem over
the 2^p sets of wrong bits.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numpy as np

from surepath.system import FloatArray, IntArray

Pair = tuple[int, int]
"""(S, B)"""

WRONG, RIGHT = 1, 0


def least_lead(password: int, bits: int, flips: int, rounds: int, fee: float) -> float:
    """Smallest positive lead in a reachable state, where the stakes of the first round are 1."""
    normalised = _leads_by_wrong_bits(bits, flips, fee)
    guesses = np.arange(1 << bits)
    alive = np.bitwise_count(guesses) >= flips
    factor = fee + (1 - np.arange(bits + 1) / bits) ** 2
    factor[:flips] = np.inf  # so few changes are not allowed
    stakes = np.full(len(guesses), np.inf)
    stakes[password] = 1.0  # the first guess is 0
    least = np.inf
    for _ in range(rounds):
        least = min(least, float((stakes * normalised).min(initial=np.inf, where=alive)))
        stakes = _smallest_stakes(stakes, factor, guesses)
        stakes[~alive] = np.inf
    return least


def _smallest_stakes(stakes: FloatArray, factor: FloatArray, guesses: IntArray) -> FloatArray:
    """The least stakes that each set of wrong bits can be met with in the next round."""
    following = np.full(len(guesses), np.inf)
    for wrong in np.flatnonzero(np.isfinite(stakes)):
        changed = np.bitwise_count(guesses ^ wrong)
        following = np.minimum(following, stakes[wrong] * factor[changed])
    return following


@cache
def _leads_by_wrong_bits(bits: int, flips: int, fee: float) -> FloatArray:
    """Smallest lead of a round of unit stakes, for every set of wrong bits: [2^p]."""

    @cache
    def inner(kind: int, before: Pair, after: Pair) -> float:
        pairs = _phase_b_pairs(flips, kind, before, after)
        return min((_lead(pair, kind, bits, fee) for pair in pairs), default=np.inf)

    @cache
    def forced(ones: int) -> float:
        pairs = _phase_a_pairs(ones, bits - ones, flips)
        return min((_lead(pair, RIGHT, bits, fee) for pair in pairs), default=np.inf)

    least = np.empty(1 << bits)
    for wrong in range(1 << bits):
        kinds = [wrong >> i & 1 for i in range(bits)]
        ones = sum(kinds)
        least[wrong] = forced(ones)
        for j, kind in enumerate(kinds):
            first = sum(kinds[:j])
            last = ones - first - kind
            before, after = (first, j - first), (last, bits - 1 - j - last)
            least[wrong] = min(least[wrong], inner(kind, before, after))
    least.flags.writeable = False  # it is shared
    return least


def _lead(pair: Pair, kind: int, bits: int, fee: float) -> float:
    def f(changed: int, wrong: int) -> float:
        return (fee + (1 - changed / bits) ** 2) * (1 - wrong / bits) ** 2

    changed, wrong = pair
    return f(changed, wrong) - f(changed - 1 if kind == WRONG else changed + 1, wrong + 1)


def _phase_b_pairs(flips: int, kind: int, before: Pair, after: Pair) -> set[Pair]:
    """(S, B) with a bit of this kind next; before and after: (wrong, right) bits there.

    Any `flips` of the other bits are locked; those before are changed or kept; the rest are ahead.
    """
    locked = {WRONG: (1, 0), RIGHT: (1, 1)}  # what changing a bit adds to (S, B)
    kept, ahead = {WRONG: (0, 1), RIGHT: (0, 0)}, {WRONG: (1, 0), RIGHT: (0, 0)}
    states = {(0, kind, 0)}  # locked so far, S, B: the next bit itself is ahead
    for (n_wrong, n_right), free in ((before, (locked, kept)), (after, (ahead,))):
        for other in (WRONG,) * n_wrong + (RIGHT,) * n_right:
            choices = [(1, *locked[other]), *((0, *choice[other]) for choice in free)]
            states = {
                (n + lock, s + ds, b + db)
                for n, s, b in states
                for lock, ds, db in choices
                if n + lock <= flips
            }
    return {(s, b) for n, s, b in states if n == flips}


def _phase_a_pairs(n_wrong: int, n_right: int, flips: int) -> Iterable[Pair]:
    """(S, B) where a wrong and a right bit can both be changed by force.

    With t wrong and r right bits locked, S = n_wrong + r and B = r.
    """
    for changed in range(flips):
        for right in range(changed + 1):
            if changed - right < n_wrong and right < n_right:
                yield n_wrong + right, right
