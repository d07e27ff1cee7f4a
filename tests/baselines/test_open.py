"""Open-loop rivals: asked, told and charged like everything else, on any system."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import surepath
from sequences import easy, fewest, played, returns, rounds, small
from surepath.baselines.arms import Lucb, SequentialHalving
from surepath.baselines.crossentropy import CrossEntropy
from surepath.baselines.olop import Olop
from surepath.baselines.openloop import Blind, OpenLoop
from surepath.baselines.outside import CatCma, Nevergrad
from surepath.baselines.uct import Uct
from surepath.errors import InputError, MissingExtraError
from surepath.readings.embedding import VectorEmbedding
from surepath.run.driver import drive
from surepath.run.runner import Runner
from surepath.system import Actions, Episodes, RewardMoments, Summary

METHODS: dict[str, Callable[..., OpenLoop]] = {
    "olop": partial(Olop, episodes=600, kl=False),
    "kl-olop": partial(Olop, episodes=600, kl=True),
    "halving": partial(SequentialHalving, episodes=600),
    "lucb": Lucb,
    "uct": Uct,
    "cross-entropy": partial(CrossEntropy, population=30, elite=6),
    "catcma": CatCma,
    "nevergrad": Nevergrad,
}
UNBOUNDED = ("halving", "cross-entropy", "catcma", "nevergrad")


@pytest.fixture(params=METHODS)
def method(request: pytest.FixtureRequest) -> Callable[..., OpenLoop]:
    return METHODS[request.param]


def test_cross_entropy_moves_its_law_to_the_best() -> None:
    learner, law = CrossEntropy(3, 3, population=40, elite=7, smoothing=0.4), np.full((3, 3), 1 / 3)
    for _, (requests, readings) in zip(range(5), rounds(learner, easy(), 0), strict=False):
        assert learner.law == pytest.approx(law)
        assert len(requests) == 40
        best = sorted(readings, key=returns, reverse=True)[:7]
        shares = np.zeros((3, 3))
        for reading in best:
            shares[range(3), reading.actions] += 1 / 7
        law = 0.6 * law + 0.4 * shares
    assert learner.incumbent == tuple(law.argmax(axis=1))
    drawn = np.array([request.actions for request in CrossEntropy(2, 4, population=4000).ask()])
    for level in range(2):  # each action has 1000 expected, and a standard deviation of 27
        assert np.abs(np.bincount(drawn[:, level], minlength=4) - 1000).max() < 5 * 28


@pytest.mark.parametrize(
    ("make", "budget"),
    [
        (partial(Uct, exploration=0.5), 600),
        (CrossEntropy, 2000),
        (partial(CatCma, population=20), 2000),
        (Nevergrad, 300),
    ],
    ids=["uct", "cross-entropy", "catcma", "nevergrad"],
)
def test_the_optimum_of_something_easy_is_found(make: Callable[..., OpenLoop], budget: int) -> None:
    found = sum(played(make(3, 3, seed=i), easy(), i, budget) for i in range(10))
    assert found >= fewest(10, 0.9)


# What all methods have in common.


@pytest.mark.parametrize("horizon", [1, 2, 3])
@pytest.mark.parametrize("batch", [1, 3])
def test_every_episode_and_step_is_charged(
    method: Callable[..., OpenLoop], horizon: int, batch: int
) -> None:
    problem: Any = surepath.make("tabular", horizon=horizon, states=3, actions=3, observations=4)
    learner, episodes = method(horizon=horizon, n_actions=3, batch=batch), 0
    for requests, _ in rounds(learner, problem, 0, budget=60):
        assert learner.ask() == requests
        assert learner.usage.episodes == episodes
        assert learner.usage.steps == episodes * horizon  # H observations in each
        for request in requests:
            assert len(request.actions) == horizon
            assert {type(action) for action in request.actions} == {int}
            assert request.observations == range(0)
            assert request.rewards == range(horizon)
            assert request.count >= 1
            if not isinstance(learner, SequentialHalving):
                assert request.count == batch
        assert episodes == 0 or is_sequence(learner.incumbent, horizon)
        episodes += sum(request.count for request in requests)
    assert is_sequence(learner.incumbent, horizon)
    assert learner.usage.episodes == episodes
    assert all(isinstance(text, str) for text in learner.status().values())


def is_sequence(actions: Actions, horizon: int) -> bool:
    legal = all(type(action) is int and 0 <= action < 3 for action in actions)
    return len(actions) == horizon and legal


def test_the_same_seed_gives_the_same_run(method: Callable[..., OpenLoop]) -> None:
    def run(seed: int) -> list[Any]:
        learner = method(4, 2, seed=seed)
        drive(learner, Runner(small(0), 7), budget=120)
        return [learner.incumbent, learner.usage, learner.ask()]

    np.random.seed(1)  # noqa: NPY002 - the global state must not matter
    first = run(3)
    np.random.seed(2)  # noqa: NPY002
    assert run(3) == first


@pytest.mark.parametrize("name", [name for name in METHODS if name != "lucb"])
def test_another_seed_gives_another_run(name: str) -> None:
    # LUCB draws nothing; all others choose among equals.
    learners = [METHODS[name](3, 3, seed=seed) for seed in range(5)]
    asked = [
        [requests for requests, _ in rounds(learner, easy(), 0, budget=20)] for learner in learners
    ]
    assert any(others != asked[0] for others in asked[1:])


class Plain:
    """A system that only plays episodes, and reads vectors."""

    horizon, n_actions = 3, 3

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        return Episodes(actions, rng.normal(size=(n, 3, 5)), rng.random((n, 3)))


@pytest.mark.parametrize("name", ["tabular", "gaussian", "continuous", "touch", "plain"])
def test_any_system_will_do(method: Callable[..., OpenLoop], name: str) -> None:
    system: Any = Plain() if name == "plain" else surepath.make(name)
    learner = method(min(3, system.horizon), system.n_actions)
    drive(learner, Runner(system, 0), budget=200)
    assert learner.usage.episodes > 0
    assert len(learner.incumbent) == learner.horizon


@pytest.mark.parametrize("name", ["olop", "kl-olop", "uct", "lucb", "halving"])
def test_rewards_of_another_range_are_rescaled(name: str) -> None:
    def stretched(reading: Summary) -> Summary:
        rewards = {
            h: RewardMoments(m.count, 4 * m.mean - 3, 16 * m.scatter)
            for h, m in reading.rewards.items()
        }
        return Summary(reading.actions, reading.count, reading.observations, rewards)

    one = METHODS[name](4, 2, seed=1)
    other = METHODS[name](4, 2, seed=1, reward_range=(-3.0, 1.0))
    for requests, readings in rounds(one, small(0), 0, budget=500):
        assert other.ask() == requests
        other.tell([stretched(reading) for reading in readings])
    assert one.incumbent == other.incumbent
    if one.value is not None:
        assert other.value == pytest.approx(4 * one.value - 3 * 4)
    if isinstance(one, Olop) and isinstance(other, Olop):
        assert other.upper == pytest.approx(4 * one.upper - 3 * 4)
        assert one.plan is None


@pytest.mark.parametrize("name", METHODS)
def test_rewards_without_bounds(name: str) -> None:
    problem: Any = surepath.make("gaussian", horizon=3, reward_noise=0.3)
    make = partial(METHODS[name], 3, problem.n_actions, reward_range=problem.reward_range)
    if name in UNBOUNDED:
        learner = make()
        drive(learner, Runner(problem, 0), budget=200)
        assert len(learner.incumbent) == 3
    else:
        with pytest.raises(InputError, match=r"bounds of the rewards.*\(-inf, inf\)"):
            make()


def test_nothing_is_seen() -> None:
    embedding = VectorEmbedding(Blind(), 2)
    told = Episodes((0, 1), np.ones((4, 3)), np.zeros((4, 2)))
    digests = embedding.read(told, range(2))
    assert [digests[h].count for h in range(2)] == [4, 4]
    assert embedding.features.rows(told.observations).shape == (4, 0)
    regression = embedding.regression(1.0)
    assert regression.coverage(np.empty(0)) == 0
    assert regression.predict(np.empty(0)).tolist() == [0.0, 0.0]


def test_bad_rewards_are_refused_and_nothing_is_lost(method: Callable[..., OpenLoop]) -> None:
    learner = method(4, 2)
    requests, rng = learner.ask(), np.random.default_rng(0)
    readings = [small(0).summarise(request, rng) for request in requests]
    bad = dict(readings[-1].rewards) | {2: RewardMoments(readings[-1].count, 1.5, 0.0)}
    with pytest.raises(InputError, match="step 2"):
        learner.tell([*readings[:-1], Summary(readings[-1].actions, readings[-1].count, {}, bad)])
    assert learner.ask() == requests
    assert learner.usage.episodes == 0
    learner.tell(readings)
    assert learner.usage.episodes == sum(request.count for request in requests)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"n_actions": 1}, "n_actions"),
        ({"horizon": 0}, "horizon"),
        ({"batch": 0}, "batch"),
        ({"seed": -1}, "seed"),
        ({"reward_range": (1.0, 0.0)}, "lower one first"),
        ({"reward_range": (0.0, math.nan)}, "lower one first"),
    ],
)
def test_parameters_are_checked(
    method: Callable[..., OpenLoop], change: dict[str, Any], named: str
) -> None:
    with pytest.raises(InputError, match=named):
        method(**{"horizon": 3, "n_actions": 2} | change)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (partial(Olop, 3, 2, 1), "episodes"),
        (partial(Olop, 3, 2, 100, constant=0.0), "constant"),
        (partial(Uct, 3, 2, exploration=-0.1), "exploration"),
        (partial(Lucb, 3, 2, 0.0), "delta"),
        (partial(Lucb, 21, 2), r"at most 1048576 of them.*2\^21 sequences.*olop"),
        (partial(SequentialHalving, 11, 4, 10**9), r"4\^11 sequences"),
        (partial(SequentialHalving, 4, 2, 63), r"63 episodes for 16 .* 4 rounds.*at least 64"),
        (partial(SequentialHalving, 4, 2, 127, batch=2), "at least 128"),
        (partial(CrossEntropy, 3, 2, population=0), "population"),
        (partial(CrossEntropy, 3, 2, population=5, elite=6), "elite"),
        (partial(CrossEntropy, 3, 2, smoothing=0.0), "smoothing"),
        (partial(CatCma, 3, 2, population=0), "population"),
        (partial(Nevergrad, 3, 2, optimizer="NoisyOnePlusTwo"), "Did you mean 'NoisyOnePlusOne'"),
        (partial(Nevergrad, 3, 2, evaluations=0), "evaluations"),
    ],
)
def test_parameters_of_one_method_are_checked(make: Callable[[], Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        make()


@pytest.mark.parametrize(("make", "package"), [(CatCma, "cmaes"), (Nevergrad, "nevergrad")])
def test_a_missing_package_is_named(
    make: Callable[..., OpenLoop], package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"'{package}'.*surepath\[rivals\]"):
        make(3, 2)


def test_nevergrad_takes_other_optimisers() -> None:
    learner = Nevergrad(3, 3, optimizer="NoisyDiscreteOnePlusOne", evaluations=30)
    played(learner, easy(), 0, budget=30)
    assert learner.usage.episodes == 30
    assert is_sequence(learner.incumbent, 3)
