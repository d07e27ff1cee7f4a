"""Episodes of the leaking graph, one by one and all at once, against the exact law of the walk."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from surepath.builtin_problems.base import Problem
from surepath.builtin_problems.hard import Leaking, leaking
from surepath.system import Request

ALARM = 1e-3 / 20
"""False-alarm level of one test: fewer than 20 are made below, 1e-3 for all together."""


def falls(problem: Leaking, observations: np.ndarray) -> np.ndarray:
    """Which readings [n, T, d] are of walks that are still alive; an error for any other vector."""
    alive = observations[:, :, 1] > 0.5
    shown = np.where(alive[..., None], observations, problem.features[-1])
    np.testing.assert_array_equal(shown, observations)
    return alive


def test_episodes_are_walks() -> None:
    """Alive is a Markov chain, and pay depends on it: exact binomial tests of every rate."""
    problem = leaking(horizon=4, actions=3, alpha=0.3, secret=2, seed=7)
    actions, n = (0, 1, 1, 2), 20_000
    episodes = problem.rollout(actions, n, np.random.default_rng(8))
    alive = falls(problem, episodes.observations)
    assert alive[:, 0].all()
    places = (0, 1, 2, 2)
    for h, (place, action) in enumerate(zip(places, actions, strict=True)):
        walkers = alive[:, h]
        np.testing.assert_array_equal(
            episodes.observations[walkers, h],
            np.broadcast_to(problem.features[place], (walkers.sum(), problem.dimension)),
        )
        for group, mean in (
            (walkers, problem.reward(h, place, action)),
            (~walkers, problem.fallen_reward),
        ):
            paid = episodes.rewards[group, h]
            if len(paid):
                assert set(paid) <= {0.0, 1.0}
                assert stats.binomtest(int(paid.sum()), len(paid), mean).pvalue > ALARM
        if h < 3:
            assert not (alive[:, h + 1] & ~walkers).any()
            arrived = int(alive[:, h + 1].sum())
            chance = problem.arrival[place, action]
            assert stats.binomtest(arrived, int(walkers.sum()), chance).pvalue > ALARM
    assert alive[:, 3].sum() > 100  # all of it was tested


Statistic = tuple[int, ...]
"""Numbers alive at steps 1 and 2, and paid at steps 0, 1 and 2, among the episodes of a batch."""

PLAN, BATCH, BATCHES = (0, 1, 0), 2, 10_000


def chain() -> Leaking:
    return leaking(horizon=3, actions=3, alpha=0.3, secret=2, seed=9)


def exact_table(problem: Leaking) -> dict[Statistic, float]:
    """Probability of every statistic of a batch of two, from single walks."""
    walks: dict[Statistic, float] = {}
    means = [problem.reward(h, i, a) for h, (i, a) in enumerate(zip((0, 1, 2), PLAN, strict=True))]
    first, second = problem.arrival[0, 0], problem.arrival[1, 1]
    for one, two in ((0, 0), (1, 0), (1, 1)):
        p = (first if one else 1 - first) * ((second if two else 1 - second) if one else 1)
        pairs = zip(means, (1, one, two), strict=True)
        rates = [m if alive else problem.fallen_reward for m, alive in pairs]
        for paid in itertools.product((0, 1), repeat=3):
            chance = [r if x else 1 - r for r, x in zip(rates, paid, strict=True)]
            walks[(one, two, *paid)] = float(p * np.prod(chance))
    table: dict[Statistic, float] = Counter()
    for (a, p), (b, q) in itertools.product(walks.items(), repeat=2):
        table[tuple(np.add(a, b).tolist())] += p * q
    return table


def disagreement(drawn: list[Statistic], table: dict[Statistic, float]) -> float:
    """p-value of the chi-square test; rare statistics are taken together."""
    seen = Counter(drawn)
    assert set(seen) <= set(table)
    common = [s for s, p in table.items() if p * len(drawn) >= 5]
    expected = [table[s] * len(drawn) for s in common]
    counts = [seen[s] for s in common]
    rest = len(drawn) - sum(expected)
    assert rest >= 5
    counts.append(len(drawn) - sum(counts))
    return float(stats.chisquare(counts, [*expected, rest]).pvalue)


def from_summaries(problem: Leaking, summarise: Callable[..., Any], seed: int) -> list[Statistic]:
    request, rng = Request(PLAN, BATCH, range(3), range(3)), np.random.default_rng(seed)
    fallen = problem.features[-1]
    drawn = []
    for _ in range(BATCHES):
        summary = summarise(request, rng)
        walkers = []
        for h, place in ((1, 1), (2, 2)):
            apart = problem.features[place] - fallen
            seen = summary.observations[h]
            share = (seen.mean - fallen) @ apart / (apart @ apart)
            scatter = BATCH * share * (1 - share) * np.outer(apart, apart)
            assert np.abs(seen.mean - fallen - share * apart).max() < 1e-12
            assert np.abs(seen.scatter - scatter).max() < 1e-12
            walkers.append(round(BATCH * share))
        paid = [round(BATCH * summary.rewards[h].mean) for h in range(3)]
        drawn.append((*walkers, *paid))
    return drawn


def test_a_summary_has_the_law_of_single_episodes() -> None:
    """Both have the exact law of the chain; independent steps, as of other problems, do not."""
    problem = chain()
    table = exact_table(problem)
    assert sum(table.values()) == pytest.approx(1)
    episodes = problem.rollout(PLAN, BATCH * BATCHES, np.random.default_rng(10))
    alive = falls(problem, episodes.observations)[:, 1:]
    singles = np.hstack([alive, episodes.rewards]).reshape(BATCHES, BATCH, 5).sum(axis=1)
    assert disagreement([tuple(map(int, row)) for row in singles], table) > ALARM
    assert disagreement(from_summaries(problem, problem.summarise, 11), table) > ALARM

    independent = from_summaries(problem, lambda r, g: Problem.summarise(problem, r, g), 12)
    assert not set(independent) <= set(table)  # some rise again


@pytest.mark.parametrize("n", [10**9, 10**15])
def test_very_many_episodes_at_once(n: int) -> None:
    problem = leaking(horizon=4, actions=3, alpha=0.3, secret=2, seed=7)
    actions, rng = (0, 1, 1, 2), np.random.default_rng(13)
    summary = problem.summarise(Request(actions, n, range(4), range(4)), rng)
    for h, belief in enumerate(problem.path(actions)):
        seen, law = summary.observations[h], problem.observation_law(h, belief)
        assert (seen.count, summary.rewards[h].count) == (n, n)
        deviation = np.sqrt(belief.alive * (1 - belief.alive) / n) * np.abs(law.place - law.fallen)
        assert (np.abs(seen.mean - law.mean) <= 6 * deviation + 1e-12).all()
        mean = problem.reward_law(h, belief, actions[h]).mean
        assert abs(summary.rewards[h].mean - mean) < 6 * np.sqrt(mean * (1 - mean) / n)
    partial = problem.summarise(Request(actions[:2], 5, range(1, 3), range(1)), rng)
    assert (list(partial.observations), list(partial.rewards)) == ([1, 2], [0])
