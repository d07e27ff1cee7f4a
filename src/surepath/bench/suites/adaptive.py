"""The adaptive schedule: against a rival, the floor and an older engine, and off its assumptions.

Ours is called as anybody would call it, `surepath.learn(problem, delta=..., seed=...)`: it is told
neither gap nor norm nor the number of hidden states. Every number is a ratio or a rate from runs of
this command, with 95 % Wilson intervals; the runs of the older engine alone were recorded before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from surepath.bench.harness.runs import Part
from surepath.bench.suites.broken import broken_assumptions
from surepath.bench.suites.cost import against_older
from surepath.bench.suites.floor import against_floor
from surepath.bench.suites.growth import beyond_tabular, growth
from surepath.bench.suites.merging import against_merging
from surepath.bench.suites.ties import STEP_SECONDS, overhead, ties


@dataclass(frozen=True, slots=True)
class Scale:
    """How many runs each part makes."""

    instances: int = 25  # of rival, floor and ties
    runs: int = 8  # of the rival, on each instance
    tuning: int = 20  # of the rival, on each instance and number of samples that is tried
    repeats: int = 4  # of floor and ties, on each instance
    beyond: int = 100  # instances of each problem, and of each point of a sweep
    points: int = 4  # of each sweep
    broken: int = 100  # runs of each row
    recorded: int = 20  # of the older engine's runs on each size
    slow: int = 4  # runs on each slow system
    step_seconds: float = STEP_SECONDS


SCALE = Scale()

PARTS: Mapping[str, Part] = {
    "rival": lambda crew: against_merging(crew, SCALE.instances, SCALE.runs, SCALE.tuning),
    "floor": lambda crew: [against_floor(crew, SCALE.instances, SCALE.repeats)],
    "cost": lambda crew: [against_older(crew, SCALE.recorded)],
    "beyond": lambda crew: [beyond_tabular(crew, SCALE.beyond)],
    "growth": lambda crew: growth(crew, SCALE.beyond, SCALE.points),
    "broken": lambda crew: broken_assumptions(crew, SCALE.broken),
    "ties": lambda crew: [ties(crew, SCALE.instances, SCALE.repeats)],
    "overhead": lambda crew: [overhead(crew, SCALE.slow, SCALE.step_seconds)],
}
