"""Systems that break an assumption are what they say."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from surepath.bench.suites import broken


def test_slips_follow_the_belief() -> None:
    """Rewards and symbols of many episodes average to what the belief says."""
    case = broken.slippery(3, 0.3)
    system: Any = case.system
    actions = (0, 1, 1, 0)
    episodes = system.rollout(actions, 200_000, np.random.default_rng(0))
    mean = float(episodes.rewards.sum(axis=1).mean())
    assert mean == pytest.approx(case.returns[actions], abs=0.01)
    machine = system.machine
    meant = np.eye(3)[machine.dynamics.transitions[0, 0, 0]]
    belief = 0.7 * meant + 0.3 * (1 - meant) / 2
    shares = np.bincount(episodes.observations[:, 1], minlength=4) / 200_000
    assert shares == pytest.approx(belief @ machine.emissions[1], abs=0.01)


def test_without_slips_it_is_the_machine() -> None:
    system: Any = broken.slippery(1, 0.0).system
    for actions in product(range(2), repeat=4):
        assert system.expected_return(actions) == pytest.approx(
            system.machine.expected_return(actions)
        )


@pytest.mark.parametrize("seed", range(10))
def test_nearly_tied_sequences_are_closer_than_any_resolution(seed: int) -> None:
    returns = sorted(broken.nearly_tied(seed, 0.004).returns.values())
    assert 0 < returns[-1] - returns[-2] <= 0.004 + 1e-12


def test_states_that_look_alike_differ_in_value() -> None:
    case: Any = broken.look_alike(0, 2).system
    assert np.array_equal(case.emissions[:, 0], case.emissions[:, 1])
    assert not np.array_equal(case.dynamics.rewards[:, 0], case.dynamics.rewards[:, 1])


def test_blurred_features_are_fewer_than_symbols() -> None:
    features = broken.blurred(0, 2).options["features"]
    assert features(np.array([0, 1, 2, 3])).tolist() == [[1, 0], [0, 1], [1, 0], [0, 1]]
