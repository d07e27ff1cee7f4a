"""Sweeps: what grows along them, and what schedules are told."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import surepath
from surepath.bench.harness import sweeps
from surepath.bench.harness.runs import Crew, Job
from surepath.bench.suites import growth, scaling


@pytest.mark.parametrize("stirs", [1, 2])
def test_hidden_states_are_counted_exactly(stirs: int) -> None:
    problem: Any = surepath.make("mixing", horizon=5, actions=3, stirs=stirs, seed=1)
    reached = {
        (h, state.mode, *np.round(state.composition, 11))
        for actions in product(range(3), repeat=4)
        for h, state in enumerate(problem.path(actions))
    }
    assert sweeps.hidden_states(problem) == len(reached)


@pytest.mark.parametrize("sweep", growth.SWEEPS, ids=lambda sweep: sweep.axis)
def test_every_sweep_grows(sweep: sweeps.Sweep) -> None:
    sizes = [sweeps.size_of((sweep.axis, sweep.at(point, 0))) for point in sweep.points]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """What is played in the course of a test."""
    played: list[Job] = []
    original = sweeps.play
    monkeypatch.setattr(sweeps, "play", lambda job: played.append(job) or original(job))
    return played


def test_fixed_schedules_are_told_what_is_true_of_all_instances(jobs: list[Job]) -> None:
    sweep = sweeps.Sweep("1/gap", "tabular", scaling._over("share", 1, 0.5), scaling.SIZE)
    reached = sweeps.run_sweep(Crew(), "tight", sweep, 2)
    problems = [job.instance.build() for job in jobs]
    told = [job.options for job in jobs]
    assert told[0]["gap"] == told[1]["gap"] == 2 * told[2]["gap"]
    assert all(o["gap"] <= p.gap + 1e-12 for o, p in zip(told, problems, strict=True))
    assert all(o["norm"] >= p.norm - 1e-12 for o, p in zip(told, problems, strict=True))
    assert [size for at in reached for size in at.sizes] == [1 / o["gap"] for o in told]


def test_the_adaptive_schedule_is_told_nothing(jobs: list[Job]) -> None:
    sweep = sweeps.Sweep("H", "tabular", scaling._over("horizon", 2, 3), scaling.SIZE)
    reached = sweeps.run_sweep(Crew(), sweeps.ADAPTIVE, sweep, 2)
    assert [(job.instance.parameters["horizon"], job.seed, job.options) for job in jobs] == [
        (2, 0, {}),
        (2, 1, {}),
        (3, 0, {}),
        (3, 1, {}),
    ]
    assert [(at.point, at.sizes) for at in reached] == [
        ({"horizon": 2}, [2.0, 2.0]),
        ({"horizon": 3}, [3.0, 3.0]),
    ]
    assert [run.steps for run in sweeps.all_runs(reached)] == [
        surepath.learn(job.instance.build(), seed=job.seed).steps for job in jobs
    ]
