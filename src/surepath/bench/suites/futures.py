"""Windows of node means against joint windows: what a longer future costs either way.

The same episodes can be averaged in two ways. Joint windows average the tensor product of a
window's features over the episodes of each continuation; products multiply the means of its nodes,
and every reading serves all windows it belongs to.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import NamedTuple

import numpy as np

from surepath.api import learn
from surepath.bench.harness.report import Cell, Finding, Section
from surepath.bench.harness.runs import Crew
from surepath.bench.harness.statistics import rate
from surepath.builtin_problems.overcomplete import overcomplete
from surepath.builtin_problems.tabular import Tabular
from surepath.features import OneHot
from surepath.readings.embedding import Embedding, JointEmbedding, VectorEmbedding
from surepath.readings.trie import Node
from surepath.system import Episodes, FloatArray
from surepath.theory.schedule import Schedule
from surepath.theory.setting import Windows

SAMPLES = (30, 100, 300, 1000, 3000)
SEEDS = 40
FUTURES = (2, 3)


class SingleEpisodes:
    """A problem that only draws single episodes, so that both ways read the same kind of data."""

    n_observations = 3

    def __init__(self, problem: Tabular) -> None:
        self.problem = problem
        self.horizon, self.n_actions = problem.horizon, problem.n_actions

    def rollout(self, actions: tuple[int, ...], n: int, rng: np.random.Generator) -> Episodes:
        return self.problem.rollout(actions, n, rng)


WINDOWS: tuple[Windows, ...] = ("joint", "product")


class Window(NamedTuple):
    """One run: how far it looks ahead, and how it averages what it sees."""

    seed: int
    future: int
    samples: int
    windows: Windows


def futures(crew: Crew) -> list[Finding]:
    points = list(product(FUTURES, SAMPLES))
    jobs = [Window(seed, *point, w) for point in points for w in WINDOWS for seed in range(SEEDS)]
    played = dict(zip(jobs, crew.spread(run, jobs, "futures"), strict=True))
    columns = ("K", "M", "error, joint", "error, product", "ratio", "exact, joint",
               "exact, product", "episodes, joint", "episodes, product")  # fmt: skip
    rows = [_row(future, samples, played) for future, samples in points]
    return [
        Section(f"overcomplete, S=6, O=3, H=5, A=2, {SEEDS} seeds", columns, rows),
        "error: mean ||z-hat - z|| from the same episodes, M for each continuation.",
        "exact: runs that returned the optimum, with their 95 % Wilson interval; M readings an "
        "embedding and a reward mean, ridge 4 / M, threshold 1.",
    ]


def _row(future: int, samples: int, played: Mapping[Window, tuple[bool, int]]) -> tuple[Cell, ...]:
    errors = np.array([embedding_errors(seed, future, samples) for seed in range(SEEDS)])
    joint, means = (float(error) for error in errors.mean(axis=0))
    runs = [
        [played[Window(seed, future, samples, windows)] for seed in range(SEEDS)]
        for windows in WINDOWS
    ]
    exact = (rate(sum(found for found, _ in each), SEEDS) for each in runs)
    episodes = (float(np.mean([cost for _, cost in each])) for each in runs)
    return future, samples, joint, means, joint / means, *exact, *episodes


def embedding_errors(seed: int, future: int, samples: int) -> tuple[float, float]:
    """Errors of the root's embedding, joint and product, from the same episodes."""
    problem = overcomplete(seed=seed)
    rng = np.random.default_rng([seed, future, samples])
    ends = product(range(problem.n_actions), repeat=future - 1)
    readings = [problem.rollout(actions, samples, rng) for actions in ends]
    joint = JointEmbedding(OneHot(3), problem.n_actions, future)
    means = VectorEmbedding(OneHot(3), problem.n_actions, future)
    exact = problem.window_embeddings(0, np.zeros(1, dtype=np.int64), future)[0]
    return (
        float(np.linalg.norm(_embedded(joint, readings) - _joint_order(problem, future))),
        float(np.linalg.norm(_embedded(means, readings) - exact)),
    )


def _embedded(embedding: Embedding, readings: list[Episodes]) -> FloatArray:
    root = Node()
    for episodes in readings:
        end = root
        for action in episodes.actions:
            end = end.child(action)
        for level, digest in embedding.read(episodes, embedding.steps(end.level)).items():
            end.ancestor(level).absorb(digest)
    return embedding.point(root)


def _joint_order(problem: Tabular, future: int) -> FloatArray:
    """The exact embedding of the root with the continuations outermost, as joint windows stack."""
    blocks: list[FloatArray] = []
    for actions in product(range(problem.n_actions), repeat=future - 1):
        laws = [problem.emissions[h, s] for h, s in enumerate(problem.path(actions))]
        block = laws[0]
        for law in laws[1:]:
            block = np.outer(block, law).ravel()
        blocks.append(block)
    return np.concatenate(blocks)


def run(job: Window) -> tuple[bool, int]:
    """Whether a run found the optimum, and what it cost."""
    problem = overcomplete(seed=job.seed)
    schedule = Schedule(4 / job.samples, 1.0, job.samples, job.samples, windows=job.windows)
    result = learn(SingleEpisodes(problem), schedule=schedule, future=job.future, seed=job.seed)
    return problem.is_optimal(result.actions), result.episodes
