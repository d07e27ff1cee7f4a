"""A kernel used exactly, through landmarks, and through random features: error, time and memory.

Nodes are places of the `continuous` problem, each with a bag of noisy range readings. The exact
form streams every pair of readings; the approximations average features once for each node.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from surepath.bench.harness.report import Cell, Finding, Section, tracked
from surepath.bench.harness.runs import Crew
from surepath.builtin_problems.continuous import continuous
from surepath.features.kernels import (
    Bag,
    FourierFeatures,
    Nystroem,
    mean_gram_row,
    median_length_scale,
    pick_landmarks,
)
from surepath.system import FloatArray
from surepath.theory.kernel_matrix import Kernel

COUNTS = ((20, 100), (50, 300), (100, 1000), (200, 2000))
"""Stored nodes, and readings of each."""

EXACT_ROWS = 8
"""Rows of the Gram matrix that are computed exactly, to measure its time and everyone's error."""

COMPONENTS = (64, 128, 256)
DRAWS = 5
"""Landmarks and frequencies are random: the error is the root mean square over so many draws."""


@dataclass(frozen=True, slots=True)
class Measured:
    value: Any
    seconds: float
    megabytes: float


def measured(work: Callable[[], Any]) -> Measured:
    """What the work returns, how long it took, and the most memory it held at once."""
    tracemalloc.start()
    started = time.perf_counter()
    value = work()
    seconds = time.perf_counter() - started
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return Measured(value, seconds, peak / 2**20)


def kernels(_: Crew) -> list[Finding]:
    from sklearn.gaussian_process.kernels import RBF  # pyright: ignore[reportMissingTypeStubs]

    rows: list[tuple[Cell, ...]] = []
    for nodes, samples in tracked(COUNTS, "kernels"):
        bags = node_bags(nodes, samples)
        pilot = np.concatenate([bag.values[:20] for bag in bags])
        kernel: Any = RBF(median_length_scale(pilot))
        rows += compare(kernel, bags, pilot)
    columns = ("nodes", "readings", "form", "components", "relative error", "seconds a row",
               "time / exact", "peak MB")  # fmt: skip
    return [
        Section("Gram matrix of mean embeddings, RBF on four range sensors", columns, rows),
        f"error: of {EXACT_ROWS} rows of the Gram matrix against the exact form (Frobenius, "
        f"relative, root mean square of {DRAWS} draws). seconds a row: exact, all pairs of "
        "readings; otherwise the features of all nodes, shared out over the rows. peak MB: besides "
        f"the readings themselves ({COUNTS[-1][0] * COUNTS[-1][1] * 4 * 8 / 2**20:.0f} MB in the "
        "last block).",
    ]


def node_bags(nodes: int, samples: int) -> list[Bag]:
    """Bags of range readings at the ends of random action sequences."""
    problem = continuous(sensor="range")
    rng = np.random.default_rng([nodes, samples])
    bags: list[Bag] = []
    for _ in range(nodes):
        length = int(rng.integers(problem.horizon))
        actions = tuple(int(a) for a in rng.integers(problem.n_actions, size=length))
        bags.append(Bag.of(problem.rollout(actions, samples, rng).observations[:, -1]))
    return bags


def compare(kernel: Kernel, bags: list[Bag], pilot: FloatArray) -> list[tuple[Cell, ...]]:
    """The exact form, then either approximation with more and more components."""
    exact = measured(
        lambda: np.array([mean_gram_row(kernel, bag, bags) for bag in bags[:EXACT_ROWS]])
    )
    exact_seconds = exact.seconds / EXACT_ROWS
    rng = np.random.default_rng(0)
    forms: dict[str, Callable[[int], Any]] = {
        "landmarks": lambda m: Nystroem(kernel, pick_landmarks(pilot, m, rng)),
        "Fourier": lambda m: FourierFeatures(kernel, pilot.shape[1], m, rng),
    }
    rows: list[tuple[Cell, ...]] = [("exact", 0, 0.0, exact_seconds, 1.0, exact.megabytes)]
    for (name, make), components in product(forms.items(), COMPONENTS):
        draws = [_average(make(components), bags) for _ in range(DRAWS)]
        errors = [_relative_error(draw.value, exact.value) for draw in draws]
        error = float(np.sqrt(np.mean(np.square(errors))))
        seconds = min(draw.seconds for draw in draws) / len(bags)
        most = max(draw.megabytes for draw in draws)
        rows.append((name, components, error, seconds, seconds / exact_seconds, most))
    return [(len(bags), len(bags[0].values), *row) for row in rows]


def _average(approximation: Any, bags: list[Bag]) -> Measured:
    return measured(lambda: np.array([approximation.average(bag.values) for bag in bags]))


def _relative_error(means: FloatArray, exact: FloatArray) -> float:
    """Frobenius, of the rows of the Gram matrix that are known exactly."""
    approximate = means[: len(exact)] @ means.T
    return float(np.linalg.norm(approximate - exact) / np.linalg.norm(exact))
