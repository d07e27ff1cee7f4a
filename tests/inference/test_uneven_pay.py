"""Prefixes that look alike and pay a little differently: seen in all of them together."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import TypeAlias

import numpy as np
import pytest
from scipy import stats

import surepath
from machines import coins, one_state, symbols, written_trie
from surepath.inference.consistency import conflict
from surepath.inference.separation import Separation
from surepath.inference.states import Shape, derive
from surepath.inference.tuning import TUNING
from surepath.inference.uneven_pay import UnevenPay, uneven_pay
from surepath.readings.digests import Cloud
from surepath.readings.trie import Node
from surepath.system import Actions, Episodes, FloatArray, RewardMoments

SEPARATION = Separation(0.3, math.log(20))
SURE = 1e-6  # probability with which a statistical threshold may be missed by a sound law
RUNS = 150

Law: TypeAlias = Callable[[np.random.Generator, int], FloatArray]

LAWS: dict[str, Law] = {
    "fair": lambda rng, n: rng.binomial(1, 0.5, n).astype(float),
    "rare": lambda rng, n: rng.binomial(1, 0.01, n).astype(float),
    "usual": lambda rng, n: rng.binomial(1, 0.99, n).astype(float),
    "narrow": lambda rng, n: rng.uniform(0.49, 0.51, n),
    "lottery": lambda rng, n: rng.pareto(1.5, n),
    "gaussian": lambda rng, n: rng.normal(1e3, 2.0, n),
}


def moments(rewards: FloatArray) -> RewardMoments:
    mean = float(rewards.mean())
    return RewardMoments(len(rewards), mean, float(((rewards - mean) ** 2).sum()))


def asked(tallies: list[RewardMoments]) -> UnevenPay | None:
    return uneven_pay(one_state(tallies), SEPARATION)


# ---------------------------------------------------------------- no alarm where all is well


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("counts", [[8] * 60, [1] * 50, [4] * 40 + [4000], [2, 3, 500], [100] * 5])
def test_one_law_raises_no_alarm(law: str, counts: list[int]) -> None:
    """Also where rewards are rare or have no variance, and some prefixes were hardly read."""
    alarms = 0
    for seed in range(RUNS):
        rng = np.random.default_rng([seed, len(counts)])
        alarms += asked([moments(LAWS[law](rng, n)) for n in counts]) is not None
    assert alarms <= stats.binom.isf(SURE, RUNS, TUNING.consistency_alarm)


@pytest.mark.parametrize("law", ["fair", "rare", "narrow"])
def test_prefixes_that_are_read_on_while_they_look_good_raise_no_alarm(law: str) -> None:
    """A run reads more where more was paid, so that the numbers of readings depend on rewards."""
    alarms = 0
    for seed in range(RUNS):
        rng = np.random.default_rng([seed, 3])
        expected, tallies = float(LAWS[law](rng, 10_000).mean()), list[RewardMoments]()
        for _ in range(60):
            read = LAWS[law](rng, 8)
            while read.mean() > expected and len(read) < 200:
                read = np.append(read, LAWS[law](rng, 4))
            tallies.append(moments(read))
        alarms += asked(tallies) is not None
    assert alarms <= stats.binom.isf(SURE, RUNS, TUNING.consistency_alarm)


def test_rewards_without_noise_say_nothing_where_they_are_equal() -> None:
    assert asked([RewardMoments(50, 0.1 + 0.2, 0.0), RewardMoments(70, 0.3, 0.0)] * 20) is None


def test_one_prefix_alone_is_compared_with_nothing() -> None:
    assert asked([coins(100, 0.5)]) is None


# ---------------------------------------------------------------- one where they pay differently


def test_many_small_differences_are_seen_though_none_stands_out() -> None:
    """Differences of half the noise of a prefix, in 200 of them."""
    rng = np.random.default_rng(0)
    tallies = list[RewardMoments]()
    for _ in range(200):
        middle = rng.uniform(0.45, 0.55)
        tallies.append(moments(rng.uniform(middle - 0.1, middle + 0.1, 8)))
    odd = conflict(one_state(tallies), (0.0, 1.0))
    found = asked(tallies)
    assert odd is None or not odd.final
    assert found is not None
    assert found.prefixes == 200
    assert found.square > 1.5
    assert "pay differently" in str(found)


def read_through(each: int, ways: int = 12) -> Node:
    """So many first actions that read alike, and pay differently one step later."""
    rng, rows = np.random.default_rng(2), dict[Actions, tuple[Cloud | None, RewardMoments | None]]()
    rows[()] = symbols(each, each), None
    for first, last in product(range(ways), repeat=2):
        rows[first,] = symbols(each, each), coins(2 * each, 0.5)
        middle = 0.4 + 0.02 * first
        rows[first, last] = None, moments(rng.uniform(middle - 0.05, middle + 0.05, 2 * each))
    return written_trie(rows)


@pytest.mark.parametrize(("each", "seen"), [(100, True), (4, False)])
def test_only_merges_that_are_settled_are_asked(each: int, seen: bool) -> None:
    """With eight readings of a prefix it may still be another state, which is no fault."""
    machine = derive(read_through(each), Shape(2, 12, 2, symbols=True), SEPARATION)
    assert len(machine.layers[1].prefixes) == 1  # they look alike
    assert (uneven_pay(machine, SEPARATION) is not None) == seen
    assert uneven_pay(machine, Separation(0.3, -math.inf)) is not None  # were all of them settled


class Kitchen:
    """Three ingredients in four steps. The scale shows how much is in the pot; the cook tastes at
    the end, and it matters what went in first.
    """

    horizon, n_actions, n_observations = 4, 3, 10

    def taste(self, actions: Actions) -> float:
        worth = [(2 * a + 1) * (i + 2) ** 2 % 11 for i, a in enumerate(actions)]
        return 0.3 + 0.02 * sum(worth)

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        full = np.cumsum((0, *actions))[: min(len(actions) + 1, self.horizon)]
        shown = np.where(rng.random((n, len(full))) < 0.9, full, rng.integers(10, size=(n, 1)))
        rewards = np.zeros((n, len(actions)))
        if len(actions) == self.horizon:
            rewards[:, -1] = self.taste(actions) + rng.uniform(-0.05, 0.05, n)
        return Episodes(actions, shown, rewards)


@pytest.mark.usefixtures("always_merging")
@pytest.mark.parametrize("seed", range(4))
def test_what_is_read_by_no_sensor_leads_to_no_wrong_claim(seed: int) -> None:
    kitchen = Kitchen()
    best = max(map(kitchen.taste, product(range(3), repeat=4)))
    result = surepath.learn(kitchen, seed=seed, budget=20_000)
    lost = best - kitchen.taste(result.actions)
    assert result.certified
    assert lost <= (result.certificate.tolerance or 0.0) + 1e-12
    assert any("look alike pay differently" in note for note in result.certificate.notes)
