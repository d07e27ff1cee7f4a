"""From what was judged to what is claimed, and why not more."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

import surepath
from machines import coins, read_trie, shape_of, symbols, written_trie
from surepath.builtin_problems import Problem
from surepath.inference.judgement import Judgement, judge
from surepath.inference.states import Shape
from surepath.inference.terms import Terms
from surepath.readings.trie import Node
from surepath.results.adaptive_claim import conclude, interval, levels, more_episodes
from surepath.results.assumptions import of_adaptive
from surepath.results.certificate import Status

EXACT = 10**9


def terms_for(problem: Problem, **options: Any) -> Terms:
    fields = {
        "guarantee": "calibrated",
        "delta": 0.05,
        "gap": None,
        "resolution": 0.1,
        "reward_range": problem.reward_range,
    }
    return Terms(shape_of(problem), **{**fields, **options})


def judged(problem: Problem, terms: Terms, count: int, seed: int = 0) -> Judgement:
    found = judge(read_trie(problem, count, np.random.default_rng(seed)), terms)
    assert found.complete
    return found


def small(seed: int) -> Problem:
    return surepath.make("tabular", horizon=3, states=3, observations=4, seed=seed)


def tied(lead: float) -> Problem:
    """One hidden state; action 1 of the last of two steps leads by so much."""
    rewards = np.full((2, 1, 2), 0.5)
    rewards[0, 0, 0] = 0.1
    rewards[1, 0, 1] += lead
    return surepath.Tabular.from_arrays([[0, 0]], [[0.5, 0.5]], rewards)


# ---------------------------------------------------------------- claims


@pytest.mark.parametrize("guarantee", ["calibrated", "proved"])
def test_what_is_settled_is_certified(guarantee: str) -> None:
    problem = small(1)
    terms = terms_for(problem, guarantee=guarantee, norm=problem.norm)
    found = judged(problem, terms, EXACT)
    certificate = conclude(found, terms, episodes=77, notes=("a note",))
    assert certificate.certified
    assert certificate.claim == "these 3 actions are optimal with probability at least 0.95"
    assert "3 ways to leave the plan are ruled out" in certificate.reason
    assert certificate.failure == certificate.delta == 0.05
    assert certificate.guarantee == guarantee
    assert certificate.terms is terms
    assert certificate.notes[0] == "a note"
    plan = tuple(level.action for level in certificate.levels)
    assert plan == problem.optimum[0] == found.plan.actions
    for level in certificate.levels:
        state = problem.path(plan)[level.level]
        assert level.estimates == pytest.approx(problem.q_values(level.level, state), abs=1e-3)
        assert level.margin > level.width > 0
        assert level.source == "expansion"
        assert level.samples >= EXACT


def test_a_tie_is_claimed_within_what_can_be_lost() -> None:
    problem = tied(0.0)
    terms = terms_for(problem)
    found = judged(problem, terms, 10**4)
    certificate = conclude(found, terms, episodes=5)
    assert certificate.certified
    assert certificate.status is Status.WITHIN
    assert certificate.tolerance is not None
    assert f"within {certificate.tolerance:g} of optimal" in certificate.claim
    assert found.loss <= certificate.tolerance <= 1.01 * found.loss
    assert 0 < certificate.tolerance < terms.resolution
    assert "within the resolution of 0.1" in certificate.reason


def test_with_a_gap_what_loses_less_is_optimal() -> None:
    problem = tied(0.0)
    terms = terms_for(problem, gap=0.2)
    certificate = conclude(judged(problem, terms, 10**4), terms, episodes=5)
    assert certificate.certified
    assert certificate.status is Status.OPTIMAL
    assert certificate.tolerance == 0
    assert "are optimal with" in certificate.claim
    assert "gain less than the gap of 0.2" in certificate.reason
    assert "a suboptimal plan loses at least 0.2" in certificate.assumptions


@pytest.mark.parametrize("lead", [0.0, 0.02, 0.05, 0.08, 0.3])
def test_optimal_is_only_claimed_of_a_certain_lead(lead: float) -> None:
    """Whatever was read, the word rests on the intervals of all ways to leave the plan."""
    problem = tied(lead)
    terms = terms_for(problem)
    for count in (200, 2000, 20_000, 10**6):
        found = judged(problem, terms, count, seed=count)
        certificate = conclude(found, terms, episodes=5)
        certain = all(each.margin > each.width for each in found.challengers)
        assert certificate.certified == found.settled
        if certificate.certified:
            assert (certificate.status is Status.OPTIMAL) == certain
            assert ("are optimal" in certificate.claim) == certain
            assert certain or found.loss < terms.resolution


# ---------------------------------------------------------------- why nothing is claimed


def test_an_end_of_the_budget_says_what_is_open_and_what_it_takes() -> None:
    problem = small(1)
    terms = terms_for(problem)
    found = judged(problem, terms, 4)
    certificate = conclude(found, terms, episodes=32)
    assert certificate.status is Status.OPEN
    assert certificate.tolerance is None
    assert not certificate.certified
    assert certificate.claim == "none"
    assert certificate.failure == 1.0
    assert "the budget ended after 32 episodes" in certificate.reason
    weakest = found.weakest
    assert weakest is not None
    assert f"at level {weakest.level} action {weakest.action} may still be better" in (
        certificate.reason
    )
    said = re.search(r"about (\S+) more episodes would settle it", certificate.reason)
    assert said
    assert float(said[1]) == pytest.approx(more_episodes(found), rel=0.1)
    assert more_episodes(found) > 0


def test_an_end_before_there_was_a_plan() -> None:
    problem = small(1)
    certificate = conclude(judge(Node(), terms_for(problem)), terms_for(problem), episodes=3)
    assert not certificate.certified
    assert certificate.reason == (
        "the budget ended after 3 episodes, before there was a whole plan"
    )
    assert certificate.levels == ()


def test_the_estimate_of_what_it_takes_is_of_the_right_size() -> None:
    """One level, two actions, means as they are: what is open closes with the root of readings."""
    terms = Terms(Shape(1, 2, 2, symbols=True), "calibrated", 0.05, None, 0.05, (0.0, 1.0))

    def after(n: int) -> Judgement:
        rewards = {(a,): (None, coins(n, mean)) for a, mean in enumerate((0.5, 0.7))}
        found = judge(written_trie({(): (symbols(n, n), None), **rewards}), terms)
        assert found.complete
        return found

    needed = next(n for n in range(20, 10**4) if after(n).settled)
    for n in (20, 40, 60):
        assert 1 / 2 < more_episodes(after(n)) / (2 * (needed - n)) < 2


def test_what_single_episodes_said_takes_the_claim_away() -> None:
    problem = small(1)
    terms = terms_for(problem)
    found = judged(problem, terms, EXACT)
    certificate = conclude(found, terms, episodes=1, doubts=("the floor shakes",))
    assert certificate.status is Status.REFUSED
    assert not certificate.certified
    assert certificate.claim == "none"
    assert certificate.reason == "the floor shakes"
    assert certificate.doubts == ("the floor shakes",)


def test_where_nothing_was_told_apart_the_user_is_warned() -> None:
    """All look alike: that is so, or the sensor is blind; only the user can know."""
    blind = tied(0.3)
    for guarantee, count in (("calibrated", 1), ("proved", 0)):
        terms = terms_for(blind, guarantee=guarantee, norm=3.0)
        warnings = conclude(judged(blind, terms, 10**5), terms, episodes=1).warnings
        assert sum("look alike at every level" in text for text in warnings) == count
    seeing = small(0)
    terms = terms_for(seeing)
    assert conclude(judged(seeing, terms, EXACT), terms, episodes=1).warnings == ()
    assert conclude(judge(Node(), terms), terms, episodes=1).warnings == ()


# ---------------------------------------------------------------- assumptions, decisions, interval


def test_assumptions_are_all_there() -> None:
    problem = small(1)
    calibrated = of_adaptive(terms_for(problem))
    assert any("moves deterministically" in line for line in calibrated)
    assert any("independent between episodes" in line for line in calibrated)
    assert any("rewards between 0 and 1" in line for line in calibrated)
    assert any("not proved" in line for line in calibrated)
    proved = of_adaptive(terms_for(problem, guarantee="proved", norm=4.5))
    assert any("norm at most 4.5" in line for line in proved)
    assert any("features bounded by 1" in line for line in proved)
    assert not any("not proved" in line for line in proved)
    free = of_adaptive(
        terms_for(
            problem, guarantee="proved", norm=4.5, feature_noise=0.3, reward_range=(-np.inf, np.inf)
        )
    )
    assert any("sub-Gaussian with parameter 0.3" in line for line in free)
    assert not any("inf" in line for line in free)


def test_decisions_are_those_of_the_plan() -> None:
    problem = small(1)
    found = judged(problem, terms_for(problem), 50)
    made = levels(found)
    assert tuple(d.action for d in made) == found.plan.actions
    for decision in made:
        assert decision.estimates[decision.action] == max(decision.estimates)
        assert decision.margin >= 0


@pytest.mark.parametrize("count", [5, 50, 5000])
@pytest.mark.parametrize("guarantee", ["calibrated", "proved"])
def test_the_interval_holds_the_optimal_value(guarantee: str, count: int) -> None:
    for seed in range(10):
        problem = small(seed)
        terms = terms_for(problem, guarantee=guarantee, norm=problem.norm)
        found = judged(problem, terms, count, seed=seed)
        low, high = interval(found, terms)
        assert 0 <= low <= found.value <= high <= problem.horizon
        assert low <= problem.optimum[1] <= high


def test_the_interval_of_rewards_without_a_range() -> None:
    problem = surepath.make("gaussian", horizon=3, states=3, reward_noise=0.5, seed=1)
    terms = terms_for(problem, resolution=0.1)
    found = judged(problem, terms, 2000)
    low, high = interval(found, terms)
    assert math.isfinite(low)
    assert math.isfinite(high)
    assert low <= problem.optimum[1] <= high
