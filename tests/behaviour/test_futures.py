"""More states than symbols: one look refuses, a few looks ahead are exact."""

from __future__ import annotations

import pytest

import surepath
from surepath.builtin_problems.overcomplete import needed_future


def two_looks(seed: int) -> surepath.Problem:
    return surepath.make("overcomplete", states=6, observations=3, seed=seed)


@pytest.mark.parametrize("first", range(0, 50, 25))
def test_two_looks_are_exact_where_one_is_refused(first: int) -> None:
    for seed in range(first, first + 25):
        problem = two_looks(seed)
        with pytest.raises(surepath.InputError, match=r"level \d.*Use a longer future"):
            surepath.learn(problem, schedule="tight")
        result = surepath.learn(problem, future=2, schedule="tight", seed=seed)
        assert result.certified, seed
        assert problem.is_optimal(result.actions), seed
        bound = result.certificate.bounds
        assert bound is not None
        assert max(result.usage.expansions) <= bound.expansions
        assert result.usage.feature_batches <= bound.feature_batches
        assert result.usage.reward_batches <= bound.reward_batches
        assert result.episodes <= bound.episodes


@pytest.mark.parametrize("first", range(0, 50, 25))
def test_auto_picks_the_smallest_future_that_works(first: int) -> None:
    for seed in range(first, first + 25):
        problem = two_looks(seed)
        result = surepath.learn(problem, future="auto", schedule="tight", seed=seed)
        assert result.certified, seed
        assert problem.is_optimal(result.actions), seed
        assert "over 2 (ranks" in result.certificate.notes[-1], seed


@pytest.mark.parametrize("observations", [4, 6])
def test_auto_looks_no_further_than_needed(observations: int) -> None:
    """Undercomplete, also with exactly as many symbols as states."""
    for seed in range(10):
        problem = surepath.make("tabular", states=4, observations=observations, seed=seed)
        result = surepath.learn(problem, future="auto", schedule="tight")
        assert "over 1 (ranks" in result.certificate.notes[-1], seed
        assert problem.is_optimal(result.actions)


@pytest.mark.parametrize("seed", range(10))
def test_the_hand_feels_before_it_grasps(seed: int) -> None:
    problem = surepath.make("touch", seed=seed)
    assert needed_future(problem, 0.01) == 2
    with pytest.raises(surepath.InputError, match="tell these states apart"):
        surepath.learn(problem, schedule="tight")
    for future in (2, 3, "auto"):
        result = surepath.learn(problem, future=future, schedule="tight", seed=seed)
        assert result.certified
        assert problem.is_optimal(result.actions)
    # A roll and a slip of two faces, in either order, lead to the grip.
    assert sorted(result.actions[:2]) == [0, 2]
    assert result.actions[2] == 2
