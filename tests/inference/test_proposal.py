"""Proposals: the machine, its walks, and what each attempt may fail with."""

from __future__ import annotations

import numpy as np
import pytest

from proposals import BOUNDED, NOISY, SYMBOLS, normed, random_proposal, rules, separated, tree
from surepath.inference.proposal import Proposal, Role, Rules, Sums

KINDS = [rules(), separated(), separated(future=2), normed()]
NAMES = ["tree", "separation", "two steps", "norm"]


def test_the_shares_of_all_attempts_are_delta() -> None:
    shares = [rules(attempt=attempt, delta=0.1).share for attempt in range(1, 40)]
    assert shares[:3] == pytest.approx([0.08, 0.016, 0.0032])
    assert sum(shares) == pytest.approx(0.1)
    assert rules(delta=0.1).level == pytest.approx(np.log(12.5))


def test_the_proxy_of_one_reading() -> None:
    assert SYMBOLS.proxy == 1 / 4
    assert BOUNDED.proxy == BOUNDED.scale**2 / 4
    assert NOISY.proxy == NOISY.scale**2


def naive_walk(proposal: Proposal, actions: tuple[int, ...]) -> list[int]:
    """Level by level; behind a merge of the route of a norm nothing counts."""
    edges, state = list[int](), 0
    for level, action in enumerate(actions):
        before = sum(proposal.states[:level]) * proposal.n_actions
        edges.append(before + state * proposal.n_actions + action)
        role = proposal.role[edges[-1]]
        if role in (Role.ENDS, Role.TOP) or (role is Role.MERGES and proposal.rules.norm):
            break
        state = int(proposal.target[edges[-1]])
    return edges


@pytest.mark.parametrize("said", KINDS, ids=NAMES)
def test_a_walk_reads_what_counts(said: Rules) -> None:
    for seed in range(30):
        rng = np.random.default_rng([9, seed])
        proposal = random_proposal(rng, said)
        for _ in range(10):
            length = int(rng.integers(1, proposal.horizon + 1))
            actions = tuple(int(a) for a in rng.integers(proposal.n_actions, size=length))
            assert proposal.walk(actions) == naive_walk(proposal, actions)
        assert len(proposal.plan_edges) == proposal.horizon
        levels = proposal.level_of[proposal.plan_edges]
        assert levels.tolist() == list(range(proposal.horizon))


@pytest.mark.parametrize("said", KINDS, ids=NAMES)
def test_every_state_has_one_founder_and_its_representative_walks_there(said: Rules) -> None:
    for seed in range(30):
        proposal = random_proposal(np.random.default_rng([10, seed]), said)
        for level in range(1, proposal.horizon):
            for state in range(proposal.states[level]):
                actions = proposal.representatives[level][state]
                edges = proposal.walk(actions)
                assert len(edges) == level
                assert all(proposal.role[edge] is Role.FOUNDS for edge in edges)
                assert proposal.target[edges[-1]] == state
                assert proposal.founder[level, state] == edges[-1]
        for edge in proposal.merges:
            founder = proposal.founded_by(edge)
            assert founder != edge
            assert proposal.role[founder] is Role.FOUNDS
            assert proposal.target[founder] == proposal.target[edge]
            assert proposal.level_of[founder] == proposal.level_of[edge]


def test_sums_add_up() -> None:
    one, two = (Sums(np.full(3, k), np.full(3, 2 * k), np.full(3, 3 * k)) for k in (1.0, 10.0))
    both = one + two
    assert both.count.tolist() == [11.0] * 3
    assert both.total.tolist() == [22.0] * 3
    assert both.squares.tolist() == [33.0] * 3
    assert tree(rules(), 2).known.count.tolist() == [0.0] * 6
