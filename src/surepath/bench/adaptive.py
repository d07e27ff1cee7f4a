"""The adaptive schedule: against a rival, against the floor, and when nothing is as assumed.

Ours is called as anybody would call it, `surepath.learn(problem, delta=..., seed=...)`: it is told
neither gap nor norm nor the number of hidden states. Every number is a ratio or a rate from runs of
this command, with 95 % Wilson intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from surepath.bench.broken import broken_assumptions
from surepath.bench.calibration import calibration, proved
from surepath.bench.growth import beyond_tabular, growth
from surepath.bench.report import Report, Section, chosen
from surepath.bench.rivals import against_floor, against_merging
from surepath.bench.runs import Crew
from surepath.bench.ties import STEP_SECONDS, overhead, ties


@dataclass(frozen=True, slots=True)
class Scale:
    """How many runs each part makes."""

    workers: int = 2
    instances: int = 25  # of rival, floor and ties
    runs: int = 8  # of the rival, on each instance
    tuning: int = 20  # of the rival, on each instance and number of samples that is tried
    repeats: int = 4  # of floor and ties, on each instance
    beyond: int = 100  # instances of each problem, and of each point of a sweep
    points: int = 4  # of each sweep
    calibrated: int = 250  # instances of each family and delta
    proved: int = 1000  # instances of each family
    broken: int = 100  # runs of each row
    slow: int = 4  # runs on each slow system
    step_seconds: float = STEP_SECONDS


SCALE = Scale()

PARTS: Mapping[str, Callable[[Crew, Scale], list[Section]]] = {
    "rival": lambda crew, s: against_merging(crew, s.instances, s.runs, s.tuning),
    "floor": lambda crew, s: [against_floor(crew, s.instances, s.repeats)],
    "beyond": lambda crew, s: [beyond_tabular(crew, s.beyond)],
    "growth": lambda crew, s: growth(crew, s.beyond, s.points),
    "calibration": lambda crew, s: [calibration(crew, s.calibrated)],
    "proved": lambda crew, s: [proved(crew, s.proved)],
    "broken": lambda crew, s: broken_assumptions(crew, s.broken),
    "ties": lambda crew, s: [ties(crew, s.instances, s.repeats)],
    "overhead": lambda crew, s: [overhead(crew, s.slow, s.step_seconds)],
}


def adaptive(only: Collection[str] = ()) -> Report:
    """All parts, or those that are named."""
    parts = chosen(PARTS, only)
    with Crew(SCALE.workers) as crew:
        return Report("adaptive", [section for part in parts for section in part(crew, SCALE)])
