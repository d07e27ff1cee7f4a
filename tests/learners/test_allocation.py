"""What a block asks for: it reads what its tests need, and is decided before it is read."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from proposals import answered, duel, meeting, normed, random_proposal, rules, separated
from surepath.inference.attempt import Attempt
from surepath.inference.fresh_block import episodes_of, planned, windows_by_edge
from surepath.inference.path_evidence import least_against
from surepath.inference.proposal import Proposal, Rules, Sums
from surepath.inference.tuning import TUNING
from surepath.learners import allocation
from surepath.learners.allocation import Allocation, likely

KINDS: dict[str, Rules] = {
    "tree": rules(tolerance=0.1),
    "separation": separated(tolerance=0.2),
    "two steps": separated(future=2, tolerance=0.2),
    "exact": separated(separation=math.inf, tolerance=0.2),
    "norm": normed(tolerance=0.3),
    "shared": separated(shared=True, tolerance=0.3),
    "no range": rules(rewards=(-math.inf, math.inf), reward_noise=0.6, tolerance=0.2),
}


def led(said: Rules, many: int, key: int) -> Iterator[tuple[Proposal, np.random.Generator]]:
    """Random proposals whose plan is known to lead."""
    seed = 0
    while many:
        rng = np.random.default_rng([key, seed])
        seed += 1
        proposal = random_proposal(rng, said)
        mean = np.full(proposal.first[-1], 0.1)
        mean[proposal.plan_edges] = 0.9
        theirs = -mean - proposal.slack
        if least_against(proposal, mean[None], theirs[None])[0] > 0.3:
            count = np.full(len(mean), 20.0)
            known = Sums(count, 20 * mean, 20 * mean)
            many -= 1
            yield replace(proposal, known=known), rng


@pytest.mark.parametrize("said", KINDS.values(), ids=list(KINDS))
def test_a_block_reads_every_open_edge_and_every_window(said: Rules) -> None:
    for proposal, rng in led(said, many=6, key=14):
        attempt, noise = Attempt(proposal), np.full(proposal.first[-1], 0.2)
        for _ in range(3):
            requests = Allocation(attempt, noise).requests(0)
            again = Allocation(attempt, noise).requests(0)
            assert requests == again  # a function of what was read before
            if attempt.proved or not requests:
                break
            assert all(n >= 1 for _, n in requests)
            assert all(1 <= len(actions) <= proposal.horizon for actions, _ in requests)
            assert len({actions for actions, _ in requests}) == len(requests)
            count, _ = planned(proposal, requests)
            if math.isfinite(attempt.paths.least):
                assert (count[~attempt.paths.closed] >= 1).all()
            attempt.begin(requests)
            told, _ = answered(proposal, requests, rng)
            windows = windows_by_edge(proposal, told)
            for (edge, way), test in attempt.merges.tests.items():
                if test.best < said.level:
                    assert windows[edge, way].count >= 1
                    assert windows[proposal.founded_by(edge), way].count >= 1
            attempt.tell(told)


def test_a_plan_that_leads_is_expected_to_be_proved_by_what_is_forecast() -> None:
    """The first block is a share of it; with all of it every path is expected to be ruled out."""
    proposal = duel(rules(tolerance=0.05), 3)
    proposal.known.count[:] = 50.0
    proposal.known.total[:] = [40.0, 20.0, 10.0]
    proposal.known.squares[:] = proposal.known.total
    attempt = Attempt(proposal)
    planning = Allocation(attempt, np.zeros(3))
    requests = planning.requests(0)
    asked = sum(n for _, n in requests)
    assert 0 < asked <= planning.forecast
    whole = dict(requests)
    factor = planning.forecast / asked
    count = np.array([math.ceil(factor * whole[(action,)]) for action in range(3)], dtype=float)
    bets = np.linspace(1, 40, 200)
    assert attempt.paths.expected(count, count, bets).max() >= 0.9 * proposal.rules.level


def test_merges_take_their_part_of_what_is_forecast() -> None:
    """Whatever the plan pays; the closer the states may be, the more of it."""
    parts, wholes = list[int](), list[int]()
    for separation in (0.8, 0.4, 0.2):
        proposal = meeting(separated(separation=separation, tolerance=0.1))
        proposal.known.count[:] = 50.0
        proposal.known.total[:] = proposal.known.squares[:] = [40.0, 20.0, 40.0, 20.0]
        attempt, noise = Attempt(proposal), np.full(4, 0.2)
        planning = Allocation(attempt, noise)
        asked = episodes_of(planning.requests(0))
        assert asked <= planning.forecast
        parts.append(planning.for_merges())
        wholes.append(planning.forecast)
        attempt.paths.theirs[[1, 3]] = np.inf  # with all other plans ruled out this is left
        alone = episodes_of(Allocation(attempt, noise).requests(0))
        assert alone == max(parts[-1], TUNING.least_block)
    assert parts == sorted(parts)
    assert all(0 < part < whole for part, whole in zip(parts, wholes, strict=True))


def test_on_the_tree_nothing_is_forecast_for_merges() -> None:
    planning = Allocation(Attempt(duel(rules(tolerance=0.3))), np.zeros(2))
    planning.requests(0)
    assert planning.for_merges() == 0 < planning.forecast


def test_it_is_likely_to_take_more_than_suffices_by_expectation() -> None:
    assert [likely(episodes) for episodes in (0, 10, 1000)] == [0, 15, 1500]


def test_a_smaller_lead_takes_more() -> None:
    asked = list[int]()
    for mean in (0.2, 0.5, 0.7):
        proposal = duel(rules())
        proposal.known.count[:] = 100.0
        proposal.known.total[:] = [80.0, 100 * mean]
        proposal.known.squares[:] = proposal.known.total
        planning = Allocation(Attempt(proposal), np.zeros(2))
        planning.requests(0)
        asked.append(planning.forecast)
    assert asked[0] < asked[1] < asked[2]


def test_when_all_plans_are_ruled_out_only_merges_are_read() -> None:
    attempt = Attempt(meeting(separated(), 3))
    attempt.paths.theirs[1:3] = attempt.paths.theirs[4:6] = np.inf
    assert math.isinf(attempt.paths.least)
    level = attempt.proposal.rules.level
    attempt.merges.tests[1, ()].best = level
    requests = Allocation(attempt, np.full(6, 0.2)).requests(0)
    count, _ = planned(attempt.proposal, requests)
    assert count[0] > 0
    assert count[2] > 0
    assert count[1] == 0  # its merge is settled
    assert not count[3:].any()
    attempt.merges.tests[2, ()].best = level
    assert Allocation(attempt, np.full(6, 0.2)).requests(0) == []


def test_exact_readings_are_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocation, "TUNING", replace(TUNING, least_block=1))
    attempt = Attempt(meeting(separated(separation=math.inf)))
    attempt.paths.theirs[1] = attempt.paths.theirs[3] = np.inf
    requests = Allocation(attempt, np.zeros(4)).requests(0)
    count, _ = planned(attempt.proposal, requests)
    assert count[:2].tolist() == [1, 1]


def test_every_continuation_of_a_merge_is_read() -> None:
    merged = 0
    for proposal, rng in led(separated(future=3), many=25, key=15):
        if not proposal.merges or proposal.n_actions < 2:
            continue
        requests = Allocation(Attempt(proposal), np.full(proposal.first[-1], 0.2)).requests(0)
        told, _ = answered(proposal, requests, rng)
        windows = windows_by_edge(proposal, told)
        for edge in proposal.merges:
            for way in product(range(proposal.n_actions), repeat=2):
                assert windows[edge, way].count >= 1
                merged += 1
    assert merged > 10


def test_a_block_is_wide_enough_for_many_workers() -> None:
    """However little is missing, as long as something is."""
    for said in KINDS.values():
        for proposal, rng in led(said, many=3, key=15):
            attempt, noise = Attempt(proposal), np.full(proposal.first[-1], 0.2)
            for _ in range(4):
                requests = Allocation(attempt, noise).requests(0)
                asked = sum(count for _, count in requests)
                assert asked == 0 if attempt.proved else asked >= TUNING.least_block
                if asked:
                    attempt.begin(requests)
                    attempt.tell(answered(proposal, requests, rng)[0])
