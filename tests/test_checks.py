"""The checks that users run on their own systems and features."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import surepath
from surepath.adapters.wrappers import FixedStart, GaussianNoise
from surepath.checks import check_features, check_system


class Valve:
    """Three positions in a ring; the gauge is right in 8 of 10 readings."""

    horizon: Any = 4
    n_actions: Any = 2
    n_observations = 3

    def rollout(self, actions: tuple[int, ...], n: int, rng: np.random.Generator) -> Any:
        positions = np.cumsum([0, *actions])[: min(len(actions) + 1, self.horizon)] % 3
        slips = rng.choice(3, size=(n, len(positions)), p=[0.8, 0.1, 0.1])
        rewards = (rng.random((n, len(actions))) < 0.5).astype(float)
        return self.finish(surepath.Episodes(actions, (positions + slips) % 3, rewards))

    def finish(self, episodes: surepath.Episodes) -> Any:
        return episodes


def changed(**members: Any) -> Valve:
    return type("Changed", (Valve,), members)()


@pytest.mark.parametrize("name", surepath.problems())
def test_the_problems_keep_to_the_contract(name: str) -> None:
    report = check_system(surepath.make(name))
    assert "ok: every action accepted" in str(report)
    if name != "leaking":
        assert report.warnings == ()


def test_a_problem_that_moves_at_random_shows() -> None:
    """Unless the actions that are tried fall at once."""
    leaky, tight = (surepath.make("leaking", leak=leak) for leak in (True, False))
    found = [check_system(leaky, seed=seed).warnings for seed in range(4)]
    assert any("does not move deterministically" in text for w in found for text in w)
    assert [check_system(tight, seed=seed).warnings for seed in range(4)] == [()] * 4


def test_a_system_of_ones_own() -> None:
    assert check_system(Valve()).warnings == ()
    assert check_system(Valve(), horizon=2).checked[0].startswith("2 levels, 2 actions")


def array(change: Any) -> Any:
    """A `finish` that changes the arrays of the episodes."""

    def finish(self: Valve, episodes: surepath.Episodes) -> surepath.Episodes:
        observations, rewards = change(episodes.observations, episodes.rewards.copy())
        return surepath.Episodes(episodes.actions, observations, rewards)

    return finish


def spoiled(rewards: np.ndarray) -> np.ndarray:
    rewards[:, 1:] = np.nan
    return rewards


@pytest.mark.parametrize(
    ("system", "message"),
    [
        (object(), "without horizon, n_actions, rollout"),
        (Valve, "a class"),
        (changed(horizon=0), "horizon must be a whole number"),
        (changed(n_actions=2.5), "n_actions must be a whole number"),
        (changed(rollout=3), "rollout must be a method"),
        (changed(finish=lambda self, e: e.rewards), r"rollout must return surepath\.Episodes"),
        (changed(finish=array(lambda o, r: (o[:1], r[:1]))), "1 episodes of"),
        (changed(finish=array(lambda o, r: (o[:, :1], r))), "one observation before each action"),
        (changed(finish=array(lambda o, r: (o, spoiled(r)))), "nan in episode 0, step 1"),
        (changed(n_observations=2), r"0 \.\. 1, as n_observations says"),
        (changed(n_observations=None, finish=array(lambda o, r: (o / 0.0, r))), "must be finite"),
        (
            changed(finish=array(lambda o, r: (o.astype(float) if r.shape[1] == 1 else o, r))),
            "one shape and one type",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value)")
def test_what_is_against_the_contract(system: Any, message: str) -> None:
    with pytest.raises(surepath.InputError, match=message):
        check_system(system)


def test_an_action_that_is_refused() -> None:
    class Picky(Valve):
        def rollout(self, actions: tuple[int, ...], n: int, rng: np.random.Generator) -> Any:
            if actions == (1,):
                raise KeyError("no such valve")
            return super().rollout(actions, n, rng)

    with pytest.raises(surepath.InputError, match=r"KeyError for action 1: 'no such valve'"):
        check_system(Picky(), seed=3)


class Hardware(Valve):
    """Noise from elsewhere."""

    noise = np.random.default_rng(0)

    def rollout(self, actions: tuple[int, ...], n: int, rng: np.random.Generator) -> Any:
        return super().rollout(actions, n, self.noise)


def test_noise_that_does_not_come_from_the_generator() -> None:
    with pytest.raises(surepath.InputError, match="same generator must give the same episodes"):
        check_system(Hardware())
    assert check_system(Hardware(), reproducible=False).warnings == ()


def test_frozen_noise() -> None:
    frozen = changed(finish=array(lambda o, r: (o[:1].repeat(len(o), 0), r[:1].repeat(len(r), 0))))
    (warning,) = check_system(frozen).warnings
    assert "no noise or frozen noise" in warning


def test_a_start_that_depends_on_the_actions() -> None:
    def foresee(self: Valve, episodes: surepath.Episodes) -> surepath.Episodes:
        shown = episodes.observations.copy()
        shown[:, 0] = sum(episodes.actions) % 3
        return surepath.Episodes(episodes.actions, shown, episodes.rewards)

    found = [check_system(changed(finish=foresee), seed=seed).warnings for seed in range(4)]
    assert any("first observation depends on the actions" in text for w in found for text in w)


def test_a_random_start_shows() -> None:
    (warning,) = check_system("CartPole-v1", 4).warnings
    assert "the start is not always the same" in warning
    env = GaussianNoise(FixedStart(gym.make("CartPole-v1"), 0), 0.05)
    report = check_system(env, 4)
    assert report.warnings == ()
    assert "single episodes have the shape of those of rollout" in report.checked


class OneByOne(Valve):
    """Runs its episodes one at a time."""

    def play(self, actions: tuple[int, ...], seed: int) -> Any:
        episodes = super().rollout(actions, 1, np.random.default_rng(seed))
        return list(episodes.observations[0]), list(episodes.rewards[0])

    def gather(self, actions: tuple[int, ...], plays: Any) -> Any:
        observations, rewards = (np.array([play[i] for play in plays]) for i in range(2))
        return surepath.Episodes(actions, observations, rewards.reshape(len(plays), -1))


def test_single_episodes_agree_with_rollout() -> None:
    assert check_system(OneByOne()).warnings == ()

    class Other(OneByOne):
        def gather(self, actions: tuple[int, ...], plays: Any) -> Any:
            episodes = super().gather(actions, plays)
            return surepath.Episodes(actions, episodes.observations, episodes.rewards + 1)

    assert "pay differently" in check_system(Other()).warnings[0]

    class Wide(OneByOne):
        def gather(self, actions: tuple[int, ...], plays: Any) -> Any:
            episodes = super().gather(actions, plays)
            shown = episodes.observations[..., None]
            return surepath.Episodes(actions, shown, episodes.rewards)

    with pytest.raises(surepath.InputError, match="gather must return what rollout returns"):
        check_system(Wide())

    class Drifting(OneByOne):
        noise = np.random.default_rng(0)

        def play(self, actions: tuple[int, ...], seed: int) -> Any:
            return super().play(actions, int(self.noise.integers(1000)))

    with pytest.raises(surepath.InputError, match="same seed must give the same episode"):
        check_system(Drifting())


def test_observations_that_are_dicts() -> None:
    def wrap(self: Valve, episodes: surepath.Episodes) -> surepath.Episodes:
        shown = np.empty(episodes.observations.shape, dtype=object)
        for index in np.ndindex(shown.shape):
            shown[index] = {"gauge": int(episodes.observations[index])}
        return surepath.Episodes(episodes.actions, shown, episodes.rewards)

    space = spaces.Dict(gauge=spaces.Discrete(3))
    system = changed(n_observations=None, observation_space=space, finish=wrap)
    assert check_system(system).warnings == ()


# ---------------------------------------------------------------- features


def test_features_report_dimension_and_length() -> None:
    report = check_features("onehot", Valve())
    assert (report.dimension, report.radius, report.longest) == (3, 1.0, 1.0)
    assert "3 dimensions, length at most 1" in str(report)
    kernel = check_features(surepath.KernelFeatures("rbf", "exact"), Valve())
    assert (kernel.dimension, kernel.longest) == (None, 1.0)
    assert check_features("auto", "CartPole-v1", 3).dimension == 256


def test_features_of_ones_own() -> None:
    def given(batch: np.ndarray) -> np.ndarray:
        return np.column_stack([batch + 1.0, batch == 1])

    report = check_features(surepath.Custom(given, 2), Valve())
    assert (report.dimension, report.radius, report.longest) == (2, None, 3.0)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda batch: batch, r"must return an array \[n, d\]"),
        (lambda batch: np.random.default_rng().random((len(batch), 2)), "the same every time"),
        (lambda batch: (batch - batch.mean())[:, None] + 5, "others of its batch"),
        (lambda batch: np.where(batch == 2, np.nan, 1.0)[:, None], "features must be finite"),
    ],
)
def test_features_that_cannot_be_used(function: Any, message: str) -> None:
    with pytest.raises(surepath.InputError, match=message):
        check_features(function, Valve())


def test_features_that_tell_nothing() -> None:
    constant = check_features(surepath.Custom(lambda b: np.ones((len(b), 1)), 1), Valve())
    assert "tell no states apart" in constant.warnings[0]
    silent = check_features(surepath.Custom(lambda b: b[:, None] * 1.0, 1), Valve())
    assert "all zero" in silent.warnings[0]
