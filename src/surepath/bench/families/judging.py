"""One run of `learn` on one system of a family, and whether what it claimed is true."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any
from zlib import crc32

import numpy as np

from surepath.api import learn
from surepath.bench.families import (
    dosing,
    drift,
    look_alikes,
    needles,
    payments,
    plain,
    real_readings,
    shaped_noise,
    sizes,
)
from surepath.bench.families.case import Case, Family
from surepath.bench.harness.runs import Outcome, outcome

CHAPTERS: Mapping[str, tuple[Family, ...]] = {
    "needles": needles.FAMILIES,
    "look-alikes": look_alikes.FAMILIES,
    "real-readings": real_readings.FAMILIES,
    "shaped-noise": shaped_noise.FAMILIES,
    "payments": payments.FAMILIES,
    "sizes": sizes.FAMILIES,
    "drift": drift.FAMILIES,
    "plain": plain.FAMILIES,
    "dosing": dosing.FAMILIES,
}
"""All families, by what they are about."""

FAMILIES: Mapping[str, Family] = {
    family.name: family for chapter in CHAPTERS.values() for family in chapter
}


@dataclass(frozen=True, slots=True)
class Trial:
    """A system of a family, by number, and the probability that its run is allowed to be wrong."""

    family: str
    seed: int
    delta: float

    def build(self) -> Case:
        return FAMILIES[self.family].make(
            np.random.default_rng([self.seed, crc32(self.family.encode())])
        )


@dataclass(frozen=True, slots=True)
class Judged(Outcome):
    """What a run came to, beside what is true of its system."""

    separation: float  # the true one
    cap: int  # most episodes that it might have taken
    seconds: float  # of CPU time in `learn`

    @property
    def cost(self) -> int:
        """Episodes; a run without a certificate costs all that it might have."""
        return self.episodes if self.certified else self.cap


LARGEST_SEPARATION = 0.95
"""States that never look alike are told to be so far apart: a separation is less than 1."""


def told_to_prove(trial: Trial, case: Case) -> dict[str, Any]:
    """The arguments of a run that proves, which is told the true separation or less."""
    family = FAMILIES[trial.family]
    least = min(family.declared, case.separation, LARGEST_SEPARATION)
    return {**family.call(), "separation": least, "seed": trial.seed, "delta": trial.delta}


def judge(trial: Trial) -> Judged:
    family, case = FAMILIES[trial.family], trial.build()
    started = time.process_time()
    result = learn(case.system, seed=trial.seed, delta=trial.delta, **family.call())
    seconds = time.process_time() - started
    found = outcome(result, case.best - case.value(result.actions))
    return Judged(**asdict(found), separation=case.separation, cap=family.cap, seconds=seconds)
