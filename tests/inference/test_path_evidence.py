"""Evidence against paths: as if every path were looked at by itself, and sound whatever happens."""

from __future__ import annotations

import math

import numpy as np
import pytest

from proposals import duel, normed, paths_of, random_proposal, rules, separated, tree
from surepath.inference.fresh_block import planned
from surepath.inference.path_evidence import (
    BETS,
    PathEvidence,
    by_action,
    hardest,
    least_against,
    least_through,
)
from surepath.inference.proposal import Proposal, Rules, Sums
from surepath.system import FloatArray

KINDS = {
    "tree": rules(),
    "separation": separated(),
    "two steps": separated(future=2),
    "norm": normed(),
    "no range": separated(rewards=(-math.inf, math.inf), reward_noise=0.7),
}


def against(proposal: Proposal, path: list[int], ours: FloatArray, theirs: FloatArray) -> float:
    """What the page says, edge by edge."""
    plan = proposal.plan_edges
    mine = sum(float(ours[edge]) for edge in plan if edge not in path)
    return mine + sum(float(theirs[edge]) for edge in path if edge not in plan)


def random_edges(
    proposal: Proposal, rng: np.random.Generator, closed: float
) -> tuple[FloatArray, FloatArray]:
    size = proposal.first[-1]
    ours, theirs = rng.normal(size=(2, size))
    theirs[(rng.random(size) < closed)] = np.inf
    theirs[proposal.plan_edges] = rng.normal(size=proposal.horizon)
    return ours, theirs


@pytest.mark.parametrize("said", KINDS.values(), ids=list(KINDS))
@pytest.mark.parametrize("closed", [0.0, 0.3])
def test_the_worst_path_is_the_worst_of_all_paths(said: Rules, closed: float) -> None:
    for seed in range(40):
        rng = np.random.default_rng([1, seed])
        proposal = random_proposal(rng, said)
        ours, theirs = random_edges(proposal, rng, closed)
        others = [path for path in paths_of(proposal) if path != proposal.plan_edges]
        found = [against(proposal, path, ours, theirs) for path in others]
        least = min(found, default=math.inf)
        twice = least_against(proposal, np.stack([ours, 0 * ours]), np.stack([theirs, theirs]))
        assert twice[0] == pytest.approx(least)
        actions, value = hardest(proposal, ours, theirs)
        assert value == pytest.approx(least)
        if math.isfinite(least):
            walked, state = list[int](), 0
            for level, action in enumerate(actions):
                walked.append(proposal.edge(level, state, action))
                state = int(proposal.target[walked[-1]])
            assert walked in others
            assert against(proposal, walked, ours, theirs) == pytest.approx(least)
        through = least_through(proposal, ours, theirs)
        for edge in set(range(len(ours))) - set(proposal.plan_edges):
            by_it = (x for x, path in zip(found, others, strict=True) if edge in path)
            assert through[edge] == pytest.approx(min(by_it, default=math.inf))


def test_what_each_action_is_worth_is_the_best_way_on() -> None:
    for seed in range(20):
        rng = np.random.default_rng([2, seed])
        proposal = random_proposal(rng, separated())
        mean = rng.random(proposal.first[-1])
        found = by_action(proposal, mean)
        for level, edge in enumerate(proposal.plan_edges):
            for action in range(proposal.n_actions):
                first = edge - proposal.plan[level] + action
                rest = [path[level:] for path in paths_of(proposal) if first in path]
                best = max(sum(float(mean[e]) for e in each) for each in rest)
                assert found[level][action] == pytest.approx(best)


# ---------------------------------------------------------------- guesses and bets


def test_a_guess_is_made_of_all_that_was_known() -> None:
    evidence = PathEvidence(duel(rules(rewards=(-1.0, 3.0), reward_noise=2.0), 3))
    object.__setattr__(
        evidence.proposal,
        "known",
        Sums(np.array([0.0, 2.0, 1.0]), np.array([0.0, 1.0, 4.0]), np.array([0.0, 5.0, 16.0])),
    )
    guess = evidence.guess()
    assert guess.mean.tolist() == [1.0, 0.5, 3.0]  # the middle; as known; moved into the range
    assert guess.variance == pytest.approx([4.0, (5 - 1 / 2 + 4) / 3, 4 / 2])
    block = Sums(np.array([2.0, 0.0, 3.0]), np.array([2.0, 0.0, 6.0]), np.array([4.0, 0.0, 14.0]))
    evidence.add(0.0, block, block.count)
    guess = evidence.guess()
    assert guess.mean.tolist() == [1.0, 0.5, 2.5]
    assert guess.variance == pytest.approx([(2 + 4) / 3, 8.5 / 3, (30 - 25 + 4) / 5])
    assert not evidence.ours.any()


def test_without_a_range_nothing_is_known_of_the_middle() -> None:
    said = rules(rewards=(-math.inf, math.inf), reward_noise=0.5)
    guess = PathEvidence(duel(said)).guess()
    assert guess.mean.tolist() == [0.0, 0.0]
    assert guess.variance.tolist() == [0.25, 0.25]


def expected_by_hand(evidence: PathEvidence, count: FloatArray, bet: float) -> float:
    """F of a bet where steps are independent, path by path."""
    proposal, guess = evidence.proposal, evidence.guess()
    said, found = proposal.rules, list[float]()
    span = said.span
    for path in paths_of(proposal):
        if path == proposal.plan_edges or np.isinf(evidence.theirs[path]).any():
            continue
        total = against(proposal, path, evidence.ours, evidence.theirs)
        for edge in set(path) ^ set(proposal.plan_edges):
            n = float(count[edge])
            if bet and not n:
                total = -math.inf
            if not (bet and n):
                continue
            cost, pull = bet**2 * said.reward_noise**2 / (2 * n), bet * span / n
            if said.bounded and not said.shared and pull < 1:
                psi = -math.log1p(-pull) - pull
                cost = min(cost, psi * n * float(guess.variance[edge]) / span**2)
            sign = 1 if edge in proposal.plan_edges else -1
            total += sign * bet * float(guess.mean[edge]) - cost
            total -= bet * float(proposal.slack[edge]) if sign < 0 else 0.0
        found.append(total + said.tolerance * (bet + evidence.bets))
    return min(found, default=-math.inf)


@pytest.mark.parametrize("said", KINDS.values(), ids=list(KINDS))
def test_the_bet_is_the_best_of_the_list_by_what_is_expected(said: Rules) -> None:
    bets = [0.0, *(said.level / said.span * BETS)]
    assert bets[1:] == pytest.approx(
        [said.level / said.span * 2 ** (k / 4) for k in range(-24, 61)]
    )
    positive = 0
    for seed in range(60):
        rng = np.random.default_rng([3, seed])
        proposal = random_proposal(rng, said)
        evidence = PathEvidence(proposal)
        size = proposal.first[-1]
        evidence.ours, evidence.theirs = random_edges(proposal, rng, closed=0.1)
        count = rng.integers(1, 40, size=size).astype(float)
        if rng.random() < 0.2:
            count[rng.integers(size)] = 0
        bet = evidence.bet(count, count)
        by_hand = [expected_by_hand(evidence, count, each) for each in bets]
        assert bet in bets
        if proposal.n_actions > 1:
            assert by_hand[bets.index(bet)] == pytest.approx(max(by_hand))
        assert bet == 0 or not math.isinf(evidence.least)
        positive += bet > 0
    assert positive > 3


def test_with_one_action_there_is_nothing_to_bet_on() -> None:
    evidence = PathEvidence(duel(rules(), 1))
    assert evidence.least == math.inf
    assert evidence.bet(np.ones(1), np.ones(1)) == 0


# ---------------------------------------------------------------- what noise costs


def test_noise_costs_what_the_page_says() -> None:
    """Hoeffding's where variances are large, empirical Bernstein's where they are small."""
    known = Sums(np.array([20.0, 20.0]), np.array([18.0, 10.0]), np.array([16.2, 10.0]))
    proposal = duel(rules(delta=1e-9))
    object.__setattr__(proposal, "known", known)
    evidence = PathEvidence(proposal)
    block = Sums(np.array([50.0, 50.0]), np.array([44.0, 20.0]), np.array([39.0, 20.0]))
    bet, guess = 12.0, evidence.guess()
    evidence.add(bet, block, block.count)
    pull = bet / 50
    psi = -math.log(1 - pull) - pull
    around = 39.0 - 2 * 0.9 * 44.0 + 50 * 0.81
    assert psi * 50 * guess.variance[0] < bet**2 / (8 * 50) < psi * 50 * guess.variance[1]
    assert evidence.ours[0] == pytest.approx(bet * 44 / 50 - psi * around)
    hoeffding = bet**2 / (8 * 50)
    assert evidence.theirs[1] == pytest.approx(-bet * 20 / 50 - hoeffding)
    assert evidence.least == pytest.approx(evidence.ours[0] + evidence.theirs[1])


def test_which_cost_is_taken_does_not_depend_on_the_block() -> None:
    """A block without any scatter, and one with a lot, of an edge that was expected to have much:
    both cost the same."""
    costs = list[float]()
    for squares in (25.0, 50.0):
        evidence = PathEvidence(duel(rules()))
        block = Sums(np.array([100.0, 100.0]), np.array([50.0, 50.0]), np.array([squares, 50.0]))
        evidence.add(6.0, block, block.count)
        costs.append(6.0 / 2 - float(evidence.ours[0]))
    assert costs[0] == costs[1] == pytest.approx(36 / 800)


def test_steps_that_depend_on_each_other_cost_as_many_times_more() -> None:
    alone, together = (tree(rules(shared=shared), 3) for shared in (False, True))
    requests = [((0, 0, 0), 4), ((0, 0), 6), ((0, 1, 1), 1)]
    count, weight = planned(alone, requests)
    assert count[:2].tolist() == weight[:2].tolist() == [11, 0]
    same, weight = planned(together, requests)
    assert (same == count).all()
    assert weight[0] == 4 * 3 + 6 * 2 + 1 * 3
    evidence = PathEvidence(together)
    block = Sums(count, count / 2, count / 2)
    evidence.theirs[count == 0] = np.inf  # so that these need not be read
    evidence.add(2.0, block, weight)
    assert evidence.ours[0] == pytest.approx(1.0 - 4 * 0.25 * 27 / (2 * 11**2))


def test_an_edge_that_was_not_read_is_no_evidence() -> None:
    evidence = PathEvidence(duel(rules(), 3))
    block = Sums(np.array([9.0, 9.0, 0.0]), np.array([9.0, 0.0, 0.0]), np.array([9.0, 0.0, 0.0]))
    assert evidence.bet(block.count, block.count) == 0
    evidence.add(3.0, block, block.count)
    assert evidence.least == -math.inf


# ---------------------------------------------------------------- what is ruled out


def test_what_has_passed_stays_ruled_out_and_is_not_read_any_more() -> None:
    evidence = PathEvidence(duel(rules(), 3))
    level = evidence.proposal.rules.level

    def told(*means: float | None) -> None:
        count = np.array([0.0 if mean is None else 100.0 for mean in means])
        total = count * np.array([mean or 0.0 for mean in means])
        evidence.add(8.0, Sums(count, total, total), count)

    told(0.9, 0.1, 0.7)
    assert evidence.closed.tolist() == [False, True, False]
    assert evidence.least < level
    told(0.2, None, 0.7)  # the plan looks bad now, and has passed that test before
    assert evidence.closed.tolist() == [False, True, False]
    assert evidence.least < 0
    for _ in range(3):
        told(0.9, None, 0.1)
    assert evidence.closed.tolist() == [False, True, True]
    assert evidence.least == math.inf
    assert evidence.loss == 0


def test_a_tolerance_lets_a_path_gain_as_much_and_the_proof_says_how_much() -> None:
    evidence = PathEvidence(duel(rules(tolerance=0.3)))
    level = evidence.proposal.rules.level
    count = np.array([100.0, 100.0])
    bet = 8.0
    evidence.add(bet, Sums(count, count * [0.5, 0.45], count * [0.5, 0.45]), count)
    x = bet * 0.05 - 2 * bet**2 / 800
    assert x < level < x + 0.3 * bet
    assert evidence.least == math.inf
    assert evidence.loss == pytest.approx((level - x) / bet)
    assert 0 < evidence.loss < 0.3


def test_what_is_not_followed_counts_as_the_most_there_is() -> None:
    rng = np.random.default_rng(4)
    tops = 0
    for _ in range(20):
        proposal = random_proposal(rng, rules(rewards=(-1.0, 2.0), reward_noise=1.5))
        for edge in np.flatnonzero(proposal.is_top):
            left = proposal.horizon - 1 - proposal.level_of[edge]
            assert proposal.slack[edge] == 2.0 * left > 0
            tops += 1
        assert not proposal.slack[~proposal.is_top].any()
    assert tops > 10
