"""The built-in problems as Gymnasium environments."""

from __future__ import annotations

import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from scipy.stats import binomtest

import surepath
from surepath.adapters.gym import as_system
from surepath.adapters.registration import ProblemEnv, register


@pytest.mark.filterwarnings("ignore:.*A Box observation space m.* value is -?infinity")
@pytest.mark.parametrize("name", surepath.problems())
def test_every_problem_is_an_environment(name: str) -> None:
    env = gym.make(f"surepath/{name}-v0")
    check_env(env.unwrapped, skip_render_check=True)
    assert isinstance(env.unwrapped, ProblemEnv)
    assert env.action_space == spaces.Discrete(surepath.make(name).n_actions)


def test_parameters_reach_the_problem() -> None:
    env = gym.make("surepath/lock-v0", horizon=3, actions=5, seed=2)
    problem = env.unwrapped.problem
    assert (problem.horizon, problem.n_actions) == (3, 5)
    assert problem.optimum == surepath.make("lock", horizon=3, actions=5, seed=2).optimum
    image = gym.make("surepath/continuous-v0", sensor="image", image_size=5)
    assert image.observation_space.shape == (5, 5)
    with pytest.raises(surepath.InputError, match="Did you mean 'horizon'"):
        gym.make("surepath/lock-v0", horizn=3)


def test_an_episode_is_as_long_as_the_problem() -> None:
    env = gym.make("surepath/tabular-v0", horizon=3)
    env.reset(seed=0)
    assert [env.step(0)[2] for _ in range(3)] == [False, False, True]
    with pytest.raises(surepath.InputError, match="at step 3"):
        env.step(0)
    env.reset(seed=0)
    with pytest.raises(surepath.InputError, match="Got: action 7 at step 0"):
        env.step(7)


@pytest.mark.parametrize("name", ["tabular", "gaussian"])
def test_stepping_has_the_law_of_the_problem(name: str) -> None:
    problem = surepath.make(name, horizon=3)
    system = as_system(gym.make(f"surepath/{name}-v0", horizon=3), 3)
    actions, n = (1, 0, 1), 1500
    ours = system.rollout(actions, n, np.random.default_rng(0))
    theirs = problem.rollout(actions, n, np.random.default_rng(1))
    assert ours.rewards.mean(axis=0) == pytest.approx(theirs.rewards.mean(axis=0), abs=0.08)
    if name == "gaussian":
        means = [e.observations[:, :, : problem.dimension].mean(axis=0) for e in (ours, theirs)]
        assert means[0] == pytest.approx(means[1], abs=0.2)
        return
    for step in range(3):
        counts = [np.bincount(e.observations[:, step], minlength=7) / n for e in (ours, theirs)]
        assert counts[0] == pytest.approx(counts[1], abs=0.08)


def test_a_hidden_state_that_moves_at_random_is_drawn_step_by_step() -> None:
    """One walk of the leaking graph: a place stays certain until the walk falls, for good."""
    problem = surepath.make("leaking", horizon=3, actions=2, secret=1)
    system = as_system(gym.make("surepath/leaking-v0", horizon=3, actions=2, secret=1), 3)
    actions, n = (0, 0, 0), 1500
    seen = system.rollout(actions, n, np.random.default_rng(0)).observations
    alive = np.abs(seen[:, :3, 1]) > 0.5  # the second feature is 0 once fallen
    np.testing.assert_allclose(seen[alive[:, 1], 1, : problem.dimension][0], problem.features[1])
    assert alive[:, 0].all()
    assert not (alive[:, 2] & ~alive[:, 1]).any()
    for step, belief in enumerate(problem.path(actions)[1:], start=1):
        # Two-sided exact test; of the two, one in a thousand would be refused by chance.
        assert binomtest(int(alive[:, step].sum()), n, belief.alive).pvalue > 5e-4


def test_a_problem_is_solved_through_gymnasium() -> None:
    env = gym.make("surepath/lock-v0", horizon=3, actions=2)
    result = surepath.learn(as_system(env, 3))
    assert result.certified
    assert result.actions == env.unwrapped.problem.optimum[0]


def test_registering_twice_changes_nothing() -> None:
    before = gym.spec("surepath/lock-v0")
    register()
    assert gym.spec("surepath/lock-v0") is before


def test_the_id_names_the_module_that_registers_it() -> None:
    code = (
        "import gymnasium\n"
        "env = gymnasium.make('surepath.adapters.registration:surepath/lock-v0', horizon=4)\n"
        "assert env.unwrapped.problem.horizon == 4\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
