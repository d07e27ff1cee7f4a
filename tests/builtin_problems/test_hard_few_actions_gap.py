"""The gap of the password game, and what makes it hard."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest

from passwords import BASE, RHO, STAKES, game, reachable, secrets
from surepath.builtin_problems.hard import FewActions
from surepath.builtin_problems.hard.few_actions import FEE
from surepath.builtin_problems.hard.least_lead import least_lead
from surepath.theory.floor import binary_kl


def smallest_lead(process: FewActions) -> float:
    leads = (q.max() - q for q in (process.q_values(*at) for at in reachable(process)))
    return min(float(lead[lead > 1e-12].min(initial=np.inf)) for lead in leads)


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_the_gap_is_the_smallest_lead_of_a_reachable_state(rounds: int) -> None:
    for secret in secrets(4, most=3)[:: 1 if rounds < 3 else 5]:
        process = game(secret, rounds)
        assert process.gap() == pytest.approx(smallest_lead(process), abs=1e-14)


def test_the_gap_with_more_bits_and_other_flips() -> None:
    rng = np.random.default_rng(1)
    for bits, flips in ((5, 1), (5, 2), (6, 2), (7, 3), (8, 2)):
        for _ in range(3):
            ones = rng.permutation(bits)[: rng.integers(flips, bits + 1)]
            secret = tuple(int(i in ones) for i in range(bits))
            process = FewActions(secret, flips, 1)
            assert process.gap() == pytest.approx(smallest_lead(process), abs=1e-14)


def test_the_gap_vanishes_with_the_rounds() -> None:
    """Of the hardest password: q / p^2 times the stakes, which the rounds multiply by q."""
    hardest = [min(game(s, k).gap() for s in secrets(4, most=3)) for k in (1, 2, 3, 4)]
    np.testing.assert_allclose(hardest[:3], [0.00488, 0.00153, 0.00048], atol=5e-6)
    np.testing.assert_allclose(hardest, STAKES * FEE / 16 * FEE ** np.arange(4), rtol=1e-12)
    eight = min(least_lead(w, 8, 2, 1, FEE) for w in range(256) if 2 <= w.bit_count() <= 6)
    assert eight == pytest.approx((FEE + 1 / 64) / 64, rel=1e-12)
    assert eight == pytest.approx(0.0051, abs=5e-5)


def value_closed(process: FewActions) -> float:
    """Best return of a policy that never opens the safe."""

    @cache
    def value(step: int, state: Any) -> float:
        options = []
        for action, paid in enumerate(process.reward_means(step, state)):
            entered, _ = process.decide(state, action)
            if state.step == process.round_length - 1 and process.opens(entered.current):
                options.append(-np.inf)
            elif step == process.horizon - 1:
                options.append(paid)
            else:
                options.append(paid + value(step + 1, process.move(step, state, action)))
        return max(options)

    return value(0, process.start)


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_never_opening_the_safe_costs_a_constant(rounds: int) -> None:
    """More than a tenth from three rounds on, for a password of each number of ones."""
    for secret in ((1, 0, 0, 0), (0, 1, 1, 0), (1, 0, 1, 1)):
        process = game(secret, rounds)
        loss = process.q_values(0, process.start).max() - value_closed(process)
        near = STAKES * (1 - sum(secret) / 4) ** 2
        fees = FEE * STAKES * (1 - FEE**rounds) / (1 - FEE)
        assert loss >= near + fees - STAKES * RHO**rounds - 1e-12
        assert loss > (0.01, 0.05, 0.1)[rounds - 1]
        assert loss <= near + fees + 1e-12


def test_the_needle_and_the_faint_signal() -> None:
    """The two terms of the lower bound: what a guess finds, and what the last reward says."""
    for bits in (4, 8):
        flips = bits // 4
        passwords = secrets(bits, most=3 * bits // 4)
        games = [FewActions(w, flips, 1, STAKES, BASE) for w in passwords]
        volume = sum(math.comb(bits, k) for k in range(flips))
        opened = [sum(each.opens(guess) for each in games) for guess in range(1 << bits)]
        assert max(opened) == volume
        assert len(passwords) == sum(math.comb(bits, k) for k in range(flips, 3 * bits // 4 + 1))
    process = game((1, 0, 1, 0), 2)
    faint = STAKES * RHO**2
    for step, state in reachable(process):
        if state is not None and step == process.horizon - 1:
            for action, mean in enumerate(process.reward_means(step, state)):
                entered, _ = process.decide(state, action)
                if not process.opens(entered.current):
                    shut = state.base - FEE * state.stakes  # what is paid where nothing is near
                    assert 0 <= mean - shut <= faint
                    assert binary_kl(shut, mean) <= (mean - shut) ** 2 / 0.144 + 1e-15
    sizes = {16: 6, 32: 30, 64: 1300}
    for bits, fewest in sizes.items():
        least = sum(math.comb(bits, k) for k in range(bits // 4))
        share = least / sum(math.comb(bits, k) for k in range(bits // 4, 3 * bits // 4 + 1))
        bound = min(1 / (bits * share), 0.144 / (STAKES * RHO**bits) ** 2)
        assert bound == pytest.approx(fewest, rel=0.05)


def test_stakes_shrink_and_fees_stay_below_the_base() -> None:
    process = game((1, 0, 1, 0), 3)
    stakes: Counter[int] = Counter()
    for _, state in reachable(process):
        if state is not None and state.step == 0:
            k = state.round
            stakes[k] += 1
            assert STAKES * FEE**k - 1e-15 <= state.stakes <= STAKES * RHO**k + 1e-15
            assert state.base >= BASE - FEE * STAKES / (1 - RHO)
    assert set(stakes) == {0, 1, 2}
