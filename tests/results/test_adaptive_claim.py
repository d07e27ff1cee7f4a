"""From what was judged to what is claimed, and why not more."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import surepath
from machines import coins, fan, read_trie, shape_of, symbols, written_trie
from surepath.builtin_problems import Problem
from surepath.inference.judgement import Judgement, judge
from surepath.inference.separation import as_total_variation
from surepath.inference.states import Shape
from surepath.inference.terms import Terms
from surepath.readings.trie import Node
from surepath.results.adaptive_claim import conclude, interval, levels, more_episodes
from surepath.results.assumptions import of_adaptive, of_proved
from surepath.results.certificate import Audit, Status

EXACT = 10**9


def terms_for(problem: Problem, **options: Any) -> Terms:
    fields = {
        "guarantee": "calibrated",
        "delta": 0.05,
        "gap": None,
        "tolerance": 0.1,
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


def test_what_is_settled_is_certified() -> None:
    problem = small(1)
    terms = terms_for(problem)
    found = judged(problem, terms, EXACT)
    certificate = conclude(found, terms, episodes=77, notes=("a note",))
    assert certificate.certified
    assert certificate.claim == (
        "these 3 actions are optimal with probability at least 0.95, resting on merging"
    )
    assert certificate.rests_on == ("merging",)
    assert "3 ways to leave the plan are ruled out" in certificate.reason
    assert certificate.failure == certificate.delta == 0.05
    assert certificate.guarantee == "calibrated"
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
    assert terms.tolerance is not None
    assert 0 < certificate.tolerance < terms.tolerance
    assert "within the tolerance of 0.1" in certificate.reason


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
            assert certain or found.loss < found.tolerance == terms.tolerance


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
    assert "the run stopped after 32 episodes" in certificate.reason
    weakest = found.weakest
    assert weakest is not None
    assert f"at level {weakest.level} action {weakest.action} may still be better" in (
        certificate.reason
    )
    said = re.search(r"about (\S+) more episodes would settle it", certificate.reason)
    assert said
    assert float(said[1].replace(",", "")) == pytest.approx(more_episodes(found), rel=0.1)
    assert more_episodes(found) > 0


def test_an_end_before_there_was_a_plan() -> None:
    problem = small(1)
    certificate = conclude(judge(Node(), terms_for(problem)), terms_for(problem), episodes=3)
    assert not certificate.certified
    assert certificate.reason == ("the run stopped after 3 episodes, before there was a whole plan")
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
    assert certificate.reason.startswith("the floor shakes")
    assert "surepath doctor" in certificate.reason
    assert certificate.doubts == ("the floor shakes",)


def test_where_nothing_was_told_apart_the_user_is_warned() -> None:
    """All look alike: that is so, or the sensor is blind; only the user can know."""
    blind = tied(0.3)
    terms = terms_for(blind)
    tree = terms_for(blind, guarantee="proved", separation=None).proposing()
    for each, count in ((terms, 1), (tree, 0)):
        warnings = conclude(judged(blind, each, 10**5), each, episodes=1).warnings
        assert sum("look alike at every level" in text for text in warnings) == count
    seeing = small(0)
    terms = terms_for(seeing)
    assert conclude(judged(seeing, terms, EXACT), terms, episodes=1).warnings == ()
    assert conclude(judge(Node(), terms), terms, episodes=1).warnings == ()


# ---------------------------------------------------------------- what it rests on


def test_a_claim_says_what_it_rests_on() -> None:
    """Merging where prefixes were taken for one state; nothing where each is its own."""
    problem = small(1)
    terms = terms_for(problem)
    found = judged(problem, terms, 10**4)
    ends = [s for layer in found.machine.layers if (s := layer.sorting) is not None]
    states = sum(len(layer.members) for layer in found.machine.layers[1:])
    assert found.merged == sum(len(sorting.edges) for sorting in ends) - states > 0
    certificate = conclude(found, terms, episodes=1)
    assert certificate.certified
    assert certificate.rests_on == ("merging",)
    assert certificate.claim.endswith("with probability at least 0.95, resting on merging")
    # A future as long as the horizon merges nothing.
    whole = replace(terms, shape=shape_of(problem, future=3))
    apart = conclude(judged(problem, whole, 10**4), whole, episodes=1)
    assert apart.certified
    assert apart.rests_on == ()
    assert apart.excluded_separation is None
    assert apart.claim.endswith("with probability at least 0.95")
    assert conclude(judge(Node(), terms), terms, episodes=1).rests_on == ()


@pytest.mark.parametrize("name", ["tabular", "gaussian"])
def test_the_separation_that_is_excluded_is_below_the_declared_one(name: str) -> None:
    """The more is read the less is left; in units of total variation, whatever is read."""
    problem = surepath.make(name, horizon=3, states=3, seed=1)
    terms, found = terms_for(problem), list[float]()
    for count in (100, 10**4, 10**6):
        judgement = judged(problem, terms, count)
        certificate = conclude(judgement, terms, episodes=1)
        assert certificate.excluded_separation is not None
        found.append(certificate.excluded_separation)
        test = terms.merge_test
        assert test is not None
        size = judgement.excluded(test)
        expected = size if problem.n_observations else as_total_variation(size)
        assert found[-1] == expected
    assert 0.3 >= found[0] > found[1] > found[2] > 0
    exact = replace(terms, separation="exact")
    assert conclude(judged(problem, exact, 100), exact, episodes=1).excluded_separation is None


def test_exact_readings_merge_too() -> None:
    silent = surepath.Tabular.from_arrays([[0, 0]], [[1.0, 0.0]], [[[0.2, 0.8]], [[0.5, 0.1]]])
    terms = terms_for(silent, separation="exact")
    certificate = conclude(judged(silent, terms, 10**4), terms, episodes=1)
    assert certificate.status is Status.OPTIMAL
    assert certificate.rests_on == ("merging",)


def test_readings_declared_exact_that_differ_are_refused() -> None:
    problem = small(1)
    terms = terms_for(problem, separation="exact")
    certificate = conclude(judged(problem, terms, 10**4), terms, episodes=1)
    assert certificate.status is Status.REFUSED
    assert "declared exact, but those after () differ from each other" in certificate.reason
    assert "give a number as separation" in certificate.reason


def test_a_future_that_is_too_short_is_the_reason() -> None:
    problem = surepath.make("touch", horizon=4, seed=0)
    terms = terms_for(problem)
    found = judge(read_trie(problem, 10**4, np.random.default_rng(0)), terms, look_on=True)
    assert found.too_short
    certificate = conclude(found, terms, episodes=1)
    assert certificate.status is Status.REFUSED
    assert certificate.reason.startswith(found.too_short)
    assert "use other features, or a longer future" in certificate.reason


def test_where_nothing_was_paid_the_claim_says_so() -> None:
    blind = surepath.Tabular.from_arrays([[0, 0]], [[0.5, 0.5]], np.zeros((2, 1, 2)))
    terms = terms_for(blind, tolerance=None)
    certificate = conclude(judged(blind, terms, 10**4), terms, episodes=1)
    assert certificate.status is Status.WITHIN
    assert certificate.claim.endswith("; no reward was ever seen to differ from another")
    paid = conclude(judged(tied(0.3), terms_for(tied(0.3)), 10**5), terms, episodes=1)
    assert "ever seen to differ" not in paid.claim


AUDIT = Audit(states=20, worst_miss=0.0123, predicted=7)


def with_predictions() -> tuple[Judgement, Terms]:
    """A fan of sixteen states, of which twelve were tried: the others lie between them."""
    problem = fan(16)
    left = (3, 6, 9, 12)
    tried = [(a, b) for a in range(16) if a not in left for b in range(16)]
    tried += [(a,) for a in left]
    terms = terms_for(problem, gap=0.01)
    root = read_trie(problem, 10**7, np.random.default_rng(0), tried)
    found = judge(root, terms)
    assert found.complete
    assert found.settled
    return found, terms


def test_what_rests_on_predictions_needs_their_audit() -> None:
    found, terms = with_predictions()
    assert len(found.predicted) == 4
    assert {level for level, _ in found.predicted} == {1}
    before = conclude(found, terms, episodes=9)
    assert before.status is Status.OPEN
    assert "4 states are only predicted, and no sample of them was tried yet" in before.reason
    after = conclude(found, terms, episodes=9, audit=AUDIT)
    assert after.status is Status.OPTIMAL
    assert after.audit == AUDIT
    assert after.rests_on[-1] == "prediction"
    assert "prediction" in after.claim
    (said,) = (line for line in after.assumptions if "only predicted" in line)
    assert "Q* is linear in the features at the 7 states" in said
    assert "as it was at 20 of them drawn at random and tried (largest miss 0.0123)" in said
    assert not any("only predicted" in line for line in of_adaptive(terms))


# ---------------------------------------------------------------- assumptions, decisions, interval


def test_assumptions_are_all_there() -> None:
    problem = small(1)
    calibrated = of_adaptive(terms_for(problem))
    assert any("moves deterministically" in line for line in calibrated)
    assert any("independent between episodes" in line for line in calibrated)
    assert any("rewards between 0 and 1" in line for line in calibrated)
    assert any("not proved" in line for line in calibrated)
    (apart,) = (line for line in calibrated if "may have been taken for one" in line)
    assert "the laws of the observation differ by a total variation of at least 0.3" in apart
    ahead = terms_for(problem, separation=0.1)
    ahead = of_adaptive(replace(ahead, shape=shape_of(problem, future=2)))
    assert any(
        "next 2 observations differ by a total variation of at least 0.1" in a for a in ahead
    )
    real = of_adaptive(terms_for(surepath.make("gaussian")))
    assert any("at least 0.771 standard deviations of one reading" in line for line in real)
    assert any("(a total variation of 0.3)" in line for line in real)
    exact = of_adaptive(terms_for(problem, separation="exact"))
    assert any("readings have no noise" in line for line in exact)
    assert not any("taken for one" in line for line in exact)


def test_assumptions_of_a_proof_are_those_of_its_route() -> None:
    problem = small(1)
    tree = terms_for(problem, guarantee="proved", separation=None, gap=0.2)
    alone = of_proved(tree, None)
    assert any("moves deterministically" in line for line in alone)
    assert any("independent between episodes, between steps" in line for line in alone)
    assert any("rewards between 0 and 1" in line for line in alone)
    assert any("loses at least 0.2" in line for line in alone)
    assert not any("alike" in line or "norm" in line for line in alone)
    shared = of_proved(replace(tree, shared_noise=True), None)
    assert any("steps of one episode may depend on each other" in line for line in shared)
    apart = of_proved(replace(tree, separation=0.2), None)
    assert any("total variation of at least 0.2" in line for line in apart)
    linear = of_proved(replace(tree, norm=4.5), None)
    assert any("norm at most 4.5" in line for line in linear)
    assert any("features no farther apart than 2" in line for line in linear)
    assert not any("taken for one" in line for line in (*alone, *linear))
    free = of_proved(
        replace(tree, norm=4.5, feature_noise=0.3, reward_range=(-np.inf, np.inf)), None
    )
    assert any("sub-Gaussian with parameter 0.3" in line for line in free)
    assert not any("inf" in line for line in free)
    for said in (alone, shared, apart, linear, free):
        assert not any("not proved" in line for line in said)


def test_decisions_are_those_of_the_plan() -> None:
    problem = small(1)
    found = judged(problem, terms_for(problem), 50)
    made = levels(found)
    assert tuple(d.action for d in made) == found.plan.actions
    for decision in made:
        assert decision.estimates[decision.action] == max(decision.estimates)
        assert decision.margin >= 0


@pytest.mark.parametrize("count", [5, 50, 5000])
def test_the_interval_holds_the_optimal_value(count: int) -> None:
    for seed in range(10):
        problem = small(seed)
        terms = terms_for(problem)
        found = judged(problem, terms, count, seed=seed)
        low, high = interval(found, terms)
        assert 0 <= low <= found.value <= high <= problem.horizon
        assert low <= problem.optimum[1] <= high


def test_the_interval_of_a_proof_holds_the_optimal_value() -> None:
    for seed in range(5):
        problem = small(seed)
        result = surepath.learn(problem, seed=seed, guarantee="proved")
        assert result.certified
        low, high = result.interval
        assert 0 <= low <= result.value <= high <= problem.horizon
        assert low <= problem.optimum[1] <= high


def test_the_interval_of_rewards_without_a_range() -> None:
    problem = surepath.make("gaussian", horizon=3, states=3, reward_noise=0.5, seed=1)
    terms = terms_for(problem, tolerance=0.1)
    found = judged(problem, terms, 2000)
    low, high = interval(found, terms)
    assert math.isfinite(low)
    assert math.isfinite(high)
    assert low <= problem.optimum[1] <= high
