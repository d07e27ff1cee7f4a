"""What was taken for one state is followed to the end: what only the last reward shows is seen."""

from __future__ import annotations

import math
from itertools import product
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from scipy import stats

import surepath
from surepath.inference import merge_audit
from surepath.inference.merge_audit import walks
from surepath.inference.tuning import TUNING
from surepath.learners import adaptive
from surepath.system import Actions, Episodes, steps_of


class Unseen:
    """All sequences look alike at every step; what they pay is seen at the end alone."""

    horizon, n_actions, n_observations = 4, 2, 2

    def __init__(self, seed: int) -> None:
        drawn = np.random.default_rng(seed).uniform(0.2, 0.7, 2**self.horizon)
        drawn[int(drawn.argmax())] += 0.15  # one sequence is clearly best
        self.pays = dict(zip(product(range(2), repeat=self.horizon), drawn.tolist(), strict=True))

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        steps = steps_of(actions, self.horizon)
        rewards = np.zeros((n, len(actions)))
        if len(actions) == self.horizon:
            rewards[:, -1] = self.pays[actions] + rng.uniform(-0.05, 0.05, n)
        return Episodes(actions, rng.integers(0, 2, (n, steps)), rewards)


@pytest.mark.usefixtures("always_merging")
def test_states_that_differ_only_in_the_last_reward_are_told_apart() -> None:
    """Nothing that is read shows it. More false ones than this come by chance once in 1000."""
    seeds, delta, false = range(20), 0.05, 0
    for seed in seeds:
        system = Unseen(seed)
        found = surepath.learn(system, seed=seed, delta=delta, budget=50_000)
        loss = max(system.pays.values()) - system.pays[found.actions]
        assert found.certified
        assert found.certificate.tolerance is not None
        if loss > found.certificate.tolerance:
            false += 1
        else:
            assert any(note.startswith("future: ") for note in found.certificate.notes)
    assert false <= stats.binom.isf(1e-3, len(seeds), delta)


def test_what_is_one_state_is_followed_and_stays_one() -> None:
    problem = surepath.make("lock", horizon=6, actions=3, seed=1)
    found = surepath.learn(problem, seed=1)
    assert found.certified
    assert problem.is_optimal(found.actions)
    assert "merging" in found.certificate.rests_on
    assert not any(note.startswith("future: ") for note in found.certificate.notes)


def test_what_turns_out_to_be_a_state_of_its_own_was_followed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where places lie close together, following a merge ends it: no other one takes its place."""
    followed = list[int]()

    def noted(*given: Any) -> list[tuple[Actions, int]]:
        wanted = walks(*given)
        followed.append(sum(count for _, count in wanted))
        return wanted

    monkeypatch.setattr(adaptive, "walks", noted)
    found = [
        surepath.learn(surepath.make("continuous", seed=seed), seed=seed, future=1)
        for seed in range(1, 6)
    ]
    assert all(run.certified for run in found)
    episodes = sum(run.episodes for run in found)
    assert 0 < sum(followed) <= 2 * TUNING.followed_share * episodes


def test_what_was_followed_while_it_promised_more_counts_for_half_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ways, read = [(i,) for i in range(20)], dict[Actions, int]()
    root = SimpleNamespace(walked=lambda way: read.get(way, 0))
    monkeypatch.setattr(merge_audit, "_merged", lambda *_: list(ways))
    monkeypatch.setattr(merge_audit, "_root", lambda _: root)
    terms: Any = SimpleNamespace(exact=False, merge_readings=32)
    episodes = math.ceil(8 * 32 / TUNING.followed_share)

    def wanted() -> list[Actions]:
        return [way for way, _ in walks(cast(Any, None), episodes, terms)]

    assert wanted() == ways[:8]
    read.update(dict.fromkeys(ways[8:10], 32))
    assert wanted() == ways[:6]
    read.update(dict.fromkeys(ways[8:], 32))
    assert wanted() == ways[:4]
    read[ways[0]] = 32
    assert wanted() == ways[1:4]
    read[ways[1]] = 31
    assert wanted() == ways[1:4]
