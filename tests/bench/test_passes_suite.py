"""Orders of passes with recorded timings: who is told what, and that all are counted alike."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from surepath.bench import passes
from surepath.bench.harness import recorded_timings
from surepath.bench.harness.recorded_timings import Binaries, Orders, Read, Recorded, kept, recorded
from surepath.bench.harness.runs import Crew
from surepath.bench.harness.store import Store


@pytest.fixture(scope="module")
def timed() -> Recorded:
    """Three passes, three programs a level, three binaries."""
    rng = np.random.default_rng(1)
    moves = [rng.integers(3, size=(size, 3)) for size in (1, 3, 3)]
    paid = np.array([0.3, 0.5, 0.4])[:, None] + rng.normal(0, 0.02, size=(3, 50))
    return Recorded("made up", moves, np.array([1, 2, 0]), paid, {"-O2": 0.35, "-O3": 0.45})


def test_all_are_paid_the_same_for_the_same(timed: Recorded) -> None:
    for order in product(range(3), repeat=3):
        binary = timed.path(order)[-1]
        rng = np.random.default_rng
        last = [
            Read(timed).rollout((*order, 0), 5, rng(0)).rewards[:, -1].tolist(),
            Orders(timed).rollout(order, 5, rng(0)).rewards[:, -1].tolist(),
            Binaries(timed).rollout((binary,), 5, rng(0)).rewards[:, -1].tolist(),
        ]
        assert last[0] == last[1] == last[2]
        assert set(last[0]) <= set(timed.paid[binary].tolist())
        assert Orders(timed).loss(order) == Binaries(timed).loss((binary,))


def test_a_timing_counts_as_one_and_reading_is_free(timed: Recorded) -> None:
    system = Read(timed)
    system.rollout((0, 1, 2), 7, np.random.default_rng(0))
    assert system.timings == 0
    system.rollout((0, 1, 2, 0), 7, np.random.default_rng(0))
    assert system.timings == 7


def test_statements_are_right_and_being_told_helps(timed: Recorded) -> None:
    for seed in range(3):
        own, result = passes.ours(timed, seed)
        terms = result.certificate.terms
        assert terms is not None
        told, untold = passes.lucb(timed, terms, seed, 10**6)
        for answer in (own, told, untold):
            assert answer.stated
            assert answer.loss <= passes.SHARE
        assert told.timings < untold.timings
        assert own.timings < untold.timings


def test_finders_keep_to_their_timings(timed: Recorded) -> None:
    found = {each.method: each for each in passes.finders(timed, 0, 600)}
    assert len(found) == 4
    for name in ("sequential halving, told", "random search", "Optuna"):
        assert 0 < found[name].timings <= 600
        assert found[name].loss <= passes.SHARE
    few = passes.finders(timed, 0, 60)[1]
    assert few.method == "sequential halving, not told"
    assert math.isnan(few.loss)
    assert passes._answered([few]) == ("needs more timings", "-")


def test_a_recording_tells_what_lies_two_standard_errors_apart(timed: Recorded) -> None:
    """Of pairs of equal binaries about one in twenty looks further apart than that."""
    rng = np.random.default_rng(0)
    apart = 0
    for _ in range(400):
        equal = replace(timed, paid=rng.normal(0.5, 0.1, (2, 100)))
        low, high = sorted(equal.values.tolist())
        apart += high - low > equal.resolution * high
    # 5 % of 400 (Student's t with many degrees of freedom), within what chance explains.
    low, high = stats.binom.interval(0.999, 400, 0.047)
    assert low <= apart <= high


def test_pipelines_are_not_cut(timed: Recorded) -> None:
    loss = {each.method: each.loss for each in passes.pipelines(timed)}
    assert loss["-O3"] == pytest.approx(1 - 0.45 / timed.values.max())


def test_what_was_stopped_is_said_to_take_longer() -> None:
    mine = [passes.Answer("surepath", 0.0, 100, stated=True)]
    assert passes._stated(mine, mine)[2:] == ("100", "1.00")
    stopped = [passes.Answer("other", 0.0, 400, stated=False)]
    assert passes._stated(stopped, mine)[2:] == ("> 400", "> 4.00")


def test_a_recording_is_kept(
    timed: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is timed twice, and what comes back from the file is what was recorded."""
    made = list[str]()

    def record(kernel: str, *_: int) -> Recorded:
        made.append(kernel)
        return timed

    monkeypatch.setattr(recorded_timings, "recorded", record)
    first, again = (kept(tmp_path, "calls", 3, 50) for _ in range(2))
    assert made == ["calls"]
    for back in (first, again):
        assert back.pipelines == timed.pipelines
        for one, other in zip(
            (*back.moves, back.binary, back.paid),
            (*timed.moves, timed.binary, timed.paid),
            strict=True,
        ):
            assert np.array_equal(one, other)
    kept(tmp_path, "calls", 4, 50)
    kept(tmp_path, "sort", 3, 50)
    assert made == ["calls", "calls", "sort"]


@pytest.mark.parametrize("part", ["statements", "budget"])
def test_all_methods_race(
    part: str, timed: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every method has a row for every kernel; ours is the measure of the others."""
    small = passes.Scale(kernels=("matmul", "calls"), runs=2, patience=3)
    monkeypatch.setattr(passes, "FULL", small)
    monkeypatch.setattr(recorded_timings, "recorded", lambda *_: timed)
    with Store(tmp_path / "passes.jsonl") as store:
        sections = passes.PARTS[part](Crew(store=store))
    rows = [row for section in sections for row in section.rows]
    assert len(rows) == 2 * 9
    methods = {str(row[1]) for row in rows}
    assert {"surepath", "LUCB, told", "sequential halving, told", "Optuna", "-O3"} <= methods
    assert len(list(tmp_path.glob("timings-*.npz"))) == 2
    assert rows[0][0] == "matmul"
    assert rows[0][1] == "surepath"


def test_a_kernel_is_recorded() -> None:
    timed = recorded("calls", 2, 3, passes=4)
    assert [moves.shape[1] for moves in timed.moves] == [4, 4]
    assert timed.paid.shape == (len(set(timed.binary.tolist())), 3)
    assert ((timed.paid > 0) & (timed.paid <= 1)).all()
    assert set(timed.pipelines) == {"-O2", "-O3"}


def test_runs_are_confirmed_on_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether they are certified depends on what else the machine does; the table does not."""
    small = passes.Scale(kernels=("matmul",), short=(1,), confirmations=2, timings=4)
    monkeypatch.setattr(passes, "FULL", small)
    [section] = passes.confirmed(Crew())
    [row] = section.rows
    assert row[:3] == (1, "matmul", row[2])
    assert int(row[2]) >= 4
    assert len(row) == len(section.columns)
