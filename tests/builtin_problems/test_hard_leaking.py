"""The leaking graph against its definition."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import surepath
from surepath.builtin_problems.hard import Leaking, leaking
from surepath.builtin_problems.hard.leaking import Belief
from surepath.builtin_problems.hard.vectors import (
    coherence_of,
    next_prime,
    quadratic_phases,
    spread_vectors,
)

ALPHAS = [1 / 6, 1 / 4]


# ---- the vectors


def phases(prime: int) -> np.ndarray:
    return quadratic_phases(prime, np.arange(prime**2))


@pytest.mark.parametrize("prime", [5, 7, 17, 37])
def test_quadratic_phases_are_nearly_orthogonal(prime: int) -> None:
    vectors = phases(prime)
    assert vectors.shape == (prime**2, 2 * prime)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-12)
    products = vectors @ vectors.T
    np.fill_diagonal(products, 0)
    assert coherence_of(vectors) == pytest.approx(np.abs(products).max(), abs=1e-15)
    assert coherence_of(vectors) <= prime**-0.5 + 1e-12


def test_the_coherences_that_the_families_need() -> None:
    """1369 vectors of 74 dimensions for 1/6, 289 of 34 for 1/4: and no smaller prime has them."""
    assert coherence_of(phases(37)) == pytest.approx(0.1644, abs=5e-5)
    assert coherence_of(phases(17)) <= 0.25 < 13**-0.5
    assert 37**-0.5 <= 1 / 6 < 31**-0.5
    assert [next_prime(n) for n in (5, 8, 14, 24, 37)] == [5, 11, 17, 29, 37]
    rng = np.random.default_rng(0)
    assert spread_vectors(11, 1 / 6, None, rng).shape == (11, 74)
    assert spread_vectors(1369, 1 / 6, None, rng).shape == (1369, 74)
    assert spread_vectors(1370, 1 / 6, None, rng).shape == (1370, 82)


def test_random_signs_in_a_given_dimension() -> None:
    rng = np.random.default_rng(1)
    vectors = spread_vectors(1500, 0.45, int(8 * np.log(1500) / 0.45**2), rng)
    assert set(np.round(vectors * np.sqrt(vectors.shape[1]), 9).ravel()) == {-1.0, 1.0}
    assert coherence_of(vectors) <= 0.45
    with pytest.raises(surepath.InputError, match="must meet at no more than") as caught:
        spread_vectors(50, 0.25, 8, rng)
    assert "dimension (501 is enough" in caught.value.remedy


# ---- the definition, written down a second time as a plain decision process


@dataclass(frozen=True)
class Written:
    """States s_0 .. s_m and f, the last; everything rescaled to [0, 1]."""

    transitions: np.ndarray  # [S, A, S]
    rewards: np.ndarray  # [H, S, A]
    arrival: np.ndarray  # [m + 1, m]
    pointing: np.ndarray  # [m]
    scale: float
    shift: float

    def values(self, allowed: list[int]) -> np.ndarray:
        """Q*[h, s, a] by backward induction over the allowed actions."""
        q = np.zeros_like(self.rewards)
        following = np.zeros(len(self.transitions))
        for h in reversed(range(len(q))):
            q[h] = self.rewards[h] + self.transitions @ following
            following = q[h][:, allowed].max(axis=1)
        return q


def written(problem: Leaking, seed: int) -> Written:
    m, a, secret = problem.n_actions, problem.alpha, problem.secret
    vectors = spread_vectors(2 * m + 1, a, None, np.random.default_rng(seed))
    v, u = vectors[: m + 1], vectors[m + 1 :]
    p = np.array([[v[i] @ u[j] + 2 * a for j in range(m)] for i in range(m + 1)])
    c = np.array([1.0 if j == secret else v[j + 1] @ u[secret] for j in range(m)])
    least = -6 * a**2 if problem.leak else a**2 - 3 * a
    scale = 1 / (3 * a - least)
    transitions = np.zeros((m + 2, m, m + 2))
    rewards = np.zeros((problem.horizon, m + 2, m))
    for i, j in itertools.product(range(m + 1), range(m)):
        arrives = 0.0 if j == secret else p[i, j] if problem.leak else 1.0
        transitions[i, j, j + 1], transitions[i, j, m + 1] = arrives, 1 - arrives
        fee = 0.0 if problem.leak else (1 - p[i, j]) * p[j + 1, secret]
        rewards[:, i, j] = p[i, j] if j == secret else -2 * a * p[i, j] - fee
        rewards[-1, i, j] = p[i, j] * c[j]
    transitions[m + 1, :, m + 1] = 1
    return Written(transitions, (rewards - least) * scale, p, c, scale, -least * scale)


def every(actions: int = 5, horizon: int = 4) -> list[Any]:
    """Instances for every secret, both values of alpha, with and without leaks."""
    return [
        pytest.param(secret, alpha, leak, id=f"{secret}-{alpha:.2f}-{leak}")
        for secret in range(actions)
        for alpha in ALPHAS
        for leak in (True, False)
    ]


def pure(problem: Leaking) -> list[Belief]:
    """Every place, and having fallen."""
    return [*(Belief(1.0, place) for place in range(problem.n_actions + 1)), Belief(0.0, 1)]


@pytest.mark.parametrize(("secret", "alpha", "leak"), every())
def test_the_graph_is_the_one_that_was_written_down(secret: int, alpha: float, leak: bool) -> None:
    problem = leaking(secret=secret, alpha=alpha, leak=leak, seed=3)
    truth = written(problem, seed=3)
    assert 0 < alpha <= truth.arrival.min() + 1e-12
    assert truth.arrival.max() <= 3 * alpha + 1e-12 < 1
    assert truth.rewards.min() >= -1e-12
    assert truth.rewards.max() <= 1 + 1e-12
    for h, (s, belief) in itertools.product(range(4), enumerate(pure(problem))):
        for a in range(5):
            mean = problem.reward_law(h, belief, a).mean
            assert mean == pytest.approx(truth.rewards[h, s, a], abs=1e-12)
            moved = problem.move(h, belief, a)
            assert moved.alive == pytest.approx(truth.transitions[s, a, a + 1], abs=1e-12)


@pytest.mark.parametrize(("secret", "alpha", "leak"), every())
def test_q_is_linear_in_the_features_of_the_state(secret: int, alpha: float, leak: bool) -> None:
    problem = leaking(secret=secret, alpha=alpha, leak=leak, seed=3)
    q = written(problem, seed=3).values(list(range(5)))
    assert problem.dimension == problem.features.shape[1] == {1 / 6: 76, 1 / 4: 36}[alpha]
    np.testing.assert_allclose(np.linalg.norm(problem.features[:-1], axis=1), 1, atol=1e-12)
    for h in range(4):
        np.testing.assert_allclose(problem.features @ problem.weights(h).T, q[h], atol=1e-12)
        for s, belief in enumerate(pure(problem)):
            np.testing.assert_allclose(problem.q_values(h, belief), q[h, s], atol=1e-12)
    assert (q[:, :-1].argmax(axis=2) == secret).all()


@pytest.mark.parametrize(("secret", "alpha", "leak"), every())
def test_the_gap_over_states_is_a_constant(secret: int, alpha: float, leak: bool) -> None:
    least = alpha - 3 * alpha**2
    bound = least / (3 * alpha + 6 * alpha**2) if leak else least / (6 * alpha - alpha**2)
    by_hand = {1 / 6: (1 / 8, 3 / 35), 1 / 4: (1 / 18, 1 / 23)}[alpha]
    assert bound == pytest.approx(by_hand[not leak])
    gaps = []
    for horizon in (2, 4, 9):
        problem = leaking(horizon=horizon, secret=secret, alpha=alpha, leak=leak, seed=3)
        q = written(problem, seed=3).values(list(range(5)))
        reachable = [0, *(j + 1 for j in range(5) if j != secret)]
        leads = [q[0, [0]], q[1:, reachable[1:]].reshape(-1, 5)]
        leads = np.concatenate([x.max(axis=1, keepdims=True) - x for x in leads]).ravel()
        assert problem.state_gap == pytest.approx(leads[leads > 1e-12].min(), abs=1e-12)
        gaps.append(problem.state_gap)
    assert min(gaps) >= bound
    assert max(gaps) == pytest.approx(min(gaps), abs=1e-12)


@pytest.mark.parametrize("horizon", [1, 6, 8])
def test_the_norm_is_that_of_the_weights(horizon: int) -> None:
    problem = leaking(horizon=horizon, seed=3)
    a, kappa = 1 / 6, 1.5
    exact = np.sqrt(3 * ((6 * a**2 * kappa * horizon) ** 2 + kappa**2 * (1 + 4 * a**2)))
    assert problem.norm == pytest.approx(exact)
    assert problem.radius == 1
    if horizon > 1:
        assert problem.norm == pytest.approx({6: 3.77, 8: 4.42}[horizon], abs=0.02)
    with pytest.raises(surepath.InputError, match="single observations"):
        problem.norm_of(2)


def test_the_features_do_not_know_the_secret() -> None:
    first, *others = (leaking(secret=secret, seed=4) for secret in range(5))
    for other in others:
        np.testing.assert_array_equal(first.features, other.features)
        assert not np.allclose(first.weights(0), other.weights(0))


def test_the_printed_formula_has_the_wrong_vector() -> None:
    """Its last factor belongs to the action (1 for a*), not to the state."""
    problem = leaking(seed=3)
    truth = written(problem, seed=3)
    q = (truth.values(list(range(5)))[0, :-1] - 4 * truth.shift) / truth.scale
    right = truth.arrival * truth.pointing
    np.testing.assert_allclose(q, right, atol=1e-12)
    printed = truth.arrival * (truth.arrival[:, [problem.secret]] - 2 * problem.alpha)
    assert np.abs(q - printed).max() > 0.25
    assert (printed.argmax(axis=1) != problem.secret).any()


# ---- what a prefix sees of it


@pytest.mark.parametrize("seed", range(4))
def test_beliefs_have_linear_values_too(seed: int) -> None:
    """Open-loop Q* of a prefix is <w_a, E phi>; the best sequence attains V* of the start."""
    problem = leaking(actions=3, seed=seed)
    best = max(map(problem.expected_return, itertools.product(range(3), repeat=4)))
    assert best == pytest.approx(problem.optimum[1], abs=1e-12)
    q = written(problem, seed).values([0, 1, 2])
    assert best == pytest.approx(q[0, 0].max(), abs=1e-12)
    for length in range(4):
        for prefix in itertools.product(range(3), repeat=length):
            belief = problem.path(prefix)[-1]
            seen = problem.observation_law(length, belief).mean
            linear = problem.weights(length) @ seen
            np.testing.assert_allclose(linear, problem.q_values(length, belief), atol=1e-12)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_few_survive(alpha: float) -> None:
    problem = leaking(horizon=5, actions=4, alpha=alpha, seed=5)
    for prefix in itertools.product(range(4), repeat=4):
        alive = problem.path(prefix)[-1].alive
        if problem.secret in prefix:
            assert alive == 0
        else:
            assert alpha**4 * (1 - 1e-12) <= alive <= (3 * alpha) ** 4 * (1 + 1e-12)
        # Steps that are taken alive, whatever is played: a geometric series at most.
        steps = sum(belief.alive for belief in problem.path(prefix))
        assert steps <= sum((3 * alpha) ** k for k in range(5)) * (1 + 1e-12)
        assert steps <= 1 / (1 - 3 * alpha)


@pytest.mark.parametrize("seed", range(4))
def test_the_gap_of_a_belief_shrinks_with_the_chance_of_being_alive(seed: int) -> None:
    problem = leaking(seed=seed)
    gaps = problem.belief_gaps()
    kappa, a = 1.5, 1 / 6
    least, most = kappa * (a - 3 * a**2), kappa * (3 * a + 3 * a**2)
    for level in range(4):
        found = []
        for prefix in itertools.product(range(5), repeat=level):
            q = problem.q_values(level, problem.path(prefix)[-1])
            leads = (q.max() - q)[q.max() - q > 1e-12]
            lead = leads.min() if len(leads) else np.inf
            assert problem.belief_gap(prefix) == pytest.approx(lead, abs=1e-12)
            found.append(lead)
        assert gaps[level] == pytest.approx(min(found), abs=1e-12)
        assert a**level * least <= gaps[level] <= (3 * a) ** level * most
    assert (np.diff(gaps) < 0).all()
    assert problem.gap == gaps[-1] < problem.state_gap / 20  # beliefs are what a learner meets
    tight = leaking(leak=False, seed=seed)
    assert tight.gap == pytest.approx(tight.state_gap, abs=1e-12)


def test_a_lead_is_a_lead_however_small() -> None:
    problem = leaking(horizon=30, secret=0)
    deep = problem.belief_gap((1,) * 29)
    assert 0 < problem.gap <= deep < 1e-6
    assert problem.gap < 1e-14
    assert problem.belief_gap((0,)) == np.inf


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("seed", range(5))
def test_never_playing_the_secret_costs_a_constant(alpha: float, seed: int) -> None:
    """Raw values without a* are at most -2 alpha p + 3 alpha^2 p with p >= alpha: below 0."""
    for horizon in (2, 4, 7):
        problem = leaking(horizon=horizon, alpha=alpha, seed=seed)
        truth = written(problem, seed)
        others = [j for j in range(5) if j != problem.secret]
        without = truth.values(others)[0, 0, others].max()
        bound = truth.scale * (alpha + 2 * alpha**2 - 3 * alpha**3)
        assert problem.optimum[1] - without >= bound
        assert bound == pytest.approx({1 / 6: 0.3125, 1 / 4: 0.2917}[alpha], abs=1e-4)


# ---- without leaks


@pytest.mark.parametrize("alpha", [0.06, 1 / 6, 1 / 4, 0.33])
def test_without_leaks_it_is_the_same_problem_and_deterministic(alpha: float) -> None:
    leaky, tight = (leaking(alpha=alpha, leak=leak, seed=6) for leak in (True, False))
    np.testing.assert_array_equal(leaky.features, tight.features)
    for prefix in itertools.product(range(5), repeat=3):
        assert tight.path(prefix)[-1].alive == float(tight.secret not in prefix)
    for h, place in itertools.product(range(4), range(6)):
        raw = [
            (p.q_values(h, Belief(1.0, place)) - p.fallen_reward * (4 - h)) / p.scale
            for p in (leaky, tight)
        ]
        np.testing.assert_allclose(*raw, atol=1e-12)
        means = [tight.reward(h, place, a) for a in range(5)]
        assert 0 <= min(means) <= max(means) <= 1


# ---- use and refusal


@pytest.mark.parametrize("leak", [True, False])
def test_a_learner_runs_on_it(leak: bool) -> None:
    problem = surepath.make("leaking", horizon=2, actions=3, alpha=0.25, leak=leak)
    result = surepath.learn(problem, budget=10**6)
    assert problem.is_optimal(result.actions)
    longer = surepath.make("leaking", horizon=3, leak=leak)
    fixed = surepath.learn(longer, schedule="tight")
    assert fixed.certified
    assert longer.is_optimal(fixed.actions)
    # What the certificate takes from the oracle is true of what the learner meets.
    (said,) = [text for text in fixed.certificate.assumptions if "fall short" in text]
    assert f"at least {longer.belief_gaps().min():.6g}" in said


@pytest.mark.parametrize(
    ("wrong", "mentions"),
    [
        ({"alpha": 1 / 3}, "alpha"),
        ({"alpha": 0.01}, "alpha"),
        ({"actions": 1}, "actions"),
        ({"actions": 10**6}, "actions"),
        ({"secret": 5}, "secret"),
        ({"secret": -1}, "secret"),
        ({"leak": "no"}, "leak must be True or False"),
        ({"dimension": 20}, "meet at no more than 0.1667"),
    ],
)
def test_what_makes_no_leaking_graph_is_refused(wrong: dict[str, Any], mentions: str) -> None:
    with pytest.raises(surepath.InputError, match=mentions):
        surepath.make("leaking", **wrong)


def test_random_signs_make_a_graph_too() -> None:
    problem = surepath.make("leaking", actions=3, alpha=0.3, dimension=60)
    assert problem.dimension == 62
    assert problem.state_gap >= 0.3 * 0.1 / (0.9 + 0.54)
