"""The recipe: its truth, what is hidden in it, and how runs on it are sorted."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from surepath.bench import run_suite
from surepath.bench.harness.runs import Crew, Outcome
from surepath.bench.suites import real, recipe
from surepath.bench.suites.recipe import BASE, HEAT, REAGENT, WAIT, Chemistry, Recipe
from surepath.checks import check_system


@pytest.fixture
def system() -> Recipe:
    return Recipe(Chemistry.drawn(0))


def test_it_is_a_system(system: Recipe) -> None:
    check_system(system)


def test_the_best_of_all_recipes_is_worth_what_is_said(system: Recipe) -> None:
    plans = list(product(range(5), repeat=5))
    values = [system.value(plan) for plan in plans]
    assert len(plans) == 3125
    assert system.best() == max(values)
    assert 0.1 <= min(values) < system.best() - 0.3
    assert system.best() <= 0.9


def test_the_order_of_steps_counts_and_no_sensor_shows_it(system: Recipe) -> None:
    """The same pH and temperature, another vessel: to dose reagent or to wait looks the same."""
    dosed, waited = (system.vessels((HEAT, BASE, action))[-1] for action in (REAGENT, WAIT))
    assert (dosed.ph, dosed.temperature) == (waited.ph, waited.temperature)
    assert dosed.reagent > waited.reagent
    early, late = ((REAGENT, HEAT, BASE, BASE, WAIT), (HEAT, BASE, BASE, REAGENT, WAIT))
    assert system.value(early) != pytest.approx(system.value(late), abs=0.01)


def test_the_yield_is_paid_at_the_end_with_noise_around_the_truth(system: Recipe) -> None:
    plan, n = (HEAT, BASE, BASE, REAGENT, WAIT), 10_000
    episodes = system.rollout(plan, n, np.random.default_rng(0))
    assert (episodes.rewards[:, :-1] == 0).all()
    paid = episodes.rewards[:, -1]
    assert 0 <= paid.min() < paid.max() <= 1
    # Uniform noise: its mean is 0 up to six of its deviations.
    deviation = recipe.YIELD_NOISE / np.sqrt(3 * n)
    assert paid.mean() == pytest.approx(system.value(plan), abs=6 * deviation)


def test_runs_are_sorted_by_what_came_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = {
        0: Outcome(0.0, 0.1, True, "fine", (), 10, 50),
        1: Outcome(0.3, 0.1, True, "fine", (), 20, 50),
        2: Outcome(0.3, 0.0, False, "the run stopped after 7", (), 30, 50),
        3: Outcome(0.3, 0.0, False, "the run stopped after 9", (), 30, 50),
        4: Outcome(0.0, 0.0, False, "prefix 3 does not fit", (), 30, 50),
    }
    monkeypatch.setattr(recipe, "cook", drawn.__getitem__)
    monkeypatch.setattr(real, "SCALE", real.Scale(recipes=len(drawn)))
    (section,) = run_suite("real", Crew(), ["recipe"]).sections
    said = [(row[0], str(row[1]).partition(" ")[0], row[2]) for row in section.rows]
    assert said == [
        ("certified, right", "1/5", "loses 0, admits 0.1, after 10 episodes"),
        ("certified, wrong", "1/5", "loses 0.3, admits 0.1, after 20 episodes"),
        ("not certified", "2/5", "the run stopped after 7"),
        ("not certified", "1/5", "prefix 3 does not fit"),
        ("plan optimal", "2/5", ""),
    ]


def test_a_run_is_judged_by_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "BUDGET", 400)
    run = recipe.cook(0)
    assert not run.certified
    assert 0 <= run.loss <= 0.8
    assert run.episodes <= 400
