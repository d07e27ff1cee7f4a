"""What a run computes: arithmetic operations, counted and not timed, against every quantity of the
paper's corollary on computational complexity.

Operations are those of the regressions (coverage, prediction, updates: products and sums of known
sizes) and of the averages, one for each coordinate of each reading; a sampled step costs one, as in
the corollary. The algorithm is the printed one, with fresh readings at every visit, at the sample
sizes of `tight` as they are proved beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from surepath.bench.harness.report import Cell, Finding, Section
from surepath.bench.harness.runs import Crew
from surepath.bench.harness.statistics import exponent
from surepath.builtin_problems import make
from surepath.features import OneHot
from surepath.learners.recursion import Learner
from surepath.prepare.call import Call
from surepath.prepare.fixed_run import FixedRun
from surepath.prepare.task import plan_task
from surepath.readings.embedding import VectorEmbedding
from surepath.readings.ridge import Regression
from surepath.run.driver import drive
from surepath.run.runner import Runner
from surepath.system import FloatArray
from surepath.theory.schedule import tight

AXES: dict[str, tuple[float, ...]] = {
    "H": (2, 3, 4, 6, 8),
    "d": (4, 8, 16, 32),
    "A": (2, 3, 4, 6),
    "1 / gap": (5, 10, 20, 40),
    "norm": (50, 100, 200, 400),
}
"""Values of each quantity."""

FIXED = {"H": 3, "d": 4, "A": 2, "1 / gap": 5, "norm": 50}
"""The others: what is assumed. Every machine has a gap of at least 0.2 and a norm below 50, so that
these are true of all of them, and only one quantity changes at a time."""

SEEDS = 5

THEOREM = {"H": 5, "d": 2, "A": 2, "1 / gap": 5, "norm": 5}
"""Exponents of the samples in the paper's theorem. Its corollary says that the computation is a
polynomial, too: averages take d for each sample, regressions d^2 for each visit."""


@dataclass(slots=True)
class Operations:
    regression: int = 0


class Counted:
    """A regression of vectors that counts what it computes."""

    def __init__(self, inner: Regression, size: tuple[int, int], total: Operations) -> None:
        self._inner, self._total = inner, total
        d, a = size
        self._coverage = 2 * d * d + 2 * d + 1  # x S, its length and a root
        self._predict = 2 * d * d + 2 * d * a  # x S, times S' moments
        # x S, u, g; S v and the outer product; moments; S' moments; the check of the last point
        self._add = (2 * d * d + 2 * d + 4) + 5 * d * d + 2 * d * a + 2 * d * d * a + self._coverage

    def coverage(self, x: Any) -> float:
        self._total.regression += self._coverage
        return self._inner.coverage(x)

    def predict(self, x: Any) -> FloatArray:
        self._total.regression += self._predict
        return self._inner.predict(x)

    def add(self, x: Any, y: FloatArray) -> None:
        self._total.regression += self._add
        self._inner.add(x, y)


class Counting(Learner):
    """The recursion on one-hot features, with its regressions counted."""

    def _begin(self) -> None:
        super()._begin()
        self.operations = Operations()
        assert isinstance(self.embedding, VectorEmbedding)
        size = self.embedding.dimension, self.n_actions
        self._regressions = [Counted(one, size, self.operations) for one in self._regressions]


@dataclass(frozen=True, slots=True)
class Computed:
    value: float  # of the quantity, as the problem has it
    regression: int  # operations of the regressions
    averages: int  # one for each coordinate of each reading
    steps: int  # sampled


def run(job: tuple[str, float, int]) -> Computed:
    axis, value, seed = job
    sizes = FIXED | {axis: value}
    d, actions = int(sizes["d"]), int(sizes["A"])
    problem = make(
        "tabular", horizon=int(sizes["H"]), observations=d, actions=actions, states=3, gap=0.2,
        seed=seed,
    )  # fmt: skip
    setting = FixedRun.of(plan_task(Call.of(problem, schedule="tight"))).setting
    assert setting is not None
    assert setting.norm < FIXED["norm"]
    setting = replace(
        setting, gap=1 / sizes["1 / gap"], norm=sizes["norm"], latent_dimension=None, unique=False
    )
    schedule = replace(tight(setting), pool=False)
    learner = Counting(problem.horizon, actions, OneHot(d), schedule)
    drive(learner, Runner(problem, seed))
    usage = learner.usage
    averages = usage.feature_batches * schedule.feature_samples * d
    averages += usage.reward_batches * schedule.reward_samples
    return Computed(value, learner.operations.regression, averages, usage.steps)


def operations(crew: Crew) -> list[Finding]:
    jobs = [
        (axis, v, seed) for axis, values in AXES.items() for v in values for seed in range(SEEDS)
    ]
    found = dict(zip(jobs, crew.spread(run, jobs, "operations"), strict=True))
    rows = [_row(axis, [found[job] for job in jobs if job[0] == axis]) for axis in AXES]
    return [
        Section(
            "exponents of what is computed, fresh readings at every visit, tight beforehand",
            ("quantity", "values", "regressions", "averages", "sampled steps", "all",
             "the theorem's samples"),
            rows,
        ),
        f"{SEEDS} machines for each value; the others stay at H=3, d=4, A=2, gap 0.2, norm 50. "
        "Averages take d for each sample, so the theorem's d^2 samples allow d^3 operations.",
    ]  # fmt: skip


def _row(axis: str, runs: Sequence[Computed]) -> tuple[Cell, ...]:
    x = [one.value for one in runs]
    fits = [
        exponent(x, [one.regression for one in runs]),
        exponent(x, [one.averages for one in runs]),
        exponent(x, [one.steps for one in runs]),
        exponent(x, [one.regression + one.averages + one.steps for one in runs]),
    ]
    values = f"{min(x):g} to {max(x):g}"
    return (axis, values, *map(str, fits), THEOREM[axis])
