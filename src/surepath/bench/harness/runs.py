"""Many independent runs: what to run, over the cores, and what came out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any, TypeAlias, TypeVar

from surepath.api import learn
from surepath.bench.harness.report import Finding, tracked
from surepath.bench.harness.statistics import geometric, rate
from surepath.bench.harness.store import Store
from surepath.builtin_problems import Problem, make
from surepath.results.result import Result

J = TypeVar("J")
R = TypeVar("R")

DELTA = 0.05
"""Failure probability that everybody is held to, unless a suite is about it."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A built-in problem by name: small to send to another process, built where it is used."""

    name: str
    parameters: Mapping[str, Any]

    def build(self) -> Problem:
        return make(self.name, **self.parameters)

    def numbered(self, seed: int) -> Instance:
        return Instance(self.name, {**self.parameters, "seed": seed})

    @property
    def label(self) -> str:
        """Its name and size, short."""
        short = {"horizon": "H", "states": "S", "actions": "A", "observations": "O"}
        sizes = (f"{short[p]}{value}" for p, value in self.parameters.items() if p in short)
        return " ".join([self.name, *sizes])


@dataclass(frozen=True, slots=True)
class Job:
    """One run of `learn`."""

    instance: Instance
    seed: int
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Outcome:
    loss: float  # how far the plan is from the best one
    tolerance: float  # how far the certificate admits it may be: 0 where it claims the optimum
    certified: bool
    reason: str
    warnings: tuple[str, ...]
    episodes: int
    steps: int

    @property
    def optimal(self) -> bool:
        return self.loss <= 1e-9

    @property
    def wrong(self) -> bool:
        """Certified, and not the optimum."""
        return self.certified and not self.optimal

    @property
    def false(self) -> bool:
        """Certified, and worse than the certificate admits."""
        return self.certified and self.loss > self.tolerance + 1e-9


def outcome(result: Result, loss: float) -> Outcome:
    proof = result.certificate
    return Outcome(
        loss=loss,
        tolerance=proof.tolerance or 0.0,
        certified=result.certified,
        reason=proof.reason,
        warnings=proof.warnings,
        episodes=result.episodes,
        steps=result.steps,
    )


def exact_rate(runs: Sequence[Outcome]) -> str:
    """The share of runs whose plan was an optimal one."""
    return rate(sum(run.optimal for run in runs), len(runs))


def certified_rate(runs: Sequence[Outcome]) -> str:
    return rate(sum(run.certified for run in runs), len(runs))


def mean_steps(runs: Sequence[Outcome]) -> float:
    """Geometric."""
    return geometric([run.steps for run in runs])


def grouped(values: Sequence[R], size: int) -> list[list[R]]:
    """By so many, as the jobs of each instance were laid out."""
    return [list(values[start : start + size]) for start in range(0, len(values), size)]


def play(job: Job) -> Outcome:
    problem = job.instance.build()
    result = learn(problem, seed=job.seed, **job.options)
    return outcome(result, problem.oracle.value - problem.expected_return(result.actions))


class Crew:
    """Runs jobs in so many processes; a context manager, because processes take time to start.

    A run that was made is not made again. store: results are kept in it, and taken from it. quick:
    whether suites are to be run at the size that takes minutes.
    """

    def __init__(
        self, workers: int = 1, *, store: Store | None = None, quick: bool = False
    ) -> None:
        self.quick = quick
        self.store = store
        self._workers = workers
        self._made: dict[tuple[Callable[..., Any], str], Any] = {}  # by function and job
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *raised: object) -> None:
        if self._pool is not None:
            # After an error nobody waits for the rest.
            self._pool.shutdown(cancel_futures=True)

    def spread(self, run: Callable[[J], R], jobs: Sequence[J], title: str) -> list[R]:
        """`run` of every job, in the order of the jobs, with a bar."""
        results: dict[int, R] = {}
        for index, job in enumerate(jobs):
            if (run, repr(job)) in self._made:
                results[index] = self._made[run, repr(job)]
            elif self.store is not None and self.store.has(run, job):
                results[index] = self.store.get(run, job)
        missing = [index for index in range(len(jobs)) if index not in results]
        for index, result in self._run(run, {index: jobs[index] for index in missing}, title):
            results[index] = result
            if self.store is not None:
                self.store.keep(run, jobs[index], result)
        self._made |= {(run, repr(job)): results[index] for index, job in enumerate(jobs)}
        return [results[index] for index in range(len(jobs))]

    def _run(
        self, run: Callable[[J], R], jobs: Mapping[int, J], title: str
    ) -> Iterator[tuple[int, R]]:
        """The results as they come, each with the number of its job."""
        if self._workers == 1:
            for index in tracked(list(jobs), title):
                yield index, run(jobs[index])
            return
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self._workers, get_context("spawn"), initializer=_one_thread
            )
        futures = {self._pool.submit(run, job): index for index, job in jobs.items()}
        for future in tracked(as_completed(futures), title, len(jobs)):
            yield futures[future], future.result()


def _one_thread() -> None:
    """Each worker has a core: threads of the linear algebra would only wait for each other."""
    from threadpoolctl import threadpool_limits  # pyright: ignore[reportMissingTypeStubs]

    threadpool_limits(1)


Part: TypeAlias = Callable[[Crew], Sequence[Finding]]
"""A part of a suite."""
