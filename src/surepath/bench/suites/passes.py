"""Orders of a compiler's passes: what a certified answer costs, beside rivals that get the same.

`confirmed` runs the example on this machine as it is: orders are timed while the run goes on, and
afterwards every binary is timed, all in turn, to see whether what was certified is so. The other
parts draw from timings that were recorded once (`recorded_timings`), so that all methods are given
the same. A timing counts as one, whoever asks for it; compiling and reading programs is free for
all, and rivals that are told which orders end in the same machine code are told so for nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surepath.api import learn
from surepath.baselines.arms import SequentialHalving
from surepath.baselines.calibrated_lucb import CalibratedLucb
from surepath.baselines.outside import OptunaTpe
from surepath.baselines.random_search import RandomSearch
from surepath.bench.harness.recorded_timings import Binaries, Orders, Read, Recorded, recorded
from surepath.bench.harness.report import Cell, Finding, Section, number, tracked
from surepath.bench.harness.runs import Crew, Part
from surepath.bench.harness.statistics import geometric, rate
from surepath.bench.harness.worlds import example
from surepath.errors import InputError
from surepath.inference.terms import Terms
from surepath.learners.base import Asking
from surepath.results.result import Result
from surepath.run.driver import drive
from surepath.run.runner import Runner

SHARE = 0.02
"""What a plan may lose, of what it is worth."""

KERNELS = ("matmul", "machine", "calls", "sort")


@dataclass(frozen=True, slots=True)
class Scale:
    kernels: tuple[str, ...] = KERNELS
    short: tuple[int, ...] = (3, 4)  # horizons of what is confirmed on the machine
    confirmations: int = 5  # runs, for each kernel and horizon
    middle: int = 5  # horizon of what is compared by what a statement takes
    long: int = 6  # and by what is found within a budget
    budget: int = 20_000  # episodes, there
    runs: int = 10
    timings: int = 300  # of every binary
    patience: int = 20  # times ours: where a rival is stopped


FULL = Scale()
QUICK = Scale(
    kernels=("calls",), short=(2,), confirmations=2, middle=2, long=3, budget=2000, runs=2,
    timings=50, patience=4,
)  # fmt: skip


# ---------------------------------------------------------------- on the machine, as it is


def confirmed(crew: Crew) -> list[Finding]:
    """Runs of the example, each order timed anew, and every binary timed after each run."""
    scale = QUICK if crew.quick else FULL
    rows = [
        _confirmed(kernel, horizon, scale)
        for horizon in scale.short
        for kernel in tracked(scale.kernels, f"confirmed, horizon {horizon}")
    ]
    columns = ("horizon", "kernel", "binaries", "certified", "confirmed", "loses at most",
               "timings", "over -O3")  # fmt: skip
    return [Section(f"certified within {SHARE:.0%}, on this machine", columns, rows)]


def _confirmed(kernel: str, horizon: int, scale: Scale) -> tuple[Cell, ...]:
    module = example("llvm_passes", "llvm")
    system: Any = module.PassOrder(kernel, horizon)
    binaries = [binary for _, binary in system.orders()]
    o3 = [system.pipeline("-O3")]  # which may be quicker than the most that counts
    each = math.ceil(scale.timings / scale.confirmations)
    results, counts = list[Result](), list[int]()
    timed, beside = list[Any](), list[Any]()
    for seed in range(scale.confirmations):
        system.timings = 0
        results.append(module.learn(system, tolerance=f"{SHARE:.0%}", seed=seed))
        counts.append(system.timings)
        rng = np.random.default_rng(seed)
        timed.append(module.side_by_side(system.reward, binaries, each, rng))
        beside.append(module.side_by_side(system.uncut, o3, each, rng))
    truth = np.concatenate(timed).mean(axis=0).tolist()
    places = {binary.digest: place for place, binary in enumerate(binaries)}
    found = [truth[places[system.made_by(result.actions).digest]] for result in results]
    certified = [result.certified for result in results]
    right = [
        value >= max(truth) - (result.certificate.tolerance or 0.0)
        for value, result in zip(found, results, strict=True)
        if result.certified
    ]
    return (
        horizon,
        kernel,
        len(binaries),
        rate(sum(certified), len(results)),
        rate(sum(right), len(right)),
        f"{1 - min(found) / max(truth):.1%}",
        round(geometric(counts)),
        f"{np.mean(found) / np.median(np.concatenate(beside)):.2f}",
    )


# ---------------------------------------------------------------- the same timings for all


@dataclass(frozen=True, slots=True)
class Answer:
    """What a method ended with."""

    loss: float  # of its plan, as a share of the best
    timings: int
    stated: bool  # whether it says by itself that it is done


def ours(timed: Recorded, seed: int, budget: int | None = None) -> tuple[Answer, Result]:
    system = Read(timed)
    result = learn(
        system,
        separation="exact",
        predict=False,
        return_range=(0.0, 1.0),
        tolerance=f"{SHARE:.0%}",
        budget=budget,
        seed=seed,
    )
    best = float(timed.values.max())
    loss = 1 - timed.value(result.actions[:-1]) / best
    return Answer(loss, system.timings, result.certified), result


def rival(system: Orders | Binaries, build: Callable[[], Asking], seed: int, cap: int) -> Answer:
    """A method within so many timings; one that cannot do with so few is told apart by a NaN."""
    try:
        learner = build()
    except InputError:
        return Answer(math.nan, 0, stated=False)
    stopped = drive(learner, Runner(system, seed), budget=cap)
    best = float(system.recorded.values.max())
    return Answer(system.loss(learner.incumbent) / best, system.timings, stopped)


def lucb(timed: Recorded, terms: Terms, seed: int, cap: int, *, told: bool) -> Answer:
    system = Binaries(timed) if told else Orders(timed)
    sizes = system.horizon, system.n_actions
    return rival(system, lambda: CalibratedLucb(*sizes, terms, seed=seed), seed, cap)


REPEATS = 10
"""How often an order is measured by those who do not decide that themselves."""


def finders(timed: Recorded, seed: int, cap: int) -> dict[str, Answer]:
    """Rivals that never say they are done: what they would answer after so many timings."""
    found: dict[str, Answer] = {}
    for name, system in {"told": Binaries(timed), "not told": Orders(timed)}.items():
        sizes = system.horizon, system.n_actions
        found[f"sequential halving, {name}"] = rival(
            system, lambda sizes=sizes: SequentialHalving(*sizes, cap, seed=seed), seed, cap
        )
    for name, kind in {"random search": RandomSearch, "Optuna": OptunaTpe}.items():
        system = Orders(timed)
        sizes = system.horizon, system.n_actions
        found[name] = rival(
            system,
            lambda kind=kind, sizes=sizes: kind(*sizes, batch=REPEATS, seed=seed),
            seed,
            cap,
        )
    best = float(timed.values.max())
    for name, value in timed.pipelines.items():
        found[name] = Answer(1 - value / best, 0, stated=False)
    return found


def statements(crew: Crew) -> list[Finding]:
    """Timings until "within 2 %" can be said, and what others answer after as many."""
    scale = QUICK if crew.quick else FULL
    rows, answers = list[tuple[Cell, ...]](), list[tuple[Cell, ...]]()
    for kernel in scale.kernels:
        timed = recorded(kernel, scale.middle, scale.timings)
        mine, told, untold = list[Answer](), list[Answer](), list[Answer]()
        others: dict[str, list[Answer]] = {}
        for seed in tracked(range(scale.runs), f"statements, {kernel}"):
            own, result = ours(timed, seed)
            terms, cap = result.certificate.terms, scale.patience * own.timings
            assert terms is not None  # an adaptive run has them
            mine.append(own)
            told.append(lucb(timed, terms, seed, cap, told=True))
            untold.append(lucb(timed, terms, seed, cap, told=False))
            for name, found in finders(timed, seed, own.timings).items():
                others.setdefault(name, []).append(found)
        for name, runs in {"surepath": mine, "LUCB, told": told, "LUCB, not told": untold}.items():
            rows.append((kernel, len(timed.paid), name, *_stated(runs, mine)))
        answers += [(kernel, name, *_answered(runs)) for name, runs in others.items()]
    title = f"horizon {scale.middle}, the same timings for all"
    return [
        Section(
            f'{title}: until "within {SHARE:.0%}" is said',
            ("kernel", "binaries", "method", "stated", "right", "timings", "over ours"),
            rows,
        ),
        Section(
            f"{title}: what others answer after as many as ours took",
            ("kernel", "method", "within 2 %", "mean loss"),
            answers,
        ),
    ]


def _stated(runs: Sequence[Answer], mine: Sequence[Answer]) -> tuple[Cell, ...]:
    stated = [run for run in runs if run.stated]
    count, own = (geometric([run.timings for run in each]) for each in (runs, mine))
    sign = "" if len(stated) == len(runs) else "> "  # some were stopped
    right = sum(run.loss <= SHARE for run in stated)
    return (
        rate(len(stated), len(runs)),
        rate(right, len(stated)),
        sign + number(count),
        sign + f"{count / own:.2f}",
    )


def _answered(runs: Sequence[Answer]) -> tuple[Cell, ...]:
    able = [run.loss for run in runs if not math.isnan(run.loss)]
    if not able:
        return "needs more timings", "-"
    return rate(sum(loss <= SHARE for loss in able), len(able)), f"{np.mean(able):.1%}"


def within_budget(crew: Crew) -> list[Finding]:
    """A horizon at which nobody is done: what is found within a budget."""
    scale = QUICK if crew.quick else FULL
    rows = list[tuple[Cell, ...]]()
    for kernel in scale.kernels:
        timed = recorded(kernel, scale.long, scale.timings)
        mine, ahead = list[Answer](), 0
        others: dict[str, list[Answer]] = {}
        for seed in tracked(range(scale.runs), f"within a budget, {kernel}"):
            own, result = ours(timed, seed, scale.budget)
            terms = result.certificate.terms
            assert terms is not None  # an adaptive run has them
            found = finders(timed, seed, own.timings)
            for name, told in {"LUCB, told": True, "LUCB, not told": False}.items():
                found[name] = lucb(timed, terms, seed, own.timings, told=told)
            mine.append(own)
            for name, each in found.items():
                others.setdefault(name, []).append(each)
            able = [each.loss for each in found.values() if not math.isnan(each.loss)]
            ahead += own.loss <= min(able) + 1e-12
        for name, runs in {"surepath": mine, **others}.items():
            best = rate(ahead, len(mine)) if name == "surepath" else ""
            rows.append((kernel, len(timed.paid), name, *_answered(runs), best))
    columns = ("kernel", "binaries", "method", "within 2 %", "mean loss", "best of all")
    title = f"horizon {scale.long}, {scale.budget} episodes, the same timings for all"
    return [Section(title, columns, rows)]


PARTS: Mapping[str, Part] = {
    "confirmed": confirmed,
    "statements": statements,
    "budget": within_budget,
}
