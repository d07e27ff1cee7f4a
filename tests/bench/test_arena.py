"""Where methods compete: what plans are worth there."""

from __future__ import annotations

import pytest

from surepath.bench.harness.arena import arena_of
from surepath.bench.harness.worlds import Case
from traces import SMALL


def test_an_arena_knows_what_plans_are_worth() -> None:
    arena = arena_of(SMALL)
    problem = SMALL.build()
    actions, value = problem.optimum
    assert arena.loss(actions) == pytest.approx(0, abs=1e-12)
    assert arena.loss((1 - actions[0],)) == pytest.approx(
        value - problem.expected_return((1 - actions[0], 0, 0))
    )


def test_a_real_environment_is_an_arena_too() -> None:
    case = Case("MiniGrid-Empty-5x5", "minigrid_key", "MiniGrid-Empty-5x5-v0")
    arena = arena_of(case)
    assert arena.horizon == 7
    assert arena.loss((2, 2, 1, 2, 2, 0, 0)) == pytest.approx(0)
    assert arena.loss(()) > 0.5
