"""The judge of the adaptive certificate: how often it is false, on systems made to break it.

`learn` is called with its default arguments and told nothing but the separation and the tolerance
where a family has its own. A run is false when its certificate admits less than what its plan
loses; on a system that drifts, when it has a certificate and no warning. Where all that is assumed
is true of a system, false runs must not be more than a share of delta: a row *holds* as long as
they are no more than the 99 % quantile of as many throws of a coin with that probability. Elsewhere
the numbers stand as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from surepath.bench.families.case import Family
from surepath.bench.families.judging import CHAPTERS, FAMILIES, Judged, Trial, judge
from surepath.bench.harness.report import Cell, Section
from surepath.bench.harness.runs import Crew, Part
from surepath.bench.suites.close_decisions import close_decisions
from surepath.bench.suites.false_merges import false_merges

DELTAS = (0.05, 0.2)

FULL, QUICK = 1, 30
"""A full and a quick suite make one of so many runs of each family."""

IN_TIME = 4
"""A run that takes more than so many times the mean cost is late."""

ALLOWED = 0.99
"""Quantile of the number of false runs that is still put down to chance."""

COLUMNS = (
    "family", "delta", "declared", "true", "runs", "certified", "false", "allowed", "episodes",
    "in time", "CPU s", "verdict",
)  # fmt: skip


def trials(family: Family, delta: float, quick: bool) -> list[Trial]:
    """Fresh systems for every delta."""
    runs = max(1, family.runs // (QUICK if quick else FULL))
    first = DELTAS.index(delta) * family.runs
    return [Trial(family.name, seed, delta) for seed in range(first, first + runs)]


def table(rows: list[tuple[Cell, ...]]) -> Section:
    return Section(
        "calibration: false certificates on systems made to provoke them; true: the least "
        "separation of a row's systems; allowed: false runs that chance explains; in time: "
        f"certified within {IN_TIME} times the mean cost",
        COLUMNS,
        rows,
    )


def chapter(families: Sequence[Family], crew: Crew) -> list[Section]:
    """The rows of some families."""
    rows: list[tuple[Cell, ...]] = []
    for family in families:
        for delta in DELTAS:
            played = _played(crew, family, delta)
            cells = _cells(played, _false(family, played), delta)
            verdict = _verdict(family, played, delta)
            rows.append((family.name, delta, family.declared, *cells, verdict))
    return [table(rows)]


def pooled(crew: Crew) -> list[Section]:
    """All runs on systems of which all is true that is assumed."""
    rows: list[tuple[Cell, ...]] = []
    for delta in DELTAS:
        runs, false = list[Judged](), 0
        for family in FAMILIES.values():
            played = _covered(family, _played(crew, family, delta))
            runs += played
            false += _false(family, played)
        verdict = _word(false, len(runs), delta)
        rows.append(("all that is covered", delta, "-", *_cells(runs, false, delta), verdict))
    return [table(rows)]


def _played(crew: Crew, family: Family, delta: float) -> list[Judged]:
    return crew.spread(judge, trials(family, delta, crew.quick), f"{family.name}, delta {delta}")


def _covered(family: Family, played: Sequence[Judged]) -> list[Judged]:
    """Runs on systems of which all is true that is assumed."""
    return [run for run in played if family.holds(run.separation)]


def _false(family: Family, played: Sequence[Judged]) -> int:
    if family.must_warn:
        return sum(run.certified and not run.warnings for run in played)
    return sum(run.false for run in played)


def _cells(played: Sequence[Judged], false: int, delta: float) -> tuple[Cell, ...]:
    """What is said of all runs of a row."""
    late = IN_TIME * float(np.mean([run.cost for run in played]))
    in_time = sum(run.certified and run.episodes <= late for run in played)
    return (
        min(run.separation for run in played),
        len(played),
        sum(run.certified for run in played),
        false,
        allowed(len(played), delta),
        float(np.mean([run.episodes for run in played])),
        f"{in_time / len(played):.0%}",
        float(np.mean([run.seconds for run in played])),
    )


def allowed(runs: int, delta: float) -> int:
    """The most false runs that chance explains where each is false with probability delta."""
    from scipy import stats

    return int(stats.binom.ppf(ALLOWED, runs, delta))


def _verdict(family: Family, played: Sequence[Judged], delta: float) -> str:
    judged = played if family.must_warn else _covered(family, played)
    if not judged:
        return "not covered"
    word = _word(_false(family, judged), len(judged), delta)
    return word if len(judged) == len(played) else f"{word}, {len(judged)} covered"


def _word(false: int, runs: int, delta: float) -> str:
    return "holds" if false <= allowed(runs, delta) else "BROKEN"


PARTS: Mapping[str, Part] = {
    **{name: partial(chapter, families) for name, families in CHAPTERS.items()},
    "close-decisions": close_decisions,
    "false-merges": false_merges,
    "pooled": pooled,
}
