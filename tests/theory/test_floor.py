"""The information-theoretic floor against closed forms and against generic solvers."""

from __future__ import annotations

from itertools import product
from math import inf, log
from typing import Any

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize, minimize_scalar

import surepath
from surepath.errors import InputError
from surepath.theory.floor import binary_kl, information_floor, tree_floor

Path = tuple[tuple[int, int, int], ...]


def instance(seed: int, horizon: int, n_states: int, n_actions: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    shape = (horizon, n_states, n_actions)
    return rng.integers(0, n_states, shape), rng.uniform(size=shape)


def tree(seed: int, horizon: int, n_actions: int) -> tuple[Any, Any]:
    n_states = n_actions ** (horizon - 1)
    transitions = np.zeros((horizon, n_states, n_actions), dtype=int)
    for h in range(horizon - 1):
        width = n_actions**h
        transitions[h, :width] = np.arange(width * n_actions).reshape(width, n_actions)
    return transitions, np.random.default_rng(seed).uniform(size=transitions.shape)


def all_paths(transitions: Any) -> list[Path]:
    """Every path from state 0 as its edges (h, s, a), by walking."""
    horizon, _, n_actions = transitions.shape
    found: list[Path] = []
    for actions in product(range(n_actions), repeat=horizon):
        state, edges = 0, []
        for h, a in enumerate(actions):
            edges.append((h, state, a))
            state = int(transitions[h, state, a])
        found.append(tuple(edges))
    return found


def ranked(transitions: Any, rewards: Any) -> tuple[Path, list[tuple[Path, float]]]:
    """The best path, and every other one with its loss."""
    value = {p: sum(float(rewards[e]) for e in p) for p in all_paths(transitions)}
    best = max(value, key=lambda p: value[p])
    return best, [(p, value[best] - value[p]) for p in value if p != best]


def leaving_gaps(transitions: Any, rewards: Any) -> list[float]:
    """For each edge that leaves the best path, the loss of the best path that leaves by it."""
    best, others = ranked(transitions, rewards)
    losses: dict[tuple[int, int, int], float] = {}
    for path, loss in others:
        exit_edge = next(e for e, b in zip(path, best, strict=True) if e != b)
        losses[exit_edge] = min(loss, losses.get(exit_edge, inf))
    return list(losses.values())


def cheapest_bernoulli(rewards: Any, flow: Any, path: Path, best: Path) -> float:
    """The inner infimum of one path, by a generic solver on the means themselves."""
    up, down = [e for e in path if e not in best], [e for e in best if e not in path]
    edges = up + down
    means, visits = np.array([rewards[e] for e in edges]), np.array([flow[e] for e in edges])
    signs = np.array([1.0] * len(up) + [-1.0] * len(down))
    scale = visits.sum() * means.var() + 1e-3  # so that the solver's tolerances are relative

    def cost(x: Any) -> float:
        kl = means * np.log(means / x) + (1 - means) * np.log((1 - means) / (1 - x))
        return float(visits @ kl) / scale

    solution = minimize(
        cost,
        np.full(len(edges), means.mean()),
        jac=lambda x: visits * (x - means) / (x * (1 - x)) / scale,
        bounds=[(1e-9, 1 - 1e-9)] * len(edges),
        constraints=LinearConstraint(signs[None], 0, inf),
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    return float(solution.fun) * scale


def gaussian_by_slsqp(transitions: Any, rewards: Any, variance: float) -> float:
    """T* by minimising an epigraph over the logits of a policy: no flow, no cuts."""
    best, others = ranked(transitions, rewards)
    shape = rewards.shape
    unit = 2 * variance / min(loss for _, loss in others) ** 2

    def times(logits: Any) -> Any:
        weights = np.exp(logits.reshape(shape))
        share = weights / weights.sum(axis=2, keepdims=True)
        flow, mass = np.zeros(shape), np.zeros(shape[1])
        mass[0] = 1.0
        for h in range(shape[0]):
            flow[h] = mass[:, None] * share[h]
            mass = np.zeros(shape[1])
            np.add.at(mass, transitions[h], flow[h])
        return np.array(
            [
                2 * variance / loss**2 / unit * sum(1 / flow[e] for e in set(path) ^ set(best))
                for path, loss in others
            ]
        )

    start = np.zeros(rewards.size)
    solution = minimize(
        lambda z: z[-1],
        np.append(start, times(start).max()),
        constraints={"type": "ineq", "fun": lambda z: z[-1] - times(z[:-1])},
        method="SLSQP",
        options={"ftol": 1e-10, "maxiter": 500},
    )
    return float(solution.x[-1]) * unit


@pytest.mark.parametrize(("gap", "variance"), [(0.2, 0.25), (0.05, 1.0), (3.0, 2.0)])
def test_two_gaussian_arms_have_the_textbook_time(gap: float, variance: float) -> None:
    floor = information_floor(
        np.zeros((1, 1, 2), dtype=int), [[[0.3 + gap, 0.3]]], law="gaussian", variance=variance
    )
    assert floor.characteristic == pytest.approx(8 * variance / gap**2, rel=1e-4)
    assert floor.flow == pytest.approx(np.full((1, 1, 2), 0.5), abs=0.02)


@pytest.mark.parametrize("means", [(0.9, 0.7), (0.3, 0.02), (0.51, 0.5)])
def test_two_bernoulli_arms_agree_with_a_search_over_one_weight(means: tuple[float, float]) -> None:
    def information(weight: float) -> float:  # both means meet at their weighted average
        meet = weight * means[0] + (1 - weight) * means[1]
        return weight * binary_kl(means[0], meet) + (1 - weight) * binary_kl(means[1], meet)

    most = -minimize_scalar(lambda w: -information(w), bounds=(0, 1), method="bounded").fun
    floor = information_floor(np.zeros((1, 1, 2), dtype=int), [[means]])
    assert floor.characteristic == pytest.approx(1 / most, rel=1e-4)


def test_certain_rewards_have_a_finite_bernoulli_time() -> None:
    # Meeting half-way from 0 and 1 costs log 2 on each arm.
    floor = information_floor(np.zeros((1, 1, 2), dtype=int), [[[1.0, 0.0]]])
    assert floor.characteristic == pytest.approx(1 / log(2), rel=1e-4)


# SciPy's solver says so when it steps out and is put back, up to some version.
@pytest.mark.filterwarnings("ignore:Values in x were outside bounds:RuntimeWarning")
@pytest.mark.parametrize("seed", range(6))
def test_bernoulli_value_of_the_flow_agrees_with_a_generic_solver(seed: int) -> None:
    transitions, rewards = instance(seed, 3, 3, 2)
    floor = information_floor(transitions, rewards)
    best, others = ranked(transitions, rewards)
    least = min(cheapest_bernoulli(rewards, floor.flow, path, best) for path, _ in others)
    assert 1 / floor.upper == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize("shape", [(2, 2, 3), (3, 2, 2)])
def test_gaussian_time_agrees_with_a_generic_solver(shape: tuple[int, int, int]) -> None:
    transitions, rewards = instance(7, *shape)
    floor = information_floor(transitions, rewards, law="gaussian", variance=0.3)
    assert floor.characteristic == pytest.approx(
        gaussian_by_slsqp(transitions, rewards, 0.3), rel=1e-3
    )


@pytest.mark.parametrize("law", ["gaussian", "bernoulli"])
def test_flow_is_a_unit_flow_and_the_bracket_is_tight(law: Any) -> None:
    transitions, rewards = instance(3, 5, 4, 3)
    floor = information_floor(transitions, rewards, law=law, tolerance=1e-5, delta=0.01)
    assert floor.flow.min() >= 0
    assert floor.flow[0, 0].sum() == pytest.approx(1, abs=1e-12)
    assert floor.flow.sum(axis=(1, 2)) == pytest.approx(np.ones(5), abs=1e-12)
    for h in range(4):
        entering = np.zeros(4)
        np.add.at(entering, transitions[h], floor.flow[h])
        assert floor.flow[h + 1].sum(axis=1) == pytest.approx(entering, abs=1e-12)
    assert 0 < floor.lower <= floor.characteristic <= floor.upper <= floor.lower * (1 + 1.1e-5)
    assert floor.episodes == pytest.approx(floor.lower * binary_kl(0.01, 0.99))
    assert floor.cuts > 0


def test_gaussian_value_of_the_flow_is_the_upper_end() -> None:
    transitions, rewards = instance(5, 4, 3, 2)
    floor = information_floor(transitions, rewards, law="gaussian")
    best, others = ranked(transitions, rewards)
    times = [
        0.5 * sum(1 / floor.flow[e] for e in set(path) ^ set(best)) / loss**2
        for path, loss in others
    ]
    assert floor.upper == pytest.approx(max(times), rel=1e-9)


@pytest.mark.parametrize(("horizon", "n_actions"), [(1, 4), (2, 3), (3, 2), (4, 2)])
def test_the_closed_form_is_below_the_floor_on_trees(horizon: int, n_actions: int) -> None:
    transitions, rewards = tree(horizon, horizon, n_actions)
    gaps = leaving_gaps(transitions, rewards)
    assert len(gaps) == horizon * (n_actions - 1)
    floor = information_floor(transitions, rewards, law="gaussian")
    closed = tree_floor(gaps)
    assert 0 < closed <= floor.episodes
    assert tree_floor(gaps, promised=min(gaps)) < closed


def test_the_closed_form_with_equal_gaps() -> None:
    gaps = np.full((5, 2), 0.1)
    information = binary_kl(0.05, 0.95)
    assert tree_floor(gaps) == pytest.approx(information * 10 * 0.5 / 0.01)
    assert tree_floor(gaps, promised=0.1) == pytest.approx(information * 10 * 0.5 / 0.04)


def test_halving_gaussian_gaps_quadruples_the_time() -> None:
    transitions, rewards = instance(2, 3, 3, 3)
    whole = information_floor(transitions, rewards, law="gaussian", tolerance=1e-6)
    half = information_floor(transitions, rewards / 2 - 7, law="gaussian", tolerance=1e-6)
    assert half.characteristic == pytest.approx(4 * whole.characteristic, rel=5e-6)


@pytest.mark.parametrize("seed", range(3))
def test_bernoulli_is_never_harder_than_gaussian_of_variance_one_quarter(seed: int) -> None:
    transitions, rewards = instance(seed, 4, 3, 2)
    gaussian = information_floor(transitions, rewards, law="gaussian", variance=0.25)
    assert information_floor(transitions, rewards).lower <= gaussian.upper


def test_small_gaps_make_both_laws_agree() -> None:
    transitions, rewards = instance(4, 3, 3, 2)
    near_half = 0.5 + 1e-4 * (rewards - 0.5)
    times = [
        information_floor(transitions, near_half, law=law).characteristic
        for law in ("bernoulli", "gaussian")
    ]
    assert times[0] == pytest.approx(times[1], rel=3e-4)


@pytest.mark.parametrize("seed", range(6))
def test_means_at_zero_and_one_are_the_limit_of_means_inside(seed: int) -> None:
    rng = np.random.default_rng(seed)
    transitions = rng.integers(0, 3, (3, 3, 2))
    rewards = rng.choice([0.0, 1e-14, 0.3, 0.6, 1 - 1e-14, 1.0], size=(3, 3, 2))
    rewards[0, 0] = [0.0, 1.0]
    rewards[2] = np.array([[0.0, 1.0], [0.1, 1.0], [0.0, 0.9]])[:, :: rng.choice([-1, 1])]
    rewards[1] += 0.01 * rng.uniform(size=(3, 2)) * (0.5 - rewards[1])  # breaks ties
    at = information_floor(transitions, rewards)
    inside = information_floor(transitions, np.clip(rewards, 1e-7, 1 - 1e-7))
    assert at.characteristic == pytest.approx(inside.characteristic, rel=1e-3)


def test_what_cannot_be_reached_is_not_read() -> None:
    transitions, rewards = instance(6, 3, 2, 2)
    wide = np.zeros((3, 5, 2), dtype=int)
    padded = np.full((3, 5, 2), np.nan)
    wide[:, :2], padded[:, :2] = transitions, rewards
    wide[-1] = -99
    plain = information_floor(transitions, rewards)
    assert information_floor(wide, padded).characteristic == pytest.approx(
        plain.characteristic, rel=1e-4
    )


def test_one_path_needs_no_episode() -> None:
    floor = information_floor(np.zeros((4, 1, 1), dtype=int), np.full((4, 1, 1), 0.5))
    assert (floor.lower, floor.upper, floor.episodes, floor.cuts) == (0.0, 0.0, 0.0, 0)
    assert floor.flow == pytest.approx(np.ones((4, 1, 1)))


def test_binary_kl() -> None:
    assert binary_kl(0.05, 0.95) == pytest.approx(0.9 * log(19))
    assert binary_kl(0.3, 0.3) == 0
    assert binary_kl(0.0, 0.2) == pytest.approx(-log(0.8))
    assert binary_kl(1.0, 0.2) == pytest.approx(-log(0.2))
    assert binary_kl(0.0, 0.0) == binary_kl(1.0, 1.0) == 0
    assert binary_kl(0.5, 0.0) == binary_kl(0.5, 1.0) == inf
    assert binary_kl(0.5, 0.5 + 1e-7) == pytest.approx(2e-14, rel=1e-6)
    assert binary_kl(np.array([0.1, 0.9]), np.array([0.2, 0.8])) == pytest.approx(
        [binary_kl(0.1, 0.2)] * 2
    )


def test_ties_are_refused() -> None:
    rewards = [[[0.1, 0.4]], [[0.2, 0.2]]]
    with pytest.raises(InputError, match=r"unique.*\[\[1, 0\], \[1, 1\]\].*Break the tie"):
        information_floor(np.zeros((2, 1, 2), dtype=int), rewards)


def test_too_many_paths_are_refused() -> None:
    with pytest.raises(InputError, match=r"max_paths = 1000 .*2\^20.*raise max_paths"):
        information_floor(np.zeros((20, 1, 2), dtype=int), np.zeros((20, 1, 2)), max_paths=1000)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rewards": [[[0.5, 1.2]]]}, r"bernoulli means must be in \[0.0, 1.0\]"),
        ({"rewards": [[[0.5, np.nan]]], "law": "gaussian"}, "gaussian means"),
        ({"rewards": [[0.5, 0.2]]}, r"must be \[H, S, A\]"),
        ({"transitions": [[[0, 7]], [[0, 0]]], "rewards": [[[0.5, 0.2]]] * 2}, "of states"),
        ({"transitions": [[[0.0, 0.0]]]}, "of states"),
        ({"start": 3}, "start"),
        ({"delta": 0.6}, "delta"),
        ({"law": "gausian"}, "Did you mean 'gaussian'"),
        ({"law": "gaussian", "variance": 0.0}, "variance"),
        ({"tolerance": 0.0}, "tolerance"),
    ],
)
def test_bad_input_is_named(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"transitions": [[[0, 0]]], "rewards": [[[0.5, 0.2]]], **change}
    with pytest.raises(InputError, match=message):
        information_floor(given.pop("transitions"), given.pop("rewards"), **given)


@pytest.mark.parametrize("change", [{"gaps": [0.1, 0.0]}, {"promised": 0.2}, {"variance": -1.0}])
def test_bad_gaps_are_named(change: dict[str, Any]) -> None:
    given: dict[str, Any] = {"gaps": [0.1, 0.3], **change}
    with pytest.raises(InputError, match=next(iter(change))):
        tree_floor(given.pop("gaps"), **given)


def test_the_floor_of_a_problem_follows_the_law_of_its_rewards() -> None:
    sizes = {"horizon": 3, "states": 2, "actions": 2, "seed": 1}
    noisy, louder, paid = (
        surepath.make("gaussian", **sizes, reward_noise=noise) for noise in (0.2, 0.4, None)
    )
    assert louder.floor(0.05).episodes == pytest.approx(4 * noisy.floor(0.05).episodes, rel=1e-3)
    transitions, rewards = noisy.dynamics.transitions, noisy.dynamics.rewards
    by_hand = information_floor(transitions, rewards, law="gaussian", variance=0.04)
    assert noisy.floor(0.05).characteristic == pytest.approx(by_hand.characteristic)
    bernoulli = information_floor(paid.dynamics.transitions, paid.dynamics.rewards)
    assert paid.floor(0.05).characteristic == pytest.approx(bernoulli.characteristic)
