"""What many close decisions lose together, simulated: the rule of `inference.ties` by itself.

K decisions that do not depend on each other, each between one action and others that are worth less
by a gap. The plan takes the action that looks best, by readings with Gaussian noise. What it loses
is held against the most that is said of it: over all sets of decisions, the width of their sum less
the leads in it. A learner has more that makes it careful: this is the rule alone.
"""

from __future__ import annotations

import math

import numpy as np

from surepath.bench.harness.report import Cell, Section
from surepath.bench.harness.runs import Crew
from surepath.inference.guarantee_widths import Calibrated
from surepath.system import FloatArray

DELTAS = (0.05, 0.2)
DECISIONS = (1, 5, 20, 40, 80, 160, 500)
ACTIONS = (2, 4, 10)
GAPS = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
"""In standard errors of a difference: far smaller ones cost nothing, larger ones are seen."""
RUNS, QUICK_RUNS = 1000, 100


def close_decisions(crew: Crew) -> list[Section]:
    rng, runs = np.random.default_rng(0), QUICK_RUNS if crew.quick else RUNS
    rows: list[tuple[Cell, ...]] = []
    for decisions in DECISIONS:
        for actions in ACTIONS:
            cells = list[Cell]()
            for delta in DELTAS:
                size = decisions, actions, delta
                found = [false_rates(*size, gap, runs, rng) for gap in GAPS]
                cells += [f"{max(rates):.1%}" for rates in zip(*found, strict=True)]
            rows.append((decisions, actions, *cells))
    sides = [f"delta {delta}: {side}" for delta in DELTAS for side in ("one width", "wider ties")]
    title = (
        "close decisions: how often they lose more than is said, at the gap that is worst; with "
        f"the width of one difference, and with that of many; {runs} runs a gap"
    )
    return [Section(title, ("decisions", "actions", *sides), rows)]


def false_rates(
    decisions: int, actions: int, delta: float, gap: float, runs: int, rng: np.random.Generator
) -> tuple[float, float]:
    """With the width of one difference, and with wider ones; half of the runs: unequal noise."""
    widths = Calibrated(delta, (-math.inf, math.inf), 1.0, decisions * (actions - 1))
    noise = np.exp(rng.uniform(-math.log(10), 0, (runs, decisions)))  # of a difference
    noise[: runs // 2] = 1.0
    seen = rng.standard_normal((runs, decisions, actions)) * noise[..., None] / math.sqrt(2)
    seen[..., 1:] -= gap * noise[..., None]
    lost = (gap * noise * (seen.argmax(axis=2) > 0)).sum(axis=1)
    leads = np.sort(seen.max(axis=2, keepdims=True) - seen, axis=2)[..., 1:]
    close = (leads < math.sqrt(2 * widths.strength) * noise[..., None]).sum(axis=2)
    others: list[float] = _others(close, noise**2).tolist()
    among = np.array([widths.among(each) for each in others])
    one, many = (
        lost > _most(leads[..., 0], noise**2, widths.strength, factor)
        for factor in (np.ones(runs), among)
    )
    return float(one.mean()), float(many.mean())


def _others(close: FloatArray, noise: FloatArray) -> FloatArray:
    """As `Close.others`, where every decision can be combined with every other: [runs]."""
    weights = noise * np.where(close > 0, 1 + np.log(np.maximum(close, 1)), 0.0)
    largest = np.where(close > 0, noise, 0.0).max(axis=1)
    beside = weights.sum(axis=1) - weights.max(axis=1)
    return np.divide(beside, largest, out=np.zeros_like(beside), where=largest > 0)


def _most(leads: FloatArray, noise: FloatArray, strength: float, among: FloatArray) -> FloatArray:
    """The largest width less leads over all sets of decisions, or 0 where all are led: [runs]."""
    order = np.argsort(leads / noise, axis=1)  # the best set of any spread begins with these
    lead, spread = (
        np.cumsum(np.take_along_axis(each, order, axis=1), axis=1) for each in (leads, noise)
    )
    width = np.sqrt(2 * strength * spread)
    gain = np.where(width < lead, 0.0, among[:, None] * width - lead)
    return np.maximum(gain.max(axis=1), 0.0)
