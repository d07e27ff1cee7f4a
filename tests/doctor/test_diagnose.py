"""The doctor: what it says of sound systems and of sick ones, and what a later run makes of it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import surepath
from surepath import Verdict
from surepath.bench.families.sick import (
    Cart,
    Fading,
    Maze,
    Moods,
    RandomStart,
    Single,
    SlipsOnce,
    machine,
)
from surepath.bench.suites.broken import look_alike
from surepath.bench.suites.doctor import PATIENTS
from surepath.doctor import payments
from surepath.doctor.change import DRIFT
from surepath.doctor.determinism import START
from surepath.doctor.linearity import BLIND, LINEAR
from surepath.doctor.looks import ALIAS, NOISE, STATES
from surepath.doctor.payments import RANGE, TAILS, WHEN
from surepath.doctor.resets import CLEAN
from surepath.errors import InputError, JournalError


def looked(system: object, **options: object) -> surepath.Diagnosis:
    return surepath.diagnose(system, forecast=False, **options)  # pyright: ignore


@pytest.mark.parametrize("system", [Single(), machine(5), Cart(), Maze()])
def test_sound_systems_pass(system: object) -> None:
    found = looked(system)
    assert found.sound, str(found)
    assert abs(found.episodes - 2000) < 100
    assert all(each.verdict is Verdict.HOLDS for each in found.findings)


def test_a_slip_is_found_with_the_action_that_slips() -> None:
    found = looked(SlipsOnce(machine(), 0.3, 1))[START]
    assert found.verdict is Verdict.BROKEN
    assert (found.data["kind"], found.data["step"]) == ("transition", 2)
    assert "action 1" in found.evidence


def test_what_lasts_from_one_episode_to_the_next_is_found() -> None:
    found = looked(Moods(0.5, 10.0))
    assert found[CLEAN].verdict is Verdict.BROKEN
    assert "what is paid at step 3" in found[CLEAN].evidence
    assert found[START].holds
    assert looked(Moods(0.5, 1.0))[CLEAN].holds


def test_a_random_start_is_told_from_a_sensor() -> None:
    found = looked(RandomStart())[START]
    assert found.verdict is Verdict.BROKEN
    assert (found.data["kind"], found.data["step"]) == ("start", 0)
    shared = looked(Cart(rho=0.4))[START]
    assert shared.verdict is Verdict.BROKEN
    assert shared.data["kind"] == "noise"
    assert "shared_noise" in shared.remedy


def test_drift_is_found_and_drawn() -> None:
    found = looked(Fading(0.4, 2000))[DRIFT]
    assert found.verdict is Verdict.BROKEN
    assert "rewards changed" in found.evidence
    assert "█" in found.evidence


@pytest.mark.parametrize("seed", range(6))
def test_readings_that_come_to_be_of_another_law_are_found(seed: int) -> None:
    """20 % of them at the end of the pilot, whatever the state: each law moves by a few percent."""
    patient = PATIENTS["20 % of readings age"](np.random.default_rng([seed, 11]))
    assert looked(patient.system, seed=seed)[DRIFT].verdict is not Verdict.HOLDS


def test_aliases_are_found_with_a_future_that_helps() -> None:
    assert looked(look_alike(3, 2).system)[ALIAS].verdict is Verdict.BROKEN
    exact = looked(Maze(partial=True))[ALIAS]
    assert exact.verdict is Verdict.BROKEN
    assert exact.data["future"] == 3  # a step aside, and then against the wall or not
    assert "future=3" in exact.remedy


def test_exact_readings_are_named() -> None:
    exact, noisy = looked(Maze()), looked(Single())
    assert 'separation="exact"' in exact[NOISE].remedy
    assert exact[STATES].data["states"][1] > 1
    assert not noisy[NOISE].remedy
    assert noisy[STATES].data["nearest"] == pytest.approx(0.4, abs=0.1)
    assert looked(Single(), separation="exact")[NOISE].verdict is Verdict.BROKEN


def test_tails_and_bends() -> None:
    assert looked(Cart(heavy=0.02))[TAILS].verdict is Verdict.DOUBTFUL
    bent = looked(Cart(bend=0.1))[LINEAR]
    assert bent.verdict is Verdict.BROKEN
    assert "features=" in bent.remedy


def test_a_sensor_that_is_cut_off_has_no_tails() -> None:
    """Half a bell is narrower than a bell, and what lies on its other side stands out of it."""
    gauge = np.random.default_rng(0).normal(size=(2000, 2))
    gauge[:, 0] = np.minimum(gauge[:, 0], 0.2)
    assert len(payments._outlying(gauge)) == 1
    gauge[0, 1] = 9.0
    assert payments._outlying(gauge)[0] < 1e-9


def test_features_that_see_nothing() -> None:
    def nothing(symbols: np.ndarray) -> np.ndarray:
        return np.ones((len(symbols), 2))

    found = looked(Single(), features=surepath.Custom(nothing, 2, radius=2.0))
    assert found[BLIND].verdict is Verdict.BROKEN


def test_exact_readings_that_features_do_not_tell_apart_are_counted() -> None:
    def column(symbols: np.ndarray) -> np.ndarray:
        return np.eye(3)[np.asarray(symbols) // 3]

    found = looked(Maze(), features=surepath.Custom(column, 3, radius=1.0))[BLIND]
    assert found.verdict is Verdict.HOLDS  # it may be meant; whether they go on alike is asked too
    assert found.data["told"] < found.data["readings"]
    assert "features=" in found.remedy
    assert not looked(Maze())[BLIND].remedy


def test_readings_that_drift_are_drawn() -> None:
    patient = PATIENTS["20 % of readings age"](np.random.default_rng([1, 11]))
    found = looked(patient.system, seed=1)[DRIFT]
    assert "readings by round" in found.evidence
    rounds = found.data["rounds"]["readings"]
    assert len(rounds) == 8
    assert min(rounds[-2:]) > max(rounds[:2])


def test_what_is_paid() -> None:
    wide = looked(Single(), reward_range=(0.0, 50.0))[RANGE]
    assert "reward_range=(0, 1)" in wide.remedy
    assert "return_range" in looked(Cart())[WHEN].remedy
    outside = looked(Single(), reward_range=(0.0, 0.5))[RANGE]
    assert outside.verdict is Verdict.BROKEN

    class Free(Single):
        def rollout(
            self, actions: tuple[int, ...], n: int, rng: np.random.Generator
        ) -> surepath.Episodes:
            read = super().rollout(actions, n, rng)
            return surepath.Episodes(actions, read.observations, 0 * read.rewards)

    found = looked(Free())
    assert found.sound
    assert "no reward differed" in found[WHEN].evidence


# ---------------------------------------------------------------- what comes of it


def test_a_diagnosis_is_data_and_words() -> None:
    found = surepath.diagnose(Single(), episodes=400)
    data = json.loads(found.to_json())
    assert data["sound"] is found.sound
    assert data["findings"][0]["assumption"] == START
    assert {each.guarantee for each in found.forecasts} == {"calibrated", "proved"}
    for each in found.forecasts:
        assert 0 < each.low < each.episodes < each.high
        assert each.steps > each.episodes
    assert "calibrated: about" in str(found)


def test_the_same_seed_finds_the_same() -> None:
    one, other = (looked(Single(), episodes=400).findings for _ in range(2))
    assert one == other


def test_a_later_run_takes_the_pilot_as_evidence(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    first = looked(Single(), journal=path, separation=0.2)
    assert looked(Single(), journal=path, separation=0.2).findings == first.findings
    bare = surepath.learn(Single(), separation=0.2)
    result = surepath.learn(Single(), separation=0.2, journal=path)
    assert result.certified
    assert result.actions == bare.actions
    assert result.usage.given_episodes == first.episodes
    assert result.episodes < bare.episodes
    assert surepath.verify(path).certified
    assert not surepath.verify(path).taken
    again = surepath.learn(Single(), data=path, seed=1)
    assert again.usage.given_episodes > first.episodes
    with pytest.raises(JournalError, match="another run"):
        surepath.learn(Single(), journal=path)


def test_too_small_a_pilot_is_refused() -> None:
    with pytest.raises(InputError, match="at least"):
        surepath.diagnose(Single(), episodes=10)
