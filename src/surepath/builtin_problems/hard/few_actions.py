"""Guessing a password in rounds, at a price: few actions, deterministic moves, a vanishing gap.

Story. A safe has a password of p bits. A guess is entered in rounds. Each round starts from the
last guess: first `flips` bits have to be changed, whichever one likes, and then every other bit may
be changed or kept, in order. A guess that is wrong in fewer than `flips` bits opens the safe, which
pays in full proportion to how near it is, and ends the game. A guess that is further off costs a
fee, and the stakes shrink for the next round by a factor that is the smaller the more bits were
changed. Only after the last round is a wrong guess paid at all. Before the safe opens nothing else
speaks of the password, and that last pay is tiny by then.

Theorem. Q* is linear in d' = sum over k <= 4 of C(p, k) known features, with p actions, horizon
rounds (p + flips) and deterministic moves, and yet any learner needs 2^Omega(p) episodes (rounds =
p), while a policy that never opens the safe stays more than 1/10 below the best (three rounds are
enough for that). The gap falls like q^rounds; that is what makes it hard, and what the paper's
assumption excludes. Before the safe opens only the last reward depends on the password, by at most
stakes rho^rounds, and a guess opens it for a share v of all passwords: so episodes are at least of
the order min(1 / (rounds v), 0.144 / (stakes^2 rho^(2 rounds))).

Source. This family is our own derivation. It has the scalings of the few-actions lower bound of
Weisz, Szepesvari and Gyorgy, "TensorPlan and the few actions lower bound for planning in MDPs under
linear realizability of optimal value functions", 2021, and is *not* their construction. With
d the Hamming distance, g(d) = (1 - d/p)^2, x the last guess, y the present one, w* the password:

    at the end of a round: tau' = tau - q sigma, sigma' = sigma (q + g(d(x, y)))
    safe open or last round: paid as Bernoulli(tau' + sigma' g(d(y, w*)));  else the next round

    V* = tau' + sigma (q + (1 - (A + D)/p)^2) (1 - B/p)^2

where J are the bits decided in this round, A of them changed, B of them now wrong, and D of the
undecided ones wrong; at the start of a round it is tau + sigma g(d(x, w*)). Proof. Going on with
w* is feasible: the game is alive only if d(x, w*) >= flips, so there are at least as many wrong
bits as forced flips. It is optimal: changing t of the D wrong and s of the right undecided bits
gives (q + (1-a)^2)(1-b)^2 with a = (A+t+s)/p and b = (B+D-t+s)/p, which grows in t because
q >= 1/4 >= a (1 - a), and falls in s. At y = w* the round ends with tau' + sigma', which is
tau + sigma g(d(x, w*)); backward induction over rounds closes it.

V* has degree at most 4 in the signs 1 - 2 w*. The features are its Walsh coefficients, theta are
the products of up to four signs. By Parseval a feature is as long as the root mean square of that
polynomial over all passwords, those included that are open already: less than 1 with the default
stakes and base, and at the end of a round always; elsewhere it may be a little longer. At sizes
that can be run the needle is not hard to find by blind search; what the family shows is how the gap
vanishes with the rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from surepath.builtin_problems.hard.least_lead import least_lead
from surepath.builtin_problems.hard.lift import Lifted, lift
from surepath.builtin_problems.hard.process import LinearProcess
from surepath.builtin_problems.hard.secrets import bits_of
from surepath.errors import InputError
from surepath.system import Actions, FloatArray
from surepath.validate import between, whole

FEE = 5 / 16
"""q: what a failed guess costs, in units of the stakes; the proof needs at least 1/4."""

DEGREE = 4
"""Of the polynomial in the secret's bits that V* is: features are all products of so many bits."""

MOST_BITS = 12
"""The exact gap is taken over all 2^p guesses."""


class Guess(NamedTuple):
    """A state of the game; `None` stands for its end. Sets of bits are the bits of a number."""

    round: int  # from 0
    step: int  # in the round
    previous: int  # x
    current: int  # y
    locked: int  # bits changed by force
    stakes: float  # sigma
    base: float  # tau


class FewActions(LinearProcess):
    unique = False  # a locked bit cannot be changed, and after the end nothing matters

    def __init__(
        self, secret: Actions, flips: int, rounds: int, stakes: float = 0.25, base: float = 0.8
    ) -> None:
        self.n_actions = self.bits = len(secret)
        self.secret = secret
        self.flips, self.rounds, self.stakes, self.base = flips, rounds, stakes, base
        self.round_length = self.bits + flips
        self.horizon = rounds * self.round_length
        self._password = sum(bit << i for i, bit in enumerate(secret))  # w*
        self._all = (1 << self.bits) - 1
        sets = [s for k in range(DEGREE + 1) for s in combinations(range(self.bits), k)]
        self.n_features = len(sets)
        self._member = np.zeros((len(sets), self.bits), dtype=np.bool_)  # [d', p]
        for row, each in zip(self._member, sets, strict=True):
            row[list(each)] = True

    @property
    def start(self) -> Guess | None:
        return Guess(0, 0, 0, 0, 0, self.stakes, self.base)

    def decide(self, state: Guess, action: int) -> tuple[Guess, int]:
        """The state with the action carried out but the round not closed, and the decided bits."""
        if state.step < self.flips:
            bit = 1 << action
            if state.locked & bit:  # the smallest bit that is not locked
                bit = ~state.locked & (state.locked + 1)
            locked = state.locked | bit
            moved = state._replace(current=state.current ^ bit, locked=locked)
            return moved, locked
        position = state.step - self.flips
        bit = 1 << position
        change = action == 0 and not state.locked & bit
        moved = state._replace(current=state.current ^ bit) if change else state
        return moved, state.locked | ((bit << 1) - 1)

    def move(self, step: int, state: Guess | None, action: int) -> Guess | None:  # noqa: ARG002
        if state is None:
            return None
        moved, _ = self.decide(state, action)
        if state.step < self.round_length - 1:
            return moved._replace(step=state.step + 1)
        if self.ends(moved):
            return None
        guess, changed = moved.current, (moved.previous ^ moved.current).bit_count()
        stakes = state.stakes * (FEE + self._near(changed))
        return Guess(state.round + 1, 0, guess, guess, 0, stakes, state.base - FEE * state.stakes)

    def ends(self, closed: Guess) -> bool:
        """Whether a guess that is complete is the last one."""
        return closed.round == self.rounds - 1 or self.opens(closed.current)

    def opens(self, guess: int) -> bool:
        return (guess ^ self._password).bit_count() < self.flips

    def _near(self, distance: int) -> float:
        return (1 - distance / self.bits) ** 2

    def value(self, state: Guess, decided: int) -> float:
        """V* of a state in which these bits have been decided."""
        changed = ((state.previous ^ state.current) & decided).bit_count()
        ahead = ((state.previous ^ self._password) & ~decided).bit_count()
        wrong = ((state.current ^ self._password) & decided).bit_count()
        factor = (FEE + self._near(changed + ahead)) * self._near(wrong)
        return state.base - FEE * state.stakes + state.stakes * factor

    def q_values(self, step: int, state: Guess | None) -> FloatArray:  # noqa: ARG002
        if state is None:
            return np.zeros(self.n_actions)
        values = [self.value(*self.decide(state, action)) for action in range(self.n_actions)]
        return np.array(values)

    def reward_means(self, step: int, state: Guess | None) -> FloatArray:  # noqa: ARG002
        means = np.zeros(self.n_actions)
        if state is not None and state.step == self.round_length - 1:
            for action in range(self.n_actions):
                closed, decided = self.decide(state, action)
                if self.ends(closed):
                    means[action] = self.value(closed, decided)
        return means

    def features(self, step: int, state: Guess | None) -> FloatArray:  # noqa: ARG002
        rows = np.zeros((self.n_actions, self.n_features))
        if state is not None:
            for action in range(self.n_actions):
                rows[action] = self.coefficients(*self.decide(state, action))
        return rows

    def coefficients(self, state: Guess, decided: int) -> FloatArray:
        """Walsh coefficients of V* in the signs of the password, [d'].

        With the signs omega_i, 1 - (A + D)/p and 1 - B/p are affine forms in the undecided and in
        the decided ones. The square of m + sum a_i omega_i has the coefficient m^2 + sum a_i^2 on
        the empty product, 2 m a_i on one sign and 2 a_i a_j on two.
        """
        inside = self._bits_of(decided).astype(np.bool_)
        shown = np.where(inside, self._bits_of(state.current), self._bits_of(state.previous))
        slopes = (1 - 2 * shown) / (2 * self.bits)
        changed = ((state.previous ^ state.current) & decided).bit_count()
        n_inside = int(inside.sum())
        ahead = 1 - changed / self.bits - (self.bits - n_inside) / (2 * self.bits)
        behind = 1 - n_inside / (2 * self.bits)
        products = np.where(self._member, slopes, 1.0).prod(axis=1)
        parts = state.stakes * products
        for middle, side, extra in ((ahead, ~inside, FEE), (behind, inside, 0.0)):
            constant = extra + middle**2 + (slopes[side] ** 2).sum()
            by_size = np.array([constant, 2 * middle, 2.0, 0.0, 0.0])
            parts *= by_size[(self._member & side).sum(axis=1)]
        parts[0] += state.base - FEE * state.stakes
        return parts

    def _bits_of(self, number: int) -> FloatArray:
        return (number >> np.arange(self.bits) & 1).astype(np.float64)

    def weights(self, step: int) -> FloatArray:  # noqa: ARG002
        signs = 1 - 2 * self._bits_of(self._password)
        return np.where(self._member, signs, 1.0).prod(axis=1)

    def gap(self) -> float:
        return self.stakes * least_lead(self._password, self.bits, self.flips, self.rounds, FEE)


def few_actions(
    bits: int = 4,
    rounds: int = 1,
    flips: int | None = None,
    stakes: float = 0.25,
    base: float = 0.8,
    secret: Sequence[int] | None = None,
    seed: int = 0,
) -> Lifted:
    """Lower bound: as few actions as bits, gap falling exponentially with the rounds; lifted.

    flips: forced changes a round, a quarter of the bits where it is left out. stakes and base:
    sigma and tau of the first round.
    """
    whole("bits", bits, least=4, most=MOST_BITS)
    whole("rounds", rounds, least=1)
    forced = bits // 4 if flips is None else whole("flips", flips, least=1, most=3 * bits // 4)
    between("stakes", stakes, 0, 1)
    between("base", base, 0, 1)
    _check_range(bits, forced, stakes, base)
    rng = np.random.default_rng(whole("seed", seed, least=0))
    return lift(FewActions(_password(bits, forced, secret, rng), forced, rounds, stakes, base))


def _check_range(bits: int, flips: int, stakes: float, base: float) -> None:
    """That no reward mean leaves [0, 1], however many rounds there are."""
    near = (1 - flips / bits) ** 2
    shrink = FEE + near  # rho
    fees = FEE * stakes / (1 - shrink) if shrink < 1 else np.inf
    if not (fees <= base and base + stakes * near <= 1):
        raise InputError(
            "all fees together must not exceed base, and base + stakes (1 - flips/bits)^2 must "
            "not exceed 1",
            got=f"fees of up to {fees:.4g}, base={base}, stakes={stakes}, flips={flips}, "
            f"bits={bits}",
            remedy="Raise flips, or lower stakes.",
        )


def _password(
    bits: int, flips: int, secret: Sequence[int] | None, rng: np.random.Generator
) -> Actions:
    """Between `flips` and three quarters of the bits are ones."""
    most = 3 * bits // 4
    ones = np.array([n.bit_count() for n in range(1 << bits)])
    drawn = int(rng.choice(np.flatnonzero((ones >= flips) & (ones <= most))))
    if secret is None:
        return tuple(drawn >> i & 1 for i in range(bits))
    given = bits_of(secret, bits)
    if not flips <= sum(given) <= most:
        raise InputError(
            f"a password has between {flips} and {most} ones",
            got=f"{sum(given)} ones in {given}",
            remedy="Choose another secret, or leave it out.",
        )
    return given
