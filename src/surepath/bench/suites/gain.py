"""Information gain: how the part that the dimension plays grows for kernels without one.

The paper's analysis rests on gamma(N), the largest ln det(I + K / ridge) of N points, growing
slowly: polylogarithmically for RBF, with a power below one for Matern (Srinivas, Krause, Kakade and
Seeger, 2010). The first table measures both by greedy choice; the maximum lies between that and the
proved bound. The second counts expansions of real runs against the bound that follows.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from surepath.bench.harness.report import Cell, Finding, Section
from surepath.bench.harness.runs import Crew
from surepath.bench.harness.statistics import exponent
from surepath.builtin_problems.continuous import continuous
from surepath.prepare.call import Call
from surepath.prepare.fixed_run import FixedRun
from surepath.prepare.kernel_features import KernelFeatures
from surepath.prepare.task import plan_task
from surepath.run.driver import drive
from surepath.run.runner import Runner
from surepath.theory.gain import gain_bound, information_gain
from surepath.theory.kernel_matrix import Kernel
from surepath.theory.schedule import Schedule

SIZES = (8, 16, 32, 64, 128, 256, 512)
RIDGE = 1e-2
CANDIDATES = 1024
RIDGES = (1e-1, 1e-2, 1e-3)
SEEDS = 3


def gain(crew: Crew) -> list[Finding]:
    return [_growth(), _expansions(crew)]


def _kernels() -> dict[str, Kernel]:
    from sklearn.gaussian_process.kernels import (  # pyright: ignore[reportMissingTypeStubs]
        RBF,
        Matern,
    )

    made: dict[str, Any] = {
        "RBF": RBF(0.3),
        "Matern 5/2": Matern(0.3, nu=2.5),
        "Matern 3/2": Matern(0.3, nu=1.5),
        "Matern 1/2": Matern(0.3, nu=0.5),
    }
    return made


def _growth() -> Section:
    """gamma(N) on the unit square, and its growth from each N to the next."""
    candidates = np.random.default_rng(0).random((CANDIDATES, 2))
    columns = ["N"]
    cells: list[list[Cell]] = [[n] for n in SIZES]
    exponents: list[Cell] = ["exponent"]
    for name, kernel in _kernels().items():
        greedy = information_gain(kernel, candidates, RIDGE, SIZES[-1])
        bound = gain_bound(kernel, candidates, RIDGE, SIZES[-1])
        columns += [name, "bound"]
        for row, n in zip(cells, SIZES, strict=True):
            row += [float(greedy[n - 1]), float(bound[n - 1])]
        last = [int(n) for n in SIZES[-3:]]
        exponents += [exponent(last, [float(greedy[n - 1]) for n in last]).value, ""]
    return Section(
        f"information gain on the unit square, length scale 0.3, ridge {RIDGE:g}, "
        f"{CANDIDATES} candidates; exponent of N over the last three rows",
        tuple(columns),
        [tuple(row) for row in cells] + [tuple(exponents)],
    )


def expansions(job: tuple[str, float, int]) -> tuple[int, int]:
    """Most expansions of a level in a run, and N' from the bound."""
    name, ridge, seed = job
    problem = continuous(seed=seed)
    features = KernelFeatures(name, "nystroem")
    schedule = Schedule(ridge, 1.0, 200, 200)
    task = plan_task(Call.of(problem, features=features, schedule=schedule, seed=seed))
    learner = FixedRun.of(task).learner
    drive(learner, Runner(problem, seed))
    return max(learner.usage.expansions), task.psi.expansions(
        ridge, 1.0
    ) if task.psi.expansions else 0


def _expansions(crew: Crew) -> Section:
    """Real runs beside the bound."""
    rows: list[tuple[Cell, ...]] = []
    for name, ridge in product(("rbf", "matern"), RIDGES):
        jobs = [(name, ridge, seed) for seed in range(SEEDS)]
        found = crew.spread(expansions, jobs, f"{name}, ridge {ridge:g}")
        most, bounded = (max(column) for column in zip(*found, strict=True))
        rows.append((name, ridge, most, bounded, most <= bounded))
    return Section(
        f"expansions of a level on `continuous` (H=5, A=4), {SEEDS} seeds",
        ("kernel", "ridge", "most expansions", "N' from the gain", "within"),
        rows,
    )
