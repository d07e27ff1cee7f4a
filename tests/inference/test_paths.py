"""Paths through random machines, against a list of all of them."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import surepath.inference.paths
from cases import (
    GAP,
    RESOLUTION,
    SIZES,
    WIDTHS,
    Case,
    Rule,
    Width,
    strictly,
    with_gap,
    within_resolution,
)
from machines import follow, paths_from, random_machine
from surepath.inference.paths import Path, best_known, best_path, challengers, reach
from surepath.inference.states import UNKNOWN, Automaton, Edge
from surepath.inference.tuning import TUNING
from surepath.inference.values import Values, estimate

# ---------------------------------------------------------------- the best path


@pytest.mark.parametrize("sizes", SIZES)
def test_the_best_path_is_the_best_of_all(sizes: tuple[int, int, int]) -> None:
    for seed in range(20):
        machine = random_machine(np.random.default_rng(seed), *sizes)
        values = estimate(machine, 1.0, 1.0)
        means = {
            path: sum(machine.layers[h].mean[edge] for h, edge in enumerate(path))
            for path in paths_from(machine, 0, 0)
        }
        plan = best_path(machine, values)
        assert means[tuple(plan.edges)] == pytest.approx(max(means.values()))
        assert values.best(0)[0] == pytest.approx(max(means.values()))
        assert plan.actions == tuple(action for _, action in plan.edges)
        assert follow(machine, plan.actions) == plan.edges


@pytest.mark.parametrize("sizes", SIZES)
def test_the_best_known_path_of_a_machine_that_is_known_is_the_best(
    sizes: tuple[int, int, int],
) -> None:
    for seed in range(20):
        machine = random_machine(np.random.default_rng(seed), *sizes)
        assert best_known(machine) == best_path(machine, estimate(machine, 1.0, 1.0)).actions


def test_the_best_known_path_takes_what_was_tried_and_ends_where_nothing_was() -> None:
    machine = random_machine(np.random.default_rng(0), 3, 2, 2)
    first, second, last = machine.layers
    best = int(first.mean[0].argmax())
    first.count[0, best] = 0
    assert best_known(machine)[0] == 1 - best
    first.target[0, 1 - best] = UNKNOWN
    assert best_known(machine) == (1 - best,)
    second.count[:], last.count[:] = 0, 0
    assert best_known(machine) == (1 - best,)


def test_the_best_path_ends_where_nothing_was_tried() -> None:
    machine = random_machine(np.random.default_rng(0), 3, 2, 2)
    machine.layers[1].count[:, 1] = 0
    plan = best_path(machine, estimate(machine, 1.0, 1.0))
    assert len(plan.edges) == 1
    assert plan.end == machine.layers[0].target[plan.edges[0]]


# ---------------------------------------------------------------- what could beat it


def test_every_way_to_leave_the_plan_has_its_challenger() -> None:
    for seed in range(10):
        case = Case(seed, np.sqrt, with_gap, (4, 3, 3))
        ways = [
            (level, action)
            for level, (_, chosen) in enumerate(case.plan.edges)
            for action in range(3)
            if action != chosen
        ]
        assert sorted((challenger.level, challenger.action) for challenger in case.found) == ways
        for challenger in case.found:
            assert challenger.path.edges[0] == (
                case.plan.edges[challenger.level][0],
                challenger.action,
            )
            whole = case.plan.actions[: challenger.level] + challenger.path.actions
            assert follow(case.machine, whole)[challenger.level :] == challenger.path.edges
            assert challenger.guessed == 0.0


@pytest.mark.parametrize("rule", [strictly, with_gap])
@pytest.mark.parametrize("width", WIDTHS, ids=["root", "sum"])
@pytest.mark.parametrize("sizes", SIZES)
def test_the_challenger_is_the_hardest_to_rule_out_of_all(
    sizes: tuple[int, int, int], width: Width, rule: Rule
) -> None:
    for seed in range(20):
        case = Case(seed, width, rule, sizes)
        for challenger in case.found:
            everyone = case.leaving(challenger.level, challenger.action)
            assert challenger.excess == pytest.approx(max(e for *_, e in everyone), abs=1e-9)
            assert challenger.loss == pytest.approx(max(w - m for m, w, _ in everyone), abs=1e-9)
            said = (challenger.margin, challenger.width, challenger.excess)
            assert said == pytest.approx(case.of(challenger), abs=1e-9)


def test_a_wide_challenger_is_not_hidden_by_a_good_one() -> None:
    """Off the plan, one action is worth a little more and known well, the other is hardly known."""
    machine = random_machine(np.random.default_rng(0), 2, 2, 2)
    machine.layers[0].target[:] = [[0, 1]]
    machine.layers[0].mean[:] = 0.0
    machine.layers[1] = random_machine(np.random.default_rng(0), 1, 2, 1).layers[0]
    layer = machine.layers[1]
    machine.layers[1] = replace(
        layer,
        prefixes=[(0,), (1,)],
        count=np.full((2, 2), 9.0),
        mean=np.array([[0.8, 0.1], [0.6, 0.5]]),
        scatter=np.ones((2, 2)),
        target=np.full((2, 2), UNKNOWN),
    )
    spreads = [np.zeros((1, 2)), np.array([[0.0, 0.0], [0.01, 0.36]])]
    values = estimate(machine, 1.0, 1.0)
    plan = best_path(machine, values)
    found = challengers(
        machine, plan, values, spreads, [np.zeros(1), np.zeros(2)], np.sqrt, strictly
    )
    assert plan.actions == (0, 0)
    assert found[0].path.actions == (1, 1)
    assert (found[0].margin, found[0].width) == pytest.approx((0.3, 0.6))


@pytest.mark.parametrize("width", WIDTHS, ids=["root", "sum"])
def test_what_is_settled_within_the_resolution_loses_less(width: Width) -> None:
    """That rule prefers a clear tie to an unclear lead: so it is the loss that has to be bounded.

    Where a way to leave the plan counts as settled, no path that takes it can be better by the
    resolution.
    """
    settled = 0
    for seed in range(60):
        case = Case(seed, width, within_resolution, (4, 3, 3))
        for challenger in case.found:
            said = (challenger.margin, challenger.width, challenger.excess)
            assert said == pytest.approx(case.of(challenger), abs=1e-9)
            loss = max(w - m for m, w, _ in case.leaving(challenger.level, challenger.action))
            assert challenger.loss == pytest.approx(loss, abs=1e-9)
            if challenger.excess < 0:
                settled += 1
                assert loss < RESOLUTION
    assert settled > 50


@pytest.mark.parametrize("labels", [2, 3, 5])
@pytest.mark.parametrize("width", WIDTHS, ids=["root", "sum"])
def test_thinning_only_widens(monkeypatch: pytest.MonkeyPatch, labels: int, width: Width) -> None:
    few = replace(TUNING, most_labels=labels)
    monkeypatch.setattr(surepath.inference.paths, "TUNING", few)
    monkeypatch.setattr(surepath.inference.paths, "LARGEST_FRONT", labels)
    wider = 0
    for seed in range(60):
        case = Case(seed, width, with_gap, (5, 3, 3))
        for challenger in case.found:
            exact = max(each for *_, each in case.leaving(challenger.level, challenger.action))
            assert challenger.excess >= exact - 1e-9
            assert challenger.loss >= exact + GAP - 1e-9
            wider += challenger.excess > exact + 1e-9
    assert wider or labels > 2  # with two labels something has to be given up


def test_with_enough_labels_nothing_is_thinned() -> None:
    """A hundred ends of one state, the more they are worth the more often they were read."""
    machine = random_machine(np.random.default_rng(0), 2, 100, 2)
    first, last = machine.layers
    assert last.mean.shape == (2, 100)
    first.mean[:], first.target[:], first.target[0, 0] = 0.0, 1, 0
    worth, wide = np.linspace(0.0, 0.5, 100), np.linspace(0.6, 0.1, 100) ** 3
    last.mean[:] = np.zeros(100), worth
    last.mean[0, 0] = 0.9
    spreads = [np.zeros((1, 100)), np.array([np.zeros(100), wide**2])]
    values = estimate(machine, 1.0, 1.0)
    guesses = [np.zeros(1), np.zeros(2)]
    few, many = (
        challengers(
            machine, best_path(machine, values), values, spreads, guesses, np.sqrt, strictly,
            most_labels=most,
        )[0]
        for most in (10, 1024)
    )  # fmt: skip
    assert many.excess == pytest.approx(max(wide - (0.9 - worth)))
    assert few.excess > many.excess + 1e-3


@pytest.mark.parametrize("width", WIDTHS, ids=["root", "sum"])
def test_nothing_stays_open_because_few_labels_were_told_apart(
    monkeypatch: pytest.MonkeyPatch, width: Width
) -> None:
    """Where only thinning keeps a question open, it is asked again with more labels."""
    monkeypatch.setattr(surepath.inference.paths, "TUNING", replace(TUNING, most_labels=2))
    helped = 0
    for seed in range(60):
        case = Case(seed, width, with_gap, (5, 3, 3))
        for challenger in case.found:
            exact = max(each for *_, each in case.leaving(challenger.level, challenger.action))
            assert (challenger.excess < 0) == (exact < 0)
        with monkeypatch.context() as patched:
            patched.setattr(surepath.inference.paths, "LARGEST_FRONT", 2)
            thinned = Case(seed, width, with_gap, (5, 3, 3)).found
        settled = [sum(one.excess < 0 for one in found) for found in (thinned, case.found)]
        assert settled[0] <= settled[1]
        helped += settled[0] < settled[1]
    assert helped  # else nothing of this was tested


def test_a_state_that_was_only_predicted_ends_the_challenger_there() -> None:
    machine = random_machine(np.random.default_rng(3), 3, 2, 2)
    layer = machine.layers[1]
    plan_state = int(machine.layers[0].target[0, 0])
    other = len(layer.prefixes)
    machine.layers[1] = replace(
        layer,
        prefixes=[*layer.prefixes, (1,)],
        count=np.vstack([layer.count, [0.0, 0.0]]),
        mean=np.vstack([layer.mean, [0.0, 0.0]]),
        scatter=np.vstack([layer.scatter, [0.0, 0.0]]),
        target=np.vstack([layer.target, [UNKNOWN, UNKNOWN]]),
    )
    machine.layers[0].target[0, 1] = other
    machine.layers[0].mean[:] = [[0.9, 0.1]]
    values = estimate(machine, 1.0, 1.0)
    values.q[1][other] = [0.2, 0.5]
    plan = Path([(0, 0), *best_from(machine, values, 1, plan_state)], UNKNOWN)
    spreads = [np.full(part.mean.shape, 0.01) for part in machine.layers]
    guesses = [np.zeros(len(part.prefixes)) for part in machine.layers]
    guesses[1][other] = 0.09
    challenger = challengers(machine, plan, values, spreads, guesses, np.sqrt, strictly)[0]
    assert (challenger.level, challenger.action) == (0, 1)
    assert challenger.path == Path([(0, 1)], end=other)
    value = sum(float(machine.layers[h].mean[e]) for h, e in enumerate(plan.edges))
    assert challenger.margin == pytest.approx(value - 0.1 - 0.5)
    assert challenger.width == pytest.approx(math.sqrt(3 * 0.01 + 0.01 + 0.09))
    assert challenger.guessed == pytest.approx(0.09 / 0.13)


def best_from(machine: Automaton, values: Values, level: int, state: int) -> list[Edge]:
    edges = list[Edge]()
    for h in range(level, machine.horizon):
        edges.append((state, int(values.q[h][state].argmax())))
        state = int(machine.layers[h].target[edges[-1]])
    return edges


# ---------------------------------------------------------------- what was collected on the way


@pytest.mark.parametrize("sizes", SIZES)
def test_reach_is_the_most_on_any_way(sizes: tuple[int, int, int]) -> None:
    for seed in range(20):
        machine = random_machine(np.random.default_rng(seed), *sizes, counts=(0, 4, 4))
        found = reach(machine)
        for level in range(machine.horizon):
            best = np.full(len(machine.layers[level].prefixes), -np.inf)
            for actions in product(range(machine.n_actions), repeat=level):
                edges = follow(machine, actions)
                ends = [machine.layers[h].target[e] for h, e in enumerate(edges)]
                if len(edges) == level and UNKNOWN not in ends:
                    state = ends[-1] if level else 0
                    got = sum(float(machine.layers[h].mean[e]) for h, e in enumerate(edges))
                    best[state] = max(best[state], got)
            assert found[level] == pytest.approx(best)
