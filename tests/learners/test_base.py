"""Ask and tell: what is taken, what is refused, and that a refusal costs nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from surepath.errors import InputError
from surepath.features import OneHot
from surepath.learners.base import Answer, Asking, reward_moments, reward_ranges
from surepath.readings.embedding import CloudEmbedding
from surepath.system import Counts, Episodes, Readings, Request, RewardMoments, Summary

ONE = Request((0, 1), 4, range(3), range(2))
TWO = Request((1,), 2, range(2), range(1))


class Twice(Asking):
    """Asks two requests, twice, and keeps what it was told."""

    def __init__(self, **options: Any) -> None:
        super().__init__(3, 2, CloudEmbedding(OneHot(2), 2), **options)
        self.told: list[list[Answer]] = []
        self._pending = (ONE, TWO)

    def _advance(self, answers: list[Answer] | None) -> None:
        self.told.append(answers or [])
        if len(self.told) < 2:
            self._pending = (ONE, TWO)
        else:
            self.plan = ()


def episodes(request: Request, seed: int = 0) -> Episodes:
    rng = np.random.default_rng(seed)
    n, length = request.count, len(request.actions)
    observations = rng.integers(2, size=(n, min(length + 1, 3)))
    return Episodes(request.actions, observations, rng.random((n, length)))


def summary(request: Request) -> Summary:
    n = request.count
    return Summary(
        request.actions,
        n,
        {h: Counts(np.array([1, n - 1])) for h in request.observations},
        {h: RewardMoments(n, 0.5, 0.1) for h in request.rewards},
    )


def answers() -> list[Readings]:
    return [episodes(ONE), summary(TWO)]


def test_asking_twice_asks_the_same() -> None:
    learner = Twice()
    assert learner.ask() == learner.ask() == (ONE, TWO)
    learner.tell(answers())
    assert learner.ask() is learner.ask()
    learner.tell(answers())
    assert learner.ask() == ()
    assert learner.done


def test_episodes_and_steps_are_charged_in_full() -> None:
    learner = Twice()
    assert (learner.usage.episodes, learner.usage.steps) == (0, 0)
    learner.tell(answers())
    # A step is an observation read: three of them after two of three actions.
    assert (learner.usage.episodes, learner.usage.steps) == (4 + 2, 4 * 3 + 2 * 2)
    learner.tell(answers())
    assert (learner.usage.episodes, learner.usage.steps) == (12, 32)


def test_answers_hold_what_was_read() -> None:
    learner = Twice()
    told = answers()
    learner.tell(told)
    (one, two) = learner.told[0]
    assert one.raw is told[0]
    raw = told[0]
    assert isinstance(raw, Episodes)
    for step in range(3):
        digest = one.observations[step]
        assert digest.count == 4
        assert digest.total.tolist() == np.bincount(raw.observations[:, step], minlength=2).tolist()
    for step in range(2):
        values = raw.rewards[:, step]
        assert one.rewards[step].mean == pytest.approx(values.mean())
        assert one.rewards[step].scatter == pytest.approx(((values - values.mean()) ** 2).sum())
    assert two.observations[1].total.tolist() == [1.0, 1.0]


def bad_rewards(value: float) -> Callable[[], list[Readings]]:
    def make() -> list[Readings]:
        good = episodes(ONE)
        good.rewards[2, 1] = value
        return [good, summary(TWO)]

    return make


BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: answers()[:1], "1 answers to 2 requests"),
    (lambda: [], "0 answers to 2 requests"),
    (lambda: answers()[::-1], "must come from the actions and the count"),
    (lambda: [episodes(replace(ONE, count=3)), summary(TWO)], "3 episodes of"),
    (lambda: [episodes(ONE), summary(replace(TWO, actions=(0,)))], r"Run \(1,\) exactly 2 times"),
    (bad_rewards(1.5), r"rewards must lie in \[0, 1\].*at step 1 of \(0, 1\)"),
    (bad_rewards(-0.1), r"rewards must lie in \[0, 1\]"),
    (bad_rewards(float("nan")), "be finite"),
    (bad_rewards(float("inf")), "be finite"),
    (lambda: [episodes(ONE), replace(summary(TWO), rewards={})], "nothing for step 0"),
    (lambda: [episodes(ONE), replace(summary(TWO), observations={})], "nothing for step 0"),
    (
        lambda: [
            episodes(ONE),
            replace(summary(TWO), observations=dict.fromkeys(range(2), Counts(np.array([1, 0])))),
        ],
        "every time step must be read in every episode",
    ),
    (
        lambda: [Episodes(ONE.actions, np.full((4, 3), 7), np.zeros((4, 2))), summary(TWO)],
        r"discrete observations are 0 \.\. 1",
    ),
    (
        lambda: [Episodes(ONE.actions, np.zeros((4, 1), int), np.zeros((4, 2))), summary(TWO)],
        "every time step that was asked for",
    ),
]


@pytest.mark.parametrize(("make", "message"), BAD)
def test_bad_readings_are_refused_and_nothing_is_lost(make: Any, message: str) -> None:
    learner = Twice()
    before = learner.ask()
    with pytest.raises(InputError, match=f"(?s){message}"):
        learner.tell(make())
    assert learner.ask() == before
    assert learner.told == []
    assert (learner.usage.episodes, learner.usage.steps) == (0, 0)
    learner.tell(answers())
    assert len(learner.told) == 1
    assert learner.usage.episodes == 6


def test_rewards_of_other_ranges() -> None:
    learner = Twice(reward_range=(-2.0, 2.0))
    learner.tell(bad_rewards(-1.9)())
    free = Twice(reward_range=(-np.inf, np.inf))
    free.tell(bad_rewards(1e6)())
    with pytest.raises(InputError, match="be finite"):
        free.tell(bad_rewards(float("nan"))())


@pytest.mark.parametrize(("horizon", "actions"), [(0, 2), (3, 0), (2.5, 2)])
def test_impossible_sizes_are_refused(horizon: Any, actions: Any) -> None:
    class Sized(Asking):
        def _advance(self, answers: list[Answer] | None) -> None: ...

    with pytest.raises(InputError, match="must be a whole number"):
        Sized(horizon, actions, CloudEmbedding(OneHot(2), 2))


def test_status_is_short_texts() -> None:
    status = Twice().status()
    assert status["incumbent"] == "-"
    assert all(isinstance(text, str) for text in status.values())


@pytest.mark.parametrize("count", [1, 3, 8, 40, 1000])
def test_rewards_of_all_steps_at_once_are_those_of_each_step(count: int) -> None:
    """To the last digit: what was recorded before has to be found again."""
    rng, steps = np.random.default_rng(count), range(1, 6)
    rewards = rng.normal(size=(count, 7)) * 10.0 ** rng.integers(-3, 4, size=7)
    episodes = Episodes((0,) * 7, np.zeros((count, 8)), rewards)
    assert reward_moments(episodes, steps) == [episodes.reward(step) for step in steps]
    assert reward_ranges(episodes, steps) == [episodes.reward_range(step) for step in steps]
    told = {step: episodes.reward(step) for step in steps}
    summary = Summary((0,) * 7, count, {}, told)
    assert reward_moments(summary, steps) == list(told.values())
    assert reward_ranges(summary, range(0)) == []
