"""How many times as fast as another is a program of some microseconds, on a machine others use?

Four things make such timings depend on when they are made, and each has its remedy here:

* somebody else's thread shares the core, for milliseconds or seconds. Two programs are not slowed
  down alike then, so that their ratio moves as well. A probe that keeps all arithmetic units busy
  is slowed down most: only what was timed between two quick probes counts.
* interrupts fall on a single call. Of several calls the quickest counts.
* a processor remembers branches, and may run the same program at several speeds, for as long as it
  remembers. More other branches before each call than it has room for make it forget.
* what it learns of the branches of a program more slowly it keeps all the same: a program that runs
  again and again gets quicker for some hundred calls, one that takes turns with others does not.
  Whenever another program is timed than the last time, it is practised first.

Programs are functions from the seed of their data to a number. The two that are needed here are
given as LLVM IR, for whoever has a compiler.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

Program = Callable[[int], int]

TURNS = 12
"""Undisturbed calls of program and reference, in turn, that make one timing."""

MOST_TURNS = 20 * TURNS
"""Turns after which nothing is waited for any more: what there is counts."""

SLACK = 1.1
"""So many times the shortest time of the probe is still undisturbed."""

PRACTICE = 100
"""Calls of a program and its reference before the first timing of it. Sorting was 1.5 % quicker in
fifty timings of one program than in timings of ten in turn; with this many calls 0.2 %."""

PROBES = 40_000
"""Probes, for a tenth of a second, of which the quickest says how quick an undisturbed one is."""

PATIENCE = 10 * PROBES
"""Probes without an undisturbed one, after which the core itself is thought to be slower than it
was (its clock, or a neighbour who stays): it is measured anew how quick a probe is."""


class Stopwatch:
    def __init__(self, probe: Program, forget: Program) -> None:
        self._probe, self._forget = probe, forget
        self._shortest = self._shortest_of(PROBES)
        self._practised: tuple[Program, Program] | None = None

    def ratio(self, own: Program, reference: Program, rng: np.random.Generator) -> float:
        """How many times as fast as the reference, by one timing of both on the same new data."""
        self._practise(own, reference, rng)
        alone, shared = list[tuple[int, int]](), list[tuple[int, int]]()
        while len(alone) < TURNS and len(alone) + len(shared) < MOST_TURNS:
            self._wait()
            seed, other = rng.integers(2**31, size=2).tolist()
            self._forget(other)
            turn = nanoseconds(reference, seed), nanoseconds(own, seed)
            (alone if self._alone() else shared).append(turn)
        times = alone or shared
        return min(turn[0] for turn in times) / min(turn[1] for turn in times)

    def _practise(self, own: Program, reference: Program, rng: np.random.Generator) -> None:
        if self._practised != (own, reference):
            for seed in rng.integers(2**31, size=PRACTICE).tolist():
                reference(seed)
                own(seed)
            self._practised = own, reference

    def _alone(self) -> bool:
        """By the quicker of two probes: the first is slow where the processor had forgotten it."""
        taken = self._shortest_of(2)
        self._shortest = min(self._shortest, taken)
        return taken <= SLACK * self._shortest

    def _wait(self) -> None:
        for _ in range(PATIENCE):
            if self._alone():
                return
        self._shortest = self._shortest_of(PROBES)

    def _shortest_of(self, probes: int) -> int:
        return min(nanoseconds(self._probe, 1) for _ in range(probes))


def nanoseconds(program: Program, seed: int) -> int:
    started = time.perf_counter_ns()
    program(seed)
    return time.perf_counter_ns() - started


# ---------------------------------------------------------------- two programs, as LLVM IR

LANES = range(8)


def probe(rounds: int = 2000) -> str:
    """Sums that do not wait for each other: as many at a time as the core has units."""
    lines = [f"%start{lane} = add i64 %seed, {lane}" for lane in LANES]
    lines += ["br label %loop", "loop:", "%i = phi i64 [0, %entry], [%next, %loop]"]
    lines += [f"%x{n} = phi i64 [%start{n}, %entry], [%z{n}, %loop]" for n in LANES]
    for n in LANES:
        lines += [f"%y{n} = xor i64 %x{n}, %i", f"%z{n} = add i64 %y{n}, %seed"]
    lines += ["%next = add i64 %i, 1", f"%more = icmp slt i64 %next, {rounds}"]
    lines += ["br i1 %more, label %loop, label %done", "done:", "%sum0 = add i64 %z0, 0"]
    lines += [f"%sum{n} = xor i64 %sum{n - 1}, %z{n}" for n in LANES[1:]]
    return _function("kernel", [*lines, f"ret i64 %sum{LANES[-1]}"])


def forgetting(functions: int = 64, branches: int = 500) -> str:
    """Branches that are met once in a call, each of them taken or not as a bit of the seed says.

    32,000 of them: processors of 2024 have room for some 24,000. With 8,000 one of these ran a
    program at the same speed for dozens of calls, and at another for the next dozens.
    """
    parts = [_function(f"part{n}", _branches(branches), "noinline") for n in range(functions)]
    lines = ["%sum0 = add i64 %seed, 0"]
    for n in range(functions):
        lines += [f"%out{n} = call i64 @part{n}(i64 %seed)"]
        lines += [f"%sum{n + 1} = add i64 %sum{n}, %out{n}"]
    return "\n".join([*parts, _function("kernel", [*lines, f"ret i64 %sum{functions}"])])


def _branches(count: int) -> list[str]:
    lines = ["br label %meet0", "meet0:", "%sum0 = add i64 %seed, 0"]
    for n in range(count):
        bit = 1 << (7 * n % 31)
        lines += [f"%bit{n} = and i64 %seed, {bit}", f"%unset{n} = icmp eq i64 %bit{n}, 0"]
        lines += [f"br i1 %unset{n}, label %aside{n}, label %meet{n + 1}"]
        lines += [f"aside{n}:", f"%more{n} = add i64 %sum{n}, {n + 1}", f"br label %meet{n + 1}"]
        lines += [f"meet{n + 1}:"]
        lines += [f"%sum{n + 1} = phi i64 [%sum{n}, %meet{n}], [%more{n}, %aside{n}]"]
    return [*lines, f"ret i64 %sum{count}"]


def _function(name: str, lines: list[str], attributes: str = "") -> str:
    return "\n".join([f"define i64 @{name}(i64 %seed) {attributes} {{", "entry:", *lines, "}", ""])
