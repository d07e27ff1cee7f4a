"""What is paid: its range, when, and whether anything is; and tails heavier than a bell's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surepath.doctor.finding import Finding, Verdict
from surepath.doctor.pilot import Pilot
from surepath.system import FloatArray
from surepath.theory.special import beta_share

PILED_UP = 0.1
"""Share of the readings that are equal to the largest or the smallest, where a sensor cuts off."""

RANGE, WHEN, TAILS = "range of rewards", "what is paid, and when", "no heavy tails"

FAR = 4.0
"""A declared range that is so many times what was seen is worth a remark."""

READ_OFTEN = 64
"""Readings of a prefix in which single ones can stand out."""


def reward_range(pilot: Pilot) -> Finding:
    low, high = pilot.call.rewards
    least, most = float(pilot.rewards.min()), float(pilot.rewards.max())
    data = {"seen": [least, most], "declared": [low, high]}
    words = f"rewards from {least:.4g} to {most:.4g}, declared from {low:.4g} to {high:.4g}"
    if not math.isfinite(high - low):
        return Finding(RANGE, f"{words}: their noise is taken from the system", data=data)
    if least == most:
        return Finding(RANGE, words, data=data)
    times = (high - low) / (most - least)
    if times < FAR:
        return Finding(RANGE, words, data=data)
    remedy = (
        f"If none can be larger, say reward_range=({least:.4g}, {most:.4g}). What was not seen "
        f"{times:.0f} times further out has to be excluded: what is read rarely is widened by it, "
        f"up to {times:.0f} times."
    )
    return Finding(RANGE, words, remedy=remedy, data=data)


def paid_when(pilot: Pilot) -> Finding:
    """Whether anything is paid, and whether that is at the end only."""
    paid = np.ptp(pilot.rewards, axis=0) > 0
    data: dict[str, Any] = {"steps": np.flatnonzero(paid).tolist()}
    if not paid.any() and float(np.ptp(pilot.rewards)) == 0:
        return Finding(
            WHEN,
            f"no reward differed from another in {pilot.episodes} episodes: nothing says where "
            "to look, and every state has to be tried",
            remedy="Nothing is wrong with that, but it is a search: each of the states is tried "
            "with each action. Fewer actions, a shorter horizon or separation= as large as is true "
            "make it shorter; a certificate then says that no reward was seen to differ.",
            data=data,
        )
    if not paid[:-1].any() and not pilot.rewards[:, :-1].any() and pilot.call.horizon > 1:
        low, high = pilot.call.rewards
        told = pilot.call.return_range is not None
        return Finding(
            WHEN,
            "rewards are paid in the last step only",
            remedy=""
            if told
            else f"Say return_range=({low:g}, {high:g}): without it, what is not known yet may "
            f"pay up to {high * pilot.call.horizon:g}.",
            data=data,
        )
    return Finding(WHEN, f"rewards differ at {len(data['steps'])} of the steps", data=data)


def tails(pilot: Pilot) -> Finding | None:
    """Whether single readings stand out more than Gaussian ones do; None of symbols.

    Within a prefix, the largest distance from the mean in standard deviations has a known law for
    Gaussian readings (Grubbs, "Sample criteria for testing outlying observations", Annals of
    Mathematical Statistics 21, 1950). The least chance counts, times the number of tests.
    """
    if pilot.symbols or pilot.exact:
        return None
    chances = list[float]()
    seen = [_numbers(pilot.observations[:, step]) for step in range(pilot.call.horizon)]
    for step, rows in enumerate(seen):
        for group in pilot.groups(step):
            if len(group) >= READ_OFTEN:
                chances += _outlying(rows[group])
    if not chances:
        return None
    chance = min(1.0, len(chances) * min(chances))
    verdict = Verdict.of(chance)
    # Bounded numbers that are mostly the same, such as pixels, are no bell either, and harmless.
    if verdict is Verdict.HOLDS:
        return Finding(TAILS, "no reading stands out", verdict, chance)
    return Finding(
        TAILS,
        "single readings lie much further out than the others of their prefix",
        Verdict.DOUBTFUL,
        chance,
        "Cut or repeat such readings in the system, or use features that are bounded (rbf): means "
        "of heavy tails settle slowly, and their noise is underestimated.",
    )


def _numbers(observations: Any) -> FloatArray:
    return observations.reshape(len(observations), -1).astype(np.float64)


def _cut_off(rows: FloatArray) -> NDArray[np.bool_]:
    """Numbers that pile up at an end of their range: half a bell has another largest distance."""
    ends = [(rows == end).mean(axis=0) for end in (rows.min(axis=0), rows.max(axis=0))]
    return np.maximum(*ends) > PILED_UP


def _outlying(rows: FloatArray) -> list[float]:
    """For every number that takes many values: the chance of so large a largest distance."""
    many = np.array([len(np.unique(column)) > len(rows) / 2 for column in rows.T], dtype=bool)
    rows = rows[:, many & ~_cut_off(rows)]
    n = len(rows)
    spread = rows.std(axis=0, ddof=1)
    rows, spread = rows[:, spread > 0], spread[spread > 0]
    if not rows.shape[1]:
        return []
    largest = (np.abs(rows - rows.mean(axis=0)) / spread).max(axis=0)
    share = np.minimum(largest**2 * n / (n - 1) ** 2, 1.0)  # of Beta(1/2, (n - 2) / 2)
    tail = 1 - beta_share(0.5, (n - 2) / 2, share)
    return np.minimum(1.0, n * tail).tolist()
