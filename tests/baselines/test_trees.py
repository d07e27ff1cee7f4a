"""OLOP, KL-OLOP and UCT: every choice is the one that their rule makes, worked out apart."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import product
from statistics import fmean

import numpy as np
import pytest
from scipy.optimize import brentq

from sequences import fewest, played, rounds, small
from surepath.baselines.olop import Olop, kl_upper
from surepath.baselines.uct import Uct
from surepath.system import Actions, Summary
from surepath.theory.floor import binary_kl

Prefixes = defaultdict[Actions, list[tuple[int, float]]]
"""By prefix: how many episodes played it at once, and the mean of its last reward in them."""


@pytest.mark.parametrize("kl", [False, True])
def test_olop_finds_the_optimum_of_small_instances(kl: bool) -> None:
    exact = sum(played(Olop(4, 2, 4000, kl=kl, seed=i), small(i), i) for i in range(20))
    assert exact >= fewest(20, 0.95)


@pytest.mark.parametrize("mean", [1e-9, 0.01, 0.3, 0.5, 0.77, 0.999, 1 - 1e-9])
@pytest.mark.parametrize("level", [1e-6, 1e-3, 0.1, 1.0, 7.0, 30.0])
def test_the_kl_bound_is_the_root(mean: float, level: float) -> None:
    end = 1 - 1e-16
    if binary_kl(mean, end) <= level:
        root = 1.0
    else:
        root = brentq(lambda q: binary_kl(mean, q) - level, mean, end, xtol=1e-14, rtol=1e-14)
    assert kl_upper(mean, level) == pytest.approx(root, abs=1e-9)


def test_the_kl_bound_at_the_ends() -> None:
    assert kl_upper(0.0, 0.5) == pytest.approx(1 - math.exp(-0.5), abs=1e-15)
    assert kl_upper(1.0, 0.5) == 1.0
    assert kl_upper(0.4, 0.0) == 0.4
    rng = np.random.default_rng(0)
    for mean, level in zip(rng.random(2000), rng.exponential(size=2000), strict=True):
        bound = kl_upper(float(mean), float(level))
        assert mean <= bound <= min(1.0, mean + math.sqrt(level / 2))  # Pinsker


def record(prefixes: Prefixes, reading: Summary) -> None:
    for level in range(len(reading.actions)):
        prefixes[reading.actions[: level + 1]].append((reading.count, reading.rewards[level].mean))


def pooled(entries: list[tuple[int, float]]) -> tuple[int, float]:
    count = sum(n for n, _ in entries)
    return count, sum(n * mean for n, mean in entries) / count


def reference_bound(learner: Olop, entries: list[tuple[int, float]]) -> float:
    """Of one mean reward, by a generic root finder."""
    count, mean = pooled(entries)
    level = learner.threshold / count
    if not learner.kl:
        return min(1.0, mean + math.sqrt(level / 2))
    if mean >= 1 or binary_kl(mean, 1 - 1e-16) <= level:
        return 1.0
    return brentq(lambda q: binary_kl(mean, q) - level, mean, 1 - 1e-16, xtol=1e-14)


def reference_uppers(learner: Olop, prefixes: Prefixes) -> dict[Actions, float]:
    """U of every prefix whatever, from the last level back."""
    uppers: dict[Actions, float] = {}
    for depth in range(learner.horizon, 0, -1):
        for prefix in product(range(learner.n_actions), repeat=depth):
            own = reference_bound(learner, prefixes[prefix]) if prefix in prefixes else 1.0
            below = [
                uppers[(*prefix, a)] for a in range(learner.n_actions) if depth < learner.horizon
            ]
            uppers[prefix] = own + max(below, default=0.0)
    return uppers


@pytest.mark.parametrize("kl", [False, True])
@pytest.mark.parametrize("batch", [1, 3])
def test_olop_plays_the_sequence_with_the_largest_bound(kl: bool, batch: int) -> None:
    problem, prefixes = small(3), Prefixes(list)
    learner = Olop(4, 2, 100, kl=kl, batch=batch)
    for requests, readings in rounds(learner, problem, 0):
        uppers = reference_uppers(learner, prefixes)
        assert learner.upper == pytest.approx(max(uppers[0,], uppers[1,]), abs=1e-9)
        (request,) = requests
        for depth in range(1, 5):
            others = [uppers[(*request.actions[: depth - 1], a)] for a in range(2)]
            assert uppers[request.actions[:depth]] == pytest.approx(max(others), abs=1e-9)
        assert request.count == min(batch, 100 - learner.usage.episodes)
        if learner.incumbent:
            assert learner.incumbent == most_played(prefixes, uppers)
        record(prefixes, readings[0])
    assert learner.usage.episodes == 100
    assert learner.usage.nodes == len(prefixes)


def most_played(prefixes: Prefixes, tie: dict[Actions, float]) -> Actions:
    chosen: Actions = ()
    for _ in range(4):
        options = [(*chosen, a) for a in range(2) if (*chosen, a) in prefixes]
        chosen = max(options, key=lambda p: (pooled(prefixes[p])[0], round(tie[p], 9)))
    return chosen


@pytest.mark.parametrize("kl", [False, True])
def test_the_bound_of_the_best_sequence_holds(kl: bool) -> None:
    # Chernoff: the bound of one mean of T rewards fails with probability at most e^-f, which is
    # 1 / (M ln M)^2 or less; there are four means, and T is one of M numbers.
    held, failure = 0, 4 / (300 * math.log(300) ** 2)
    for i in range(20):
        problem, learner, prefixes = small(i), Olop(4, 2, 300, kl=kl, seed=i), Prefixes(list)
        for _, readings in rounds(learner, problem, 50 + i):
            record(prefixes, readings[0])
        best = [problem.optimum[0][: depth + 1] for depth in range(4)]
        bounds = [reference_bound(learner, prefixes[p]) if p in prefixes else 1.0 for p in best]
        held += sum(bounds) >= problem.optimum[1]
        assert learner.upper >= sum(bounds) - 1e-9
    assert held >= fewest(20, 1 - failure)


def test_thresholds_are_the_published_ones() -> None:
    log = math.log(500)
    assert Olop(2, 2, 500, kl=False).threshold == pytest.approx(4 * log)
    assert Olop(2, 2, 500, kl=True).threshold == pytest.approx(2 * log + 2 * math.log(log))
    assert Olop(2, 2, 500, kl=True, constant=1.5).threshold == pytest.approx(1.5 * log)


def test_a_plan_of_olop_rests_on_its_means() -> None:
    problem, learner = small(0), Olop(4, 2, 20_000, batch=100)
    assert played(learner, problem, 0)
    assert learner.plan is not None
    assert tuple(decision.action for decision in learner.plan) == learner.incumbent
    for decision, state in zip(learner.plan, problem.path(learner.incumbent), strict=True):
        truth = problem.q_values(decision.level, state)[decision.action]
        assert decision.estimates[decision.action] == pytest.approx(truth, abs=0.15)
        assert decision.samples > 10_000
    assert learner.value == learner.plan[0].estimates[learner.incumbent[0]]


def test_uct_plays_by_ucb1() -> None:
    problem, suffixes = small(5), defaultdict[Actions, list[float]](list)
    learner = Uct(4, 2, exploration=0.7)
    for requests, readings in rounds(learner, problem, 1, budget=150):
        actions = requests[0].actions
        for level in range(4):
            here = [suffixes[(*actions[:level], a)] for a in range(2)]
            if not all(here):
                assert not here[actions[level]]  # one that was never taken
                continue
            log = math.log(sum(map(len, here)))
            scores = [fmean(r) + 0.7 * (4 - level) * math.sqrt(log / len(r)) for r in here]
            assert scores[actions[level]] == pytest.approx(max(scores), abs=1e-9)
        rewards = [readings[0].rewards[level].mean for level in range(4)]
        for level in range(4):
            suffixes[actions[: level + 1]].append(sum(rewards[level:]))
    chosen: Actions = ()
    for _ in range(4):
        options = [(*chosen, a) for a in range(2)]
        chosen = max(options, key=lambda p: (len(suffixes[p]), fmean(suffixes[p] or [0.0])))
    assert learner.incumbent == chosen
    assert learner.usage.nodes == sum(bool(values) for values in suffixes.values())
