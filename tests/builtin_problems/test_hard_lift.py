"""The lift, and the two trees that are used through it, against enumeration."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import stats

import surepath
from surepath.builtin_problems.hard import (
    ExitLane,
    Forks,
    LinearProcess,
    exit_lane,
    lift,
    tunable_gap,
)
from surepath.builtin_problems.hard.lift import QueryReading
from surepath.builtin_problems.hard.vectors import coherence_of, spread_vectors
from surepath.system import Request

ALARM = 1e-3 / 40
"""False-alarm level of one test: fewer than 40 are made below, 1e-3 for all together."""

LIFTED = {
    "exit_lane": {"horizon": 3, "actions": 4},
    "few_actions": {"bits": 4},
    "tunable_gap": {"horizon": 4, "eps": 1.0},
}


def situations(problem: surepath.Problem) -> Iterator[tuple[int, Any]]:
    """Every step and state that a prefix reaches."""
    for length in range(problem.horizon):
        for prefix in itertools.product(range(problem.n_actions), repeat=length):
            yield length, problem.path(prefix)[-1]


# ---- the lift


@pytest.mark.parametrize("name", LIFTED)
@pytest.mark.parametrize("seed", range(3))
def test_q_is_linear_in_the_mean_reading(name: str, seed: int) -> None:
    problem = surepath.make(name, **LIFTED[name], seed=seed)
    process = problem.process
    count, width = problem.n_actions, process.n_features
    assert problem.dimension == count * (width + 1)
    longest = 0.0
    for step, state in situations(problem):
        mean = problem.observation_law(step, state).mean
        assert mean.shape == (problem.dimension,)
        np.testing.assert_allclose(
            problem.weights(step) @ mean, problem.q_values(step, state), atol=1e-12
        )
        blocks = mean.reshape(count, width + 1) * np.sqrt(2 * count)
        np.testing.assert_allclose(blocks[:, :-1], process.features(step, state), atol=1e-12)
        rewards = [problem.reward_law(step, state, a).mean for a in range(count)]
        np.testing.assert_allclose(blocks[:, -1], rewards, atol=1e-12)
        longest = max(longest, np.linalg.norm(process.features(step, state), axis=1).max())
    assert longest <= 1 + 1e-12
    if name != "few_actions":
        assert longest == pytest.approx(1)
    norms = [np.linalg.norm(process.weights(step)) for step in range(problem.horizon)]
    assert problem.norm == pytest.approx(np.sqrt(2 * count) * max(norms))
    rows = [np.linalg.norm(problem.weights(step), axis=1) for step in range(problem.horizon)]
    assert problem.norm == pytest.approx(np.max(rows))


@pytest.mark.parametrize("horizon", [2, 4])
def test_norms_in_numbers(horizon: int) -> None:
    """theta as constructed, times what the features were divided by, times sqrt(2 A)."""
    constant = 0.5 * 1.5**-horizon + sum(5 / 8 * 1.5**-h for h in range(1, horizon))
    lane_norm = np.sqrt(2 * 4) * np.sqrt(constant**2 + 1) * np.sqrt(2) / 3
    assert exit_lane(horizon=horizon, actions=4).norm == pytest.approx(lane_norm)
    share = 0.3 / (2 * horizon)
    theta = np.hypot(0.5 + share * (horizon - 1), share * np.sqrt(horizon))
    fork_norm = np.sqrt(2 * 2) * np.sqrt(horizon + 1) * theta
    assert tunable_gap(horizon=horizon, eps=0.3).norm == pytest.approx(fork_norm)


def test_readings_are_short_even_where_features_are_not() -> None:
    problem = surepath.make(
        "few_actions", bits=4, flips=3, stakes=0.99, base=0.938, secret=(1, 1, 1, 0)
    )
    longest = rows = 0.0
    for step, state in situations(problem):
        features = problem.process.features(step, state)
        paid = problem.process.reward_means(step, state) > 0  # a draw may be 1
        rows = max(rows, np.linalg.norm(features, axis=1).max())
        longest = max(longest, ((features**2).sum() + paid.sum()) / (2 * problem.n_actions))
    assert rows > 1.02
    assert longest <= 1


@pytest.mark.parametrize("name", LIFTED)
def test_readings_are_features_beside_fresh_rewards(name: str) -> None:
    """Exact tests of each drawn reward, and of its independence of the reward that is paid."""
    problem = surepath.make(name, **LIFTED[name])
    count = problem.n_actions
    actions, n = problem.optimum[0], 4000
    paying = (problem.process.reward_means(h, s).any() for h, s in enumerate(problem.path(actions)))
    step = list(paying).index(True)
    state = problem.path(actions)[step]
    episodes = problem.rollout(actions, n, np.random.default_rng(1))
    read = episodes.observations[:, step].reshape(n, count, -1) * np.sqrt(2 * count)
    assert np.linalg.norm(episodes.observations, axis=2).max() <= 1 + 1e-12
    shown = np.broadcast_to(problem.process.features(step, state), read[:, :, :-1].shape)
    np.testing.assert_allclose(read[:, :, :-1], shown, atol=1e-12)
    drawn = np.round(read[:, :, -1], 9)
    assert set(drawn.ravel()) <= {0.0, 1.0}
    for action, mean in enumerate(problem.process.reward_means(step, state)):
        assert stats.binomtest(int(drawn[:, action].sum()), n, mean).pvalue > ALARM
    paid = episodes.rewards[:, step]
    own = drawn[:, actions[step]]
    table = [[((own == x) & (paid == y)).sum() for y in (0, 1)] for x in (0, 1)]
    if 0 < problem.reward_law(step, state, actions[step]).mean < 1:
        assert stats.fisher_exact(table).pvalue > ALARM


MEANS = np.array([0.3, 0.0, 0.8])


def patterns_table(n: int) -> dict[tuple[int, ...], float]:
    """Law of (paid of action 0, of action 2, of both at once) among n readings, by enumeration."""
    table: Counter[tuple[int, ...]] = Counter()
    single = {
        (x, y, x * y): (0.3 if x else 0.7) * (0.8 if y else 0.2)
        for x, y in itertools.product((0, 1), repeat=2)
    }
    for draws in itertools.product(single, repeat=n):
        table[tuple(map(sum, zip(*draws, strict=True)))] += float(
            np.prod([single[draw] for draw in draws])
        )
    return table


@pytest.mark.parametrize("n", [1, 3])
def test_the_statistic_of_a_reading_has_its_exact_law(n: int) -> None:
    rng, replications = np.random.default_rng(2), 4000
    law = QueryReading(np.full((3, 2), 0.5), MEANS)
    at = law.drawn[[0, 2]]
    drawn = list[tuple[int, ...]]()
    for _ in range(replications):
        moments = law.summary(n, rng)
        paid = moments.mean[at] * np.sqrt(6) * n
        both = moments.scatter[at[0], at[1]] * 6 + paid.prod() / n
        drawn.append((*map(round, paid), round(both)))
        assert moments.scatter[at[0], at[0]] * 6 == pytest.approx(paid[0] * (1 - paid[0] / n))
    raw = law.draw(n * replications, rng)[:, at].reshape(replications, n, 2) * np.sqrt(6)
    singles = np.concatenate([raw.sum(axis=1), raw.prod(axis=2).sum(axis=1)[:, None]], axis=1)
    table = patterns_table(n)
    for values in (drawn, [tuple(map(int, row)) for row in np.round(singles)]):
        common = [key for key, p in table.items() if p * replications >= 5]
        assert set(values) <= set(table)
        seen, expected = ([f(k) for k in common] for f in (values.count, lambda k: table[k]))
        rest = replications - sum(seen)
        left = replications * (1 - sum(expected))
        counts, means = [*seen, rest], [*(replications * p for p in expected), left]
        if left < 1:
            assert rest < 30
            counts, means = counts[:-1], list(np.array(means[:-1]) * sum(seen) / sum(means[:-1]))
        assert stats.chisquare(counts, means).pvalue > ALARM


@pytest.mark.parametrize("n", [10**9, 10**15])
def test_very_many_readings_at_once(n: int) -> None:
    law = QueryReading(np.full((3, 2), 0.5), MEANS)
    moments = law.summary(n, np.random.default_rng(3))
    variance = np.zeros(9)
    variance[law.drawn] = MEANS * (1 - MEANS) / 6
    assert (np.abs(moments.mean - law.mean) <= 6 * np.sqrt(variance / n) + 1e-12).all()
    np.testing.assert_allclose(np.diag(moments.scatter) / n, variance, rtol=1e-3)
    off = moments.scatter[law.drawn[0], law.drawn[2]] * 6 / np.sqrt(n * 0.21 * 0.16)
    assert abs(off) < 6


@pytest.mark.parametrize("name", LIFTED)
def test_the_noise_is_bounded_as_stated(name: str) -> None:
    """Largest variance of a reading in any direction; 1/2 a reward before scaling."""
    problem = surepath.make(name, **LIFTED[name])
    assert problem.observation_noise == pytest.approx(0.5 / np.sqrt(2 * problem.n_actions))
    rng = np.random.default_rng(4)
    for step, state in enumerate(problem.path(problem.optimum[0])):
        moments = problem.observation_law(step, state).summary(10**9, rng)
        assert np.linalg.eigvalsh(moments.scatter / 10**9)[-1] <= problem.observation_noise**2


def test_too_many_actions_are_refused() -> None:
    names = spread_vectors(17, 0.25, None, np.random.default_rng(0))
    with pytest.raises(surepath.InputError, match="17 actions"):
        lift(ExitLane(2, names, 0))
    with pytest.raises(surepath.InputError, match="single observations"):
        tunable_gap().norm_of(2)


# ---- the motorway


def lane(horizon: int, actions: int, seed: int = 0) -> ExitLane:
    process = exit_lane(horizon=horizon, actions=actions, seed=seed).process
    assert isinstance(process, ExitLane)
    return process


def backwards(process: LinearProcess, step: int, state: Any) -> np.ndarray:
    """Q* from rewards and moves alone."""
    q = process.reward_means(step, state).copy()
    if step + 1 < process.horizon:
        for action in range(process.n_actions):
            q[action] += backwards(process, step + 1, process.move(step, state, action)).max()
    return q


def definition(process: ExitLane, taken: tuple[int, ...], action: int) -> float:
    """<phi, theta> as it is printed, with stages from 1; sigma along the whole prefix."""
    u, secret, last = process.names, process.secret, process.horizon
    stage = len(taken) + 1
    c = 0.5 * 1.5**-last + sum(5 / 8 * 1.5**-h for h in range(stage, last))
    sigma = 1.0
    for before, after in itertools.pairwise((*taken, action)):
        sigma = 5 / 8 + 1.5 * sigma * (u[before] @ u[after])
    return (c + 1.5 ** (1 - stage) * sigma * (u[action] @ u[secret])) / 3


@pytest.mark.parametrize(("horizon", "actions"), [(1, 3), (2, 2), (3, 4), (4, 5)])
@pytest.mark.parametrize("secret", [0, 1])
def test_the_motorway_is_the_one_that_was_printed(horizon: int, actions: int, secret: int) -> None:
    problem = exit_lane(horizon=horizon, actions=actions, secret=secret)
    process = problem.process
    assert coherence_of(process.names) <= 0.25
    left = 0
    for step, state in situations(problem):
        q = backwards(process, step, state)
        np.testing.assert_allclose(problem.q_values(step, state), q, atol=1e-14)
        if state is None:
            left += 1
            assert not process.features(step, state).any()
            continue
        for action in range(actions):
            if action in state.taken:
                assert q[action] == 0
            else:
                assert q[action] == pytest.approx(definition(process, state.taken, action))
    assert (left > 0) == (horizon > 1)
    assert problem.optimum[1] == pytest.approx((process.constants[0] + 1) / 3)


@pytest.mark.parametrize("horizon", [4, 5, 6])
@pytest.mark.parametrize("actions", [6, 7, 8])
def test_the_motorway_has_the_listed_properties(horizon: int, actions: int) -> None:
    process = lane(horizon, actions)
    smallest = np.full(horizon, np.inf)
    for step, junction in process.junctions():
        q = process.q_values(step, junction)
        free = [a for a in range(actions) if a not in junction.taken]
        leads = q[process.secret] - np.delete(q, process.secret)
        assert leads.min() > 0  # a* is best everywhere, and alone
        smallest[step] = min(smallest[step], leads.min())
        strengths = process.strengths(junction)[free]
        assert strengths.min() >= 0.25 - 1e-12
        assert strengths.max() <= 1 + 1e-12
        means = process.reward_means(step, junction)
        assert 0 <= means.min() <= means.max() <= 0.71
        if step == horizon - 1:
            others = np.delete(means, process.secret)
            assert others.max() <= 7 / 24 * 1.5**-horizon + 1e-15
        following = [process.move(step, junction, a) for a in free if a != process.secret]
        if step + 1 < horizon:  # linearity, one step at a time
            values = [process.q_values(step + 1, j).max() for j in following]
            rest = [q[a] for a in free if a != process.secret]
            np.testing.assert_allclose(rest, values, atol=6e-16)
    # Leads of names that are not taken shrink like (3/2)^-h: (sigma - sigma' <u, u*>) / 3.
    assert 0.25 <= smallest[0] <= 5 / 12
    assert (smallest <= 5 / 12 * 1.5 ** -np.arange(horizon)).all()
    assert smallest[1:].max() < smallest[0] / 3
    assert (smallest >= 0.02 * 1.5 ** -np.arange(horizon)).all()  # and no faster, here
    assert process.gap() == pytest.approx(smallest.min(), abs=1e-15)


def test_values_at_the_root_approach_three_quarters() -> None:
    values = [lane(horizon, 2).q_values(0, lane(horizon, 2).start).max() for horizon in (4, 6, 60)]
    np.testing.assert_allclose(values, [0.6595, 0.7098, 0.75], atol=5e-5)


def test_large_motorways_are_refused_by_the_oracle_only() -> None:
    with pytest.raises(surepath.InputError, match="junctions"):
        exit_lane(horizon=8, actions=12)
    names = spread_vectors(200, 0.25, None, np.random.default_rng(0))
    process = ExitLane(8, names, 150)
    assert process.best_actions()[0] == 150
    with pytest.raises(surepath.InputError, match="Lower actions or horizon"):
        process.gap()


# ---- the dial


@pytest.mark.parametrize("horizon", [1, 2, 3, 5, 6])
@pytest.mark.parametrize("eps", [0.01, 0.5, 1.0])
def test_the_gap_of_the_dial_is_the_same_at_every_node(horizon: int, eps: float) -> None:
    problem = tunable_gap(horizon=horizon, eps=eps, seed=horizon)
    signs = 2 * np.array(problem.process.secret) - 1
    assert problem.gap == pytest.approx(eps / horizon)
    assert problem.optimum == (problem.process.secret, pytest.approx(0.5 + eps / 2))
    for step, state in situations(problem):
        q = backwards(problem.process, step, state)
        np.testing.assert_allclose(problem.q_values(step, state), q, atol=1e-12)
        assert q.max() - q.min() == pytest.approx(eps / horizon, abs=1e-12)
        agreed = (2 * np.array(state) - 1) @ signs[:step] if state else 0
        value = 0.5 + eps * (agreed + horizon - step) / (2 * horizon)
        assert q.max() == pytest.approx(value, abs=1e-12)
        means = problem.process.reward_means(step, state)
        assert 0 <= means.min() <= means.max() <= 1
        assert step == horizon - 1 or not means.any()


def test_turning_one_bit_moves_every_mean_by_the_gap() -> None:
    one, other = (tunable_gap(horizon=4, secret=(1, 0, 0, bit)) for bit in (0, 1))
    for actions in itertools.product((0, 1), repeat=4):
        moved = abs(one.expected_return(actions) - other.expected_return(actions))
        assert moved == pytest.approx(one.gap)
        assert one.optimum[1] - one.expected_return(actions) <= 0.5 + 1e-12


# ---- learners


@pytest.mark.parametrize("seed", range(3))
def test_the_dial_is_learned_through_its_readings(seed: int) -> None:
    problem = tunable_gap(horizon=4, eps=1.0, seed=seed)
    result = surepath.learn(problem)
    assert result.certified
    assert result.actions == problem.optimum[0]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("few_actions", {}), ("exit_lane", {"horizon": 3}), ("tunable_gap", {"eps": 0.1})],
)
def test_a_schedule_that_knows_gap_and_norm_finds_the_best_sequence(
    name: str, parameters: dict[str, Any]
) -> None:
    problem = surepath.make(name, **parameters)
    result = surepath.learn(problem, schedule="tight")
    assert result.certified
    assert problem.is_optimal(result.actions)


def test_a_smaller_gap_costs_more() -> None:
    """Everything else the same: episodes grow like 1 / gap^2, times a logarithm squared.

    What a run takes follows its own counts, so the number of visits may be a little smaller.
    """
    spent = [surepath.learn(tunable_gap(eps=eps), schedule="tight").episodes for eps in (0.4, 0.04)]
    assert 95 <= spent[1] / spent[0] <= 1000


# ---- what is refused


@pytest.mark.parametrize(
    ("name", "wrong", "mentions"),
    [
        ("tunable_gap", {"eps": 0.0}, "eps"),
        ("tunable_gap", {"eps": 1.1}, "eps"),
        ("tunable_gap", {"secret": (1, 0)}, "secret must be 4 bits"),
        ("tunable_gap", {"secret": (1, 0, 2, 1)}, "secret must be 4 bits"),
        ("tunable_gap", {"secret": 5}, "secret must be 4 bits"),
        ("exit_lane", {"secret": 4}, "secret"),
        ("exit_lane", {"actions": 17}, "actions"),
        ("exit_lane", {"dimension": 3}, "meet at no more than"),
    ],
)
def test_what_makes_no_tree_is_refused(name: str, wrong: dict[str, Any], mentions: str) -> None:
    with pytest.raises(surepath.InputError, match=mentions):
        surepath.make(name, **wrong)


def test_secrets_can_be_given() -> None:
    assert surepath.make("tunable_gap", secret=[1, 1, 0, 1]).optimum[0] == (1, 1, 0, 1)
    assert surepath.make("exit_lane", secret=3).optimum[0][0] == 3
    assert surepath.make("exit_lane", actions=3, dimension=24).process.names.shape == (3, 24)
    assert isinstance(surepath.make("tunable_gap").process, Forks)


def test_a_summary_covers_what_was_asked_for() -> None:
    problem = exit_lane(horizon=2, actions=3)
    request = Request((0, 1), 10**12, range(2), range(1, 2))
    summary = problem.summarise(request, np.random.default_rng(0))
    assert (list(summary.observations), list(summary.rewards)) == ([0, 1], [1])
