"""Orders of a compiler's passes: what a certified answer costs, beside rivals that get the same.

`confirmed` runs the example on this machine as it is: orders are timed while the run goes on, and
afterwards every binary is timed, all in turn, to see whether what was certified is so. The other
parts draw from timings that were recorded once (`recorded_timings`), so that all methods are given
the same. A timing counts as one, whoever asks for it; compiling and reading programs is free for
all, and rivals that are told which orders end in the same machine code are told so for nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from surepath.api import learn
from surepath.baselines.arms import SequentialHalving
from surepath.baselines.calibrated_lucb import CalibratedLucb
from surepath.baselines.outside import OptunaTpe
from surepath.baselines.random_search import RandomSearch
from surepath.bench.harness.recorded_timings import Binaries, Orders, Read, Recorded, kept
from surepath.bench.harness.report import Cell, Finding, Section, number, tracked
from surepath.bench.harness.runs import Crew, Part, grouped
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

KERNELS = ("matmul", "crc", "machine", "calls", "sort")


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
    recorded: int = 100  # of every binary, for all methods to draw from
    patience: int = 5  # times ours: where a rival is stopped


FULL = Scale()
QUICK = Scale(
    kernels=("calls",), short=(2,), confirmations=2, middle=2, long=3, budget=2000, runs=2,
    timings=50, recorded=50, patience=4,
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

    method: str
    loss: float  # of its plan, as a share of the best
    timings: int
    stated: bool  # whether it says by itself that it is done


OURS = "surepath"


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
    return Answer(OURS, loss, system.timings, result.certified), result


def rival(
    method: str, system: Orders | Binaries, build: Callable[[], Asking], seed: int, cap: int
) -> Answer:
    """A method within so many timings; one that cannot do with so few is told apart by a NaN."""
    try:
        learner = build()
    except InputError:
        return Answer(method, math.nan, 0, stated=False)
    stopped = drive(learner, Runner(system, seed), budget=cap)
    best = float(system.recorded.values.max())
    return Answer(method, system.loss(learner.incumbent) / best, system.timings, stopped)


def told_or_not(
    method: str, timed: Recorded, build: Callable[[int, int], Asking], seed: int, cap: int
) -> list[Answer]:
    """A method that is told which orders are one, and the same that is not."""
    return [
        rival(f"{method}, {name}", each, partial(build, each.horizon, each.n_actions), seed, cap)
        for name, each in {"told": Binaries(timed), "not told": Orders(timed)}.items()
    ]


def lucb(timed: Recorded, terms: Terms, seed: int, cap: int) -> list[Answer]:
    """With the bounds of our own run."""
    return told_or_not("LUCB", timed, partial(CalibratedLucb, terms=terms, seed=seed), seed, cap)


REPEATS = 10
"""How often an order is measured by those who do not decide that themselves."""


def finders(timed: Recorded, seed: int, cap: int) -> list[Answer]:
    """Rivals that never say they are done: what they would answer after so many timings."""
    halving = partial(SequentialHalving, episodes=cap, seed=seed)
    found = told_or_not("sequential halving", timed, halving, seed, cap)
    for name, kind in {"random search": RandomSearch, "Optuna": OptunaTpe}.items():
        each = Orders(timed)
        build = partial(kind, each.horizon, each.n_actions, batch=REPEATS, seed=seed)
        found.append(rival(name, each, build, seed, cap))
    return found


def pipelines(timed: Recorded) -> list[Answer]:
    """What the compiler does by itself, with passes that are not among ours, and without timing."""
    best = float(timed.values.max())
    return [Answer(n, 1 - value / best, 0, stated=False) for n, value in timed.pipelines.items()]


@dataclass(frozen=True, slots=True)
class Race:
    """All methods on the same recorded timings, once."""

    kernel: str
    horizon: int
    recorded: int  # timings of every binary
    patience: int  # times our own timings: what LUCB may spend
    budget: int | None = None  # episodes for ours
    seed: int = 0
    folder: Path = field(default=Path(), repr=False)  # of the recordings


def raced(race: Race) -> list[Answer]:
    timed = kept(race.folder, race.kernel, race.horizon, race.recorded)
    own, result = ours(timed, race.seed, race.budget)
    terms = result.certificate.terms
    assert terms is not None  # an adaptive run has them
    return [
        own,
        *lucb(timed, terms, race.seed, race.patience * own.timings),
        *finders(timed, race.seed, own.timings),
        *pipelines(timed),
    ]


@contextmanager
def _recordings(crew: Crew) -> Generator[Path]:
    """Where they are: beside the stored runs, or nowhere for long."""
    if crew.store is not None:
        yield crew.store.path.parent
        return
    with TemporaryDirectory() as folder:
        yield Path(folder)


@dataclass(frozen=True, slots=True)
class Raced:
    """All runs on the timings of a kernel."""

    answers: list[list[Answer]]  # by method
    resolution: float  # what these timings can tell, as a share of the best


def _races(crew: Crew, race: Race, scale: Scale, title: str) -> dict[str, Raced]:
    """By kernel. Only the recording wants a quiet core."""
    with _recordings(crew) as folder:
        resolutions = [
            kept(folder, kernel, race.horizon, race.recorded).resolution
            for kernel in tracked(scale.kernels, f"{title}: recording")
        ]
        jobs = [
            replace(race, kernel=kernel, seed=seed, folder=folder)
            for kernel in scale.kernels
            for seed in range(scale.runs)
        ]
        found = crew.spread(raced, jobs, title)
    by_kernel = zip(scale.kernels, grouped(found, scale.runs), resolutions, strict=True)
    return {
        kernel: Raced([list(each) for each in zip(*runs, strict=True)], resolution)
        for kernel, runs, resolution in by_kernel
    }


def statements(crew: Crew) -> list[Finding]:
    """Timings until "within 2 %" can be said, and what others answer after as many."""
    scale = QUICK if crew.quick else FULL
    race = Race("", scale.middle, scale.recorded, scale.patience)
    rows, answers = list[tuple[Cell, ...]](), list[tuple[Cell, ...]]()
    for kernel, raced in _races(crew, race, scale, "statements").items():
        found = raced.answers
        rows += [(kernel, each[0].method, *_stated(each, found[0])) for each in found[:3]]
        answers += [(kernel, each[0].method, *_answered(each)) for each in found[3:]]
    title = f"horizon {scale.middle}, the same timings for all"
    return [
        Section(
            f'{title}: until "within {SHARE:.0%}" is said',
            ("kernel", "method", "stated", "right", "timings", "over ours"),
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
    """What is found within a budget, by all who search; and what ours says of it.

    What is best is known from so many timings of each binary only. So it is also counted how often
    no rival is better by more than these can tell.
    """
    scale = QUICK if crew.quick else FULL
    race = Race("", scale.long, scale.recorded, patience=1, budget=scale.budget)
    rows = list[tuple[Cell, ...]]()
    for kernel, raced in _races(crew, race, scale, "within a budget").items():
        found = raced.answers
        best = [_least(answers[1:-2]) for answers in zip(*found, strict=True)]
        for runs in found:
            ahead, as_good = (
                rate(sum(r.loss <= b + more for r, b in zip(runs, best, strict=True)), len(runs))
                for more in (0.0, raced.resolution)
            )
            stated, right = _stated(runs, found[0])[:2]
            rows.append((kernel, runs[0].method, *_answered(runs), ahead, as_good, stated, right))
    columns = ("kernel", "method", "within 2 %", "mean loss", "no rival better",
               "by more than timings tell", "stated", "right")  # fmt: skip
    title = f"horizon {scale.long}, {scale.budget} episodes, the same timings for all"
    return [Section(title, columns, rows)]


def _least(answers: Sequence[Answer]) -> float:
    """The loss of the best of them, up to rounding."""
    return min(each.loss for each in answers if not math.isnan(each.loss)) + 1e-12


PARTS: Mapping[str, Part] = {
    "confirmed": confirmed,
    "statements": statements,
    "budget": within_budget,
}
