"""Does the system change while the pilot goes on?"""

from __future__ import annotations

import numpy as np

from surepath.doctor.finding import Finding, Verdict
from surepath.doctor.pilot import ROUNDS, Pilot
from surepath.inference.drift import COURSES, POOLS
from surepath.inference.independence import normal_tail
from surepath.system import FloatArray, IntArray
from surepath.theory.special import chi_square_tail

DRIFT = "no drift"
FEW = 0.05
"""Directions of the features, as a share of the episodes, whose covariance is known well enough."""

SHARED = 8
"""Readings of a prefix as heavy as which its law is taken to be that of its step."""

BARS = " ▁▂▃▄▅▆▇█"


def drift(pilot: Pilot) -> Finding:
    """The tests of a run, and one for all readings that move in one direction."""
    found = pilot.pooled[1]
    scores = found.scores()
    best = max((max(each) for each in scores.values()), default=0.0)
    tests = len(COURSES) * len(POOLS)
    # Two tests: by each of the ways that a run looks at, and all readings together.
    chance = min(1.0, 2 * min(tests * normal_tail(best), _together(pilot)))
    verdict = Verdict.of(chance)
    picture = _picture(pilot)
    if verdict is Verdict.HOLDS:
        words = f"rewards by round {picture}: neither they nor readings follow the time"
        return Finding(DRIFT, words, verdict, chance, data={"scores": scores})
    said = found.doubt() or found.warning() or "all readings move in one direction"
    return Finding(
        DRIFT,
        f"{said} (rewards by round {picture})",
        verdict,
        chance,
        "Find what drifts (wear, warmth, calibration), hold it still or reset it before every "
        "episode.",
        {"scores": scores},
    )


def _together(pilot: Pilot) -> float:
    """The chance that all readings follow the time so much, in one direction of the features."""
    time = np.arange(pilot.episodes) / pilot.episodes
    slope, cover = None, None
    if pilot.exact:
        return 1.0
    for step, rows in enumerate(pilot.rows):
        slopes, covers = _slope(rows, time, pilot.groups(step), pilot.symbols)
        slope = slopes if slope is None else slope + slopes
        cover = covers if cover is None else cover + covers
    if slope is None or cover is None:
        return 1.0
    values, vectors = np.linalg.eigh(cover)
    keep = values > 1e-9 * max(float(values.max()), 1e-300)
    along = (slope @ vectors[:, keep]) ** 2 / values[keep]
    freedom = int(keep.sum())
    if not freedom or freedom > FEW * pilot.episodes:  # a covariance of so few says too little
        return 1.0
    return float(chi_square_tail(freedom, along.sum()))


def _slope(
    rows: FloatArray, time: FloatArray, groups: list[IntArray], symbols: bool
) -> tuple[FloatArray, FloatArray]:
    """Within every prefix, how readings follow the time: the sum, and its covariance [d, d].

    Under every order of the readings of a prefix the sum has a mean of 0 and this covariance.
    Symbols count by how unlikely they are there: if some readings come to be of another law q,
    whatever the prefix, that is what they tell of q (the score of the mixture).
    """
    size, usual = rows.shape[1], rows.mean(axis=0)
    slope, cover = np.zeros(size), np.zeros((size, size))
    for group in groups:
        if len(group) < 2:
            continue
        law = rows[group].mean(axis=0)
        centred, when = rows[group] - law, time[group] - time[group].mean()
        if symbols:
            likely = (len(group) * law + SHARED * usual) / (len(group) + SHARED)
            centred = np.divide(centred, likely, out=np.zeros_like(centred), where=likely > 0)
        slope += when @ centred
        cover += float(when @ when) * (centred.T @ centred) / (len(group) - 1)
    return slope, cover


def _picture(pilot: Pilot) -> str:
    """The mean return of each round, as bars between the smallest and the largest."""
    parts = np.array_split(pilot.rewards.sum(axis=1), ROUNDS)
    means = np.array([float(part.mean()) for part in parts])
    low, high = float(means.min()), float(means.max())
    if high - low <= 1e-12 * max(1.0, abs(high)):
        return f"{BARS[4] * ROUNDS} ({low:.3g})"
    levels = np.rint((means - low) / (high - low) * (len(BARS) - 2)).astype(int) + 1
    return f"{''.join(BARS[i] for i in levels)} ({low:.3g} .. {high:.3g})"
