"""A summary of n episodes follows the same law as n single episodes.

Both sides are reduced to the same statistics, replication by replication, and compared in location,
in every variance and covariance, and as whole distributions. Wrong laws are put through the same
comparison and have to be told apart, so that agreement means something.

The threshold needs no asymptotics. If the two laws agree, exchanging replication i of one side with
replication i of the other changes nothing, so every difference d_i has a fair random sign, and by
Hoeffding's inequality |sum d_i| > t sqrt(sum d_i^2) has probability at most 2 exp(-t^2 / 2).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import stats

import surepath
from surepath.builtin_problems import laws
from surepath.features import Linear, OneHot
from surepath.system import Counts, Moments, Request, RewardMoments, Summary

ALARM = 1e-3 / 40
"""False-alarm level of one comparison: at most 40 of equal laws below, 1e-3 for all together."""

EPISODES = 15
REPLICATIONS = 16_000
"""Enough to see a variance that is 15 percent off, whichever coordinate it is in."""

FEWER = 4_000
"""For problems whose laws are those of the others: enough to see a law in the wrong place."""

PROBLEMS = {
    "tabular": ("tabular", {"horizon": 2, "states": 3, "observations": 4, "seed": 3}),
    "gaussian": ("gaussian", {"horizon": 2, "states": 3, "dimension": 3, "noise": 0.7, "seed": 4}),
    "gaussian rewards": (
        "gaussian",
        {"horizon": 2, "states": 3, "dimension": 3, "reward_noise": 0.4, "seed": 5},
    ),
    "lock": ("lock", {"horizon": 2, "actions": 3, "observations": 4, "prize": 0.7, "seed": 6}),
    "mixing": ("mixing", {"horizon": 2, "seed": 7}),
    "continuous": ("continuous", {"horizon": 2, "sensor": "gps", "seed": 8}),
    "rkhs": ("rkhs", {"horizon": 2, "dimension": 2, "seed": 12}),
    "overcomplete": ("overcomplete", {"horizon": 2, "states": 4, "actions": 4, "seed": 9}),
    "touch": ("touch", {"horizon": 2, "seed": 10}),
    "tunable_gap": ("tunable_gap", {"horizon": 2, "seed": 11}),
}

ELSEWHERE = {
    "leaking",  # its steps depend on each other: test_hard_walks.py
    "exit_lane",  # the laws of tunable_gap in many more dimensions: test_hard_lift.py
    "few_actions",  # likewise
}

OWN_LAWS = ("tabular", "gaussian", "gaussian rewards", "lock", "mixing")

Sample = dict[str, np.ndarray]
"""Name of a reading ("o0" is the observation of step 0, "r0" its reward) to [replications, k]."""


@cache
def problem_of(name: str) -> surepath.Problem:
    kind, parameters = PROBLEMS[name]
    return surepath.make(kind, **parameters)


def plan_of(name: str) -> tuple[int, ...]:
    return problem_of(name).optimum[0]


def replications_of(name: str) -> int:
    return REPLICATIONS if name in OWN_LAWS else FEWER


def stacked(statistics: Sequence[Counts | Moments | RewardMoments]) -> np.ndarray:
    """Sufficient statistics of one reading, one row for each."""
    if isinstance(statistics[0], Counts):
        return np.array([statistic.counts for statistic in statistics], dtype=float)
    means = np.array([statistic.mean for statistic in statistics])
    scatters = np.array([statistic.scatter for statistic in statistics])
    if scatters.ndim == 1:
        return np.column_stack([means, scatters])
    rows, columns = np.triu_indices(means.shape[1])
    return np.hstack([means, scatters[:, rows, columns]])


def moments_of(values: np.ndarray) -> np.ndarray:
    """Mean and upper half of the scatter of values [replications, n, d]."""
    mean = values.mean(axis=1)
    centred = values - mean[:, None]
    scatter = np.einsum("bni,bnj->bij", centred, centred)
    rows, columns = np.triu_indices(values.shape[2])
    return np.hstack([mean, scatter[:, rows, columns]])


def counts_of(values: np.ndarray, n_symbols: int) -> np.ndarray:
    return (values[:, :, None] == np.arange(n_symbols)).sum(axis=1).astype(float)


def summaries_of(name: str, n: int, replications: int, seed: int) -> list[Summary]:
    problem, plan = problem_of(name), plan_of(name)
    rng = np.random.default_rng(seed)
    steps = range(len(plan))
    request = Request(plan, n, steps, steps)
    return [problem.summarise(request, rng) for _ in range(replications)]


def from_summaries(summaries: Sequence[Summary]) -> Sample:
    steps = range(len(summaries[0].actions))
    sample = {f"o{h}": stacked([s.observations[h] for s in summaries]) for h in steps}
    return sample | {f"r{h}": stacked([s.rewards[h] for s in summaries]) for h in steps}


def from_episodes(name: str, n: int, replications: int, seed: int) -> Sample:
    problem, plan = problem_of(name), plan_of(name)
    episodes = problem.rollout(plan, n * replications, np.random.default_rng(seed))
    sample = {}
    for h in range(len(plan)):
        read = episodes.observations[:, h].reshape(replications, n, -1)
        sample[f"o{h}"] = (
            moments_of(read)
            if problem.n_observations is None
            else counts_of(read[:, :, 0], problem.n_observations)
        )
    for h in range(len(plan)):
        sample[f"r{h}"] = moments_of(episodes.rewards[:, h].reshape(replications, n, 1))
    return sample


@cache
def drawn(name: str) -> list[Summary]:
    """Summaries, drawn once for all comparisons of a problem."""
    return summaries_of(name, EPISODES, replications_of(name), seed=1)


@cache
def reference(name: str) -> Sample:
    """Single episodes, drawn once for all comparisons of a problem."""
    return from_episodes(name, EPISODES, replications_of(name), seed=11)


def signed_size(differences: np.ndarray) -> np.ndarray:
    """|sum d_i| / sqrt(sum d_i^2) of each column; nothing differs where all of them are zero."""
    spread = np.sqrt((differences**2).sum(axis=0))
    return np.abs(differences.sum(axis=0)) / np.where(spread > 0, spread, 1.0)


def joined(sample: Sample) -> tuple[list[str], np.ndarray]:
    names = [f"{key}[{i}]" for key, block in sample.items() for i in range(block.shape[1])]
    # Rounded: the same number computed in two ways must count as a tie.
    return names, np.round(np.hstack(list(sample.values())), 9)


def differences(one: Sample, other: Sample, level: float = ALARM) -> list[str]:
    """Where two samples differ; empty with probability at least 1 - level when their laws agree."""
    (names, a), (_, b) = joined(one), joined(other)
    replications, width = a.shape
    n_tests = width + width * (width + 1) // 2 + width
    threshold = np.sqrt(2 * np.log(2 * n_tests / level))
    # Two-sample form of the Dvoretzky-Kiefer-Wolfowitz bound: P(D > x) <= 2 exp(-replications x^2).
    widest = np.sqrt(np.log(2 * n_tests / level) / replications)
    centre = (a.mean(axis=0) + b.mean(axis=0)) / 2
    a, b = a - centre, b - centre
    found = [f"mean of {names[j]}" for j in np.flatnonzero(signed_size(a - b) > threshold)]
    for j in range(width):
        products = a[:, j:] * a[:, j, None] - b[:, j:] * b[:, j, None]
        for k in j + np.flatnonzero(signed_size(products) > threshold):
            found.append(f"covariance of {names[j]} and {names[k]}")
        if stats.ks_2samp(a[:, j], b[:, j], method="asymp").statistic > widest:
            found.append(f"distribution of {names[j]}")
    return found


def shuffled(sample: Sample, seed: int) -> Sample:
    """The same readings with the replications of each one permuted: independent by construction."""
    rng = np.random.default_rng(seed)
    return {key: rng.permutation(block) for key, block in sample.items()}


# ---- agreement


def test_every_built_in_problem_is_compared() -> None:
    assert {kind for kind, _ in PROBLEMS.values()} | ELSEWHERE == set(surepath.problems())


@pytest.mark.parametrize("name", PROBLEMS)
def test_summaries_and_single_episodes_agree_in_law(name: str) -> None:
    sample = from_summaries(drawn(name))
    assert differences(sample, reference(name)) == []
    assert differences(sample, shuffled(reference(name), seed=2)) == [], "readings depend"


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_readings_of_an_episode_are_independent_given_the_actions(name: str) -> None:
    again = from_episodes(name, EPISODES, replications_of(name), seed=12)
    assert differences(again, shuffled(reference(name), seed=3)) == []


@pytest.mark.parametrize(
    ("name", "n"),
    [("gaussian rewards", n) for n in (1, 2, 3, 4)] + [("tabular", 1), ("tabular", 2)],
)
def test_few_episodes_agree_in_law_too(name: str, n: int) -> None:
    # With 3 channels the scatter of n <= 3 readings is singular, and of one reading it is zero.
    sample = from_summaries(summaries_of(name, n, 5000, seed=20 + n))
    assert differences(sample, from_episodes(name, n, 5000, seed=30 + n)) == []


# ---- wrong laws are told apart: each takes the law, a right statistic of it and a generator


def mean_variance_times(factor: float) -> Callable:
    def wrong(law: laws.Gaussian | laws.Normal, right: Moments, rng: np.random.Generator):
        return replace(right, mean=law.mean + np.sqrt(factor) * (right.mean - law.mean))

    return wrong


def mean_correlated(law: laws.Gaussian, right: Moments, rng: np.random.Generator) -> Moments:
    error = right.mean - law.mean
    error[1] = (error[1] + 0.1 * error[0]) / np.sqrt(1.01)
    return replace(right, mean=law.mean + error)


def scatter_with_n(law: laws.Gaussian, right: Moments, rng: np.random.Generator) -> Moments:
    """n degrees of freedom, as about the true mean, where n - 1 are right."""
    one_more = law.noise * rng.standard_normal(np.shape(law.mean))
    return replace(right, scatter=right.scatter + np.multiply.outer(one_more, one_more))


def scatter_turned(law: laws.Gaussian, right: Moments, rng: np.random.Generator) -> Moments:
    """The triangular factor multiplied the wrong way round."""
    factor = np.linalg.cholesky(right.scatter)
    return replace(right, scatter=factor.T @ factor)


def scatter_diagonal(law: laws.Gaussian, right: Moments, rng: np.random.Generator) -> Moments:
    return replace(right, scatter=np.diag(np.diag(right.scatter)))


WIDER = (EPISODES - 1) / 0.15 - 1
"""Dirichlet weight that makes the variances of the counts 1.15 times as large."""


def counts_overdispersed(law: laws.Categorical, right: Counts, rng: np.random.Generator) -> Counts:
    return Counts(rng.multinomial(EPISODES, rng.dirichlet(law.probabilities * WIDER)))


def rewards_overdispersed(
    law: laws.Bernoulli, right: RewardMoments, rng: np.random.Generator
) -> RewardMoments:
    mean = rng.beta(law.mean * WIDER, (1 - law.mean) * WIDER)
    return laws.Bernoulli(mean).summary(EPISODES, rng)


def rewards_constant_scatter(
    law: laws.Bernoulli, right: RewardMoments, rng: np.random.Generator
) -> RewardMoments:
    """Its expectation where the scatter is."""
    return replace(right, scatter=(EPISODES - 1) * law.mean * (1 - law.mean))


@pytest.mark.parametrize(
    ("name", "reading", "wrong", "evidence"),
    [
        ("gaussian", "o0", mean_variance_times(1.15), "covariance of o0[0] and o0[0]"),
        ("gaussian", "o0", mean_variance_times(0.85), "covariance of o0[2] and o0[2]"),
        ("gaussian", "o0", mean_correlated, "covariance of o0[0] and o0[1]"),
        ("gaussian", "o0", scatter_with_n, "mean of o0[3]"),
        ("gaussian", "o0", scatter_turned, "mean of o0[8]"),
        ("gaussian", "o0", scatter_diagonal, "covariance of o0[4] and o0[4]"),
        ("tabular", "o0", counts_overdispersed, "covariance of o0[2] and o0[2]"),
        ("mixing", "o0", counts_overdispersed, "covariance of o0[2] and o0[2]"),
        ("tabular", "r0", rewards_overdispersed, "covariance of r0[0] and r0[0]"),
        ("tabular", "r0", rewards_constant_scatter, "distribution of r0[1]"),
        ("gaussian rewards", "r0", mean_variance_times(1.15), "covariance of r0[0] and r0[0]"),
        ("gaussian rewards", "r0", scatter_with_n, "mean of r0[1]"),
    ],
)
def test_a_wrong_law_is_told_apart(name: str, reading: str, wrong: Callable, evidence: str) -> None:
    problem = problem_of(name)
    rng = np.random.default_rng(40)
    if reading == "o0":
        law = problem.observation_law(0, problem.start)
        right = [summary.observations[0] for summary in drawn(name)]
    else:
        law = problem.reward_law(0, problem.start, plan_of(name)[0])
        right = [summary.rewards[0] for summary in drawn(name)]
    draws = stacked([wrong(law, statistic, rng) for statistic in right])
    found = differences(from_summaries(drawn(name)) | {reading: draws}, reference(name))
    assert evidence in found
    assert all(reading in where for where in found), "blamed a reading that is right"


def test_dependent_time_steps_are_told_apart() -> None:
    sample = from_summaries(drawn("gaussian"))
    first, second = (sample[key] - sample[key].mean(axis=0) for key in ("o0", "o1"))
    leaked = sample["o1"].mean(axis=0) + (second + 0.1 * first) / np.sqrt(1.01)
    found = differences(sample | {"o1": leaked}, reference("gaussian"))
    assert {f"covariance of o0[{i}] and o1[{i}]" for i in range(3)} <= set(found)


# ---- windows


@cache
def window_reference() -> Sample:
    """Counts of both symbols of single episodes, [replications, 16]."""
    problem, plan = problem_of("tabular"), plan_of("tabular")
    read = problem.rollout(plan, EPISODES * FEWER, np.random.default_rng(51)).observations
    pairs = (4 * read[:, 0] + read[:, 1]).reshape(FEWER, EPISODES)
    return {"w": counts_of(pairs, 16)}


@cache
def windows_drawn() -> np.ndarray:
    problem, plan = problem_of("tabular"), plan_of("tabular")
    rng = np.random.default_rng(52)
    request = Request(plan, EPISODES, range(2), range(0), joint=True)
    drawn = [problem.summarise(request, rng).windows[1].counts for _ in range(FEWER)]
    return np.array(drawn, dtype=float)


def test_windows_and_single_episodes_agree_in_law() -> None:
    assert differences({"w": windows_drawn().reshape(FEWER, -1)}, window_reference()) == []


def as_if_independent(windows: np.ndarray) -> np.ndarray:
    """The two steps' own counts, multiplied: right on average, and far too quiet."""
    return windows.sum(axis=2)[:, :, None] * windows.sum(axis=1)[:, None, :] / EPISODES


def split_evenly(windows: np.ndarray) -> np.ndarray:
    """Each cell of the first step split by the law, without its noise."""
    law = windows.sum(axis=(0, 1)) / windows.sum()
    return windows.sum(axis=2)[:, :, None] * law


def shares_reused(windows: np.ndarray) -> np.ndarray:
    """All cells split in the proportions of the first one: right on average, cells depend."""
    first = windows[:, :1] / np.maximum(windows[:, :1].sum(axis=2, keepdims=True), 1)
    return windows.sum(axis=2)[:, :, None] * first


@pytest.mark.parametrize("wrong", [as_if_independent, split_evenly, shares_reused])
def test_a_wrong_law_of_windows_is_told_apart(wrong: Callable) -> None:
    found = differences({"w": wrong(windows_drawn()).reshape(FEWER, -1)}, window_reference())
    assert any(text.startswith("covariance") for text in found)


# ---- what a request asks for is what comes back


@pytest.mark.parametrize("name", PROBLEMS)
def test_only_the_requested_time_steps_come_back(name: str) -> None:
    problem, plan = problem_of(name), plan_of(name)
    rng = np.random.default_rng(0)
    ranges = [range(0), range(1), range(1, 2), range(2)]
    for observations, rewards in itertools.product(ranges, ranges):
        summary = problem.summarise(Request(plan, 9, observations, rewards), rng)
        assert (summary.actions, summary.count) == (plan, 9)
        assert sorted(summary.observations) == list(observations)
        assert sorted(summary.rewards) == list(rewards)
        assert all(type(s) is problem.statistic for s in summary.observations.values())
        read = [*summary.observations.values(), *summary.rewards.values()]
        assert all(statistic.count == 9 for statistic in read)


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_prefix_reads_one_observation_more_than_it_takes_actions(name: str) -> None:
    problem, plan = problem_of(name), plan_of(name)
    rng = np.random.default_rng(0)
    for length in range(problem.horizon + 1):
        n_read = min(length + 1, problem.horizon)
        episodes = problem.rollout(plan[:length], 4, rng)
        assert episodes.observations.shape[:2] == (4, n_read)
        assert episodes.rewards.shape == (4, length)
        summary = problem.summarise(Request(plan[:length], 4, range(n_read), range(length)), rng)
        assert (len(summary.observations), len(summary.rewards)) == (n_read, length)


# ---- reading a statistic off a summary or off the episodes is the same arithmetic


@pytest.mark.parametrize("name", PROBLEMS)
def test_features_and_reward_moments_do_not_depend_on_the_form(name: str) -> None:
    problem, plan = problem_of(name), plan_of(name)
    episodes = problem.rollout(plan, EPISODES, np.random.default_rng(8))
    sample = from_episodes(name, EPISODES, 1, seed=8)
    for h in range(len(plan)):
        (vector,) = sample[f"o{h}"]
        if problem.n_observations is None:
            features, width = Linear(problem.dimension), problem.dimension
            statistic = Moments(EPISODES, vector[:width], np.zeros((width, width)))
        else:
            features, statistic = OneHot(problem.n_observations), Counts(vector.astype(int))
        raw = features.mean(episodes.observation(h))
        np.testing.assert_allclose(features.mean(statistic), raw, atol=1e-12)
        reward = episodes.reward(h)
        assert reward.count == EPISODES
        np.testing.assert_allclose(stacked([reward])[0], sample[f"r{h}"][0], atol=1e-12)
