"""The parts of `bench doctor` that are about whole runs, at a small size."""

from __future__ import annotations

import numpy as np
import pytest

from surepath.bench.families.judging import Trial
from surepath.bench.families.sick import machine
from surepath.bench.suites import given
from surepath.bench.suites.doctor_worlds import ROOMS, Room, examine
from surepath.bench.suites.forecasts import guess
from surepath.doctor.looks import ALIAS


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.title)
def test_rooms(room: Room) -> None:
    pytest.importorskip("minigrid")
    found = examine(room)
    if not room.sick:
        assert found.sound, str(found)
        return
    wrong = [each.assumption for each in found.findings if not each.holds]
    assert wrong == [room.sick]
    if room.sick == ALIAS:
        assert found[ALIAS].data["future"] == 3
        assert "future=3" in found[ALIAS].remedy


def test_logs_have_half_of_the_episodes() -> None:
    taped = given.Taped(machine())
    rng = np.random.default_rng(0)
    for actions, n in (((0, 1, 0, 1), 30), ((1, 1, 0, 0), 50)):
        taped.rollout(actions, n, rng)
    kept = given.half(taped.tape, 80)
    assert [each.count for each in kept] == [30, 10]
    assert (kept[1].observations == taped.tape[1].observations[:10]).all()
    drawn = given.at_random(taped, 800, rng)
    assert sum(each.count for each in drawn) == 400
    assert len({each.actions for each in drawn}) > 8


@pytest.mark.parametrize(("seed", "log"), [(0, "another run"), (1, "random")])
def test_a_run_with_a_log_is_judged(seed: int, log: str) -> None:
    found = given.judge_told(Trial("near ties", seed, 0.2))
    assert found.log == log
    assert found.covered
    assert found.certified
    assert found.episodes < found.alone or log == "random"  # of which little is where it matters
    assert not found.false


def test_a_proved_forecast_is_held_against_the_run() -> None:
    found = guess(("proved", 0))
    assert found.ended
    assert found.low < found.forecast < found.high
