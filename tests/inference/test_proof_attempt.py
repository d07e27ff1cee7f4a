"""Whole attempts on random machines, beside one that looks at every path and every episode."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from proposals import (
    BOUNDED,
    NOISY,
    answered,
    duel,
    meeting,
    normed,
    paid,
    passes,
    paths_of,
    random_proposal,
    rules,
    separated,
    totals_of,
    tree,
)
from surepath.inference.attempt import Attempt
from surepath.inference.fresh_block import Counted, Told, planned, rewards_by_edge
from surepath.inference.proposal import Proposal, Rules
from surepath.inference.tuning import TUNING
from surepath.system import Counts, Episodes, Moments, RewardMoments, Summary

KINDS: dict[str, Rules] = {
    "tree": rules(tolerance=0.1),
    "separation": separated(tolerance=0.2),
    "two steps": separated(future=2),
    "noisy": separated(observed=NOISY, separation=0.6),
    "bounded": separated(observed=BOUNDED, separation=0.9),
    "norm": normed(tolerance=0.3),
    "shared": separated(shared=True, tolerance=0.2),
    "no range": rules(rewards=(-math.inf, math.inf), reward_noise=0.6),
}


class Naive:
    """The evidence for the plan, from all episodes and all paths, one by one."""

    def __init__(self, proposal: Proposal) -> None:
        self.proposal = proposal
        self.plan = proposal.plan_edges
        self.others = [path for path in paths_of(proposal) if path != self.plan]
        self.ours = [0.0] * proposal.first[-1]
        self.theirs = [0.0] * proposal.first[-1]
        self.spent, self.loss, self.closed = 0.0, 0.0, set[int]()
        self.known: list[list[float]] = [[] for _ in self.ours]

    def block(self, bet: float, raw: list[Episodes]) -> None:
        said, span = self.proposal.rules, self.proposal.rules.span
        read: list[list[float]] = [[] for _ in self.ours]
        weight = [0.0] * len(self.ours)
        for each in raw:
            for row in each.rewards:
                for edge, reward in zip(self.proposal.walk(each.actions), row, strict=False):
                    read[edge].append(float(reward))
                    weight[edge] += len(each.actions) if said.shared else 1
        for edge, rewards in enumerate(read):
            n = len(rewards)
            if not n or not bet:
                continue
            mu, w = self.guess(edge)
            cost = bet**2 * said.reward_noise**2 * weight[edge] / (2 * n**2)
            pull = bet * span / n
            if said.bounded and not said.shared and pull < 1:
                psi = -math.log1p(-pull) - pull
                if psi * n * w / span**2 < cost:
                    cost = psi * sum((x - mu) ** 2 for x in rewards) / span**2
            self.ours[edge] += bet * sum(rewards) / n - cost
            slack = float(self.proposal.slack[edge])
            self.theirs[edge] -= bet * sum(rewards) / n + cost + bet * slack
        for edge, rewards in enumerate(read):
            self.known[edge] += rewards
        self.spent += bet
        self.close()

    def guess(self, edge: int) -> tuple[float, float]:
        said, known = self.proposal.rules, self.proposal.known
        more = self.known[edge]
        n = float(known.count[edge]) + len(more)
        total = float(known.total[edge]) + sum(more)
        squares = float(known.squares[edge]) + sum(x * x for x in more)
        middle = sum(said.rewards) / 2 if said.bounded else 0.0
        mean = min(max(total / n if n else middle, said.rewards[0]), said.rewards[1])
        scatter = max(0.0, squares - total**2 / n) if n else 0.0
        return mean, (scatter + said.span**2 / 4) / (n + 1)

    def against(self, path: list[int]) -> float:
        mine = sum(self.ours[edge] for edge in self.plan if edge not in path)
        return mine + sum(self.theirs[edge] for edge in path if edge not in self.plan)

    @property
    def open(self) -> list[list[int]]:
        return [path for path in self.others if self.closed.isdisjoint(path)]

    def close(self) -> None:
        paths, said = self.open, self.proposal.rules
        for edge in set(range(len(self.ours))) - set(self.plan) - self.closed:
            x = min((self.against(p) for p in paths if edge in p), default=math.inf)
            if x + said.tolerance * self.spent >= said.level:
                self.closed.add(edge)
                if x < said.level:
                    self.loss = max(self.loss, (said.level - x) / self.spent)

    @property
    def least(self) -> float:
        return min((self.against(path) for path in self.open), default=math.inf)


@pytest.mark.parametrize("said", KINDS.values(), ids=list(KINDS))
def test_an_attempt_is_what_all_paths_and_episodes_say(said: Rules) -> None:
    proved = bets = 0
    for seed in range(10):
        rng = np.random.default_rng([11, seed])
        proposal = random_proposal(rng, said)
        attempt, naive = Attempt(proposal), Naive(proposal)
        everything = list(product(range(proposal.n_actions), repeat=proposal.horizon))
        for _ in range(5):
            requests: Counted = [(actions, int(rng.integers(3, 12))) for actions in everything]
            if proposal.horizon > 1:
                requests.append(((0,), 2))
            before = attempt.evidence
            block = attempt.begin(requests)
            assert block.before == before
            told, raw = answered(proposal, requests, rng)
            attempt.tell(told)
            naive.block(block.bet, raw)
            bets += block.bet > 0
            assert attempt.paths.least == pytest.approx(naive.least, rel=1e-9, abs=1e-9)
            assert set(np.flatnonzero(attempt.paths.closed).tolist()) == naive.closed
            assert attempt.paths.loss == pytest.approx(naive.loss, rel=1e-9, abs=1e-9)
            assert attempt.proved == (passes(attempt) and attempt.merges.least >= said.level)
        mean = [sum(naive.known[e]) / len(naive.known[e]) for e in naive.plan]
        assert attempt.value == pytest.approx(sum(mean))
        assert attempt.episodes == sum(n for block in attempt.blocks for _, n in block.requests)
        proved += attempt.proved
    assert bets > 3
    assert proved > 0


# ---------------------------------------------------------------- readings


def test_what_was_told_is_the_same_from_episodes_and_from_a_summary() -> None:
    rng = np.random.default_rng(12)
    rewards, seen = rng.random((7, 2)), rng.integers(3, size=(7, 3))
    raw = Episodes((0, 1), seen, rewards)
    counts = {step: Counts(np.bincount(seen[:, step], minlength=3)) for step in range(3)}
    moments = {step: raw.reward(step) for step in range(2)}
    summary = Summary((0, 1), 7, counts, moments)

    def totals(sample: Any) -> Any:
        known = isinstance(sample, Counts)
        return sample.counts.astype(float) if known else np.bincount(sample, minlength=3) * 1.0

    one, two = (Told.of(each, totals, 3) for each in (raw, summary))
    assert one.paid == two.paid
    assert one.observed is not None
    assert two.observed is not None
    assert [row.tolist() for row in one.observed] == [row.tolist() for row in two.observed]
    assert [row.tolist() for row in one.observed] == [
        np.bincount(seen[:, step], minlength=3).tolist() for step in (1, 2)
    ]
    for step, (total, squares) in enumerate(one.paid):
        assert total == pytest.approx(rewards[:, step].sum())
        assert squares == pytest.approx((rewards[:, step] ** 2).sum())


def test_the_last_observation_of_the_horizon_is_not_looked_at() -> None:
    raw = Episodes((0, 1), np.zeros((4, 3), dtype=int), np.zeros((4, 2)))
    totals = totals_of(separated().observed)
    assert len(Told.of(raw, totals, 2).observed or []) == 1
    assert len(Told.of(raw, totals, 3).observed or []) == 2
    assert Told.of(raw, None, 3).observed is None
    summary = Summary(
        (0,), 2, {1: Moments(2, np.ones(1), np.zeros((1, 1)))}, {0: RewardMoments(2, 0.5, 0.5)}
    )
    assert Told.of(summary, None, 1).paid == [(1.0, 1.0)]


def test_on_the_route_of_a_norm_only_the_representative_is_counted() -> None:
    proposal = meeting(normed())
    proposal.radius[1] = 0.3
    count, _ = planned(proposal, [((0, 0), 5), ((1, 0), 3), ((1, 1), 2)])
    assert count.tolist() == [5, 5, 5, 0]  # what comes behind the merge is not used
    told = [paid((1, 0), np.ones((3, 2))), paid((0, 0), np.ones((5, 2)))]
    assert rewards_by_edge(proposal, told).count.tolist() == [5, 3, 5, 0]
    merged = meeting(separated())
    count, _ = planned(merged, [((0, 0), 5), ((1, 0), 3), ((1, 1), 2)])
    assert count.tolist() == [5, 5, 8, 2]  # by both prefixes


# ---------------------------------------------------------------- its end


def test_nothing_is_proved_before_anything_was_read() -> None:
    attempt = Attempt(duel(rules(), 1))
    assert not attempt.proved
    attempt.begin([((0,), 1)])
    assert not attempt.proved  # asked for, and not told
    attempt.tell([paid((0,), np.ones((1, 1)))])
    assert attempt.proved
    assert attempt.optimal
    assert attempt.value == 1.0


def test_a_loss_below_the_gap_is_none() -> None:
    attempt = Attempt(duel(rules(tolerance=0.3, gap=0.31)))
    attempt.paths.loss = 0.305
    assert attempt.optimal
    attempt.paths.loss = 0.32
    assert not attempt.optimal
    bare = Attempt(duel(rules(tolerance=0.3)))
    bare.paths.loss = 1e-9
    assert not bare.optimal


def test_why_an_attempt_is_given_up() -> None:
    attempt = Attempt(duel(rules()))
    assert attempt.hopeless == ""
    attempt.paths.theirs[1] = -TUNING.refuted * attempt.proposal.rules.level - 0.1
    assert attempt.hopeless == "another plan seemed better"
    other = Attempt(duel(rules(tolerance=0.1)))
    other.paths.theirs[1] = -TUNING.refuted * other.proposal.rules.level - 0.1
    other.paths.bets = 2.0
    assert other.hopeless == ""
    merged = Attempt(meeting(separated()))
    test = merged.merges.tests[1, ()]
    test.weight, test.apart = 100.0, np.array([[100.0, -100.0, 0.0]])
    test.seen = np.array([[100.0, 100.0, 0.0]])
    assert "seemed to be two" in merged.hopeless
    test.best = merged.proposal.rules.level  # it has passed before
    assert merged.hopeless == ""


def test_a_better_level_needs_more() -> None:
    """The same readings pass at the first attempt and not at the fifth."""
    first, fifth = (Attempt(tree(rules(attempt=number), 1)) for number in (1, 5))
    known = replace(first.proposal.known, count=np.full(2, 50.0), total=np.array([45.0, 5.0]))
    for attempt in (first, fifth):
        attempt.proposal.known.count[:] = known.count
        attempt.proposal.known.total[:] = known.total
        attempt.proposal.known.squares[:] = known.total
        attempt.begin([((0,), 6), ((1,), 6)])
        attempt.tell([paid((0,), np.ones((6, 1))), paid((1,), np.zeros((6, 1)))])
    assert first.proved
    assert not fifth.proved
