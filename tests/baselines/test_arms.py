"""Sequential halving and LUCB: their rules, their bounds, and what no method can beat."""

from __future__ import annotations

import math
from itertools import product
from statistics import fmean, median
from typing import Any

import numpy as np
import pytest

import surepath
from sequences import easy, fewest, most, played, returns, rounds, small
from surepath.baselines.arms import Lucb, SequentialHalving
from surepath.system import Actions, FloatArray
from surepath.theory.floor import information_floor


def test_halving_finds_the_optimum_of_small_instances() -> None:
    exact = sum(played(SequentialHalving(4, 2, 8000, seed=i), small(i), i) for i in range(20))
    assert exact >= fewest(20, 0.95)


def test_lucb_finds_the_optimum_of_small_instances_in_the_episodes_reported() -> None:
    exact, episodes = 0, list[int]()
    for i in range(20):
        learner = Lucb(4, 2, 0.05, seed=i)
        exact += played(learner, small(i), i)
        assert learner.done
        episodes.append(learner.usage.episodes)
    assert exact >= fewest(20, 0.95)
    assert 5.9e3 / 3 <= median(episodes) <= 5.9e3 * 3  # theirs is 5.9e3, on instances like these


def test_halving_plays_its_rounds_and_keeps_the_better_half() -> None:
    problem, learner = small(2), SequentialHalving(4, 2, 8000)
    left, counts = list(product(range(2), repeat=4)), list[int]()
    for requests, readings in rounds(learner, problem, 0):
        assert sorted(request.actions for request in requests) == sorted(left)
        counts += {request.count for request in requests}
        means = {reading.actions: returns(reading) for reading in readings}
        order = sorted(means.values())
        left = [actions for actions in left if means[actions] >= order[len(order) // 2]]
        assert len(left) == len(order) // 2  # no ties with these data
    assert counts == [125, 250, 500, 1000]
    assert left == [learner.incumbent]
    assert learner.usage.episodes == 8000


def test_halving_of_odd_numbers_and_in_batches() -> None:
    learner = SequentialHalving(3, 3, 1000, batch=5)  # 27, 14, 7, 4, 2 arms in 5 rounds
    sizes = [(len(r), r[0].count) for r, _ in rounds(learner, easy(), 0)]
    assert sizes == [(27, 5), (14, 10), (7, 25), (4, 50), (2, 100)]
    assert learner.usage.episodes <= 1000
    assert learner.done


def test_halving_asks_for_long_rounds_in_parts() -> None:
    problem: Any = surepath.make("tabular", horizon=11, states=2, actions=2, observations=2)
    learner = SequentialHalving(11, 2, 11 * 2**11)
    sizes, means = list[int](), dict[Actions, float]()
    for requests, readings in rounds(learner, problem, 0, budget=2**11):
        assert not means or means[learner.incumbent] == max(means.values())  # the best so far
        sizes.append(len(requests))
        means |= {reading.actions: returns(reading) for reading in readings}
    assert sizes == [1024, 1024]
    assert means[learner.incumbent] == max(means.values())


def test_halving_errs_no_more_than_its_bound() -> None:
    problem = small(7)
    values = sorted(map(problem.expected_return, product(range(2), repeat=4)), reverse=True)
    hardness = max((i + 1) / (values[0] - value) ** 2 for i, value in enumerate(values) if i)
    scale = 8 * 4 * hardness * 4
    for bound in (0.5, 0.05):
        episodes = math.ceil(scale * math.log(3 * 4 / bound))
        learners = (SequentialHalving(4, 2, episodes, seed=i) for i in range(200))
        wrong = sum(not played(learner, problem, i) for i, learner in enumerate(learners))
        assert wrong <= most(200, bound)


@pytest.mark.parametrize("batch", [1, 4])
def test_lucb_plays_the_best_and_its_challenger_until_they_part(batch: int) -> None:
    problem, learner = small(1), Lucb(4, 2, 0.1, batch=batch)
    totals, counts, t = np.zeros(16), np.zeros(16), 0

    def bounds(best: int) -> tuple[FloatArray, FloatArray, float]:
        """Means, upper bounds of the others, and the lower bound of the best."""
        means = totals / counts
        radius = np.sqrt(4 / (2 * counts) * np.log(1.25 * 16 * t**4 / 0.1))
        uppers = np.where(np.arange(16) == best, -np.inf, means + radius)
        return means, uppers, means[best] - radius[best]

    for requests, readings in rounds(learner, problem, 0):
        arms = [int("".join(map(str, request.actions)), 2) for request in requests]
        if t == 0:
            assert arms == list(range(16))
        else:
            best, challenger = arms
            means, uppers, lower = bounds(best)
            assert means[best] == pytest.approx(means.max(), abs=1e-12)
            assert uppers[challenger] == pytest.approx(uppers.max(), abs=1e-12)
            assert lower <= uppers.max()
        for arm, reading in zip(arms, readings, strict=True):
            assert reading.count == batch
            totals[arm] += batch * returns(reading)
            counts[arm] += batch
        t += 1
    best = int((totals / counts).argmax())
    _, uppers, lower = bounds(best)
    assert lower > uppers.max()
    assert learner.incumbent == tuple(map(int, f"{best:04b}"))
    assert learner.plan is not None
    assert all(decision.margin > 0 for decision in learner.plan)
    assert learner.value == pytest.approx(totals[best] / counts[best])
    assert learner.usage.episodes == counts.sum()


def test_lucb_errs_no_more_than_delta() -> None:
    problem: Any = surepath.make(
        "tabular", horizon=2, states=2, actions=2, observations=2, gap=0.3, seed=0
    )
    wrong = sum(not played(Lucb(2, 2, 0.2, seed=i), problem, i) for i in range(100))
    assert wrong <= most(100, 0.2)


@pytest.mark.parametrize("seed", [1, 3])
def test_lucb_needs_at_least_what_every_method_needs(seed: int) -> None:
    problem: Any = surepath.make(
        "tabular", horizon=3, states=3, actions=2, observations=4, gap=0.1, seed=seed
    )
    dynamics = problem.dynamics
    floor = information_floor(dynamics.transitions, dynamics.rewards, delta=0.05).episodes
    learners = [Lucb(3, 2, 0.05, seed=i) for i in range(3)]
    for i, learner in enumerate(learners):
        played(learner, problem, i)
    assert fmean(learner.usage.episodes for learner in learners) >= floor > 0
