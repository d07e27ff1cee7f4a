"""The recursion takes answers, and refuses bad ones without losing anything."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from answering import ONCE, Machine, finish
from surepath.errors import InputError
from surepath.features import OneHot
from surepath.learners.recursion import Learner
from surepath.system import Episodes, Moments, Request, RewardMoments, Summary
from surepath.theory.schedule import Schedule


def test_asking_twice_asks_for_the_same() -> None:
    machine = Machine.random(0, horizon=3)
    learner = machine.learner()
    while not learner.done:
        requests = learner.ask()
        assert requests
        assert learner.ask() == requests
        learner.tell([machine.answer(request) for request in requests])
    assert learner.ask() == ()


def test_telling_when_done_is_refused() -> None:
    machine = Machine.random(0, horizon=2)
    request = machine.learner().ask()[0]
    learner = finish(machine.learner(), machine.answer)
    before = replace(learner.usage)
    with pytest.raises(InputError, match="1 answers to 0 requests"):
        learner.tell([machine.answer(request)])
    assert learner.usage == before


def bad_reward(value: float) -> Callable[[Summary], Summary]:
    def spoil(good: Summary) -> Summary:
        return replace(good, rewards={h: RewardMoments(1, value, 0.0) for h in good.rewards})

    return spoil


def bad_embedding(mean: list[float]) -> Callable[[Summary], Summary]:
    def spoil(good: Summary) -> Summary:
        moments = Moments(good.count, np.array(mean), np.zeros((4, 4)))
        return replace(good, observations=dict.fromkeys(good.observations, moments))

    return spoil


def fewer_rewards(good: Summary) -> Summary:
    rewards = {h: replace(r, count=r.count - 1) for h, r in good.rewards.items()}
    return replace(good, rewards=rewards)


def fewer_observations(good: Summary) -> Summary:
    moments = Moments(good.count - 1, np.ones(4) / 4, np.zeros((4, 4)))
    return replace(good, observations=dict.fromkeys(good.observations, moments))


SPOILED: dict[str, Callable[[Summary], Summary]] = {
    "other actions": lambda good: replace(good, actions=(*good.actions, 0)),
    "fewer episodes": lambda good: replace(good, count=good.count - 1),
    "more episodes": lambda good: replace(good, count=good.count + 1),
    "reward too large": bad_reward(1.1),
    "reward too small": bad_reward(-0.1),
    "reward not a number": bad_reward(math.nan),
    "reward infinite": bad_reward(math.inf),
    "no rewards": lambda good: replace(good, rewards={}),
    "no observations": lambda good: replace(good, observations={}),
    "fewer rewards than episodes": fewer_rewards,
    "fewer observations than episodes": fewer_observations,
    "observation not a number": bad_embedding([math.nan] * 4),
    "observation infinite": bad_embedding([math.inf, 0.0, 0.0, 0.0]),
    "observation too short": bad_embedding([0.5, 0.5]),
}


@pytest.mark.parametrize("name", SPOILED)
def test_a_bad_answer_is_refused_and_nothing_is_lost(name: str) -> None:
    """It is refused at any place of the ask, and the run goes on as if it had not been told."""
    machine = Machine.random(3, horizon=3)
    schedule = replace(ONCE, feature_samples=2, reward_samples=3)
    clean = finish(machine.learner(schedule), machine.answer)
    learner = machine.learner(schedule)
    learner.tell([machine.answer(request) for request in learner.ask()])
    requests = learner.ask()
    assert len(requests) == 2  # of the first step, where both kinds are read
    assert all(request.rewards and request.observations for request in requests)
    before = replace(learner.usage)
    good = [machine.answer(request) for request in requests]
    for place in range(2):
        readings = list(good)
        readings[place] = SPOILED[name](good[place])
        with pytest.raises(InputError):
            learner.tell(readings)
        assert learner.ask() == requests
        assert learner.usage == before
    finish(learner, machine.answer)
    assert learner.plan == clean.plan
    assert learner.usage == clean.usage


@pytest.mark.parametrize("change", [-1, 1])
def test_a_wrong_number_of_answers_is_refused(change: int) -> None:
    machine = Machine.random(3, horizon=3)
    clean = finish(machine.learner(), machine.answer)
    learner = machine.learner()
    learner.tell([machine.answer(request) for request in learner.ask()])
    requests = learner.ask()
    readings = [machine.answer(request) for request in (*requests, requests[0])]
    with pytest.raises(InputError, match=f"{2 + change} answers to 2 requests"):
        learner.tell(readings[: 2 + change])
    assert learner.ask() == requests
    finish(learner, machine.answer)
    assert (learner.plan, learner.usage) == (clean.plan, clean.usage)


def test_a_refused_reward_is_named() -> None:
    machine = Machine([[0]], [[1.0]], [[1.5]], horizon=3)
    with pytest.raises(InputError, match=r"1\.5 at step 0 of \(0,\)"):
        finish(machine.learner(), machine.answer)
    assert finish(machine.learner(reward_range=(0.0, 2.0)), machine.answer).done


def raw_episodes(request: Request, symbols: list[int], rewards: list[float]) -> Episodes:
    """Single episodes that read and receive the same at every step."""
    steps = len(request.actions)
    return Episodes(
        request.actions,
        np.repeat(np.array(symbols)[:, None], steps + 1, axis=1),
        np.repeat(np.array(rewards)[:, None], steps, axis=1),
    )


def coin(**options: Any) -> Learner:
    """One step, one action, two observations, three episodes a batch."""
    schedule = Schedule(ridge=1.0, threshold=0.5, feature_samples=3, reward_samples=3)
    return Learner(1, 1, OneHot(2), schedule, **options)


def test_single_episodes_are_averaged() -> None:
    learner = finish(coin(), lambda r: raw_episodes(r, [0, 1, 1], [0.0, 0.25, 0.5]))
    assert learner.value == pytest.approx(0.25)
    assert learner.plan is not None
    assert learner.plan[0].samples == 3


@pytest.mark.parametrize("rewards", [[-1.0, 0.5, 2.0], [0.0, 0.0, 1.5]])
def test_every_single_reward_must_lie_in_the_range(rewards: list[float]) -> None:
    """A mean inside the range does not make up for a reward outside: the bounds assume it."""
    learner = coin()
    learner.tell([raw_episodes(request, [0, 0, 1], [0.5] * 3) for request in learner.ask()])
    with pytest.raises(InputError, match="rewards must lie in"):
        learner.tell([raw_episodes(request, [0, 0, 1], rewards) for request in learner.ask()])


def test_rounding_of_a_mean_is_no_reason_to_refuse() -> None:
    """0.1 + 0.1 + 0.1 exceeds 0.3; three rewards at the end of the range are in it."""
    learner = coin(reward_range=(0.0, 0.1))
    finish(learner, lambda request: raw_episodes(request, [0, 0, 1], [0.1] * 3))
    assert learner.value == pytest.approx(0.1)


@pytest.mark.parametrize("symbols", [[0, 1, 2], [0, 1, -1]])
def test_an_unknown_symbol_is_refused_and_nothing_is_lost(symbols: list[int]) -> None:
    learner = coin()
    requests = learner.ask()
    with pytest.raises(InputError, match=r"0 \.\. 1"):
        learner.tell([raw_episodes(request, symbols, [0.5] * 3) for request in requests])
    assert learner.ask() == requests
    finish(learner, lambda request: raw_episodes(request, [0, 0, 1], [0.5] * 3))
    assert learner.done


@pytest.mark.parametrize(
    ("name", "value"),
    [("horizon", 0), ("horizon", 2.5), ("n_actions", 0), ("largest_batch", 0)],
)
def test_bad_arguments_are_refused(name: str, value: Any) -> None:
    sizes: dict[str, Any] = {"horizon": 1, "n_actions": 1, "largest_batch": None} | {name: value}
    with pytest.raises(InputError, match=name):
        Learner(features=OneHot(2), schedule=ONCE, **sizes)
