"""Does the system change while the pilot goes on?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surepath.doctor.finding import Finding, Verdict
from surepath.doctor.pilot import ROUNDS, Pilot
from surepath.inference.drift import COURSES, POOLS
from surepath.inference.independence import normal_tail
from surepath.system import FloatArray
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
    together = _together(pilot)
    # Two tests: by each of the ways that a run looks at, and all readings together.
    chance = min(1.0, 2 * min(tests * normal_tail(best), together.chance))
    verdict = Verdict.of(chance)
    rounds = {"returns": _by_round(pilot.rewards.sum(axis=1))}
    if verdict is Verdict.HOLDS:
        words = f"returns by round {_picture(rounds['returns'])}: neither they nor readings "
        data = {"scores": scores, "rounds": rounds}
        return Finding(DRIFT, f"{words}follow the time", verdict, chance, data=data)
    if together.along is not None:  # what follows the time most; of sound readings too, a little
        rounds["readings"] = _by_round(together.along)
    said = found.doubt() or found.warning() or "all readings move in one direction"
    pictures = ", ".join(f"{what} by round {_picture(means)}" for what, means in rounds.items())
    return Finding(
        DRIFT,
        f"{said} ({pictures})",
        verdict,
        chance,
        "Find what drifts (wear, warmth, calibration), hold it still or reset it before every "
        "episode.",
        {"scores": scores, "rounds": rounds},
    )


@dataclass(frozen=True, slots=True)
class _Together:
    """All readings, in one direction of the features."""

    chance: float = 1.0  # that they follow the time so much
    along: FloatArray | None = None  # [n], how far each episode lies in the direction that does


def _together(pilot: Pilot) -> _Together:
    if pilot.exact:
        return _Together()
    time = np.arange(pilot.episodes) / pilot.episodes
    scored = [_scored(pilot, step) for step in range(pilot.call.horizon)]
    slope = np.sum([time @ each for each in scored], axis=0)
    cover = np.sum([_cover(pilot, step, each, time) for step, each in enumerate(scored)], axis=0)
    values, vectors = np.linalg.eigh(cover)
    keep = values > 1e-9 * max(float(values.max()), 1e-300)
    along = slope @ vectors[:, keep]
    freedom = int(keep.sum())
    if not freedom or freedom > FEW * pilot.episodes:  # a covariance of so few says too little
        return _Together()
    direction = vectors[:, keep] @ (along / values[keep])
    chance = float(chi_square_tail(freedom, (along**2 / values[keep]).sum()))
    return _Together(chance, np.sum([each @ direction for each in scored], axis=0))


def _scored(pilot: Pilot, step: int) -> FloatArray:
    """Readings of a step, less the mean of their prefix, [n, d].

    Symbols count by how unlikely they are there: if some readings come to be of another law q,
    whatever the prefix, that is what they tell of q (the score of the mixture).
    """
    rows = pilot.rows[step]
    usual, scored = rows.mean(axis=0), np.zeros(rows.shape)
    for group in pilot.groups(step):
        law = rows[group].mean(axis=0)
        centred = rows[group] - law
        if pilot.symbols:
            likely = (len(group) * law + SHARED * usual) / (len(group) + SHARED)
            centred = np.divide(centred, likely, out=np.zeros_like(centred), where=likely > 0)
        scored[group] = centred
    return scored


def _cover(pilot: Pilot, step: int, scored: FloatArray, time: FloatArray) -> FloatArray:
    """The covariance of how readings follow the time, under every order of those of a prefix."""
    cover = np.zeros((scored.shape[1], scored.shape[1]))
    for group in pilot.groups(step):
        if len(group) > 1:
            when, here = time[group] - time[group].mean(), scored[group]
            cover += float(when @ when) * (here.T @ here) / (len(group) - 1)
    return cover


def _by_round(values: FloatArray) -> list[float]:
    """The mean of each round."""
    return [float(part.mean()) for part in np.array_split(values, ROUNDS)]


def _picture(means: list[float]) -> str:
    """Bars between the smallest and the largest."""
    low, high = min(means), max(means)
    if high - low <= 1e-12 * max(1.0, abs(high)):
        return f"{BARS[4] * len(means)} ({low:.3g})"
    levels = np.rint((np.array(means) - low) / (high - low) * (len(BARS) - 2)).astype(int) + 1
    return f"{''.join(BARS[i] for i in levels)} ({low:.3g} .. {high:.3g})"
