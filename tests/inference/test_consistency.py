"""Prefixes that look alike: no alarm while they are alike, one where they pay differently."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

import surepath
from machines import coins, one_state, read_trie, shape_of, symbols, written_trie
from surepath.inference.consistency import Conflict, conflict, read_differently
from surepath.inference.states import Automaton, Shape, derive
from surepath.inference.tuning import TUNING
from surepath.readings.digests import Cloud
from surepath.readings.trie import Node
from surepath.system import RewardMoments

SURE = 1e-6  # probability with which a statistical threshold may be missed by a sound law


def draws(rng: np.random.Generator, n: int, mean: float) -> RewardMoments:
    return coins(n, rng.binomial(n, mean) / n)


def check_alarms(found: list[Conflict | None]) -> None:
    """No more alarms, and prefixes to be read more often, than a sound test of so many runs has."""
    for rate, final in ((TUNING.consistency_alarm, True), (TUNING.consistency_suspicion, False)):
        alarms = sum(each is not None and each.final == final for each in found)
        assert alarms <= stats.binom.isf(SURE, len(found), rate)


# ---------------------------------------------------------------- no alarm where all is well


@pytest.mark.parametrize("mean", [0.5, 0.1, 0.01, 0.999])
@pytest.mark.parametrize("counts", [[8] * 20, [4] * 10 + [2000], [2, 3, 500], [100] * 5, [200] * 6])
def test_equal_coins_raise_no_alarm(mean: float, counts: list[int]) -> None:
    """Also rare rewards and nodes that were hardly read: there a few wins are no proof."""
    found = list[Conflict | None]()
    for seed in range(150):
        rng = np.random.default_rng([seed, len(counts)])
        machine = one_state([draws(rng, n, mean) for n in counts])
        found.append(conflict(machine, (0.0, 1.0)))
    check_alarms(found)


@pytest.mark.parametrize("counts", [[8] * 20, [4] * 10 + [2000], [100] * 5, [200] * 6])
def test_equal_gaussian_rewards_raise_no_alarm(counts: list[int]) -> None:
    found = list[Conflict | None]()
    for seed in range(150):
        rng = np.random.default_rng([seed, 1])
        rows = [rng.normal(3.0, 2.0, size=n) for n in counts]
        tallies = [
            RewardMoments(len(r), float(r.mean()), float(((r - r.mean()) ** 2).sum())) for r in rows
        ]
        found.append(conflict(one_state(tallies), (-math.inf, math.inf)))
    check_alarms(found)


@pytest.mark.parametrize("name", ["tabular", "gaussian", "lock"])
def test_true_states_raise_no_alarm(name: str) -> None:
    """Every sequence read so often that states are told apart, and rewards are still noisy."""
    options: dict[str, Any] = {"horizon": 4, "actions": 3, "singular_value": 0.5}
    found = list[Conflict | None]()
    for seed in range(16):
        problem: Any = surepath.make(name, seed=seed, **options)
        machine = derive(read_trie(problem, 400, np.random.default_rng(seed)), shape_of(problem))
        sizes = [len(layer.members) for layer in machine.layers]
        if sizes == [len(states) for states in problem.reachable]:
            found.append(conflict(machine, problem.reward_range))
    assert len(found) > 8
    check_alarms(found)


def test_nothing_to_compare_is_no_alarm() -> None:
    assert conflict(one_state([]), (0.0, 1.0)) is None
    assert conflict(one_state([coins(10, 0.5)]), (0.0, 1.0)) is None
    assert conflict(one_state([coins(1, 0.0), coins(1, 1.0)]), (0.0, 1.0)) is None
    same = [RewardMoments(50, 0.25, 0.0)] * 3
    assert conflict(one_state(same), (0.0, 1.0)) is None
    assert conflict(one_state(same), (-math.inf, math.inf)) is None


# ---------------------------------------------------------------- alarm where states hide


@pytest.mark.parametrize(("one", "other"), [(0.2, 0.5), (0.0, 0.1), (0.9, 1.0)])
def test_nodes_that_pay_differently_raise_it(one: float, other: float) -> None:
    found = str(conflict(one_state([coins(300, one), coins(200, other)]), (0.0, 1.0)))
    assert "pay differently" in found
    assert f"{one:.3g}" in found or f"{other:.3g}" in found


def test_rewards_of_any_range_and_none() -> None:
    """Scaling the rewards scales their range: the alarm is the same."""
    for low, high in ((0.0, 1.0), (-5.0, 3.0), (100.0, 100.5)):
        span = high - low
        tallies = [
            RewardMoments(c.count, low + span * c.mean, span**2 * c.scatter)
            for c in (coins(300, 0.2), coins(200, 0.5))
        ]
        assert conflict(one_state(tallies), (low, high))
        assert conflict(one_state(tallies), (-math.inf, math.inf))
        assert not conflict(one_state([tallies[0]] * 3), (low, high))


def test_an_alarm_comes_with_enough_readings() -> None:
    """0.3 and 0.5: rare at 20 readings each, sure at 600."""
    alarms = dict.fromkeys((20, 600), 0)
    for n, seed in product(alarms, range(200)):
        rng = np.random.default_rng([seed, n])
        machine = one_state([draws(rng, n, 0.3), draws(rng, n, 0.5)])
        found = conflict(machine, (0.0, 1.0))
        alarms[n] += found is not None and found.final
    assert alarms[20] < 20
    assert alarms[600] > 180


def test_few_readings_are_a_reason_to_read_on_and_many_to_stop() -> None:
    for count in (20, TUNING.consistency_readings - 1, TUNING.consistency_readings, 500):
        tallies = [coins(count, 0.0), *[coins(90, 0.9)] * 8]
        found = conflict(one_state(tallies), (0.0, 1.0))
        assert found is not None
        assert found.own.count == count
        assert found.final == (count >= TUNING.consistency_readings)
    # What is final comes first, however odd another one is.
    tallies = [coins(10**5, 0.5), coins(10**4, 0.6), coins(60, 0.0)]
    found = conflict(one_state(tallies), (0.0, 1.0))
    assert found is not None
    assert found.final


def test_two_prefixes_of_which_one_was_hardly_read_are_not_final() -> None:
    """Which of them is in the wrong state cannot be told: the one with few readings may move."""
    found = conflict(one_state([coins(20, 0.0), coins(400, 0.9)]), (0.0, 1.0))
    assert found is not None
    assert not found.final


def test_two_states_with_one_emission_law() -> None:
    """They look alike at every look; one of them pays, and the machine makes them one state."""
    problem = surepath.Tabular.from_arrays(
        transitions=[[1, 2], [1, 1], [2, 2]],
        emissions=[[0.5, 0.5], [0.8, 0.2], [0.8, 0.2]],
        rewards=np.tile([[0.5, 0.5], [0.8, 0.8], [0.2, 0.2]], (3, 1, 1)),
    )
    machine = derive(read_trie(problem, 200, np.random.default_rng(0)), shape_of(problem))
    assert len(machine.layers[1].members) == 1
    found = str(conflict(machine, (0.0, 1.0)))
    assert found.startswith("prefixes that look alike at level 1 pay differently")
    assert found.endswith("does not tell the hidden states apart")
    for future in (1, 2):  # after both looks they look alike as well
        result = surepath.learn(problem, seed=1, future=future)
        assert not result.certified
        assert "pay differently" in result.certificate.reason
        assert "use other features, or a longer future" in result.certificate.reason
    # Three looks ahead nothing is merged: whoever may look so far tries every sequence.
    whole = surepath.learn(problem, seed=1)
    assert whole.certified
    assert problem.is_optimal(whole.actions)
    assert whole.certificate.terms is not None
    assert whole.certificate.terms.shape.future == 3
    assert sum("pay differently" in note for note in whole.certificate.notes) == 2


def test_the_place_is_named() -> None:
    heads = symbols(900, 100)
    leaves = {
        prefix: (None, coins(500, 0.9 if prefix == (1, 1) else 0.3))
        for prefix in product(range(2), repeat=2)
    }
    root = written_trie(
        {
            (): (heads, None),
            (0,): (heads, coins(500, 0.5)),
            (1,): (heads, coins(500, 0.5)),
            **leaves,
        }
    )
    found = str(conflict(derive(root, Shape(2, 2, 2, symbols=True)), (0.0, 1.0)))
    assert "at level 1" in found
    assert "(1, 1)" in found or "(0, 1)" in found
    assert "0.9" in found
    assert "0.3" in found


# ---------------------------------------------------------------- readings declared exact


def read_as(*clouds: Cloud, symbols_seen: bool = True) -> Automaton:
    entries = {(a,): (cloud, coins(9, 0.5)) for a, cloud in enumerate(clouds)}
    root = written_trie({(): (clouds[0], None), **entries})
    shape = Shape(2, len(clouds), len(clouds[0].total), symbols=symbols_seen)
    return derive(root, shape)


def test_the_prefix_whose_readings_differ_is_named() -> None:
    assert read_differently(read_as(symbols(9, 0), symbols(0, 9))) is None
    assert read_differently(read_as(symbols(9, 0), symbols(1, 8))) == (1,)
    assert read_differently(read_as(symbols(8, 1), symbols(0, 9))) == ()
    assert read_differently(derive(Node(), Shape(2, 2, 2, symbols=True))) is None


@pytest.mark.parametrize("offset", [0.0, 1.0, 1e6])
@pytest.mark.parametrize("whole", [True, False], ids=["covariances", "variances"])
def test_rounding_of_equal_readings_is_no_difference(offset: float, whole: bool) -> None:
    def cloud(rows: np.ndarray) -> Cloud:
        squares = rows.T @ rows if whole else (rows**2).sum(axis=0)
        return Cloud(len(rows), rows.sum(axis=0), squares)

    same = np.tile([0.1 + offset, 0.3], (1000, 1))
    differing = same.copy()
    differing[0, 0] += 1e-2 * max(1.0, offset)
    for rows, where in ((same, None), (differing, (1,))):
        machine = read_as(cloud(same), cloud(rows), symbols_seen=False)
        assert read_differently(machine) == where
