"""The boat in the bay: its oracle against enumeration, its promises, its sensors, its refusals."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
import pytest

from surepath.builtin_problems.continuous import LARGEST_TREE, Continuous, Image, continuous
from surepath.builtin_problems.laws import Gaussian
from surepath.errors import InputError
from surepath.system import Moments

SIZES = [
    {"horizon": 5, "actions": 4},
    {"horizon": 4, "actions": 3, "sensor": "gps"},
    {"horizon": 6, "actions": 2, "sensor": "image"},
    {"horizon": 2, "actions": 4},
    {"horizon": 1, "actions": 3},
]
SENSORS = {"range": (4,), "gps": (2,), "image": (16, 16)}


@cache
def made(seed: int = 0, **parameters: Any) -> Continuous:
    return continuous(seed=seed, **parameters)


def sequences(problem: Continuous, length: int) -> list[tuple[int, ...]]:
    return list(itertools.product(range(problem.n_actions), repeat=length))


# ---- the oracle


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_optimum_is_the_best_of_all_sequences(size: dict[str, Any], seed: int) -> None:
    problem = made(seed, **size)
    returns = {s: problem.expected_return(s) for s in sequences(problem, problem.horizon)}
    actions, value = problem.optimum
    assert value == pytest.approx(max(returns.values()), abs=1e-12)
    assert returns[actions] == pytest.approx(value, abs=1e-12)
    assert [s for s in returns if problem.is_optimal(s)] == [actions]


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_gap_is_the_smallest_lead_over_all_sequences(size: dict[str, Any]) -> None:
    problem = made(**size)
    best: dict[tuple[int, ...], float] = {}
    for sequence in sequences(problem, problem.horizon):
        total = problem.expected_return(sequence)
        for length in range(problem.horizon + 1):
            best[sequence[:length]] = max(total, best.get(sequence[:length], -np.inf))
    leads = [best[prefix[:-1]] - value for prefix, value in best.items() if prefix]
    assert problem.gap == pytest.approx(min(lead for lead in leads if lead > 1e-12), abs=1e-11)
    assert problem.oracle.unique


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_values_obey_the_bellman_equation(size: dict[str, Any]) -> None:
    problem = made(**size)
    rng = np.random.default_rng(1)
    for _ in range(30):
        step = int(rng.integers(problem.horizon))
        on_tree = problem.path(tuple(rng.integers(problem.n_actions, size=step)))[-1]
        for state in (on_tree, rng.uniform(-1, 1, size=2)):  # any place, reachable or not
            q = problem.q_values(step, state)
            for action in range(problem.n_actions):
                later = 0.0
                if step < problem.horizon - 1:
                    reached = problem.move(step, state, action)
                    later = problem.q_values(step + 1, reached).max()
                reward = problem.reward_law(step, state, action).mean
                assert q[action] == pytest.approx(reward + later, abs=1e-12)


def test_nodes_of_the_tree_are_numbered_by_their_actions() -> None:
    problem = made()
    for prefix in [(), (3,), (1, 2), (0, 3, 1), (2, 2, 0, 1)]:
        node = int("".join(map(str, prefix)) or "0", problem.n_actions)
        place = problem.tree.places[len(prefix)][node]
        np.testing.assert_allclose(place, problem.path(prefix)[-1], atol=1e-14)
        q = problem.q_values(len(prefix), place)
        np.testing.assert_allclose(problem.tree.q[len(prefix)][node], q, atol=1e-14)


def test_the_radius_is_the_largest_mean_reading() -> None:
    problem = made(sensor="image", horizon=3)
    places = np.concatenate(problem.tree.places)
    norms = [np.linalg.norm(problem.observation_law(0, place).mean) for place in places]
    assert problem.radius == pytest.approx(max(norms))


def test_the_norm_is_not_known_and_reading_it_says_so() -> None:
    problem = made()
    with pytest.raises(InputError, match=r"norm.*schedule"):
        _ = problem.norm


# ---- the promises


@pytest.mark.parametrize("gap", [0.05, 0.15])
@pytest.mark.parametrize("seed", range(30))
def test_the_best_action_leads_along_the_optimal_path(seed: int, gap: float) -> None:
    problem = made(seed, gap=gap)
    actions, _ = problem.optimum
    for step, state in enumerate(problem.path(actions[:-1])):
        q = problem.q_values(step, state)
        assert q.argmax() == actions[step]
        assert np.diff(np.sort(q))[-1] >= gap
    assert problem.gap > 0  # over all nodes, where no size is promised


@pytest.mark.parametrize("seed", range(30))
def test_following_the_pay_of_the_moment_loses(seed: int) -> None:
    problem = made(seed)
    state, actions = problem.start, list[int]()
    for step in range(problem.horizon):
        means = [problem.reward_law(step, state, a).mean for a in range(problem.n_actions)]
        actions.append(int(np.argmax(means)))
        state = problem.move(step, state, actions[-1])
    assert problem.expected_return(tuple(actions)) <= problem.optimum[1] - 0.15


@pytest.mark.parametrize("seed", range(10))
def test_the_best_action_depends_on_the_place(seed: int) -> None:
    problem = made(seed)
    for q in problem.tree.q[2:]:
        assert np.bincount(q.argmax(axis=1)).max() <= 0.75 * len(q)


@pytest.mark.parametrize("seed", range(10))
def test_every_sequence_ends_in_a_place_of_its_own_inside_the_bay(seed: int) -> None:
    for places in made(seed, horizon=6).tree.places:
        assert (np.abs(places) < 1).all()
        distances = np.linalg.norm(places[:, None] - places, axis=2)
        np.fill_diagonal(distances, np.inf)
        assert distances.min() > 1e-6


@pytest.mark.parametrize("seed", range(10))
def test_reward_means_are_probabilities(seed: int) -> None:
    for rewards in made(seed).tree.rewards:
        assert ((rewards >= 0) & (rewards <= 1)).all()


def test_the_same_seed_makes_the_same_problem_and_the_sensor_does_not_matter() -> None:
    optima = {continuous(sensor=sensor, seed=3).optimum for sensor in (*SENSORS, "range")}
    assert len(optima) == 1
    assert made(4).optimum != made(3).optimum


# ---- the sensors


@pytest.mark.parametrize(("sensor", "shape"), SENSORS.items())
def test_readings_have_the_shape_of_the_sensor(sensor: str, shape: tuple[int, ...]) -> None:
    problem = made(sensor=sensor)
    episodes = problem.rollout((0, 1, 2), 5, np.random.default_rng(0))
    assert episodes.observations.shape == (5, 4, *shape)
    assert problem.dimension == np.prod(shape)
    assert problem.latent_dimension is None
    assert problem.n_observations is None
    assert problem.observation_noise == 0.1


@pytest.mark.parametrize("sensor", SENSORS)
def test_readings_tell_the_places_of_a_level_apart(sensor: str) -> None:
    problem = made(sensor=sensor)
    for places in problem.tree.places:
        readings = problem.sensor(places).reshape(len(places), -1)
        apart = np.linalg.norm(readings[:, None] - readings, axis=2)
        distances = np.linalg.norm(places[:, None] - places, axis=2)
        assert (apart >= 0.5 * np.minimum(distances, 0.5)).all()


def test_the_blob_of_an_image_is_where_the_boat_is() -> None:
    problem = made(sensor="image")
    line = np.linspace(-1.2, 1.2, 16)
    pattern = problem.sensor(np.array([[50.0, 50.0]]))[0]  # nobody in view
    for place in problem.tree.places[3]:
        law = problem.observation_law(3, place)
        assert isinstance(law, Image)
        blob = law.mean - pattern
        row, column = np.unravel_index(blob.argmax(), blob.shape)
        assert abs(line[column] - place[0]) <= 0.081
        assert abs(line[row] - place[1]) <= 0.081
        assert 0.8 < blob.max() <= 1
    assert pattern.std() > 0.05


def test_pixels_have_independent_noise_of_the_given_size() -> None:
    problem = made(sensor="image", noise=0.2, image_size=8)
    law = problem.observation_law(0, problem.start)
    noise = law.draw(4000, np.random.default_rng(0)) - law.mean
    assert noise.shape == (4000, 8, 8)
    np.testing.assert_allclose(noise.std(axis=0), 0.2, atol=0.2 * 5 / np.sqrt(2 * 4000))
    correlations = np.corrcoef(noise.reshape(4000, -1).T) - np.eye(64)
    assert np.abs(correlations).max() < 5 / np.sqrt(4000)


def test_the_statistic_of_an_image_is_flat() -> None:
    law = made(sensor="image").observation_law(0, made(sensor="image").start)
    statistic = law.summary(10_000, np.random.default_rng(0))
    assert isinstance(statistic, Moments)
    assert statistic.scatter.shape == (256, 256)
    np.testing.assert_allclose(statistic.mean, law.mean.ravel(), atol=5 * 0.1 / 100)


@pytest.mark.parametrize("sensor", SENSORS)
def test_rollouts_agree_with_the_laws(sensor: str) -> None:
    problem = made(sensor=sensor)
    actions, n = problem.optimum[0], 3000
    episodes = problem.rollout(actions, n, np.random.default_rng(2))
    for step, state in enumerate(problem.path(actions)):
        law = problem.observation_law(step, state)
        assert isinstance(law, Gaussian | Image)
        error = episodes.observations[:, step].mean(axis=0) - law.mean
        assert np.abs(error).max() < 5 * 0.1 / np.sqrt(n)
        mean = problem.reward_law(step, state, actions[step]).mean
        deviation = np.sqrt(mean * (1 - mean) / n)
        assert abs(episodes.rewards[:, step].mean() - mean) < 4.5 * deviation + 1e-12


# ---- refusals


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"horizon": 0}, "horizon"),
        ({"actions": 1}, "actions"),
        ({"actions": 2.5}, "actions"),
        ({"horizon": 9, "actions": 4}, str(LARGEST_TREE)),
        ({"horizon": 10**9}, str(LARGEST_TREE)),
        ({"sensor": "radar"}, "range"),
        ({"sensor": "Image"}, "Did you mean 'image'"),
        ({"sensor": 3}, "sensor"),
        ({"noise": 0.0}, "noise"),
        ({"noise": float("nan")}, "noise"),
        ({"noise": float("inf")}, "noise"),
        ({"gap": 0.0}, "gap"),
        ({"gap": 0.9, "horizon": 3}, "smaller gap"),
        ({"image_size": 2}, "image_size"),
        ({"seed": -1}, "seed"),
    ],
    ids=str,
)
def test_bad_arguments_are_refused(parameters: dict[str, Any], match: str) -> None:
    with pytest.raises(InputError, match=match):
        continuous(**parameters)


def test_bad_actions_are_refused() -> None:
    problem = made()
    with pytest.raises(InputError, match="actions are"):
        problem.path((4,))
    with pytest.raises(InputError, match="full sequence"):
        problem.expected_return((0, 1))
