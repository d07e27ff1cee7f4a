"""The paper's Table 1, measured: what each method is said to do, and what it does here.

The paper compares methods by four properties: computationally efficient, for deterministic latent
dynamics, beyond tabular problems, model-based or model-free. The last is a fact of the method and
is stated; the others are measured. A method is said to stay polynomial along a sweep when nine of
ten runs are right at every size within a cap that grows as a power of the size. It is asked what a
method can do: at every size a rival has the best, in hindsight, of the three settings that did best
on training instances.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from surepath.bench.harness.arena import lock
from surepath.bench.harness.attempt import OURS, Trial, attempt
from surepath.bench.harness.report import Cell, Finding, Section, number
from surepath.bench.harness.rival_tuning import tune
from surepath.bench.harness.rivals import UNTOLD, Settings, settings_text
from surepath.bench.harness.runs import Crew, Instance, Part, grouped
from surepath.bench.harness.statistics import exponent
from surepath.bench.harness.success import steps_to

CAP, POWER = 20_000, 2.0
"""Steps allowed at the first size of a sweep, and the power of the size that later caps grow by."""


@dataclass(frozen=True, slots=True)
class CappedSweep:
    """Problems of growing size, with caps that grow as a power of it."""

    name: str
    points: tuple[tuple[float, Instance], ...]  # sizes and problems

    def cap(self, size: float) -> int:
        return int(CAP * (size / self.points[0][0]) ** POWER)


def _tabular(states: int) -> Instance:
    sizes = {"states": states, "observations": states + 2, "horizon": 4, "actions": 2}
    return Instance("tabular", sizes)


def _mixing(stirs: int) -> Instance:
    return Instance("mixing", {"horizon": 5, "actions": 3, "stirs": stirs})


SWEEPS = (
    CappedSweep("H", tuple((h, lock(h)) for h in (4, 6, 8, 10))),
    CappedSweep("d", tuple((d, _tabular(d)) for d in (2, 4, 6))),
    CappedSweep("stirs", tuple((stirs, _mixing(stirs)) for stirs in (1, 2, 3))),
)
"""The last makes the hidden states of the last level 2, 32 and 162 while all else stays."""

BEYOND = (Instance("mixing", {"horizon": 5, "actions": 3}), Instance("continuous", {}))
"""Problems in which no two action sequences reach the same state."""


MOST = 0.9
"""Share of the runs that have to be right: of ten, one may fail."""

FREE, BASED = "model-free", "model-based"

SAID: Mapping[str, str] = {
    OURS: "yes, yes, yes, model-free (EQDP)",
    "state merging": "yes, yes, no, model-based (Jin et al. 2020)",
}
"""What the paper's table says of methods that are here."""

METHODS = (OURS, *UNTOLD)

UNMEASURED = (
    ("Guo et al. 2016, Azizzadenesheli et al. 2016, Jin et al. 2020 (general), Li et al. 2021",
     "no, no, no, model-based"),
    ("Cai et al. 2022", "no, no, yes, model-based"),
)  # fmt: skip
"""Rows of the paper's table for which there is nothing to run: they are not efficient."""


@dataclass(frozen=True, slots=True)
class Scale:
    instances: int = 10
    training: int = 8  # instances a setting is tried on, if it is among the best of a few
    points: int = 4  # of a sweep


FULL, QUICK = Scale(), Scale(instances=3, training=1, points=2)


@dataclass(frozen=True, slots=True)
class Need:
    """What a method needed at one size."""

    size: float
    steps: float  # until `MOST` of the runs were right; infinity where they never were
    settings: Settings
    refused: bool  # it could not be run

    @property
    def solved(self) -> bool:
        return math.isfinite(self.steps)


def table1(crew: Crew) -> list[Finding]:
    scale = QUICK if crew.quick else FULL
    sweeps = {sweep.name: _along(crew, sweep, scale) for sweep in SWEEPS}
    beyond = {
        instance.name: _needs(crew, METHODS, instance, 0, 5 * CAP, scale) for instance in BEYOND
    }
    cells = ["not run"] * (len(SWEEPS) + len(BEYOND))
    return [
        Section(
            f"Table 1, measured: whether {MOST:.0%} of {scale.instances} runs are right within "
            f"{CAP} (size / first size)^{POWER:g} steps, and the exponent of the steps that took",
            ("method", "in the paper: efficient, deterministic, non-tabular, model",
             *(f"{sweep.name} grows" for sweep in SWEEPS),
             *(f"solves {instance.name}" for instance in BEYOND), "kind"),
            [*(_verdicts(method, sweeps, beyond) for method in METHODS),
             *((name, said, *cells, BASED) for name, said in UNMEASURED)],
        ),
        "No exponent is given for methods that are told their number of episodes, which grows with "
        "the cap. What fails at one size is not tried at the next.",
        Section(
            f"the runs behind it: steps until {MOST:.0%} of {scale.instances} runs are right",
            ("method", "problem", "steps", "settings"),
            [row for method in METHODS for row in _runs(method, sweeps, beyond)],
        ),
    ]  # fmt: skip


Along: TypeAlias = Mapping[str, Mapping[str, Sequence[Need]]]
"""What was needed at every size, by sweep and method."""

Beyond: TypeAlias = Mapping[str, Mapping[str, Need]]
"""What was needed, by problem and method."""


def _verdicts(method: str, sweeps: Along, beyond: Beyond) -> tuple[Cell, ...]:
    kind = BASED if method == "state merging" else FREE
    grown = (verdict(name, needs[method]) for name, needs in sweeps.items())
    solved = (answer(needs[method]) for needs in beyond.values())
    return method, SAID.get(method, "-"), *grown, *solved, kind


def _runs(method: str, sweeps: Along, beyond: Beyond) -> list[tuple[Cell, ...]]:
    grown = [
        _row(method, f"{name} {need.size:g}", need)
        for name, needs in sweeps.items()
        for need in needs[method]
    ]
    return grown + [_row(method, name, needs[method]) for name, needs in beyond.items()]


def _row(method: str, problem: str, need: Need) -> tuple[Cell, ...]:
    found = number(need.steps) if need.solved else answer(need)
    return method, problem, found, settings_text(need.settings)


def answer(need: Need) -> str:
    """Whether the problem was solved, in words."""
    if need.refused:
        return "cannot be run"
    return "yes" if need.solved else "no"


def verdict(name: str, needs: Sequence[Need]) -> str:
    """An exponent where every size was solved; otherwise from where on it was not."""
    last = needs[-1]
    if not last.solved:
        return f"{answer(last)}, from {name}={last.size:g}"
    if any("share" in dict(need.settings) for need in needs):
        return "yes"
    return f"yes, {exponent([n.size for n in needs], [n.steps for n in needs]).value:.1f}"


def _along(crew: Crew, sweep: CappedSweep, scale: Scale) -> dict[str, list[Need]]:
    """What each method needs at each size; what fails at one is not tried at the next."""
    found: dict[str, list[Need]] = {method: [] for method in METHODS}
    for size, instance in sweep.points[: scale.points]:
        alive = [method for method, needs in found.items() if not needs or needs[-1].solved]
        needed = _needs(crew, alive, instance, size, sweep.cap(size), scale)
        for method, need in needed.items():
            found[method].append(need)
    return found


def _needs(
    crew: Crew, methods: Sequence[str], instance: Instance, size: float, cap: int, scale: Scale
) -> dict[str, Need]:
    rivals = [method for method in methods if method != OURS]
    tuned = {OURS: ((),), **tune(crew, rivals, instance, cap, scale.training, instance.label)}
    offered = [(method, settings) for method in methods for settings in tuned[method]]
    trials = [
        Trial(instance.numbered(seed), method, settings, cap, seed)
        for method, settings in offered
        for seed in range(scale.instances)
    ]
    traces = crew.spread(attempt, trials, instance.label)
    found: dict[str, list[Need]] = {method: [] for method in methods}
    for (method, settings), mine in zip(offered, grouped(traces, scale.instances), strict=True):
        refused = any(trace.refused for trace in mine)
        found[method].append(Need(size, steps_to(mine, cap, wanted=MOST), settings, refused))
    return {
        method: min(needs, key=lambda need: (need.steps, need.refused))
        for method, needs in found.items()
    }


PARTS: Mapping[str, Part] = {"table1": table1}
