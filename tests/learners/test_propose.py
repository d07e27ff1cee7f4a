"""From what was read to a proposal: a closed machine that pays what the readings say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import surepath
from playing import small
from proposals import paths_of
from surepath.builtin_problems import Tabular
from surepath.inference.attempt import Attempt
from surepath.inference.judgement import Judgement
from surepath.inference.proposal import Proposal, Role, Rules
from surepath.learners import proving
from surepath.learners.propose import SLACK, propose
from surepath.results.check_proof import check
from surepath.results.proof import proof_lines

Made = list[tuple[Judgement, Rules, Proposal, Any]]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    """All proposals of the runs that follow, with what they were made from."""
    found: Made = []

    def noted(judged: Judgement, rules: Rules) -> tuple[Proposal, Any]:
        proposal, noise = propose(judged, rules)
        found.append((judged, rules, proposal, noise))
        return proposal, noise

    monkeypatch.setattr(proving, "propose", noted)
    return found


def learn(**options: Any) -> None:
    for seed in range(3):
        sizes = {"horizon": 2} if not options or "norm" in options else {}
        surepath.learn(small(seed, **sizes), guarantee="proved", seed=seed, **options)


KINDS: list[dict[str, Any]] = [{}, {"separation": 0.3}, {"norm": 1.5}]


@pytest.mark.parametrize("options", KINDS, ids=["tree", "separation", "norm"])
def test_the_machine_is_closed_and_the_plan_is_in_it(made: Made, options: dict[str, Any]) -> None:
    learn(**options)
    assert len(made) >= 3
    for judged, rules, proposal, noise in made:
        assert proposal.plan == judged.plan.actions
        assert len(proposal.plan_edges) == proposal.horizon
        assert len(proposal.role) == len(noise) == sum(proposal.states) * proposal.n_actions
        if rules.norm is not None:
            roles = {proposal.role[edge] for edge in proposal.plan_edges}
            assert roles <= {Role.FOUNDS, Role.ENDS}
        for level in range(1, proposal.horizon):
            founded = [
                int(proposal.target[edge])
                for edge in np.flatnonzero(proposal.level_of == level - 1)
                if proposal.role[edge] is Role.FOUNDS
            ]
            assert sorted(founded) == list(range(proposal.states[level]))
        # Nothing but the end is missing for whoever checks it.
        lines = proof_lines(Attempt(proposal))
        assert check(lines).line == len(lines) + 1


@pytest.mark.parametrize("options", KINDS, ids=["tree", "separation", "norm"])
def test_edges_pay_what_was_read(made: Made, options: dict[str, Any]) -> None:
    """Every path of the proposal has the sums of the machine that it was drawn from."""
    learn(**options)
    for judged, _, proposal, _ in made:
        for path in paths_of(proposal):
            state = 0
            for level, edge in enumerate(path):
                layer = judged.machine.layers[level]
                action = (edge - proposal.first[level]) % proposal.n_actions
                known, old = proposal.known, (state, action)
                assert known.count[edge] == layer.count[old]
                assert known.total[edge] == pytest.approx(layer.count[old] * layer.mean[old])
                total = layer.scatter[old] + layer.count[old] * layer.mean[old] ** 2
                assert known.squares[edge] == pytest.approx(total)
                state = int(layer.target[old])


def test_on_the_tree_nothing_is_merged(made: Made) -> None:
    learn()
    for _, _, proposal, noise in made:
        assert not proposal.merges
        assert not noise.any()


def test_what_the_most_could_not_lift_is_not_followed(made: Made) -> None:
    """Its readings leave no doubt: with all that could come after it the plan still leads."""
    rewards = [[[0.95, 0.05], [0.0] * 2, [0.0] * 2], [[0.0] * 2, [0.95, 0.2], [0.5, 0.6]]]
    laws = [[0.5, 0.5], [0.9, 0.1], [0.1, 0.9]]
    problem = Tabular.from_arrays([[1, 2], [1, 1], [2, 2]], laws, rewards)
    for options in ({}, {"separation": 0.3}):
        surepath.learn(problem, guarantee="proved", seed=1, **options)
    learn(separation=0.3)
    tops = 0
    for judged, rules, proposal, _ in made:
        for path in paths_of(proposal):
            if proposal.role[path[-1]] is Role.TOP:
                known = proposal.known
                pays = sum(float(known.total[e] / known.count[e]) for e in path)
                left = (proposal.horizon - len(path)) * rules.rewards[1]
                assert pays + left < judged.value + judged.tolerance
                tops += 1
        assert all(proposal.role[e] is not Role.TOP for e in proposal.plan_edges)
    assert tops >= 2


def test_the_radii_of_merges_take_a_share_of_the_lead(made: Made) -> None:
    learn(norm=1.5)
    merged = 0
    for judged, _, proposal, _ in made:
        found = proposal.radius[proposal.merges]
        merged += len(found)
        assert (found > 0).all()
        assert len(set(found.tolist())) <= 1
        others = np.delete(proposal.radius, proposal.merges)
        assert not others.any()
        if len(found):
            whole = 1.5 * float(found[0]) * max(proposal.horizon - 1, 1)
            assert whole <= SLACK * (judged.value + judged.tolerance) + 1e-9
    assert merged > 0


def test_merged_ends_are_expected_to_differ_by_their_noise(made: Made) -> None:
    """The mean distance of two samples of one state: less where symbols are surer."""
    learn(separation=0.3)
    for _, rules, proposal, noise in made:
        inner = proposal.level_of < proposal.horizon - 1
        assert rules.observed is not None
        most = np.sqrt(2 / np.pi * 0.25) * rules.observed.size / 2
        assert (noise[inner] >= 0).all()
        assert (noise[inner] <= most).all()
        assert not noise[~inner].any()
