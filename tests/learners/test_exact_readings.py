"""Readings without noise: nothing is read twice to learn what is certain."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

import surepath
from surepath.bench.families.sick import Maze, Passes

SMALL = (1, 3, 6, 10)


def best_of(system: Passes) -> float:
    return max(map(system.expected_return, product(range(system.n_actions), repeat=4)))


@pytest.mark.slow
def test_338_states_are_read_about_once_an_edge() -> None:
    system = Passes()
    result = surepath.learn(
        system, separation="exact", tolerance=0.05, return_range=(0.0, 1.0), budget=50 * 269
    )
    assert result.certified
    assert best_of(system) - system.expected_return(result.actions) <= 0.05
    assert result.episodes < 50 * 269  # every end fifty times
    assert any("what is paid" in each for each in result.certificate.assumptions)


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_what_is_certified_is_true(noise: float) -> None:
    """Of six runs at delta 0.05, more than two false ones come twice in a thousand times."""
    false = 0
    for seed in range(6):
        system = Passes(seed, 3, SMALL, noise)
        result = surepath.learn(
            system, separation="exact", tolerance=0.05, seed=seed, return_range=(0.0, 1.0)
        )
        assert result.certified
        false += best_of(system) - system.expected_return(result.actions) > 0.05 + 1e-9
    assert false <= 2


def test_noisy_rewards_are_still_averaged() -> None:
    quiet, noisy = (
        surepath.learn(Passes(0, 3, SMALL, noise), separation="exact", return_range=(0.0, 1.0))
        for noise in (0.0, 0.2)
    )
    assert quiet.episodes < noisy.episodes


def test_an_alias_makes_the_future_grow(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    result = surepath.learn(Maze(partial=True), separation="exact", budget=600, journal=path)
    assert any("future" in note for note in result.certificate.notes)
    assert surepath.verify(path).agrees
    fixed = surepath.learn(Maze(partial=True), separation="exact", future=1, budget=600)
    assert fixed.certificate.status is not surepath.Status.OPTIMAL


def test_readings_that_differ_refuse_the_certificate() -> None:
    class Noisy(Maze):
        def rollout(
            self, actions: tuple[int, ...], n: int, rng: np.random.Generator
        ) -> surepath.Episodes:
            read = super().rollout(actions, n, rng)
            seen = np.where(rng.random(read.observations.shape) < 0.1, 8, read.observations)
            return surepath.Episodes(actions, seen, read.rewards)

    result = surepath.learn(Noisy(), separation="exact", budget=400)
    assert not result.certified
