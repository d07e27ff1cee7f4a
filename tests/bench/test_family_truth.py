"""What is said to be true of the families' machines is."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from surepath.bench.families.machines import Lottery, Prize, UnequalNoise, drawn, log_drawn
from surepath.bench.families.symbol_laws import apart, shifted, some_law
from surepath.builtin_problems import truth
from surepath.builtin_problems.finite import Dynamics
from surepath.builtin_problems.tabular import Tabular
from surepath.system import Actions


def twins(*, paid: float = 0.0) -> Tabular:
    """Two states that look alike and go on to two others; `paid` is what one of these pays more."""
    transitions = np.array([[[1, 2], [0, 0], [0, 0]], [[0, 0], [1, 1], [2, 2]], [[0] * 2] * 3])
    rewards = np.zeros((3, 3, 2))
    rewards[2, 2] = paid
    laws = np.array([[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]])
    later = np.array([[0.5, 0.5], [0.9, 0.1], [0.6, 0.4]])
    return Tabular(Dynamics(transitions, rewards), np.array([laws, laws, later]))


def test_states_are_one_when_they_look_pay_and_go_on_alike() -> None:
    machine = twins()
    assert len(set(truth.bisimilarity(machine)[1, 1:])) == 2
    assert [len(states) for states in truth.different_states(machine)] == [1, 2, 2]
    machine.emissions[2, 2] = machine.emissions[2, 1]
    same = Tabular(machine.dynamics, machine.emissions)
    assert [len(states) for states in truth.different_states(same)] == [1, 1, 1]
    assert truth.separation(same) == 1.0
    paid = Tabular(twins(paid=0.5).dynamics, machine.emissions)
    assert [len(states) for states in truth.different_states(paid)] == [1, 2, 2]
    assert truth.separation(paid) == 0.0


def test_looking_ahead_shows_what_one_look_does_not() -> None:
    assert truth.separation(twins()) == 0.0
    assert truth.separation(twins(), 2) == pytest.approx(0.3)


def window(machine: Tabular, state: int, level: int, actions: Actions) -> list[float]:
    """The chances of all observations of a state and of what follows it, one sequence each."""
    laws = [machine.emissions[level, state]]
    for h, action in enumerate(actions, level):
        state = int(machine.dynamics.transitions[h, state, action])
        laws.append(machine.emissions[h + 1, state])
    read = product(range(machine.emissions.shape[2]), repeat=len(laws))
    return [float(np.prod([law[o] for law, o in zip(laws, each, strict=True)])) for each in read]


def variation(machine: Tabular, states: tuple[int, int], level: int, future: int) -> float:
    """The total variation of two states under the continuation that shows most."""
    shown = list[float]()
    for actions in product(range(machine.n_actions), repeat=future - 1):
        one, other = (window(machine, state, level, actions) for state in states)
        shown.append(sum(abs(p - q) for p, q in zip(one, other, strict=True)) / 2)
    return max(shown)


@pytest.mark.parametrize("future", [1, 2, 3])
def test_separation_is_the_total_variation_of_windows(future: int) -> None:
    rng = np.random.default_rng(future)
    machine = Tabular(
        Dynamics(rng.integers(4, size=(4, 4, 2)), rng.random((4, 4, 2))),
        rng.dirichlet(np.ones(3), size=(4, 4)),
    )
    least = min(
        variation(machine, (int(one), int(other)), level, future)
        for level, states in enumerate(machine.reachable[: 4 - future + 1])
        for one, other in combinations(states, 2)
    )
    assert truth.separation(machine, future) == pytest.approx(least)


def test_real_readings_are_apart_by_the_larger_noise() -> None:
    transitions = np.array([[[1, 2]] * 3, [[0, 0]] * 3])
    means = np.array([[[0.0], [1.0], [3.0]]] * 2)
    noises = np.array([[1.0, 0.5, 2.0]] * 2)
    rewards = np.zeros((2, 3, 2))
    rewards[1, 1] = 1.0
    machine = UnequalNoise(Dynamics(transitions, rewards), means, noises)
    assert truth.separation(machine) == pytest.approx(truth.variation_of(1.0))
    read = machine.rollout((1,), 4000, np.random.default_rng(0)).observations[:, 1]
    assert read.std() == pytest.approx(2.0, rel=5 / np.sqrt(2 * 4000))


def test_distances_of_gaussians_and_their_total_variation_are_one_thing() -> None:
    assert truth.distance_of(0.3) == pytest.approx(0.7706, abs=1e-4)
    assert truth.variation_of(truth.distance_of(0.3)) == pytest.approx(0.3)


@pytest.mark.parametrize("seed", range(20))
def test_laws_are_at_exactly_the_distance_asked_for(seed: int) -> None:
    rng = np.random.default_rng(seed)
    law = some_law(drawn(2, 12, rng), rng)
    other = shifted(law, 0.2, rng)
    assert other.min() >= 0
    assert other.sum() == pytest.approx(1)
    assert np.abs(law - other).sum() / 2 == pytest.approx(0.2)
    laws = apart(drawn(2, 6, rng), 10, 0.3, rng)
    assert laws.min() >= 0
    assert laws.sum(axis=1) == pytest.approx(1)
    pairs = [np.abs(p - q).sum() / 2 for i, p in enumerate(laws) for q in laws[:i]]
    assert min(pairs) == pytest.approx(0.3)


def test_laws_that_cannot_be_apart_are_refused() -> None:
    with pytest.raises(ValueError, match="no 5 laws of 2 symbols"):
        apart(5, 2, 0.5, np.random.default_rng(0))


def test_a_prize_is_paid_as_often_as_it_says() -> None:
    law, rng, n = Prize(0.5, 0.04), np.random.default_rng(0), 40_000
    drawn_, told = law.draw(n, rng), law.summary(n, rng)
    error = 5 * 0.5 * np.sqrt(0.04 * 0.96 / n)
    assert law.mean == pytest.approx(0.02)
    assert float(drawn_.mean()) == pytest.approx(0.02, abs=error)
    assert told.mean == pytest.approx(0.02, abs=error)
    assert set(drawn_.tolist()) == {0.0, 0.5}
    share = told.mean / 0.5
    assert told.scatter == pytest.approx(n * share * (1 - share) * 0.25)


def test_a_lottery_pays_the_means_of_its_machine() -> None:
    machine = twins(paid=0.1)
    lottery = Lottery(machine, np.full((3, 3, 2), 0.5))
    law = lottery.reward_law(2, 2, 0)
    assert isinstance(law, Prize)
    assert law.mean == pytest.approx(0.1)
    assert law.chance == pytest.approx(0.2)
    assert lottery.optimum == machine.optimum


def test_numbers_are_drawn_from_both_ends_on() -> None:
    rng = np.random.default_rng(0)
    assert {drawn(2, 4, rng) for _ in range(100)} == {2, 3, 4}
    some = [log_drawn(20, 180, rng) for _ in range(400)]
    assert min(some) >= 20
    assert max(some) <= 180
    assert np.median(some) == pytest.approx(60, rel=0.3)
