"""Is Q* linear in the features? At the last level Q* is the reward itself, and that can be tested.

For every action, the mean last rewards of all prefixes have to be a linear function of their mean
features. Both are measured with errors, which are independent of each other: with weights w the
error of a prefix with n readings is (reward variance + w' feature covariance w) / n. The least sum
of squares in units of these errors, over all w, is a chi-square with as many degrees of freedom as
there are more prefixes than weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from surepath.doctor.finding import Finding, Verdict
from surepath.doctor.pilot import Pilot
from surepath.inference.states import same_readings
from surepath.system import FloatArray
from surepath.theory.special import chi_square_tail

LINEAR, BLIND = "Q* linear in the features", "features see what is read"

LEAST = 8
"""Readings of a prefix that enters."""

ROUNDS = 6
"""Times the weights are fitted again, with the errors that the last ones gave."""


def linear(pilot: Pilot) -> Finding:
    """Whether the last rewards are linear in the embeddings before them."""
    tested = list[tuple[float, float, float, int]]()
    for action in range(pilot.call.system.n_actions):
        points = _points(pilot, action)
        if points is not None:
            tested.append((*points, action))
    if not tested:
        words = "too few prefixes for the number of features: nothing can be said"
        return Finding(LINEAR, words, Verdict.UNTESTED)
    chance, misfit, left_out, action = min(tested)
    chance = min(1.0, len(tested) * chance)
    data = {"misfit": misfit, "left_out": left_out, "action": action}
    words = (
        f"at the last level, rewards are within {misfit:.2g} (beyond noise) of a linear function "
        f"of them; one that was fitted without a prefix is off there by {left_out:.2g}, with noise"
    )
    verdict = Verdict.of(chance)
    if verdict is Verdict.HOLDS:
        return Finding(LINEAR, words, verdict, chance, data=data)
    return Finding(
        LINEAR,
        f"the last reward of action {action} is off by {misfit:.2g} (root mean square, beyond "
        "noise) from any linear function of the features; one that was fitted without a prefix is "
        f"off there by {left_out:.2g}, with noise",
        verdict,
        chance,
        'Use richer features (features="rbf", or more of them); or predict=False: no claim then '
        "rests on predicted states.",
        data,
    )


def _points(pilot: Pilot, action: int) -> tuple[float, float, float] | None:
    """The chance of so much misfit, its root mean square, and the leave-one-out error."""
    last = pilot.call.horizon - 1
    rows, paid = pilot.rows[last], pilot.rewards[:, last]
    means, values, errors, covers = list[FloatArray](), list[float](), list[float](), list[Any]()
    for group in pilot.groups(last):
        own = group[pilot.actions[group, last] == action]
        if len(own) < LEAST:
            continue
        means.append(rows[own].mean(axis=0))
        values.append(float(paid[own].mean()))
        # One more reading, half a range away: few equal rewards do not make a certain mean.
        span = float(np.ptp(pilot.rewards)) or 1.0
        scatter = float(((paid[own] - paid[own].mean()) ** 2).sum()) + span**2 / 4
        errors.append(scatter / (len(own) - 1) / len(own))
        covers.append(np.cov(rows[own].T, ddof=1).reshape(rows.shape[1], -1) / len(own))
    x, y = np.array(means), np.array(values)
    if len(y) < 3:
        return None
    x, turn = _principal(x)
    if len(y) <= x.shape[1] + 1:
        return None
    return _fitted(x, y, np.array(errors), [turn.T @ cover @ turn for cover in covers])


def _principal(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The points in the directions that they span, and these directions [d, k].

    A constant is among them. With one-hot features it is the sum of all.
    """
    x = np.column_stack([x - x.mean(axis=0), np.ones(len(x))])
    _, sizes, directions = np.linalg.svd(x, full_matrices=False)
    keep = directions[sizes > 1e-6 * sizes.max()].T
    return x @ keep, keep[:-1]


def _fitted(
    x: FloatArray, y: FloatArray, errors: FloatArray, covers: list[FloatArray]
) -> tuple[float, float, float]:
    noise = errors
    weights = np.zeros(x.shape[1])
    for _ in range(ROUNDS):
        scaled = x / np.sqrt(noise)[:, None]
        weights = np.linalg.lstsq(scaled, y / np.sqrt(noise), rcond=None)[0]
        noise = errors + np.array([weights @ cover @ weights for cover in covers])
    residual = y - x @ weights
    found = float((residual**2 / noise).sum())
    freedom = len(y) - x.shape[1]
    hat = np.einsum("ij,ji->i", x, np.linalg.pinv(x / noise[:, None] ** 0.5) / noise**0.5)
    left_out = residual / np.maximum(1 - hat, 1e-6)
    excess = max(0.0, float((residual**2 - noise).mean()) * len(y) / freedom)
    return float(chi_square_tail(freedom, np.array(found))), excess**0.5, float(left_out.std())


def blind(pilot: Pilot) -> Finding:
    """Whether features vary wherever the readings do."""
    silent = [
        step
        for step in range(pilot.call.horizon)
        if not np.ptp(pilot.rows[step], axis=0).any() and _varies(pilot.observations[:, step])
    ]
    if not silent:
        return _one_for_several(pilot)
    return Finding(
        BLIND,
        f"at step {silent[0]} readings differ and their features do not",
        Verdict.BROKEN,
        None,
        "Use other features= there: these see nothing of what is read.",
        {"steps": silent},
    )


def _one_for_several(pilot: Pilot) -> Finding:
    """Of exact readings: whether different ones have the same features, which may be meant."""
    for step in range(pilot.call.horizon if pilot.exact else 0):
        firsts = [int(group[0]) for group in pilot.groups(step)]
        different = len({pilot.observations[i, step].tobytes() for i in firsts})
        told = len(np.unique(same_readings(pilot.rows[step][firsts])))
        if told < different:
            return Finding(
                BLIND,
                f"at step {step} the features tell {told} of {different} readings apart",
                remedy="If the others are different places, use other features=. (A run with "
                "features of a kernel adds landmarks where it sees too little.)",
                data={"step": step, "told": told, "readings": different},
            )
    return Finding(BLIND, "features differ wherever readings do")


def _varies(observations: Any) -> bool:
    return bool((observations != observations[0]).any())
