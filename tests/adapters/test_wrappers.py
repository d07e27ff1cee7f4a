"""The wrappers: one start, noise with a generator of its own, actions of one's own."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import minigrid  # noqa: F401 - registers its environments
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from minigrid.wrappers import ImgObsWrapper

import surepath
from surepath.adapters.gym import as_system
from surepath.adapters.wrappers import (
    ActionList,
    ActionRepeat,
    Confusion,
    Dropout,
    FixedStart,
    GaussianNoise,
    MacroActions,
    PixelNoise,
    Quantised,
    RewardNoise,
)


class Maze(gym.Env):
    """A hidden layout drawn at the reset; every reading adds noise from the same generator."""

    action_space = spaces.Discrete(2)

    def __init__(self, space: Any = None) -> None:
        self.observation_space = space or spaces.Box(-np.inf, np.inf, (2,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.layout, self.time = float(self.np_random.integers(1000)), 0
        return self.read(), {}

    def step(self, action):
        self.time += 1
        return self.read(), 0.25 * (1 + action), self.time == 6, False, {}

    def read(self) -> Any:
        return np.array([self.layout, self.np_random.standard_normal()])


class Still(Maze):
    """Shows the same thing always."""

    def __init__(self, space: Any, shown: Any) -> None:
        super().__init__(space)
        self.shown = shown

    def read(self) -> Any:
        return np.copy(self.shown) if isinstance(self.shown, np.ndarray) else self.shown


def episode(env: gym.Env, seed: int | None, steps: int = 3, action: Any = 0) -> np.ndarray:
    first, _ = env.reset(seed=seed)
    return np.array([first, *(env.step(action)[0] for _ in range(steps))])


# ---------------------------------------------------------------- one start


def test_a_fixed_start_keeps_the_layout_and_frees_the_noise() -> None:
    env = FixedStart(Maze(), 5)
    one, again, other = (episode(env, seed) for seed in (1, 1, 2))
    assert len({*one[:, 0], *again[:, 0], *other[:, 0]}) == 1
    assert np.array_equal(one, again)
    assert not np.isclose(one[1:, 1], other[1:, 1]).any()
    assert one[0, 1] == other[0, 1]  # drawn by the reset, with the layout
    assert episode(FixedStart(Maze(), 6), 1)[0, 0] != one[0, 0]


def test_without_a_seed_the_noise_goes_on() -> None:
    env = FixedStart(Maze(), 5)
    one, other = (episode(env, None) for _ in range(2))
    assert one[0, 0] == other[0, 0]
    assert not np.isclose(one[1:, 1], other[1:, 1]).any()
    runs = []
    for _ in range(2):  # a seed and then none is a run that can be repeated
        episode(env, 3)
        runs.append(episode(env, None))
    assert np.array_equal(*runs)


def test_the_start_of_cartpole_is_one_start() -> None:
    env = GaussianNoise(FixedStart(gym.make("CartPole-v1"), 0), 0.01)
    shown = as_system(env, 3).rollout((0, 1), 200, np.random.default_rng(0)).observations
    assert shown[:, :, :-1].std(axis=0) == pytest.approx(0.01, rel=0.25)
    assert np.corrcoef(shown[:, 0, 0], shown[:, 1, 0])[0, 1] == pytest.approx(0, abs=0.3)


# ---------------------------------------------------------------- noise


def test_stacked_wrappers_do_not_share_their_noise() -> None:
    space = spaces.Box(-np.inf, np.inf, (3,), np.float64)
    inner = GaussianNoise(Still(space, np.zeros(3)), 1.0)
    outer = GaussianNoise(inner, 1.0)
    both, alone = episode(outer, 4), episode(inner, 4)
    added = both - alone
    assert not np.isclose(added, alone).any()
    assert np.array_equal(both, episode(outer, 4))
    noise_of_env = np.random.default_rng(4).standard_normal(3)
    assert not np.isclose(alone[0], noise_of_env).any()


def test_gaussian_noise_has_the_scale_it_says() -> None:
    space = spaces.Box(-1, 1, (2,), np.float32)
    env = GaussianNoise(Still(space, np.array([0.5, -0.5], np.float32)), [0.1, 3.0])
    shown = np.array([episode(env, seed) for seed in range(500)])
    assert shown.dtype == np.float32
    assert shown.mean(axis=(0, 1)) == pytest.approx([0.5, -0.5], abs=0.3)
    assert shown.std(axis=(0, 1)) == pytest.approx([0.1, 3.0], rel=0.1)
    assert env.observation_space.high.tolist() == [np.inf, np.inf]


def test_pixels_and_cells() -> None:
    image = np.full((20, 20, 3), 7, np.uint8)
    space = spaces.Box(0, 10, image.shape, np.uint8)
    shown = episode(PixelNoise(Still(space, image), 0.3), 0)
    assert shown.dtype == np.uint8
    assert (shown != 7).mean() == pytest.approx(0.3 * 10 / 11, abs=0.03)
    assert (shown.min(), shown.max()) == (0, 10)
    values = [[1, 2], [3], [4, 5]]
    cells = episode(PixelNoise(Still(space, image), 0.3, cells=True, values=values), 0)
    hit = (cells != 7).any(axis=-1)
    assert hit.mean() == pytest.approx(0.3, abs=0.04)
    assert (cells[hit] != 7).all()
    assert [set(cells[hit][:, i].tolist()) for i in range(3)] == [{1, 2}, {3}, {4, 5}]


def test_minigrid_with_noisy_cells() -> None:
    env = ImgObsWrapper(gym.make("MiniGrid-Empty-5x5-v0"))
    noisy = PixelNoise(env, 0.1, cells=True, values=[range(11), range(6), range(3)])
    one, other = (episode(noisy, seed) for seed in (0, 1))
    assert one.shape == (4, 7, 7, 3)
    assert not np.array_equal(one, other)


def test_dropout_and_quantised() -> None:
    space = spaces.Box(1, 3, (1000,), np.float32)
    still = Still(space, np.full(1000, 2.3, np.float32))
    lost = Dropout(still, 0.2)
    assert (episode(lost, 0) == 0).mean() == pytest.approx(0.2, abs=0.03)
    assert lost.observation_space.low.max() == 0
    dial = Quantised(still, 0.5)
    assert episode(dial, 0) == pytest.approx(2.5)
    assert dial.observation_space.contains(episode(dial, 0)[0])


def test_confusion_reads_by_the_matrix() -> None:
    matrix = np.array([[0.5, 0.5, 0.0], [0.0, 0.25, 0.75]])
    env = Confusion(Still(spaces.Discrete(2, start=3), 4), matrix)
    assert env.observation_space == spaces.Discrete(3, start=3)
    shown = np.array([episode(env, seed) for seed in range(800)]).ravel() - 3
    assert np.bincount(shown, minlength=3) / len(shown) == pytest.approx(matrix[1], abs=0.04)


def test_reward_noise_keeps_the_mean() -> None:
    rewards: dict[str, list[float]] = {"gaussian": [], "bernoulli": []}
    for kind, received in rewards.items():
        env = RewardNoise(Maze(), 0.5 if kind == "bernoulli" else 0.2, kind)
        for seed in range(400):
            env.reset(seed=seed)
            received += [float(env.step(0)[1]) for _ in range(5)]
    assert np.mean(rewards["gaussian"]) == pytest.approx(0.25, abs=0.02)
    assert np.std(rewards["gaussian"]) == pytest.approx(0.2, rel=0.1)
    assert np.mean(rewards["bernoulli"]) == pytest.approx(0.25, abs=0.03)
    assert set(rewards["bernoulli"]) == {0.0, 0.5}


# ---------------------------------------------------------------- actions


def test_actions_are_repeated_until_the_end() -> None:
    env = ActionRepeat(Maze(), 4)
    env.reset(seed=0)
    assert env.step(1)[1:3] == (2.0, False)
    assert env.step(1)[1:3] == (1.0, True)  # two of the four: the episode has six steps


def test_macro_actions_run_their_sequence() -> None:
    env = MacroActions(Maze(), [[0], [1, 0, 1], [1] * 10])
    assert env.action_space == spaces.Discrete(3)
    env.reset(seed=0)
    assert [env.step(action)[1:3] for action in (0, 1, 2)] == [
        (0.25, False),
        (1.25, False),
        (1.0, True),
    ]


def test_listed_actions_are_the_environments_own() -> None:
    env = ActionList(gym.make("Pendulum-v1"), [[-2.0], [2.0]])
    env.reset(seed=0)
    ours = env.step(1)[0]
    plain = gym.make("Pendulum-v1")
    plain.reset(seed=0)
    assert np.array_equal(ours, plain.step(np.array([2.0], np.float32))[0])


# ---------------------------------------------------------------- rebuilt and refused


def test_a_stack_is_built_again_from_its_spec() -> None:
    env: gym.Env = gym.make("CartPole-v1")
    env = MacroActions(ActionRepeat(FixedStart(env, 3), 2), [[0, 1], [1]])
    env = RewardNoise(Quantised(Dropout(GaussianNoise(env, 0.1), 0.2), 0.01), 8.0, "bernoulli")
    again = gym.make(env.spec)
    assert str(again) == str(env)
    assert np.array_equal(episode(env, 5), episode(again, 5))


@pytest.mark.filterwarnings("ignore::UserWarning")  # that a box has no bounds, that it is wrapped
def test_gymnasium_finds_nothing_wrong() -> None:
    check_env(FixedStart(Maze(), 1), skip_render_check=True)
    check_env(GaussianNoise(Maze(), 0.1), skip_render_check=True)
    check_env(RewardNoise(Maze(), 0.1), skip_render_check=True)


BOX = spaces.Box(0, 1, (2,), np.float32)
PIXELS = spaces.Box(0, 255, (4, 3), np.uint8)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GaussianNoise(Maze(PIXELS), 1.0), "GaussianNoise needs a Box of real numbers"),
        (lambda: GaussianNoise(Maze(BOX), [1.0, 2.0, 3.0]), "scale must be one number"),
        (lambda: GaussianNoise(Maze(BOX), -1.0), "not negative"),
        (lambda: PixelNoise(Maze(BOX), 0.1), "PixelNoise needs a Box of whole numbers"),
        (lambda: PixelNoise(Maze(PIXELS), 1.5), "probability must be"),
        (lambda: PixelNoise(Maze(PIXELS), 0.1, values=[[1], [2]]), "values must be 3 lists"),
        (lambda: Dropout(Maze(spaces.Discrete(3)), 0.1), "Dropout needs a Box"),
        (lambda: Quantised(Maze(BOX), 0.0), "step of a dial must be positive"),
        (lambda: Confusion(Maze(BOX), np.eye(2)), "Confusion needs a Discrete"),
        (lambda: Confusion(Maze(spaces.Discrete(3)), np.eye(2)), "each of the 3 symbols"),
        (lambda: Confusion(Maze(spaces.Discrete(2)), np.ones((2, 2))), "must be probabilities"),
        (lambda: RewardNoise(Maze(), 1.0, "bernouli"), "Did you mean 'bernoulli'"),
        (lambda: FixedStart(Maze(), -1), "seed must be a whole number"),
        (lambda: ActionRepeat(Maze(), 0), "times must be a whole number"),
        (lambda: MacroActions(Maze(), [[0], []]), "at least one sequence"),
        (lambda: MacroActions(Maze(), [[0, 2]]), "one of the environment's own"),
        (lambda: ActionList(gym.make("Pendulum-v1"), [[3.0]]), "one of the environment's own"),
    ],
)
def test_what_cannot_be_wrapped(make: Any, message: str) -> None:
    with pytest.raises(surepath.InputError, match=message):
        make()


def test_a_coin_cannot_pay_a_reward_beyond_its_scale() -> None:
    env = RewardNoise(Maze(), 0.1, "bernoulli")
    env.reset(seed=0)
    with pytest.raises(surepath.InputError, match=r"Got: the reward 0\.25"):
        env.step(0)
