"""The adaptive suite, at a size for tests: every part reports what it says, from systems that are
what they say."""

from __future__ import annotations

from importlib import import_module
from itertools import product
from typing import Any

import numpy as np
import pytest

import surepath
from surepath.bench import run_suite
from surepath.bench.harness import runs
from surepath.bench.harness.report import rate
from surepath.bench.harness.runs import Crew, Instance, Job, Outcome
from surepath.bench.suites import broken, calibration, growth, rivals, ties
from surepath.bench.suites.adaptive import PARTS, Scale
from surepath.errors import InputError

TINY = Scale(
    instances=1, runs=2, tuning=2, repeats=1, beyond=1, points=2, calibrated=1,
    proved=2, broken=2, slow=1, step_seconds=1e-6,
)  # fmt: skip


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("surepath.bench.suites.adaptive"), "SCALE", TINY)
    monkeypatch.setattr(rivals, "SIZES", rivals.SIZES[:2])
    monkeypatch.setattr(growth, "BEYOND", growth.BEYOND[:1])
    monkeypatch.setattr(calibration, "DELTAS", (0.1,))
    monkeypatch.setattr(ties, "SIZES", ties.SIZES[:1])
    monkeypatch.setattr(ties, "SLOW", ties.SLOW[:1])


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.usefixtures("tiny")
def test_every_part_reports(part: str) -> None:
    report = run_suite("adaptive", Crew(), [part])
    assert report.sections
    for section in report.sections:
        assert part in section.title
        assert section.rows
        assert {len(row) for row in section.rows} == {len(section.columns)}


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(InputError, match="rival"):
        run_suite("adaptive", Crew(), ["rivals"])


def test_processes_give_what_one_gives_in_the_same_order() -> None:
    one = Instance("tabular", {"horizon": 2})
    jobs = [Job(one.numbered(seed), seed) for seed in range(3)]
    with Crew(2) as crew, Crew(1) as alone:
        assert crew.spread(runs.play, jobs, "two") == alone.spread(runs.play, jobs, "one")


# ------------------------------------------------------------ what a run is judged by


def an_outcome(loss: float, *, certified: bool = True, tolerance: float = 0.0) -> Outcome:
    return Outcome(loss, tolerance, certified, "", (), 10, 20)


def test_a_certificate_is_false_when_it_promises_more_than_is_true() -> None:
    assert not an_outcome(0.0).wrong
    assert an_outcome(0.05).false
    assert an_outcome(0.05, tolerance=0.1).wrong
    assert not an_outcome(0.05, tolerance=0.1).false
    assert not an_outcome(0.5, certified=False).false


def test_rates() -> None:
    assert rate(50, 50) == "50/50 [0.93, 1.00]"
    assert rate(50, 50, 3) == "50/50 [0.929, 1.000]"
    assert rate(0, 0) == "0/0"


# ------------------------------------------------------------ the rival


def test_tuning_finds_the_fewest_samples_that_do() -> None:
    one = rivals.SIZES[0].numbered(0)
    tuning = rivals.Tuning((one,), 20)
    samples = rivals.tune(tuning)
    exact = [
        rivals.merge(rivals.Rival(one, samples, rivals.TUNING + run)).optimal for run in range(20)
    ]
    assert sum(exact) >= 19
    fewer = [
        rivals.merge(rivals.Rival(one, samples // 2, rivals.TUNING + run)).optimal
        for run in range(20)
    ]
    assert sum(fewer) < 19


def test_the_floor_is_that_of_the_instance() -> None:
    assert 1 < rivals.floor_of(rivals.FLOORS[0].numbered(0)) < 1e5


# ------------------------------------------------------------ growth


@pytest.mark.parametrize("stirs", [1, 2])
def test_hidden_states_are_counted_exactly(stirs: int) -> None:
    problem: Any = surepath.make("mixing", horizon=5, actions=3, stirs=stirs, seed=1)
    reached = {
        (h, state.mode, *np.round(state.composition, 11))
        for actions in product(range(3), repeat=4)
        for h, state in enumerate(problem.path(actions))
    }
    assert growth.hidden_states(problem) == len(reached)


def test_every_sweep_grows() -> None:
    for sweep in growth.SWEEPS:
        sizes = [sweep.size(sweep.at(point).numbered(0).build()) for point in sweep.points]
        assert sizes == sorted(sizes)
        assert sizes[0] < sizes[-1]


# ------------------------------------------------------------ broken assumptions


def test_slips_follow_the_belief() -> None:
    """Rewards and symbols of many episodes average to what the belief says."""
    case = broken.slippery(3, 0.3)
    system: Any = case.system
    actions = (0, 1, 1, 0)
    episodes = system.rollout(actions, 200_000, np.random.default_rng(0))
    mean = float(episodes.rewards.sum(axis=1).mean())
    assert mean == pytest.approx(case.returns[actions], abs=0.01)
    machine = system.machine
    meant = np.eye(3)[machine.dynamics.transitions[0, 0, 0]]
    belief = 0.7 * meant + 0.3 * (1 - meant) / 2
    shares = np.bincount(episodes.observations[:, 1], minlength=4) / 200_000
    assert shares == pytest.approx(belief @ machine.emissions[1], abs=0.01)


def test_without_slips_it_is_the_machine() -> None:
    system: Any = broken.slippery(1, 0.0).system
    for actions in product(range(2), repeat=4):
        assert system.expected_return(actions) == pytest.approx(
            system.machine.expected_return(actions)
        )


@pytest.mark.parametrize("seed", range(10))
def test_nearly_tied_sequences_are_closer_than_any_resolution(seed: int) -> None:
    returns = sorted(broken.nearly_tied(seed, 0.004).returns.values())
    assert 0 < returns[-1] - returns[-2] <= 0.004 + 1e-12


def test_states_that_look_alike_differ_in_value() -> None:
    case: Any = broken.look_alike(0, 2).system
    assert np.array_equal(case.emissions[:, 0], case.emissions[:, 1])
    assert not np.array_equal(case.dynamics.rewards[:, 0], case.dynamics.rewards[:, 1])


def test_blurred_features_are_fewer_than_symbols() -> None:
    features = broken.blurred(0, 2).options["features"]
    assert features(np.array([0, 1, 2, 3])).tolist() == [[1, 0], [0, 1], [1, 0], [0, 1]]


# ------------------------------------------------------------ ties and overhead


def test_ties_leave_the_best_value_as_it_was() -> None:
    problem: Any = surepath.make("tabular", horizon=5, seed=4)
    tied = ties.tie(problem, 4)
    assert tied.optimum[1] == pytest.approx(problem.optimum[1])
    flat = (tied.dynamics.rewards == tied.dynamics.rewards[:, :, :1]).all(axis=2)
    assert flat.sum() == flat.size // 2


def test_a_slow_system_is_timed() -> None:
    problem: Any = surepath.make("tabular", horizon=2)
    slow = ties.Slow(problem, 0.001)
    slow.rollout((0, 1), 5, np.random.default_rng(0))
    assert 0.01 <= slow.busy < 0.5
