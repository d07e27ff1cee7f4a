"""Prefixes that look alike: found out where they go on differently, else left alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from scipy import stats

import surepath
from machines import coins, read_trie, shape_of, symbols, written_trie
from surepath.inference.alias import GoingOn, Suspect, going_on
from surepath.inference.judgement import judge
from surepath.inference.separation import Separation, in_noise_units
from surepath.inference.states import Shape, derive
from surepath.inference.terms import Terms
from surepath.inference.tuning import TUNING
from surepath.readings.digests import Cloud
from surepath.readings.trie import Node
from surepath.system import Actions, RewardMoments

SEPARATION = Separation(0.3, math.log(20))
SHAPE = Shape(4, 2, 2, symbols=True)
SURE = 1e-6  # probability with which a statistical threshold below may be missed by a sound law
LAWS = (0.5, 0.9, 0.1)  # of the first symbol: after the first action, after 0, after 1
Law = Callable[[Actions], float]


def usual(prefix: Actions) -> float:
    """Both first actions lead to one state; from there on the last action says where one is."""
    return LAWS[0] if len(prefix) < 2 else LAWS[1 + prefix[-1]]


def exactly(count: int, law: Law) -> Callable[[Actions], Cloud]:
    """Readings that show the law of their prefix, half as many by way of action 1."""

    def read(prefix: Actions) -> Cloud:
        n = count // 2 if prefix[:1] == (1,) else count
        heads = round(n * law(prefix))
        return symbols(heads, n - heads)

    return read


def trie(read: Callable[[Actions], Cloud], pays: RewardMoments | None = None) -> Node:
    """Every prefix of up to three actions, with what is read there; rewards as given."""
    pays = coins(100, 0.5) if pays is None else pays
    prefixes = [p for n in range(4) for p in product(range(2), repeat=n)]
    leaves = dict.fromkeys(product(range(2), repeat=4), (None, pays))
    return written_trie({**{p: (read(p), pays if p else None) for p in prefixes}, **leaves})


def looked(root: Node, separation: Separation = SEPARATION) -> GoingOn:
    return going_on(derive(root, SHAPE, separation), SHAPE, separation)


def differing(*prefixes: Actions, by: float = 0.4) -> Law:
    return lambda prefix: abs(usual(prefix) - by * (prefix in prefixes))


# ---------------------------------------------------------------- what goes on differently


@pytest.mark.parametrize("where", [(1, 0), (0, 1), (1, 1)])
def test_what_differs_one_step_later_is_an_alias(where: Actions) -> None:
    alias = looked(trie(exactly(2000, differing(where)))).alias
    assert alias is not None
    assert {alias.prefix, alias.others} == {(0,), (1,)}
    assert alias.prefix == (1,)  # it was read less: the one to suspect
    assert alias.step == 2
    assert alias.count == 1000
    assert "after (1,) and after (0,) the readings are alike, but not what follows" in str(alias)
    assert "at step 2" in str(alias)
    assert "does not tell the hidden states apart" in str(alias)


@pytest.mark.parametrize("where", [(1, 0, 1), (1, 1, 0)])
def test_what_differs_two_steps_later_is_an_alias(where: Actions) -> None:
    """The readings of both steps before are alike: what lies between does not show it either."""
    alias = looked(trie(exactly(2000, differing(where)))).alias
    assert alias is not None
    assert alias.step == 3
    # Named by either of the two steps before: by both of them the readings came two ways.
    assert alias.prefix in (where[:1], where[:2])
    assert len(alias.others) == len(alias.prefix)
    assert alias.others != alias.prefix


def test_the_clearest_case_is_named() -> None:
    """Both actions lead elsewhere by the second way; after action 1 it is clearer, with fewer."""
    alias = looked(trie(with_readings({(1, 0): symbols(700, 300), (1, 1): symbols(450, 50)}))).alias
    assert alias is not None
    assert (alias.step, alias.count) == (2, 500)


def test_prefixes_that_go_on_alike_are_left_alone() -> None:
    found = looked(trie(exactly(2000, usual)))
    assert found.alias is None
    assert found.suspects == []


def test_states_with_one_way_in_are_not_asked() -> None:
    """Nothing was merged: there is nothing to compare."""

    def law(prefix: Actions) -> float:
        return (0.9, 0.1)[prefix[-1]] if len(prefix) == 1 else 0.5

    shape = Shape(2, 2, 2, symbols=True)
    prefixes = [(), (0,), (1,)]
    read = exactly(2000, law)
    root = written_trie({p: (read(p), coins(9, 0.5) if p else None) for p in prefixes})
    machine = derive(root, shape, SEPARATION)
    assert len(machine.layers[1].members) == 2
    assert going_on(machine, shape, SEPARATION) == GoingOn(None, [])
    assert going_on(derive(Node(), shape, SEPARATION), shape, SEPARATION) == GoingOn(None, [])


def test_false_alarms_are_as_rare_as_they_are_said_to_be() -> None:
    """Over all comparisons of a run, with noise, at several numbers of readings."""
    alarms, runs, asked = 0, 0, 0
    for count, seed in product((60, 300, 3000), range(300)):
        rng = np.random.default_rng([seed, count])

        def read(prefix: Actions, count: int = count, rng: np.random.Generator = rng) -> Cloud:
            heads = int(rng.binomial(count, usual(prefix)))
            return symbols(heads, count - heads)

        machine = derive(trie(read), SHAPE, SEPARATION)
        found = going_on(machine, SHAPE, SEPARATION)
        runs += 1
        asked += machine.layers[1].count.shape[0] == 1  # both ways into level 1 were merged
        alarms += found.alias is not None
    assert asked > 0.9 * runs
    assert alarms <= stats.binom.isf(SURE, runs, TUNING.consistency_alarm)


def test_real_readings_that_go_on_differently_are_an_alias() -> None:
    rng, shape = np.random.default_rng(3), Shape(4, 2, 2, symbols=False)
    separation = Separation(in_noise_units(0.3), math.log(20))

    def read(odd: bool) -> Callable[[Actions], Cloud]:
        def readings(prefix: Actions) -> Cloud:
            mean = np.array([3.0 * prefix[-1], 0.0]) if len(prefix) > 1 else np.zeros(2)
            mean[1] += 0.7 * (odd and prefix == (1, 0))
            rows = rng.normal(size=(1000, 2)) + mean
            return Cloud(len(rows), rows.sum(axis=0), rows.T @ rows)

        return readings

    for odd in (True, False):
        machine = derive(trie(read(odd)), shape, separation)
        assert len(machine.layers[1].members) == 1
        alias = going_on(machine, shape, separation).alias
        assert (alias is not None) == odd
        if alias is not None:
            assert {alias.prefix, alias.others} == {(0,), (1,)}
            assert alias.step == 2


def test_a_judgement_says_why_the_future_is_too_short() -> None:
    terms = Terms(SHAPE, "calibrated", 0.05, gap=None, tolerance=0.2, reward_range=(0.0, 1.0))
    root = trie(exactly(2000, differing((1, 0))), coins(10**7, 0.5))
    found = judge(root, terms, look_on=True)
    assert found.complete
    assert found.ahead.alias is not None
    assert found.too_short == str(found.ahead.alias)


# ---------------------------------------------------------------- what only looks odd

EVEN = exactly(2000, usual)


def with_readings(changes: dict[Actions, Cloud]) -> Callable[[Actions], Cloud]:
    return lambda prefix: changes.get(prefix, EVEN(prefix))


def test_what_looks_odd_is_suspected_until_the_separation_is_excluded() -> None:
    """Few readings that differ a little; as many more that differ as little are evidence."""
    few = looked(trie(with_readings({(1, 0): symbols(15, 5)})))
    assert few.alias is None
    assert few.suspects == [Suspect((1, 0), 20)]
    even = looked(trie(with_readings({(1, 0): symbols(18, 2)})))
    assert even == GoingOn(None, [])
    # As odd as before, by the chi-square test, and known to be closer than the separation.
    many = symbols(880, 120)
    assert stats.chi2_contingency([[880, 120], [1800, 200]], correction=False).pvalue < 0.1
    assert looked(trie(with_readings({(1, 0): many}))) == GoingOn(None, [])


def test_what_differs_clearly_is_read_until_it_is_an_alias() -> None:
    """Beyond the threshold for all comparisons together: a suspect first, then an alias."""
    kinds = list[str]()
    for count in (8, 10, 16, 40, 200, 1000):
        found = looked(trie(with_readings({(1, 0): symbols(count // 2, count - count // 2)})))
        kinds.append("alias" if found.alias else "suspect" if found.suspects else "none")
        if found.suspects:
            assert [suspect.actions for suspect in found.suspects] == [(1, 0)]
    assert kinds == sorted(kinds, key=["none", "suspect", "alias"].index)
    assert {"suspect", "alias"} <= set(kinds)


def test_what_was_read_too_little_to_know_its_noise_is_only_suspected() -> None:
    less = TUNING.alias_readings - 1
    few = looked(trie(with_readings({(1, 0): symbols(0, less)})))
    assert few.alias is None
    assert few.suspects == [Suspect((1, 0), less)]
    assert looked(trie(with_readings({(1, 0): symbols(0, less + 1)}))).alias is not None


def test_what_was_hardly_read_is_not_asked() -> None:
    less = TUNING.first_readings - 1
    assert looked(trie(with_readings({(1, 0): symbols(0, less)}))) == GoingOn(None, [])
    enough = looked(trie(with_readings({(1, 0): symbols(0, less + 1)})))
    assert enough.alias is not None or enough.suspects


def test_a_merge_that_is_not_settled_is_not_asked() -> None:
    """What was put somewhere on few readings may be put elsewhere when there are more."""
    odd = {(1, 0): symbols(500, 500), (1, 1): symbols(500, 500)}
    assert looked(trie(with_readings(odd))).alias is not None
    few = looked(trie(with_readings({**odd, (1,): symbols(8, 8)})))
    machine = derive(trie(with_readings({**odd, (1,): symbols(8, 8)})), SHAPE, SEPARATION)
    sorting = machine.layers[0].sorting
    assert sorting is not None
    assert len(set(sorting.labels.tolist())) == 1  # they were merged all the same
    assert sorting.merges.evidence.min() < SEPARATION.evidence
    assert few.alias is None
    assert few.suspects == []


# ---------------------------------------------------------------- while nothing was ever paid


@pytest.mark.parametrize("pays", [0.0, 1.0])
def test_while_nothing_is_paid_every_step_below_a_merge_is_suspected(pays: float) -> None:
    """Until the separation is excluded there too: nothing else would show what is wrong."""
    unpaid = coins(100, pays)
    few = {(1, 0): symbols(9, 1), (1, 1): symbols(1, 9)}
    assert looked(trie(with_readings(few))) == GoingOn(None, [])  # paid
    found = looked(trie(with_readings(few), unpaid))
    assert found.alias is None
    assert {s.actions for s in found.suspects} == {(1, 0), (1, 1)}
    assert {s.count for s in found.suspects} == {10}
    # With as many readings as it takes, none is left.
    assert looked(trie(EVEN, unpaid)) == GoingOn(None, [])


def test_while_nothing_is_paid_two_steps_below_is_suspected_only_where_it_looks_odd() -> None:
    """The same two ways in, read often one step below, and seldom two steps below.

    The ends of level 2 are not merged here: what is two steps below a merge is one step below none.
    """
    unpaid = coins(100, 0.0)
    deep = {(1, a, b): symbols(18 - 16 * b, 2 + 16 * b) for a, b in product(range(2), repeat=2)}
    assert looked(trie(with_readings(deep), unpaid)) == GoingOn(None, [])
    odd = {**deep, (1, 0, 0): symbols(14, 6)}
    found = looked(trie(with_readings(odd), unpaid))
    assert found.alias is None
    assert {suspect.actions for suspect in found.suspects} == {(1, 0, 0)}


# ---------------------------------------------------------------- systems that look alike


@pytest.mark.parametrize("seed", range(6))
def test_a_hand_that_feels_three_things_of_seven_is_found_out(seed: int) -> None:
    """States that share their law go on differently; two looks tell them apart."""
    problem = surepath.make("touch", horizon=4, seed=seed)
    root = read_trie(problem, 10**4, np.random.default_rng(seed))
    for future in (1, 2):
        shape = shape_of(problem, future)
        machine = derive(root, shape, SEPARATION)
        mixed = any(
            len({int(problem.path(node.prefix)[node.level]) for node in nodes}) > 1
            for layer in machine.layers[:-1]
            for nodes in layer.members
        )
        assert mixed == (future == 1)
        assert (going_on(machine, shape, SEPARATION).alias is not None) == mixed
