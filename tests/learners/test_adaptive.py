"""The adaptive learner from outside: what it asks, what it takes, and that it comes to an end."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import surepath
from machines import Raw
from playing import learner_for, play, small
from surepath.builtin_problems import Problem
from surepath.errors import InputError
from surepath.inference.coverage import missing
from surepath.inference.judgement import Judgement, UnsureEnd, judge
from surepath.journal.course import Purpose
from surepath.learners.adaptive import Adaptive
from surepath.learners.base import Asking
from surepath.learners.settling import least_alike
from surepath.prepare.adaptive_run import AdaptiveRun
from surepath.prepare.call import Call
from surepath.prepare.task import plan_task
from surepath.readings.record import record_of
from surepath.run.driver import drive
from surepath.run.runner import Runner
from surepath.run.work import perform, unit_of
from surepath.system import Episodes, Readings, Summary

# ---------------------------------------------------------------- the same run


@pytest.mark.parametrize("wrap", [lambda problem: problem, Raw], ids=["summaries", "episodes"])
def test_same_seed_same_run(wrap: Callable[[Problem], Any]) -> None:
    for seed in range(3):
        system = wrap(small(seed))
        first, again, backwards = (learner_for(system, seed=seed) for _ in range(3))
        asked = play(first, system, seed)
        assert play(again, system, seed) == asked
        # Whoever answers first: what is told is the same.
        assert play(backwards, system, seed, order=-1) == asked
        for other in (again, backwards):
            assert record_of(other.root) == record_of(first.root)
            assert other.plan == first.plan
            assert other.usage == first.usage
            assert other.value == first.value


def test_another_seed_reads_other_noise() -> None:
    problem = small(1)
    one, other = (surepath.learn(problem, seed=seed) for seed in (1, 2))
    assert one.actions == other.actions
    assert one.value != other.value
    assert surepath.learn(problem, seed=1) == one


def test_the_driver_is_just_asking_and_telling() -> None:
    problem = small(2)
    mine, theirs = learner_for(problem, seed=5), learner_for(problem, seed=5)
    play(mine, problem, 5)
    assert drive(theirs, Runner(problem, 5))
    assert record_of(mine.root) == record_of(theirs.root)
    assert mine.plan == theirs.plan


# ---------------------------------------------------------------- what is asked


def test_requests_are_such_that_anyone_can_run_them() -> None:
    for seed in range(3):
        problem = small(seed, actions=3)
        learner = learner_for(problem, seed=seed)
        for requests in play(learner, problem, seed):
            sequences = [request.actions for request in requests]
            assert len(set(sequences)) == len(sequences)
            for request in requests:
                assert request.count >= 1
                assert 1 <= len(request.actions) <= 3
                assert set(request.actions) <= {0, 1, 2}
                assert request.rewards == range(len(request.actions))
                assert request.observations == range(min(len(request.actions) + 1, 3))


def test_every_edge_is_read_before_anything_is_decided() -> None:
    problem = small(1)
    learner = learner_for(problem)
    play(learner, problem, 0)
    assert learner.judgement is not None
    least = [int(layer.count.min()) for layer in learner.judgement.machine.layers]
    first = learner.terms.first_readings
    assert all(count >= wanted > 1 for count, wanted in zip(least, first, strict=True))


def test_what_it_ends_with_is_what_the_readings_say() -> None:
    for seed in range(5):
        problem = small(seed)
        learner = learner_for(problem, seed=seed)
        play(learner, problem, seed)
        found = judge(learner.root, learner.terms)
        assert isinstance(found, Judgement)
        assert found.settled
        assert found.plan.actions == learner.incumbent
        assert learner.plan is not None
        assert tuple(decision.action for decision in learner.plan) == learner.incumbent
        assert learner.value == pytest.approx(found.value)


def test_episodes_steps_and_nodes_are_counted() -> None:
    problem = small(3)
    learner = learner_for(problem)
    asked = [request for requests in play(learner, problem, 0) for request in requests]
    assert learner.usage.episodes == sum(request.count for request in asked)
    steps = sum(request.count * len(request.observations) for request in asked)
    assert learner.usage.steps == steps
    prefixes = {r.actions[: n + 1] for r in asked for n in range(len(r.actions))}
    assert learner.usage.nodes == len(prefixes)
    assert learner.root.count == learner.usage.episodes
    read = sum(entry["rewards"][0] for entry in record_of(learner.root))
    assert read == sum(request.count * len(request.actions) for request in asked)


def test_large_requests_are_asked_in_parts() -> None:
    problem = small(1)
    run = AdaptiveRun.of(plan_task(Call.of(problem)))
    learner = Adaptive(run.features, run.terms, np.random.default_rng(0), largest_batch=5)
    asked = play(learner, problem, 0)
    assert max(request.count for requests in asked for request in requests) == 5
    assert learner.done
    assert problem.is_optimal(learner.incumbent)


# ---------------------------------------------------------------- single episodes and summaries


@pytest.mark.parametrize("name", ["tabular", "gaussian"])
def test_single_episodes_and_summaries_both_work(name: str) -> None:
    for seed in range(3):
        problem = surepath.make(name, horizon=3, states=3, gap=0.2, seed=seed)
        features = "onehot" if name == "tabular" else "linear"
        for system in (problem, Raw(problem)):
            result = surepath.learn(system, features=features, seed=seed)
            assert result.certified
            assert problem.is_optimal(result.actions)


def test_both_cost_the_same_on_average() -> None:
    """A summary is as good as the episodes it stands for: the same law of costs."""
    whole, single = (
        [math.log(surepath.learn(wrap(small(1)), seed=seed).episodes) for seed in range(12)]
        for wrap in (lambda problem: problem, Raw)
    )
    error = math.hypot(np.std(whole), np.std(single)) / math.sqrt(12)
    assert abs(np.mean(whole) - np.mean(single)) < 4.5 * error


# ---------------------------------------------------------------- refusing


def spoiled(readings: Readings, how: str) -> Readings:
    if how == "count":
        return replace(readings, count=readings.count + 1)  # type: ignore[call-arg]
    if how == "actions":
        return replace(readings, actions=(*readings.actions[:-1], 7))
    assert isinstance(readings, Summary)
    rewards = {step: replace(moments, mean=1.5) for step, moments in readings.rewards.items()}
    return replace(readings, rewards=rewards)


@pytest.mark.parametrize("how", ["count", "actions", "reward"])
def test_bad_readings_are_refused_and_the_run_goes_on_as_if_nothing_was(how: str) -> None:
    problem = small(1)
    clean, tried = learner_for(problem), learner_for(problem)
    play(clean, problem, 0)
    rounds = 0
    while requests := tried.ask():
        told: list[Readings] = [
            perform(problem, unit_of(problem, rounds, i, request, 0, summary=True)).done[0][1]
            for i, request in enumerate(requests)
        ]
        spent = tried.usage.episodes
        with pytest.raises(InputError):
            tried.tell([*told[:-1], spoiled(told[-1], how)])
        with pytest.raises(InputError):
            tried.tell(told[:-1])
        assert tried.ask() == requests
        assert tried.usage.episodes == spent
        tried.tell(told)
        rounds += 1
    assert record_of(tried.root) == record_of(clean.root)
    assert tried.plan == clean.plan


def test_a_reward_outside_its_range_stops_the_run() -> None:
    class Rich(Raw):
        def rollout(self, actions: Any, n: int, rng: np.random.Generator) -> Episodes:
            return replace(
                super().rollout(actions, n, rng), rewards=np.full((n, len(actions)), 3.0)
            )

    with pytest.raises(InputError, match=r"rewards must lie in \[0, 1\]"):
        surepath.learn(Rich(small(1)))
    assert surepath.learn(Rich(small(1)), reward_range=(0.0, 4.0), budget=10**5).actions


# ---------------------------------------------------------------- budgets


@pytest.mark.parametrize("budget", [1, 7, 50, 120, 10**6])
def test_a_budget_is_respected(budget: int) -> None:
    for seed in range(4):
        problem = small(seed)
        result = surepath.learn(problem, seed=seed, budget=budget)
        assert result.episodes <= budget
        assert len(result.actions) == problem.horizon
        assert set(result.actions) <= {0, 1}
        low, high = result.interval
        assert 0 <= low <= high <= problem.horizon
        if budget < 10:
            assert not result.certified
            assert f"the run stopped after {result.episodes} episodes" in (
                result.certificate.reason
            )
        if not result.certified:
            assert result.certificate.claim == "none"
            assert result.certificate.failure == 1.0


def test_an_end_of_the_budget_names_what_is_open() -> None:
    problem = small(1, gap=0.05)
    reason = surepath.learn(problem, seed=1, budget=100).certificate.reason
    assert re.search(r"at level \d action \d may still be better", reason)
    assert re.search(r"about \S+ more episodes would settle it", reason)


def test_more_budget_is_the_same_run_continued() -> None:
    problem = small(2)
    full = surepath.learn(problem, seed=2)
    for budget in (full.episodes, full.episodes + 1, 10**7):
        assert surepath.learn(problem, seed=2, budget=budget) == full
    assert not surepath.learn(problem, seed=2, budget=full.episodes - 1).certified


# ---------------------------------------------------------------- what may be another state


def test_while_the_plan_is_doubtful_the_ends_that_look_least_alike_are_read() -> None:
    ends = [
        UnsureEnd(level, (0, 0), (0, 0), (), count=5, needed=9, chance=chance)
        for level, chance in enumerate((0.5, 0.9, 0.01, 0.3, 0.7, 0.2, 0.6, 0.8))
    ]
    assert [end.level for end in least_alike(ends)] == [2, 5]
    assert [end.level for end in least_alike(ends[:1])] == [0]  # one at least
    assert least_alike([]) == []


def test_first_readings_that_are_few_take_no_round_of_their_own() -> None:
    problem, beside = surepath.make("tabular", horizon=6, states=6, actions=3, seed=1), list[bool]()
    learner = learner_for(problem)

    def watch(_: Asking) -> None:
        judged, terms = learner.judgement, learner.terms
        if judged is None or not judged.whole or judged.settled:
            return
        if missing(judged.machine, terms.first_readings, terms.most_from):
            asked = learner.ask()
            few = sum(request.count for request in asked) <= 0.05 * learner.usage.episodes
            purposes = {learner.purpose(request) for request in asked}
            beside.append(purposes != {Purpose.EXPLORE} or not few)

    drive(learner, Runner(problem, 0), watch=watch)
    assert beside
    assert all(beside)
