"""What the rivals are given."""

from __future__ import annotations

from surepath.bench.harness.arena import arena_of
from surepath.bench.harness.rivals import LENGTHS, RIVALS, grid
from surepath.bench.harness.worlds import Case
from surepath.run.driver import drive


def test_grids_are_all_combinations() -> None:
    assert len(grid(a=(1, 2), b=(3, 4, 5))) == 6
    assert grid(a=(1,)) == ((("a", 1),),)


def test_features_of_an_environment_have_length_one() -> None:
    """Otherwise rivals with constants of their own take all states for one."""
    case = Case("MiniGrid-Empty-5x5", "minigrid_key", "MiniGrid-Empty-5x5-v0")
    arena = arena_of(case)
    build = RIVALS["agnostic Q"].build
    learner, runner = build(arena, 20_000, 0, {"samples": 32, "threshold": 1.0})
    assert learner.usage.steps == LENGTHS
    drive(learner, runner, steps=20_000)
    assert sum(map(sum, learner.stored)) > 5
