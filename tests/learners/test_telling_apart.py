"""Exact readings: what is paid at an end is read once for all that ask for it, and by many ways."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest

import surepath
from surepath.inference.judgement import Judgement
from surepath.inference.merge_audit import walks
from surepath.inference.states import Shape
from surepath.inference.terms import EXACT, SEPARATION, Terms
from surepath.inference.tuning import TUNING
from surepath.learners import open_questions, telling_apart
from surepath.learners.ahead import Wanted
from surepath.system import Actions, Episodes

ENDS = 40


class Orders:
    """Four passes out of four, 40 ends that are measured; programs and ends are read exactly.

    unseen: what an order pays more if it began with the last pass, which nothing shows.
    """

    horizon, n_actions, n_observations, last_actions = 5, 4, 5 * ENDS, 1

    def __init__(self, seed: int, unseen: float = 0.0) -> None:
        rng = np.random.default_rng(seed)
        self.moves = [rng.integers(ENDS, size=(ENDS, 4)) for _ in range(4)]
        self.pay = rng.uniform(0.2, 0.7, ENDS)
        self.unseen = unseen

    def path(self, actions: Actions) -> list[int]:
        states = [0]
        for moves, action in zip(self.moves, actions, strict=False):
            states.append(int(moves[states[-1], action]))
        return states

    def value(self, actions: Actions) -> float:
        return float(self.pay[self.path(actions)[-1]] + self.unseen * (actions[0] == 3))

    @property
    def best(self) -> float:
        return max(map(self.value, product(range(4), repeat=4)))

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        seen = [ENDS * level + state for level, state in enumerate(self.path(actions))]
        rewards = np.zeros((n, len(actions)))
        if len(actions) == self.horizon:
            rewards[:, -1] = self.value(actions) + rng.uniform(-0.05, 0.05, n)
        return Episodes(actions, np.tile(seen, (n, 1)), rewards)


def learned(system: Orders, seed: int, **options: object) -> surepath.Result:
    return surepath.learn(
        system, separation="exact", return_range=(0, 1), tolerance=0.02, seed=seed, **options
    )


class Call(NamedTuple):
    """What was wanted, and what was asked for."""

    judged: Judgement
    wanted: list[Wanted]
    asked: list[Wanted]
    walked: list[int]  # how often each of these had been walked


@pytest.fixture(scope="module")
def calls() -> list[Call]:
    """Of a whole run."""
    made = list[Call]()

    def noted(judged: Judgement, wanted: Iterable[Wanted], terms: Terms) -> list[Wanted]:
        several = list(wanted)
        asked = telling_apart.exactly(judged, several, terms)
        root = judged.machine.layers[0].here.columns.nodes[0]
        made.append(Call(judged, several, asked, [root.walked(actions) for actions, _ in asked]))
        return asked

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(open_questions, "exactly", noted)
        assert learned(Orders(0), 0).certified
    return made


def by_end(wanted: Iterable[Wanted]) -> dict[int, list[Wanted]]:
    found = dict[int, list[Wanted]]()
    for actions, count in wanted:
        if len(actions) == Orders.horizon:
            found.setdefault(Orders(0).path(actions)[-1], []).append((actions, count))
    return found


def test_an_end_is_read_once_for_all_that_ask_for_it(calls: list[Call]) -> None:
    shared = 0
    for call in calls:
        wanted, asked = by_end(call.wanted), by_end(call.asked)
        if asked.keys() == wanted.keys():  # else the plan alone
            for end, several in asked.items():
                largest = max(count for _, count in wanted[end])
                assert sum(count for _, count in several) == largest
                shared += len(dict(wanted[end])) > 1
    assert shared > 10


def test_challengers_wait_while_the_plan_saves_more(calls: list[Call]) -> None:
    alone = 0
    for call in calls:
        plan = Orders(0).path(call.judged.plan.actions)[-1]
        if by_end(call.asked).keys() == {plan} != by_end(call.wanted).keys():
            alone += 1
            before = float(call.judged.machine.layers[-1].count[call.judged.plan.edges[-1]])
            more = math.ceil(TUNING.most_growth * before)
            total = sum(count for _, count in call.asked)
            assert TUNING.least_request <= total <= max(TUNING.least_request, more)
    assert alone > 3


def test_up_to_half_of_it_goes_by_ways_that_nobody_followed(calls: list[Call]) -> None:
    others = 0
    for call in calls:
        walked = dict(zip((actions for actions, _ in call.asked), call.walked, strict=True))
        assert len(walked) == len(call.asked)
        for (_, count), *ways in by_end(call.asked).values():
            assert len(ways) <= count
            assert all(each == 1 and not walked[way] for way, each in ways)
            others += len(ways)
    assert others > 50


def test_a_share_of_what_was_played_to_the_end_is_followed(calls: list[Call]) -> None:
    """Of exact readings: episodes that only read where they come to do not count."""
    judged, many = calls[len(calls) // 2].judged, 10**6
    shape = Shape(Orders.horizon, 4, 5 * ENDS, symbols=True, last_actions=1)
    exact, noisy = (
        Terms(shape, "calibrated", 0.05, None, 0.02, (0.0, 1.0), separation=each)
        for each in (EXACT, SEPARATION)
    )
    ended = int(judged.machine.layers[-1].count.sum())
    assert 2 < ended // 10 < judged.merged
    assert len(walks(judged, many, exact)) <= ended // 10 < len(walks(judged, many, noisy))


def test_no_end_is_measured_twice_before_all_are_measured_once() -> None:
    """Not even by sequences whose way was only guessed when they were asked for."""

    class Noted(Orders):
        def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
            if len(actions) == self.horizon:
                ends.append(self.path(actions)[-1])
            return super().rollout(actions, n, rng)

    for seed in range(3):
        ends = list[int]()
        learned(Noted(seed), seed, budget=400)
        reached = set(ends)
        assert set(ends[: len(reached)]) == reached


def test_nothing_is_shared_where_noise_begins_at_once() -> None:
    """Every sequence is then an end of its own."""

    class Noisy(Orders):
        def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
            read = super().rollout(actions, n, rng)
            read.rewards[:, 0] = 0.1 * rng.random(n)
            return read

    system = Noisy(1)
    result = learned(system, 1, budget=3000)
    assert system.value(result.actions) >= system.best - 0.1


@pytest.mark.parametrize("seed", range(3))
def test_what_is_certified_is_true(seed: int) -> None:
    system = Orders(seed)
    result = learned(system, seed)
    assert result.certified
    assert system.best - system.value(result.actions) <= 0.02


def test_what_pays_differently_and_looks_the_same_is_found() -> None:
    """Measured by one way to each end, orders that begin otherwise would never be seen to pay more.

    They differ by seven standard deviations of what is measured.
    """
    for seed in range(3):
        system = Orders(seed, unseen=0.2)
        result = learned(system, seed, budget=3000)
        assert not result.certified
        assert any(note.startswith("future: ") for note in result.certificate.notes)
