"""Slips to states that are known: rarer ones are found, and chance is what it is said to be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from surepath.bench.families.sick import Cart, Maze, Single, SlipsOnce, machine
from surepath.bench.suites.doctor import PATIENTS
from surepath.doctor.determinism import determinism
from surepath.doctor.finding import Verdict
from surepath.doctor.looks import likely_machine, states_of
from surepath.doctor.pilot import Pilot, requests_of_pilot
from surepath.doctor.slips import slips
from surepath.prepare.call import Call
from surepath.prepare.task import plan_task
from surepath.prepare.terms import finite_features
from surepath.run.runner import Runner
from surepath.system import Episodes

SLIPS = "one action slips, by 0.1 to 0.3"


def piloted(system: object, seed: int = 0, episodes: int = 2000) -> Pilot:
    call = Call.of(system, None, seed=seed)
    runner = Runner(call.system, seed)
    features = finite_features(plan_task(call, runner).psi)
    return Pilot.run(call, features, runner, episodes)


def changed_places(pilot: Pilot, rng: np.random.Generator) -> Pilot:
    """The same readings of every sequence and step, in other episodes."""
    seen, paid = pilot.observations.copy(), pilot.rewards.copy()
    for group in pilot.groups(pilot.call.horizon):
        for step in range(pilot.call.horizon):
            seen[group, step] = seen[rng.permutation(group), step]
            paid[group, step] = paid[rng.permutation(group), step]
    told, first = list[Episodes](), 0
    for each in pilot.told:
        rows = slice(first, first + each.count)
        told.append(Episodes(each.actions, seen[rows], paid[rows]))
        first += each.count
    return replace(pilot, told=tuple(told))


@pytest.mark.parametrize("seed", [1001, 1010, 1013, 1014])
def test_slips_that_single_steps_do_not_show(seed: int) -> None:
    """Each has a chance of 0.1; what a step says about what follows is too little there."""
    patient = PATIENTS[SLIPS](np.random.default_rng([seed, 11]))
    found = determinism(piloted(patient.system, seed))
    assert found.verdict is Verdict.BROKEN
    assert found.data["step"] == patient.step


def test_scores_point_to_the_level_of_the_slip() -> None:
    """Level 2, after action 1: no pair of scores of the level before it goes together."""
    found = slips(piloted(SlipsOnce(machine(), 0.3, 1)))
    assert max(range(3), key=lambda i: found[i].after) == 1
    assert found[1].there > 8
    assert abs(found[0].there) < 4


@pytest.mark.parametrize("system", [Single(), Cart(horizon=3)])
def test_chance_is_that_of_other_places(system: object) -> None:
    """Among all ways to give the readings of a step to other episodes, scores are 0 with spread 1.

    100 of them; the mean and the mean square are such that chance goes beyond once in a thousand.
    """
    pilot = piloted(system, episodes=400)
    rng = np.random.default_rng(5)
    scores = np.array(
        [[each.after for each in slips(changed_places(pilot, rng))] for _ in range(100)]
    )
    far = stats.norm.isf(0.0005)
    for column in scores.T[np.ptp(scores, axis=0) > 0]:
        assert abs(column.mean()) < far / 10
        assert abs((column**2).mean() - 1) < far * (column**2).std() / 10


def test_states_do_not_depend_on_which_episode_a_reading_is_of() -> None:
    pilot = piloted(Single())
    other = changed_places(pilot, np.random.default_rng(1))
    one, two = (states_of(each, likely_machine(each)) for each in (pilot, other))
    assert all((mine == theirs).all() for mine, theirs in zip(one, two, strict=True))
    assert not (pilot.observations == other.observations).all()


def test_readings_without_noise_have_no_slips() -> None:
    assert all(each.after == each.there == 0 for each in slips(piloted(Maze())))


def test_the_sequences_that_are_walked_often_differ_at_every_step() -> None:
    for seed in range(5):
        requests = requests_of_pilot(Call.of(Single(), None, seed=seed), 2000)
        one, other = sorted(requests[:2], key=lambda each: each.count)[-2:]
        assert all(a != b for a, b in zip(one.actions, other.actions, strict=True))
