"""The paper's Table 1, measured: what each method is said to do, and what it does here.

The paper compares methods by four properties: computationally efficient, for deterministic latent
dynamics, beyond tabular problems, model-based or model-free. The last is a fact of the method and
is stated; the others are measured. A method is said to stay polynomial along a sweep when it
reaches 95 % success at every size within a cap that grows as a power of the size.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from surepath.bench.contest import OURS, UNTUNED, Trial, attempt, lock, steps_to
from surepath.bench.report import Cell, Finding, Section, number, slope
from surepath.bench.runs import Crew, Instance, Part

CAP, POWER = 20_000, 3.0
"""Steps allowed at the first size of a sweep, and the power of the size that later caps grow by."""


@dataclass(frozen=True, slots=True)
class Sweep:
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
    Sweep("H", tuple((h, lock(h)) for h in (4, 6, 8, 10))),
    Sweep("d", tuple((d, _tabular(d)) for d in (2, 4, 6))),
    Sweep("stirs", tuple((stirs, _mixing(stirs)) for stirs in (1, 2, 3))),
)
"""The last makes the hidden states of the last level 2, 32 and 162 while all else stays."""

BEYOND = (Instance("mixing", {"horizon": 5, "actions": 3}), Instance("continuous", {}))
"""Problems in which no two action sequences reach the same state."""


FREE, BASED = "model-free", "model-based"

SAID: Mapping[str, str] = {
    OURS: "yes, yes, yes, model-free (EQDP)",
    "state merging": "yes, yes, no, model-based (Jin et al. 2020)",
}
"""What the paper's table says of methods that are here."""

METHODS = tuple(sorted(UNTUNED, key=lambda method: method != OURS))
"""Ours first."""

UNMEASURED = (
    ("Guo et al. 2016, Azizzadenesheli et al. 2016, Jin et al. 2020 (general), Li et al. 2021",
     "no, no, no, model-based"),
    ("Cai et al. 2022", "no, no, yes, model-based"),
)  # fmt: skip
"""Rows of the paper's table for which there is nothing to run: they are not efficient."""


@dataclass(frozen=True, slots=True)
class Scale:
    instances: int = 10
    points: int = 4  # of a sweep


FULL, QUICK = Scale(), Scale(instances=3, points=2)


def table1(crew: Crew) -> list[Finding]:
    scale = QUICK if crew.quick else FULL
    runs: list[tuple[Cell, ...]] = []
    verdicts: list[tuple[Cell, ...]] = []
    for method in METHODS:
        cells: list[Cell] = []
        for sweep in SWEEPS:
            steps = _along(crew, method, sweep, scale)
            sizes = [size for size, _ in sweep.points[: len(steps)]]
            cells.append(verdict(sweep.name, sizes, steps))
            runs.append((method, sweep.name, _listed(sizes), _listed(steps)))
        for instance in BEYOND:
            steps = [_needed(crew, method, instance, 5 * CAP, scale)]
            cells.append(math.isfinite(steps[0]))
            runs.append((method, "-", instance.label, _listed(steps)))
        kind = BASED if method == "state merging" else FREE
        verdicts.append((method, SAID.get(method, "-"), *cells, kind))
    cells = ["not run"] * (len(SWEEPS) + len(BEYOND))
    return [
        Section(
            f"Table 1, measured: whether the steps to 95 % success stay within {CAP} (size / first "
            f"size)^{POWER:g}, and their exponent; {scale.instances} instances a size",
            ("method", "in the paper: efficient, deterministic, non-tabular, model",
             *(f"{sweep.name} grows" for sweep in SWEEPS),
             *(f"solves {instance.name}" for instance in BEYOND), "kind"),
            [*verdicts, *((name, said, *cells, BASED) for name, said in UNMEASURED)],
        ),
        Section(
            "the runs behind it: steps to 95 % success (inf: not within the cap)",
            ("method", "grows", "sizes", "steps"),
            runs,
        ),
    ]  # fmt: skip


def _listed(values: list[float]) -> str:
    return ", ".join(number(value) for value in values)


def verdict(name: str, sizes: list[float], steps: list[float]) -> str:
    """An exponent where every size was solved; otherwise from where on it was not."""
    for size, needed in zip(sizes, steps, strict=True):
        if not math.isfinite(needed):
            return f"no, from {name}={size:g}"
    return f"yes, {slope(sizes, steps):.1f}"


def _along(crew: Crew, method: str, sweep: Sweep, scale: Scale) -> list[float]:
    """Steps to 95 % success at each size; what fails at one is not tried at the next."""
    found: list[float] = []
    for size, instance in sweep.points[: scale.points]:
        failed = bool(found) and not math.isfinite(found[-1])
        cap = sweep.cap(size)
        found.append(math.inf if failed else _needed(crew, method, instance, cap, scale))
    return found


def _needed(crew: Crew, method: str, instance: Instance, cap: int, scale: Scale) -> float:
    trials = [
        Trial(instance.numbered(seed), method, UNTUNED[method], cap, seed)
        for seed in range(scale.instances)
    ]
    return steps_to(crew.spread(attempt, trials, f"{method}: {instance.label}"), cap)


PARTS: Mapping[str, Part] = {"table1": table1}
