"""Many close decisions: how many count, and what they lose together is within what is said."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from surepath.inference.guarantee_widths import Calibrated
from surepath.inference.paths import best_path, challengers
from surepath.inference.states import UNKNOWN, Automaton, Layer
from surepath.inference.ties import Close
from surepath.inference.values import estimate
from surepath.system import FloatArray

READ = 400
DELTA = 0.05


def road(mean: FloatArray, scatter: float = 0.25) -> Automaton:
    """One place at each level; what its actions pay on average, [H, A]."""
    layers = list[Layer]()
    for level, row in enumerate(mean):
        last = level == len(mean) - 1
        layers.append(
            Layer(
                [(0,) * level],
                np.full((1, len(row)), float(READ)),
                row[None],
                np.full((1, len(row)), scatter * READ),
                np.full((1, len(row)), UNKNOWN if last else 0),
            )
        )
    return Automaton(layers, mean.shape[1])


def fork(mean: FloatArray) -> Automaton:
    """Two roads that never meet again: whoever leaves the first is on the second."""
    machine = road(mean)
    for level, layer in enumerate(machine.layers[1:], start=1):
        for name in ("count", "mean", "scatter", "target"):
            setattr(layer, name, np.repeat(getattr(layer, name), 2, axis=0))
        layer.prefixes = [(0,) * level, (1,) * level]
        layer.mean[1] -= 1e-6
        if level < len(mean) - 1:
            layer.target[:] = [[0, 1], [1, 1]]
    machine.layers[0].target[:] = [[0, 1]]
    return machine


def calibrated(machine: Automaton) -> Calibrated:
    ways = machine.horizon * (machine.n_actions - 1)
    return Calibrated(DELTA, (0.0, 1.0), 0.5, ways)


def close_of(machine: Automaton) -> Close:
    widths, values = calibrated(machine), estimate(machine, 1.0, 1.0)
    sides = widths.spreads(machine), widths.shortfalls(machine)
    return Close(machine, values, *sides, widths.noise(machine), widths.guesses(values.variance))


def others(machine: Automaton) -> float:
    return close_of(machine).others(best_path(machine, estimate(machine, 1.0, 1.0)))


def leads(*by_level: float) -> FloatArray:
    return np.array([[0.5, 0.5 - lead] for lead in by_level])


def test_each_close_decision_counts_beside_the_first() -> None:
    assert others(road(leads(0.0))) == 0
    assert others(road(leads(0.01, 0.4))) == 0  # the other is decided
    assert others(road(leads(0.01, 0.02, 0.4, 0.0))) == pytest.approx(2)


@pytest.mark.parametrize("equals", [1, 5, 24])
def test_ways_through_a_level_that_are_as_close_are_counted(equals: int) -> None:
    """Beside the plan so many that pay as much, and some that pay far less."""
    machine = road(np.array([[0.5] * (equals + 1) + [0.1] * 3]))
    plan = best_path(machine, estimate(machine, 1.0, 1.0))
    assert close_of(machine).rivals(plan) == equals
    quiet = road(np.array([[0.5] * (equals + 1) + [0.1] * 3]), scatter=0.0)
    assert close_of(quiet).rivals(plan) == 0  # what has no noise was not chosen by chance


def test_equals_that_lie_behind_different_states_are_counted() -> None:
    """A tree has few ways to leave the plan, and many leaves."""
    machine = fork(np.full((2, 2), 0.5))
    plan = best_path(machine, estimate(machine, 1.0, 1.0))
    assert close_of(machine).rivals(plan) == 3


def test_a_tie_is_wider_by_the_logarithm_of_its_rivals() -> None:
    widths = calibrated(road(np.full((1, 30), 0.5)))
    for rivals in (1, 2):
        assert widths.among(0.0, rivals) == 1
    strength = widths.strength
    assert widths.among(0.0, 24) ** 2 * strength == pytest.approx(strength + math.log(12))
    assert widths.among(3.0, 24) ** 2 * strength == pytest.approx(strength + math.log(12) + 1.5)


def test_a_decision_among_several_actions_counts_for_more() -> None:
    mean = np.array([[0.5, 0.5, 0.5, 0.1], [0.5, 0.49, 0.49, 0.48]])
    assert others(road(mean)) == pytest.approx(1 + math.log(2))  # beside the one with three


def test_what_was_paid_without_noise_was_not_chosen_by_chance() -> None:
    assert others(road(leads(0.0, 0.0, 0.0), scatter=0.0)) == 0


def test_small_noise_counts_by_its_size() -> None:
    machine = road(leads(0.0, 0.0))
    machine.layers[1].scatter /= 10
    assert others(machine) == pytest.approx(0.1)


def test_ways_that_exclude_each_other_do_not_add_up() -> None:
    """No path leaves a plan twice that it never comes back to."""
    assert others(fork(leads(*[0.0] * 6))) == pytest.approx(0)


@pytest.mark.parametrize(("horizon", "n_actions"), [(40, 3), (24, 4)])
def test_what_many_close_decisions_lose_together_is_within_the_loss(
    horizon: int, n_actions: int
) -> None:
    """Gaps of one standard error, where a plan chosen by its readings does worst.

    Without a wider width for them, more than delta of the losses are beyond what is said.
    """
    rng, runs = np.random.default_rng(0), 120
    gap = math.sqrt(2 * 0.25 / READ)
    beyond = {"wider": 0, "alone": 0}
    for _ in range(runs):
        shape = horizon, n_actions
        noise = rng.normal(0, math.sqrt(0.25 / READ), shape)
        machine = road(0.5 + noise - gap * (np.arange(n_actions) > 0))
        values, widths = estimate(machine, 1.0, 1.0), calibrated(machine)
        plan = best_path(machine, values)
        lost = gap * sum(action > 0 for action in plan.actions)
        factors = {"wider": widths.among(others(machine)), "alone": 1.0}
        for name, among in factors.items():
            found = challengers(
                machine,
                plan,
                values,
                widths.spreads(machine),
                widths.guesses(values.variance),
                widths.width,
                lambda margin, width: width - margin,
                widths.shortfalls(machine),
                among,
            )
            beyond[name] += lost > max(each.loss for each in found)
    assert beyond["wider"] <= stats.binom.ppf(0.999, runs, DELTA)
    assert beyond["alone"] > beyond["wider"]
