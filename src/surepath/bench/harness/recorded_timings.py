"""Orders of passes with timings that were recorded: every method draws from the same ones.

Every binary that an order of passes leads to is timed so many times, all in turn. Whoever then
measures an order is given one of the timings of its binary, at random. So all methods meet the same
noise, what a plan is worth is known, and nothing drifts from one method to the next. Recordings are
kept in files, so that only making them needs a quiet machine.
"""

from __future__ import annotations

import hashlib
import inspect
import math
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from scipy import stats

from surepath.bench.harness.worlds import example
from surepath.system import Actions, Episodes, FloatArray, IntArray

LEADING = 20
"""So many of the best binaries, by whose noise it is told what a recording can tell."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """The programs that orders of passes lead to, and timings of what they compile to."""

    kernel: str
    moves: list[IntArray]  # [S, A] for each pass: the program of the next level
    binary: IntArray  # [S], of the last programs
    paid: FloatArray  # [B, n], rewards of each binary
    pipelines: dict[str, float]  # median rewards of -O2 and -O3, not cut

    @property
    def passes(self) -> int:
        return self.moves[0].shape[1]

    @property
    def values(self) -> FloatArray:
        return self.paid.mean(axis=1)

    @property
    def resolution(self) -> float:
        """What so many timings can tell: differences between the best by two standard errors.

        As a share of the best. Smaller ones may well be the other way round in the next recording.
        """
        leading = np.argsort(-self.values)[:LEADING]
        error = float(np.median(stats.sem(self.paid[leading], axis=1)))
        return 2 * math.sqrt(2) * error / float(self.values.max())

    def save(self, path: Path) -> None:
        names, medians = list(self.pipelines), list(self.pipelines.values())
        moves = {f"moves{level}": each for level, each in enumerate(self.moves)}
        rest = {"binary": self.binary, "paid": self.paid, "names": names, "medians": medians}
        with path.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **moves, **rest)

    @staticmethod
    def load(path: Path, kernel: str) -> Recorded:
        with np.load(path, allow_pickle=False) as held:
            levels = sum(name.startswith("moves") for name in held.files)
            moves = [held[f"moves{level}"] for level in range(levels)]
            pipelines = zip(held["names"].tolist(), held["medians"].tolist(), strict=True)
            return Recorded(kernel, moves, held["binary"], held["paid"], dict(pipelines))

    def path(self, actions: Actions) -> list[int]:
        """The program of each level; after the last pass, the binary."""
        found = [0]
        for moves, action in zip(self.moves, actions, strict=False):
            found.append(int(moves[found[-1], action]))
        if len(found) > len(self.moves):
            found[-1] = int(self.binary[found[-1]])
        return found

    def value(self, actions: Actions) -> float:
        """Of an order that may be too short; what is missing are zeros, as in `learn`."""
        short = len(self.moves) - len(actions)
        return float(self.values[self.path(actions + (0,) * short)[-1]])


def kept(folder: Path, kernel: str, horizon: int, repeats: int) -> Recorded:
    """From a file of the folder, if there is one of what would be recorded now."""
    made_of = _made_of(example("llvm_passes", "llvm"), kernel)
    path = folder / f"timings-{kernel}-{horizon}-{repeats}-{made_of}.npz"
    if not path.exists():
        recorded(kernel, horizon, repeats).save(path)
    return Recorded.load(path, kernel)


def _made_of(module: ModuleType, kernel: str) -> str:
    """A digest of what timings of a kernel depend on, beside the machine."""
    parts = module.source(kernel), module.PASSES, module.REFERENCE, module.KERNELS[kernel]
    watch = inspect.getsource(inspect.getmodule(module.Stopwatch) or module)
    text = repr((*parts, watch, version("llvmlite")))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def recorded(kernel: str, horizon: int, repeats: int, passes: int | None = None) -> Recorded:
    """Compile and time every binary of a kernel of examples/llvm_passes.py."""
    module = example("llvm_passes", "llvm")
    system: Any = module.PassOrder(kernel, horizon, tuple(module.PASSES)[:passes])
    moves, level = list[IntArray](), {system.start: 0}
    for _ in range(horizon):
        below: dict[str, int] = {}
        rows = [
            [
                below.setdefault(system.compiler.run(program, name), len(below))
                for name in system.passes
            ]
            for program in level
        ]
        moves.append(np.array(rows))
        level = below
    binaries = {binary.digest: binary for binary in map(system.compiler.binary, level)}
    places = {digest: place for place, digest in enumerate(binaries)}
    pipelines = {name: system.pipeline(name) for name in ("-O2", "-O3")}
    rng = np.random.default_rng(0)
    timed = module.side_by_side(system.reward, list(binaries.values()), repeats, rng)
    # These may be quicker than the most that counts for an order.
    beside = module.side_by_side(system.uncut, list(pipelines.values()), repeats, rng)
    return Recorded(
        kernel,
        moves,
        np.array([places[system.compiler.digest(program)] for program in level]),
        timed.T,
        dict(zip(pipelines, np.median(beside, axis=0).tolist(), strict=True)),
    )


class _Drawn:
    """A system whose last reward is one of the recorded timings."""

    def __init__(self, recorded: Recorded) -> None:
        self.recorded = recorded
        self.timings = 0

    def _paid(self, binary: int, n: int, rng: np.random.Generator) -> FloatArray:
        self.timings += n
        paid: FloatArray = self.recorded.paid[binary]
        return paid[rng.integers(len(paid), size=n)]


class Read(_Drawn):
    """As the example has it: programs are read, and a last step measures."""

    last_actions, dimension = 1, 1
    preferred_features = "linear"

    def __init__(self, recorded: Recorded) -> None:
        super().__init__(recorded)
        self.horizon, self.n_actions = len(recorded.moves) + 1, recorded.passes

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        path = self.recorded.path(actions)
        rewards = np.zeros((n, len(actions)))
        if len(actions) == self.horizon:
            rewards[:, -1] = self._paid(path[-1], n, rng)
        seen = np.array(path, dtype=np.float64)[: self.horizon]
        return Episodes(actions, np.tile(seen[:, None], (n, 1, 1)), rewards)


class Orders(_Drawn):
    """For those who are not told: an order is played, and something is paid at its end."""

    n_observations = 1

    def __init__(self, recorded: Recorded) -> None:
        super().__init__(recorded)
        self.horizon, self.n_actions = len(recorded.moves), recorded.passes

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        rewards = np.zeros((n, len(actions)))
        rewards[:, -1] = self._paid(self.recorded.path(actions)[-1], n, rng)
        levels = min(len(actions) + 1, self.horizon)
        return Episodes(actions, np.zeros((n, levels), dtype=np.int64), rewards)

    def loss(self, actions: Actions) -> float:
        return float(self.recorded.values.max()) - self.recorded.value(actions)


class Binaries(_Drawn):
    """For those who are told which orders are one: each action is a binary."""

    n_observations = horizon = 1

    def __init__(self, recorded: Recorded) -> None:
        super().__init__(recorded)
        self.n_actions = len(recorded.paid)

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        rewards = self._paid(actions[0], n, rng)[:, None] if actions else np.zeros((n, 0))
        return Episodes(actions, np.zeros((n, 1), dtype=np.int64), rewards)

    def loss(self, actions: Actions) -> float:
        return float(self.recorded.values.max() - self.recorded.values[(actions or (0,))[0]])
