"""Runs that are told more than they ask: logs of earlier episodes, or that readings are exact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from surepath.api import learn
from surepath.bench.families.judging import FAMILIES, Trial
from surepath.bench.families.sick import Passes, Single, some_machine
from surepath.bench.harness.report import Cell, Section
from surepath.bench.harness.runs import Crew, Outcome, outcome
from surepath.bench.harness.statistics import geometric
from surepath.bench.suites.calibration import DELTAS, allowed
from surepath.builtin_problems.tabular import Tabular
from surepath.system import Actions, Episodes

LOGS = 20
"""Systems that say what a log saves; a quick suite takes one in five."""

JUDGED = ("needles", "needles, told 0.2", "close laws", "lotteries", "near ties", "tabular")
"""Families of `bench calibration` on which a certificate could be false."""

RUNS = 60
"""Systems of each of these, for each delta; a quick suite takes one in thirty."""

SEQUENCES = 40
"""Ways to act in a log of random sequences."""


class Taped(Single):
    """A system that keeps what it has read."""

    def __init__(self, inner: Tabular) -> None:
        super().__init__(inner)
        self.tape: list[Episodes] = []

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        self.tape.append(super().rollout(actions, n, rng))
        return self.tape[-1]


def half(tape: Sequence[Episodes], episodes: int) -> list[Episodes]:
    """The first half of what a run has read."""
    kept, left = list[Episodes](), episodes // 2
    for each in tape:
        if left > 0:
            n = min(left, each.count)
            kept.append(Episodes(each.actions, each.observations[:n], each.rewards[:n]))
            left -= n
    return kept


def at_random(system: Single, episodes: int, rng: np.random.Generator) -> list[Episodes]:
    """Half as many episodes as these, of random sequences."""
    sequences = rng.integers(system.n_actions, size=(SEQUENCES, system.horizon))
    each = max(1, episodes // 2 // SEQUENCES)
    return [system.rollout(tuple(int(a) for a in row), each, rng) for row in sequences]


# ---------------------------------------------------------------- what a log saves


@dataclass(frozen=True, slots=True)
class Saved:
    alone: int
    told: int
    false: bool


def save(seed: int) -> Saved:
    machine = some_machine(np.random.default_rng([seed, 17]), 5)
    taped = Taped(machine)
    alone = learn(taped, seed=seed, budget=100_000)
    log = half(taped.tape, alone.episodes)
    run = learn(Single(machine), seed=seed + 1, data=log, budget=100_000)
    found = outcome(run, machine.oracle.value - machine.expected_return(run.actions))
    return Saved(alone.episodes, run.episodes, found.false)


def data(crew: Crew) -> list[Section]:
    """Runs that are given half of the episodes of another run."""
    many = LOGS // (5 if crew.quick else 1)
    runs = crew.spread(save, list(range(many)), "data")
    shares = [run.told / run.alone for run in runs]
    row = (many, geometric(shares), max(shares), sum(run.false for run in runs))
    columns = ("runs", "own episodes / alone", "largest", "false")
    return [Section("data: a log of half the episodes that a run takes", columns, [row])]


# ---------------------------------------------------------------- whether claims stay true


@dataclass(frozen=True, slots=True)
class Told(Outcome):
    """What a run with a log came to."""

    alone: int  # episodes of the run without one
    log: str  # what it was of
    covered: bool  # whether all that is assumed is true of the system


def judge_told(trial: Trial) -> Told:
    """By turns, the log is the first half of another run, and of random sequences."""
    family, case = FAMILIES[trial.family], trial.build()
    assert isinstance(case.system, Tabular)  # so are those of these families
    taped = Taped(case.system)
    call: dict[str, Any] = {**family.call(), "delta": trial.delta}
    alone = learn(taped, seed=trial.seed, **call)
    rng = np.random.default_rng([trial.seed, 23])
    earlier = trial.seed % 2 == 0
    log = half(taped.tape, alone.episodes) if earlier else at_random(taped, alone.episodes, rng)
    run = learn(Single(case.system), seed=trial.seed + 2**20, data=log, **call)
    found = outcome(run, case.best - case.value(run.actions))
    kind = "another run" if earlier else "random"
    return Told(
        **asdict(found), alone=alone.episodes, log=kind, covered=family.holds(case.separation)
    )


def told(crew: Crew) -> list[Section]:
    """How often a certificate is false where the run was told of a log."""
    rows: list[tuple[Cell, ...]] = []
    for delta in DELTAS:
        every = list[Told]()
        for name in JUDGED:
            many = max(2, RUNS // (30 if crew.quick else 1))
            first = DELTAS.index(delta) * RUNS
            trials = [Trial(name, seed, delta) for seed in range(first, first + many)]
            runs = crew.spread(judge_told, trials, f"{name}, delta {delta}, told")
            every += runs
            rows.append((name, delta, *_judged(runs, delta)))
        rows.append(("all", delta, *_judged(every, delta)))
    columns = (
        "family",
        "delta",
        "runs",
        "covered",
        "certified",
        "false",
        "allowed",
        "own / alone, another run",
        "random",
        "verdict",
    )
    title = "told: false certificates of runs that were told of half as many episodes as they take"
    return [Section(title, columns, rows)]


def _judged(runs: Sequence[Told], delta: float) -> tuple[Cell, ...]:
    covered = [run for run in runs if run.covered]
    false, most = sum(run.false for run in covered), allowed(len(covered), delta)
    shares = (_share([run for run in runs if run.log == log]) for log in ("another run", "random"))
    return (
        len(runs),
        len(covered),
        sum(run.certified for run in covered),
        false,
        most,
        *shares,
        "holds" if false <= most else "BROKEN",
    )


def _share(runs: Sequence[Told]) -> float:
    """Own episodes beside those without a log, all together.

    No geometric mean: a log may leave nothing to run, and a few such runs would decide it.
    """
    return sum(run.episodes for run in runs) / sum(run.alone for run in runs)


# ---------------------------------------------------------------- readings without noise


def exact(_: Crew) -> list[Section]:
    """338 states of exact readings at horizon 4."""
    rows: list[tuple[Cell, ...]] = []
    for noise in (0.0, 0.1):
        system = Passes(noise=noise)
        run = learn(
            system,
            separation="exact",
            tolerance=0.05,
            return_range=(0.0, 1.0),
            budget=50 * 269 * system.n_actions,
        )
        best = float(system.pay.max())
        loss = best - system.expected_return(run.actions)
        rows.append((noise, run.episodes, 50 * 269, str(run.certificate.status), loss))
    columns = ("noise of rewards", "episodes", "269 ends 50 times", "status", "loss")
    return [Section("exact: 338 states, horizon 4, within 0.05", columns, rows)]
