"""Environments of the registry: what the search says is so, and only noise is added."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from surepath.adapters.gym import as_system
from surepath.bench.harness import registered
from surepath.bench.harness.registered import Registered, bare, noisy, returns, search
from surepath.bench.suites import certificates
from surepath.errors import MissingExtraError
from surepath.system import Actions

CASES = (
    *certificates.MINIGRIDS,
    certificates.FROZEN_LAKE,
    certificates.CLIFF_WALKING,
    certificates.TAXI,
    certificates.ACROBOT,
    certificates.CART_POLE,
)
BEST = {
    "MiniGrid-Empty-8x8": 1 - 0.9 * 11 / 256,
    "MiniGrid-SimpleCrossingS9N1": 1 - 0.9 * 13 / 324,
    "MiniGrid-LavaGapS5": 1 - 0.9 * 7 / 100,
    "MiniGrid-FourRooms": 1 - 0.9 * 5 / 100,
    "MiniGrid-Unlock": 1 - 0.9 * 8 / 288,
    "FrozenLake 8x8": 1,
    "CliffWalking": -13,
    "Taxi": 20 - 9,
}
"""MiniGrid pays 1 - 0.9 steps / most steps; the cliff takes 13 steps to pass, the ride 10."""


def by_hand(case: Registered, actions: Actions) -> float:
    """What the actions pay, stepped through the environment without any help."""
    env, total = bare(case), 0.0
    env.reset()
    for action in actions:
        _, reward, terminated, truncated, _ = env.step(action)
        total += float(reward)
        if terminated or truncated:
            break
    return total


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_the_plan_that_was_found_pays_what_is_said(case: Registered) -> None:
    plan, best = search(case)
    assert len(plan) <= case.horizon
    assert by_hand(case, plan) == pytest.approx(best, abs=1e-12)
    assert returns(case, plan) == pytest.approx(best, abs=1e-12)
    if case.title in BEST:
        assert best == pytest.approx(BEST[case.title], abs=1e-9)


@pytest.mark.parametrize(
    "case",
    [
        replace(certificates.MINIGRIDS[2], horizon=7),
        replace(certificates.MINIGRIDS[3], horizon=5),
        replace(certificates.CLIFF_WALKING, horizon=5),
        replace(certificates.ACROBOT, horizon=4),
        certificates.CART_POLE,
    ],
    ids=lambda case: case.title,
)
def test_no_plan_pays_more_than_the_search_says(case: Registered) -> None:
    system = as_system(registered.Remembered(bare(case)), case.horizon)
    plans = product(range(system.n_actions), repeat=case.horizon)
    most = max(sum(system.play(plan, seed=0)[1]) for plan in plans)
    assert search(case)[1] == pytest.approx(most, abs=1e-12)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_what_is_remembered_is_what_the_environment_does(case: Registered) -> None:
    """Sequences of all lengths, some twice, in an order in which none goes on where one ended."""
    rng = np.random.default_rng(0)
    env, remembered = bare(case), registered.Remembered(bare(case))
    n_actions = int(env.action_space.n)
    drawn = [tuple(rng.integers(n_actions, size=size).tolist()) for size in (4, 2, 5, 1)]
    for actions in [*drawn, *drawn]:
        first, again = env.reset(seed=1)[0], remembered.reset(seed=2)[0]
        np.testing.assert_array_equal(first, again)
        for action in actions:
            shown, *rest = env.step(action)
            seen, *kept = remembered.step(action)
            np.testing.assert_array_equal(shown, seen)
            assert rest[:3] == kept[:3]
            if rest[1]:
                break


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_sensors_are_noisy_and_rewards_are_not(case: Registered) -> None:
    env, plain = noisy(case), bare(case)
    plain.reset()
    truth = plain.step(0)
    shown = list[np.ndarray]()
    for seed in range(200):
        env.reset(seed=seed)
        read = env.step(0)
        assert read[1:4] == truth[1:4]
        shown.append(np.asarray(read[0], dtype=float))
    wrong = np.array(shown) != np.asarray(truth[0], dtype=float)
    if case.noise:
        spread = (np.array(shown) - np.asarray(truth[0], dtype=float)) / case.noise
        # 200 readings: the mean square of normal numbers is 1 up to six of its deviations.
        assert np.abs((spread**2).mean(axis=0) - 1).max() < 6 * np.sqrt(2 / 200)
        return
    cells = wrong.any(axis=-1) if wrong.ndim > 1 else wrong
    share = cells.mean()
    # At most a tenth is misread, less where the random symbol is the true one; six deviations.
    assert 0.05 < share < 0.1 + 6 * np.sqrt(0.09 / cells.size)


def test_the_range_is_told_where_it_is_not_the_usual_one() -> None:
    assert certificates.CLIFF_WALKING.build().options == {"reward_range": (-100.0, 0.0)}
    assert certificates.FROZEN_LAKE.build().options == {}


def test_the_newest_version_is_taken() -> None:
    assert registered.newest("Acrobot") == "Acrobot-v1"
    assert int(registered.newest("CartPole").rpartition("v")[2]) >= 1


def test_without_minigrid_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "minigrid", None)
    with pytest.raises(MissingExtraError, match=r"surepath\[minigrid\]"):
        bare(certificates.MINIGRIDS[0])
