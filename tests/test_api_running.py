"""`learn` while it runs: callbacks, what a whole episode may pay, and runs that end early."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surepath
from surepath.errors import InputError
from surepath.results.verify import verify


class Lamp:
    """Three switches; the last step pays 1 if they were thrown in the right order, else 0."""

    horizon, n_actions, n_observations = 4, 2, 16
    secret = (1, 0, 1, 1)

    def rollout(
        self, actions: tuple[int, ...], n: int, rng: np.random.Generator
    ) -> surepath.Episodes:
        seen = [0]
        for action in actions[: self.horizon - 1]:
            seen.append(2 * seen[-1] + 1 + action)
        shown = np.array(seen)[None].repeat(n, axis=0)
        shown = np.where(rng.random(shown.shape) < 0.1, rng.integers(16, size=shown.shape), shown)
        rewards = np.zeros((n, len(actions)))
        if actions == self.secret:
            rewards[:, -1] = rng.random(n) < 0.5
        return surepath.Episodes(actions, shown, rewards)


def rounds_of(**options: Any) -> tuple[surepath.Result, list[surepath.Round]]:
    told = list[surepath.Round]()
    return surepath.learn(Lamp(), callback=told.append, **options), told


@pytest.mark.parametrize("guarantee", ["calibrated", "proved"])
def test_a_callback_sees_every_round_and_changes_nothing(guarantee: str) -> None:
    result, told = rounds_of(guarantee=guarantee)
    assert surepath.learn(Lamp(), guarantee=guarantee) == result
    assert [each.episodes for each in told] == sorted({each.episodes for each in told})
    last = told[-1]
    assert (last.episodes, last.steps) == (result.episodes, result.steps)
    assert last.actions == result.actions
    assert last.open_questions == 0
    assert last.gap >= 0
    assert guarantee == "proved" or any(each.open_questions for each in told)
    assert all(each.bound <= 4.0 for each in told)
    assert any(each.weakest for each in told)
    assert any(each.proof for each in told) == (guarantee == "proved")


def test_a_callback_stops_the_run(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    stopped = surepath.learn(Lamp(), callback=lambda told: told.episodes >= 100, journal=path)
    assert 100 <= stopped.episodes < surepath.learn(Lamp()).episodes
    assert stopped.certificate.status is surepath.Status.OPEN
    assert surepath.verify(path).agrees
    assert surepath.learn(Lamp(), journal=path) == surepath.learn(Lamp())


def test_a_callback_that_stops_at_the_end_takes_nothing_away() -> None:
    whole = surepath.learn(Lamp())
    at_the_end = surepath.learn(Lamp(), callback=lambda told: told.episodes >= whole.episodes)
    assert at_the_end == whole
    assert whole.certified


@pytest.mark.parametrize("budget", [1, 8, 17, 40])
def test_a_run_without_a_whole_plan_returns_the_best_that_was_tried(budget: int) -> None:
    tried = list[tuple[int, ...]]()

    class Watched(Lamp):
        def rollout(
            self, actions: tuple[int, ...], n: int, rng: np.random.Generator
        ) -> surepath.Episodes:
            tried.append(actions)
            read = super().rollout(actions, n, rng)
            return surepath.Episodes(actions, read.observations, read.rewards * 0 + actions[0])

    result = surepath.learn(Watched(), budget=budget)
    assert not result.certified
    assert len(result.actions) == 4
    if any(actions[0] == 1 for actions in tried):
        assert result.actions[0] == 1


# ---------------------------------------------------------------- what an episode can pay


def test_no_interval_is_wider_than_the_returns() -> None:
    wide = surepath.learn(Lamp(), budget=60)
    assert wide.interval[1] > 1
    told = surepath.learn(Lamp(), budget=60, return_range=(0.0, 1.0))
    assert told.interval[1] <= 1
    whole = surepath.learn(Lamp(), return_range=(0.0, 1.0))
    assert whole.certified
    assert whole.actions == Lamp.secret
    assert whole.interval[1] <= 1
    assert whole.certificate.terms is not None
    assert whole.certificate.terms.returns == (0.0, 1.0)


@pytest.mark.parametrize("guarantee", ["calibrated", "proved"])
def test_runs_with_returns_are_continued_and_verified(tmp_path: Path, guarantee: str) -> None:
    path = tmp_path / "run.db"
    how: dict[str, Any] = {"return_range": (0.0, 1.0), "guarantee": guarantee}
    surepath.learn(Lamp(), budget=100, journal=path, **how)
    result = surepath.learn(Lamp(), journal=path, **how)
    assert result == surepath.learn(Lamp(), **how)
    assert result.certified
    found = surepath.verify(path)
    assert found.certified
    assert not found.taken
    result.save(tmp_path / "run.json")
    assert verify(tmp_path / "run.json").certified
    with pytest.raises(surepath.JournalError, match="return_range"):
        surepath.learn(Lamp(), journal=path, guarantee=guarantee)


def test_terms_that_claim_other_returns_are_found(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    surepath.learn(Lamp(), return_range=(0.0, 1.0)).save(path)
    path.write_text(
        path.read_text().replace('"return_range": [\n   0.0,\n   1.0', '"x": [\n   0,\n   1')
    )
    assert any("returns" in each for each in verify(path).differences)


@pytest.mark.parametrize(
    ("returns", "message"),
    [
        ((1.0, 0.0), "low < high"),
        ((5.0, 6.0), "rewards can add up to"),
        ((0.0, 0.5), "a return in"),
        ((0.95, 1.0), "a return in"),
    ],
)
def test_returns_that_cannot_be_are_refused(returns: tuple[float, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        surepath.learn(Lamp(), return_range=returns)


def test_fixed_schedules_take_no_returns() -> None:
    with pytest.raises(InputError, match="adaptive"):
        surepath.learn("lock", schedule="tight", return_range=(0.0, 1.0))


def test_what_is_still_to_be_paid_can_make_up_for_it() -> None:
    class Negative(Lamp):
        def rollout(
            self, actions: tuple[int, ...], n: int, rng: np.random.Generator
        ) -> surepath.Episodes:
            read = super().rollout(actions, n, rng)
            rewards = np.where(np.arange(len(actions)) % 2, -1.0, 1.0)[None].repeat(n, axis=0)
            return surepath.Episodes(actions, read.observations, rewards)

    result = surepath.learn(
        Negative(), reward_range=(-1.0, 1.0), return_range=(-0.5, 0.5), budget=500
    )
    assert result.interval[0] >= -0.5
    assert result.interval[1] <= 0.5
