"""How often a certificate is false with the guarantee that is proved for every system: never."""

from __future__ import annotations

import numpy as np

from surepath.bench.harness.report import Cell, Section
from surepath.bench.harness.runs import Crew, Instance, Job, Outcome, play
from surepath.bench.harness.statistics import geometric, rate

DELTA = 0.1
FAMILIES = ("tabular", "gaussian")


def proved(crew: Crew, instances: int) -> Section:
    """False certificates on small random problems: none may be."""
    rows: list[tuple[Cell, ...]] = []
    for family in FAMILIES:
        played = crew.spread(play_proved, list(_small(family, instances)), f"proved: {family}")
        certified = sum(run.certified for run in played)
        rows.append(
            (
                DELTA,
                family,
                rate(certified, len(played), 3),
                rate(sum(run.wrong for run in played), certified, 3),
                geometric([run.episodes for run in played]),
            )
        )
    return Section(
        f"proved guarantee: small problems, norm known, delta {DELTA}",
        ("delta", "family", "certified", "certified, wrong", "episodes"),
        rows,
    )


def _small(family: str, instances: int) -> list[Job]:
    symbols = "observations" if family == "tabular" else "dimension"
    jobs: list[Job] = []
    for seed in range(instances):
        rng = np.random.default_rng([seed, 99])
        states = int(rng.integers(2, 4))
        sizes = {"horizon": int(rng.integers(2, 4)), "actions": 2, "states": states}
        instance = Instance(family, sizes | {symbols: states + 1, "gap": 0.2, "seed": seed})
        jobs.append(Job(instance, seed, {"delta": DELTA}))
    return jobs


def play_proved(job: Job) -> Outcome:
    """The norm has to be told, and only the problem knows it."""
    options = {**job.options, "guarantee": "proved", "norm": job.instance.build().norm}
    return play(Job(job.instance, job.seed, options))
