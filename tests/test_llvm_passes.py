"""Orders of a compiler's passes, paid without noise: the answer is what trying all of them says."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import product
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import surepath
from examples import loaded
from surepath.checks import check_system

PASSES = ("sroa", "simplify", "gvn", "unroll", "combine")


def fewest(kernel: str) -> tuple[ModuleType, Any]:
    example = loaded("llvm_passes")
    return example, example.PassOrder(kernel, 3, PASSES, count=True)


def share_gone(system: Any, order: tuple[int, ...]) -> float:
    """Of the instructions that the kernel has before any pass."""
    left = system.made_by(order).instructions
    return 1 - left / system.compiler.binary(system.start).instructions


@pytest.mark.parametrize("kernel", ["crc", "calls"])
def test_the_best_order_is_that_of_brute_force(kernel: str) -> None:
    example, system = fewest(kernel)
    paid = {order: share_gone(system, order) for order in product(range(5), repeat=3)}
    assert len(set(paid.values())) > 5  # there is something to find
    result = example.learn(system)
    assert result.certified
    found = paid[result.actions[:-1]]
    assert max(paid.values()) - found <= (result.certificate.tolerance or 0.0)
    assert found >= 0.98 * max(paid.values())
    assert result.value == pytest.approx(found)
    binaries = {system.made_by(order).digest for order in paid}
    assert {binary.digest for _, binary in system.orders()} == binaries


def test_passes_keep_what_a_kernel_computes() -> None:
    example = loaded("llvm_passes")
    for kernel in example.KERNELS:
        system = example.PassOrder(kernel, 2)
        plain = system.compiler.binary(system.start)
        wanted = [plain.call(seed) for seed in range(5)]
        assert len(set(wanted)) > 1
        binaries = [binary for _, binary in system.orders()]
        assert len(binaries) > 5
        for binary in (*binaries, system.pipeline("-O2"), system.pipeline("-O3")):
            assert [binary.call(seed) for seed in range(5)] == wanted


def test_timings_are_rewards() -> None:
    """Between none and the most there is; a kernel beside itself is about as fast as itself."""
    example = loaded("llvm_passes")
    system = example.PassOrder("calls", 4)
    usual = tuple(map(system.passes.index, example.REFERENCE))
    read = system.rollout((*usual, 0), 20, np.random.default_rng(0))
    assert system.timings == 20
    assert (read.rewards[:, :-1] == 0).all()
    assert (read.rewards[:, -1] > 0).all()
    assert (read.rewards <= 1).all()
    alone = example.timed_alone(1e9)(system.made_by(usual), np.random.default_rng(0))
    assert 0 <= alone < 1


def test_it_is_a_proper_system() -> None:
    system = loaded("llvm_passes").PassOrder("crc", 2)
    assert not check_system(system, reproducible=False).warnings


def test_it_tells_its_story(capsys: pytest.CaptureFixture[str]) -> None:
    example = loaded("llvm_passes")
    system = example.PassOrder("machine", 2, count=True)
    example.tell(system, count=True, budget=2000, seed=0)
    told = capsys.readouterr().out
    assert "64 orders of 2 out of 8 passes" in told
    assert "-O3" in told
    assert "these 3 actions are" in told


def test_one_that_is_not_certified_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    example = loaded("llvm_passes")
    example.tell(example.PassOrder("machine", 2, count=True), count=True, budget=130, seed=0)
    assert "not certified: " in capsys.readouterr().out


def test_predictions_look_at_what_programs_are_made_of() -> None:
    example, system = fewest("crc")
    result = example.learn(system, predict=True)
    assert isinstance(result, surepath.Result)
    assert share_gone(system, result.actions[:-1]) > 0


# ---- the stopwatch


class Clock:
    """A time that programs take, in place of the real one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0
        monkeypatch.setattr(stopwatch().time, "perf_counter_ns", lambda: self.now)

    def program(self, takes: Callable[[], int]) -> Callable[[int], int]:
        def call(seed: int) -> int:
            self.now += takes()
            return seed

        return call


def stopwatch() -> Any:
    return sys.modules[loaded("llvm_passes").Stopwatch.__module__]


def test_what_was_timed_beside_a_neighbour_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A neighbour who comes and goes slows the program down, and lets the reference be."""
    clock = Clock(monkeypatch)

    def shared() -> bool:
        return clock.now % 10_000 > 3_000

    probe = clock.program(lambda: 40 if shared() else 20)
    own, reference = clock.program(lambda: 300 if shared() else 100), clock.program(lambda: 200)
    watch = stopwatch().Stopwatch(probe, clock.program(lambda: 10))
    rng = np.random.default_rng(0)
    assert {watch.ratio(own, reference, rng) for _ in range(50)} == {2.0}


def test_of_a_core_that_became_slower_all_is_timed_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopwatch(), "PROBES", 10)
    monkeypatch.setattr(stopwatch(), "PATIENCE", 30)
    clock, slower = Clock(monkeypatch), [1]
    programs = [clock.program(lambda takes=takes: takes * slower[0]) for takes in (20, 10, 100, 50)]
    watch = stopwatch().Stopwatch(*programs[:2])
    slower[0] = 3
    assert watch.ratio(programs[3], programs[2], np.random.default_rng(0)) == 2.0
    assert watch._alone()


def test_it_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that are never undisturbed are timed all the same."""
    clock, calls = Clock(monkeypatch), [0]

    def held_up_after_a_program() -> int:
        calls[0] += 1
        return 20

    own = clock.program(held_up_after_a_program)
    probes = iter(range(10**9))
    probe = clock.program(lambda: 20 if next(probes) % 4 < 2 else 50)
    watch = stopwatch().Stopwatch(probe, clock.program(lambda: 10))
    assert watch.ratio(own, clock.program(lambda: 60), np.random.default_rng(0)) == 3.0
    assert calls[0] == stopwatch().PRACTICE + stopwatch().MOST_TURNS


def test_what_a_program_learns_by_repetition_it_has_learned_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that gets quicker with every call, until it takes turns with others."""
    clock, in_a_row, known = Clock(monkeypatch), [0, 0], 80

    def learning(which: int) -> Callable[[], int]:
        def takes() -> int:
            in_a_row[which], in_a_row[1 - which] = in_a_row[which] + 1, 0
            return 100 + max(known - in_a_row[which], 0)

        return takes

    programs = [clock.program(learning(which)) for which in (0, 1)]
    quick, reference = (clock.program(lambda takes=takes: takes) for takes in (10, 200))
    watch, rng = stopwatch().Stopwatch(quick, quick), np.random.default_rng(0)
    in_turn = {watch.ratio(own, reference, rng) for _ in range(5) for own in programs}
    assert in_turn == {watch.ratio(programs[0], reference, rng) for _ in range(5)} == {2.0}
