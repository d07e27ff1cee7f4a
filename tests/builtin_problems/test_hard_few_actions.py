"""The password game: its closed form against exhaustive dynamic programming."""

from __future__ import annotations

import itertools
import math
from functools import cache
from typing import Any

import numpy as np
import pytest

import surepath
from passwords import BASE, STAKES, game, reachable, secrets
from surepath.builtin_problems.hard import FewActions
from surepath.builtin_problems.hard.few_actions import FEE, Guess

# ---- the rules, written down a second time


def payoff(secret: tuple[int, ...], rounds: int, actions: tuple[int, ...]) -> float:
    """Expected return of a sequence, by the rules: guesses as lists, flips as sets."""
    p, m = len(secret), len(secret) // 4
    x, sigma, tau = [0] * p, STAKES, BASE
    steps = iter(actions)
    for k in range(rounds):
        y, flipped = list(x), set[int]()
        for _ in range(m):
            i = next(steps)
            if i in flipped:
                i = min(set(range(p)) - flipped)
            y[i] = 1 - y[i]
            flipped.add(i)
        for j in range(p):
            if next(steps) == 0 and j not in flipped:
                y[j] = 1 - y[j]
        tau -= FEE * sigma
        sigma *= FEE + (1 - sum(a != b for a, b in zip(x, y, strict=True)) / p) ** 2
        wrong = sum(a != b for a, b in zip(y, secret, strict=True))
        if wrong < m or k == rounds - 1:
            return tau + sigma * (1 - wrong / p) ** 2
        x = y
    raise AssertionError


@pytest.mark.parametrize(("bits", "rounds"), [(4, 1), (4, 3), (8, 2), (12, 1)])
def test_the_game_follows_its_rules(bits: int, rounds: int) -> None:
    rng = np.random.default_rng(bits + rounds)
    n_opened = 0
    for seed in range(10):
        problem = surepath.make("few_actions", bits=bits, rounds=rounds, seed=seed)
        process = problem.process
        best = problem.optimum[0]
        for share in (0.0, 0.1, 0.5, 1.0):
            noise = rng.integers(bits, size=problem.horizon)
            keep = rng.random(problem.horizon) >= share
            actions = tuple(np.where(keep, best, noise).tolist())
            expected = payoff(process.secret, rounds, actions)
            assert problem.expected_return(actions) == pytest.approx(expected, abs=1e-12)
            n_opened += None in problem.path(actions)
    assert n_opened > 0 or rounds == 1


# ---- V*, one round at a time: by XOR any last guess is like 0, and stakes only scale


@cache
def one_round(bits: int) -> tuple[dict[tuple[int, int, int], np.ndarray], np.ndarray]:
    """V* of every partial state (step, current guess, locked) for all passwords that are alive.

    Backward induction with unit stakes and base 0; what follows the round is worth what its end
    pays, which is the induction hypothesis. The second array has the passwords, [N].
    """
    m = bits // 4
    passwords = np.array([w for w in range(1 << bits) if w.bit_count() >= m])

    @cache
    def value(step: int, guess: int, locked: int) -> np.ndarray:
        if step == bits + m:
            changed, wrong = guess.bit_count(), np.bitwise_count(passwords ^ guess)
            factor = FEE + (1 - changed / bits) ** 2
            return -FEE + factor * (1 - wrong / bits) ** 2
        if step < m:
            free = [1 << i for i in range(bits) if not locked >> i & 1]
            options = [value(step + 1, guess ^ bit, locked | bit) for bit in free]
        else:
            bit = 1 << (step - m)
            guesses = [guess] if locked & bit else [guess, guess ^ bit]
            options = [value(step + 1, each, locked) for each in guesses]
        values[step, guess, locked] = np.max(options, axis=0)
        return values[step, guess, locked]

    values: dict[tuple[int, int, int], np.ndarray] = {}
    value(0, 0, 0)
    return values, passwords


def decided_bits(bits: int, step: int, locked: int) -> int:
    return locked | ((1 << max(0, step - bits // 4)) - 1)


@pytest.mark.parametrize("bits", [4, 8])
def test_the_closed_form_is_the_value_of_every_partial_state(bits: int) -> None:
    """For every password that leaves the game alive."""
    values, passwords = one_round(bits)
    flips = bits // 4
    locked_sets = list(itertools.combinations(range(bits), flips))
    free = [[j - sum(i < j for i in each) for j in range(bits)] for each in locked_sets]
    begun = sum(math.comb(bits, k) for k in range(flips))
    assert len(values) == begun + sum(2**n for row in free for n in row)  # all of them
    games = {w: game(tuple(w >> i & 1 for i in range(bits)), 1) for w in map(int, passwords)}
    chosen = list(values.items())[:: 1 if bits == 4 else 23]
    for (step, guess, locked), value in chosen:
        state = Guess(0, step, 0, guess, locked, 1.0, 0.0)
        found = [g.value(state, decided_bits(bits, step, locked)) for g in games.values()]
        np.testing.assert_allclose(found, value, atol=1e-14)


def polynomial(bits: int, step: int, guess: int, locked: int) -> np.ndarray:
    """The closed form for all 2^p passwords, whether they leave the game alive or not."""
    w = np.arange(1 << bits)
    decided = decided_bits(bits, step, locked)
    ahead = np.bitwise_count(w & ~decided & ((1 << bits) - 1))
    wrong = np.bitwise_count((guess ^ w) & decided)
    changed = (guess & decided).bit_count()
    return -FEE + (FEE + (1 - (changed + ahead) / bits) ** 2) * (1 - wrong / bits) ** 2


@pytest.mark.parametrize("bits", [4, 8])
def test_the_closed_form_holds_in_all_partial_states_at_once(bits: int) -> None:
    values, passwords = one_round(bits)
    for (step, guess, locked), value in values.items():
        found = polynomial(bits, step, guess, locked)[passwords]
        np.testing.assert_allclose(found, value, atol=1e-14)


@pytest.mark.parametrize(("bits", "rank"), [(4, 15), (8, 163)])
def test_values_span_as_many_dimensions_as_there_are_features(bits: int, rank: int) -> None:
    """Of 4 bits there are only 15 passwords for the 16 features."""
    values, passwords = one_round(bits)
    matrix = np.array(list(values.values()))  # [states, passwords]
    assert np.linalg.matrix_rank(matrix.T @ matrix, hermitian=True) == rank
    d = game((1,) + (0,) * (bits - 1), 1).n_features
    assert rank == min(d, len(passwords))
    assert d == {4: 16, 8: 163}[bits]


@pytest.mark.parametrize("bits", [4, 8])
def test_features_are_the_walsh_coefficients_and_stop_at_degree_four(bits: int) -> None:
    values, _ = one_round(bits)
    process = game((1,) * 2 + (0,) * (bits - 2), 1)
    w = np.arange(1 << bits)
    walsh = 1 - 2.0 * (np.bitwise_count(w[:, None] & w) % 2)  # [sets, passwords]
    degree = np.bitwise_count(w)
    sets = [
        sum(1 << i for i in s) for k in range(5) for s in itertools.combinations(range(bits), k)
    ]
    for step, guess, locked in list(values)[:: 1 if bits == 4 else 41]:
        coefficients = walsh @ polynomial(bits, step, guess, locked) / (1 << bits)
        assert np.abs(coefficients[degree > 4]).max(initial=0) < 1e-15
        state = Guess(0, step, 0, guess, locked, 1.0, 0.0)
        found = process.coefficients(state, decided_bits(bits, step, locked))
        np.testing.assert_allclose(found, coefficients[sets], atol=1e-14)


# ---- the whole game


def solved(process: FewActions) -> dict[tuple[int, Guess | None], np.ndarray]:
    """Q* of every state that is reachable, each checked by Bellman's equation."""
    q_of = {at: process.q_values(*at) for at in reachable(process)}
    for (step, state), q in q_of.items():
        expected = process.reward_means(step, state)
        if step + 1 < process.horizon:
            following = (process.move(step, state, a) for a in range(process.n_actions))
            expected = expected + [q_of[step + 1, each].max() for each in following]
        assert np.abs(q - expected).max() <= 1e-14
    return q_of


@pytest.mark.slow
def test_every_state_of_a_game_of_eight_bits() -> None:
    process = game((1, 0, 1, 0, 1, 1, 0, 0), 2)
    q_of = solved(process)
    assert len(q_of) > 600_000
    assert q_of[0, process.start].max() == pytest.approx(BASE + STAKES / 4, abs=1e-14)


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_every_state_of_the_game(rounds: int) -> None:
    """4 bits, every password: Bellman's equation, linearity, lengths, and ranges of the means."""
    chosen = secrets(4, most=3)
    assert len(chosen) == 14
    means = list[float]()
    for secret in chosen if rounds < 3 else chosen[::9]:
        process = game(secret, rounds)
        weights = process.weights(0)
        assert np.linalg.norm(weights) == pytest.approx(4.0)  # sqrt of the 16 features
        q_of = solved(process)
        for (step, state), q in q_of.items():
            means += [mean for mean in process.reward_means(step, state) if mean]
            if rounds < 3 and secret in chosen[::4]:
                features = process.features(step, state)
                np.testing.assert_allclose(features @ weights, q, atol=1e-14)
                assert np.linalg.norm(features, axis=1).max() <= 1
        start = q_of[0, process.start].max()
        assert start == pytest.approx(BASE + STAKES * (1 - sum(secret) / 4) ** 2, abs=1e-14)
    assert min(means) >= 0.175
    assert max(means) <= BASE + STAKES * 9 / 16 + 1e-12 < 0.941


def test_long_games_of_more_bits_along_random_paths() -> None:
    rng = np.random.default_rng(0)
    for secret in secrets(8, most=6)[::40]:
        process = game(secret, 4)
        states = [process.start]
        for step in range(process.horizon):
            q = process.q_values(step, states[-1])
            features = process.features(step, states[-1])
            np.testing.assert_allclose(features @ process.weights(step), q, atol=1e-13)
            assert np.linalg.norm(features, axis=1).max() <= 1
            rewards = process.reward_means(step, states[-1])
            following = [process.move(step, states[-1], a) for a in range(8)]
            if step + 1 < process.horizon:
                rewards = rewards + [process.q_values(step + 1, s).max() for s in following]
            np.testing.assert_allclose(rewards, q, atol=1e-14)
            states.append(following[int(rng.integers(8))])
        assert len({s.round for s in states if s is not None}) > 1


# ---- use and refusal


def test_sizes_of_the_lifted_problem() -> None:
    problem = surepath.make("few_actions", bits=8, rounds=2)
    assert (problem.horizon, problem.n_actions, problem.dimension) == (20, 8, 8 * 164)
    assert problem.norm == pytest.approx(np.sqrt(16 * 163))
    assert not problem.oracle.unique
    assert problem.is_optimal(problem.optimum[0])


@pytest.mark.parametrize(
    ("wrong", "mentions"),
    [
        ({"bits": 3}, "bits"),
        ({"bits": 13}, "bits"),
        ({"rounds": 0}, "rounds"),
        ({"flips": 0}, "flips"),
        ({"bits": 12, "flips": 2}, "all fees together"),
        ({"stakes": 0.5}, "all fees together"),
        ({"base": 0.5}, "all fees together"),
        ({"base": 0.9}, "must not exceed 1"),
        ({"secret": (0, 0, 0, 0)}, "between 1 and 3 ones"),
        ({"secret": (1, 1, 1, 1)}, "between 1 and 3 ones"),
        ({"secret": "0110"}, "secret must be 4 bits"),
    ],
)
def test_what_makes_no_game_is_refused(wrong: dict[str, Any], mentions: str) -> None:
    with pytest.raises(surepath.InputError, match=mentions):
        surepath.make("few_actions", **wrong)


def test_other_stakes_make_other_numbers_of_flips_possible() -> None:
    problem = surepath.make("few_actions", bits=12, flips=3, secret=(1, 0) * 6)
    assert problem.process.secret == (1, 0) * 6
    problem = surepath.make("few_actions", bits=5, flips=2, stakes=0.2, base=0.6)
    assert problem.horizon == 7
    assert problem.optimum[1] == pytest.approx(
        0.6 + 0.2 * (1 - sum(problem.process.secret) / 5) ** 2
    )
