"""Every family is what it says: its best plan, its separation, and how it provokes."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from surepath.bench.families import dosing, drift, payments, real_readings
from surepath.bench.families.case import Family
from surepath.bench.families.judging import FAMILIES, Trial
from surepath.builtin_problems.finite import FiniteProblem
from surepath.builtin_problems.truth import separation
from surepath.system import Episodes

SEEDS = range(4)
AS_THEY_COME = ("tabular", "gaussian", "overcomplete", "mixing")
BELOW = [name for name in FAMILIES if "below" in name]
COVERED = [
    name
    for name, family in FAMILIES.items()
    if family.covered and name not in (*AS_THEY_COME, *BELOW)
]


def machine_of(name: str, seed: int) -> FiniteProblem:
    system: Any = Trial(name, seed, 0.1).build().system
    machine = getattr(system, "machine", system)
    assert isinstance(machine, FiniteProblem)
    return machine


@pytest.mark.parametrize("name", FAMILIES)
def test_the_best_plan_is_the_best(name: str) -> None:
    for seed in SEEDS:
        case = Trial(name, seed, 0.1).build()
        plans = case.system.n_actions**case.system.horizon
        if plans <= 5000:
            sequences = product(range(case.system.n_actions), repeat=case.system.horizon)
            best = max(case.value(actions) for actions in sequences)
        else:  # by the values of all states, from the last level back
            machine = machine_of(name, seed)
            best = float(machine.dynamics.values()[0, 0].max())
        assert case.best == pytest.approx(best)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_number_draws_the_same_system_and_another_another(name: str) -> None:
    def read(seed: int) -> Episodes:
        system = Trial(name, seed, 0.1).build().system
        return system.rollout((0,) * system.horizon, 3, np.random.default_rng(0))

    first, again, other = read(0), read(0), read(1)
    assert np.array_equal(first.observations, again.observations)
    assert np.array_equal(first.rewards, again.rewards)
    same = first.observations.shape == other.observations.shape and np.array_equal(
        first.observations, other.observations
    )
    assert not same or name == "dosing recipe"  # pH and temperature go the same way in all of them


@pytest.mark.parametrize("name", COVERED)
def test_states_are_as_far_apart_as_declared(name: str) -> None:
    family = FAMILIES[name]
    for seed in SEEDS:
        case = Trial(name, seed, 0.1).build()
        assert family.holds(case.separation)
        assert 0 < case.best <= case.system.horizon


@pytest.mark.parametrize("name", BELOW)
def test_rows_below_are_below(name: str) -> None:
    true = float(name.rsplit(maxsplit=1)[-1])
    for seed in SEEDS:
        assert Trial(name, seed, 0.1).build().separation == pytest.approx(true)
    assert not FAMILIES[name].holds(true)


@pytest.mark.parametrize("name", ["needles", "needles, told 0.2", "close laws", "never paid"])
def test_the_nearest_states_are_exactly_as_far_apart_as_declared(name: str) -> None:
    for seed in SEEDS:
        case = Trial(name, seed, 0.1).build()
        assert case.separation == pytest.approx(FAMILIES[name].declared)


@pytest.mark.parametrize("seed", range(10))
def test_close_laws_are_close_at_every_level(seed: int) -> None:
    machine: Any = machine_of("close laws", seed)
    for laws in machine.emissions:
        assert pdist(laws, "cityblock").min() / 2 == pytest.approx(0.3)
    assert 10 <= machine.n_observations <= 50


@pytest.mark.parametrize("seed", range(10))
def test_few_edges_lead_to_the_needle_and_the_rest_to_the_hay(seed: int) -> None:
    machine: Any = machine_of("needles", seed)
    for before, after in enumerate(machine.reachable[1:]):
        if set(after) == {0, 1} and len(machine.reachable[before]) > 2:
            edges = machine.dynamics.transitions[before, machine.reachable[before]]
            assert 1 <= (edges == 1).sum() <= 3
    assert machine.oracle.gap > 0


@pytest.mark.parametrize("future", [2, 3])
def test_aliased_states_are_alike_until_the_last_look(future: int) -> None:
    for seed in range(10):
        machine = machine_of(f"aliased, {future} looks", seed)
        assert [separation(machine, looks) for looks in range(1, future)] == [0] * (future - 1)
        assert separation(machine, future) >= 0.3 - 1e-9
        assert (machine.dynamics.rewards > 0).sum() == 1


@pytest.mark.parametrize("seed", range(10))
def test_random_sequences_practically_never_reach_a_blind_region(seed: int) -> None:
    machine = machine_of("blind regions", seed)
    share = np.array([1.0, 0, 0, 0])  # of the sequences in each state
    for level in range(machine.horizon - 1):
        moved = np.zeros(4)
        for state, action in np.ndindex(4, machine.n_actions):
            end = machine.dynamics.transitions[level, state, action]
            moved[end] += share[state] / machine.n_actions
        share = moved
    region = share[[real_readings.POOR, real_readings.RICH]]
    assert 0 < region.sum() * 64 < 0.05  # of a pilot of 64 sequences
    assert machine.oracle.value == pytest.approx(0.9)


@pytest.mark.parametrize("seed", range(10))
def test_noise_differs_by_a_factor_of_three_to_ten(seed: int) -> None:
    machine: Any = machine_of("unequal noise", seed)
    ratios = machine.noises.max(axis=1) / machine.noises.min(axis=1)
    assert ((ratios >= 3) & (ratios <= 10)).all()


@pytest.mark.parametrize("seed", range(10))
def test_a_lottery_pays_rarely_and_what_is_certain_always(seed: int) -> None:
    machine: Any = machine_of("lotteries", seed)
    chances = machine.dynamics.rewards / machine.prizes
    rare = machine.prizes == 1.0
    assert (rare.sum(axis=2) == 1).all()
    assert ((chances[rare] > 0.007) & (chances[rare] <= 0.05)).all()
    assert chances[~rare] == pytest.approx(1)


def test_near_ties_lie_on_both_sides_of_the_tolerance() -> None:
    losses = list[float]()
    for seed in range(20):
        machine = machine_of("near ties", seed)
        plans = product(range(machine.n_actions), repeat=machine.horizon)
        returns = np.sort([machine.expected_return(plan) for plan in plans])[::-1]
        losses.append(float(returns[0] - returns[1]))
    within = [0 < loss < payments.TOLERANCE for loss in losses]
    assert any(within)
    assert not all(within)
    assert max(losses) <= 1.3 * payments.TOLERANCE + 1e-9


def test_late_and_hidden_rewards_come_with_the_last_step_only() -> None:
    for name in ("close laws", "late payoff", "never paid", "many states"):
        for seed in SEEDS:
            assert not machine_of(name, seed).dynamics.rewards[:-1].any()


def test_one_place_pays_where_nothing_else_does() -> None:
    for seed in SEEDS:
        machine = machine_of("never paid", seed)
        assert (machine.dynamics.rewards > 0).sum() == 1


def test_large_machines_are_large() -> None:
    sizes = [len(machine_of("many states", seed).reachable[-1]) for seed in range(20)]
    assert min(sizes) >= 10
    assert max(sizes) > 60
    horizons = [machine_of("long horizons", seed).horizon for seed in range(20)]
    assert min(horizons) >= 20
    assert 40 < max(horizons) <= 60


@pytest.mark.parametrize("what", ["rewards", "readings"])
def test_what_drifts_has_changed_by_thirty_percent_in_the_end(what: str) -> None:
    system: Any = Trial(f"drift of {what}", 0, 0.1).build().system
    assert isinstance(system, drift.Drifting)
    machine, rng, n = system.machine, np.random.default_rng(0), 40_000
    plan = machine.optimum[0]
    system.episodes = 10**12  # hardly any drift yet
    first = system.rollout(plan, n, rng)
    system.episodes = 1
    last = system.rollout(plan, n, rng)
    error = 5 * 0.5 * np.sqrt(1 / n)
    path = enumerate(zip(machine.path(plan), plan, strict=True))
    means = np.array([machine.reward_law(h, *step).mean for h, step in path])
    kept = 0.7 if what == "rewards" else 1.0
    assert first.rewards.mean(axis=0) == pytest.approx(means, abs=error)
    assert last.rewards.mean(axis=0) == pytest.approx(kept * means, abs=error)
    shares = np.bincount(last.observations[:, 0], minlength=machine.n_observations) / n
    law = machine.emissions[0, 0]
    if what == "readings":
        law = 0.7 * law + 0.3 * system.read
    assert shares == pytest.approx(law, abs=error)


def test_a_drift_is_judged_by_its_warning_and_is_not_covered() -> None:
    for family in drift.FAMILIES:
        assert family.must_warn
        assert not family.holds(1.0)


def test_half_of_a_recipe_is_read_by_no_sensor() -> None:
    """Acid and base in either order leave the same readings and different contents."""
    recipe = dosing.Dosing(6.0, 50.0, 0.5)
    one, other = recipe.course((0, 1, 4, 4, 4)), recipe.course((1, 0, 4, 4, 4))
    assert np.array_equal(dosing.readings(one)[2:], dosing.readings(other)[2:])
    assert one[2].made != other[2].made
    assert dosing.separation(recipe) == 0.0


def test_a_recipe_pays_its_yield_at_the_end_only() -> None:
    recipe, n = dosing.Dosing(6.0, 50.0, 0.5), 10_000
    episodes = recipe.rollout((0, 2, 4, 4, 4), n, np.random.default_rng(0))
    assert not episodes.rewards[:, :-1].any()
    paid = episodes.rewards[:, -1]
    assert ((paid >= 0) & (paid <= 1)).all()
    expected = recipe.expected_return((0, 2, 4, 4, 4))
    assert float(paid.mean()) == pytest.approx(expected, abs=5 * 0.05 / np.sqrt(3 * n))
    errors = episodes.observations - dosing.readings(recipe.course((0, 2, 4, 4)))
    assert errors.std(axis=(0, 1)) == pytest.approx(dosing.NOISE, rel=5 / np.sqrt(2 * 5 * n))


def test_the_call_tells_what_differs_from_the_defaults() -> None:
    def none(rng: np.random.Generator) -> Any:
        raise AssertionError

    assert Family("a", none, 100).call() == {"budget": 100}
    told = Family("a", none, 100, declared=0.2, options={"tolerance": 0.1})
    assert told.call() == {"separation": 0.2, "tolerance": 0.1, "budget": 100}
