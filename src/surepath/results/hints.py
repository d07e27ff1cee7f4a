"""What a run has seen of its system that its caller could have said, and what that would save.

The cheap part of what the doctor looks at, at no episode. Nothing here decides anything.
"""

from __future__ import annotations

import math

import numpy as np

from surepath.inference.consistency import read_differently
from surepath.inference.states import Automaton
from surepath.inference.terms import Terms
from surepath.inference.tuning import TUNING

SEE_DOCTOR = ". `surepath doctor` (`surepath.diagnose`) tests each assumption on a pilot"
"""Said where a certificate is refused."""

WIDE = 10.0
"""A range that is so many times as wide as what was paid is worth a word."""

FAR = 6.0
"""Standard deviations from a mean within which rewards are taken to lie, for that."""


def hints(machine: Automaton, terms: Terms) -> tuple[str, ...]:
    found = (_exact(machine, terms), _too_wide(machine, terms))
    return tuple(hint for hint in found if hint)


def _exact(machine: Automaton, terms: Terms) -> str:
    if terms.exact or terms.separation is None:
        return ""
    repeats = sum(
        int(np.maximum(layer.here.columns.read[layer.here.rows] - 1, 0).sum())
        for layer in machine.layers[1:]
    )
    if repeats < TUNING.exact_repeats or read_differently(machine) is not None:
        return ""
    return (
        f"readings: of {repeats} that repeat an earlier one of the same prefix none differs from "
        'it; if they have no noise and say which state it is, separation="exact" takes fewer '
        "episodes"
    )


def _too_wide(machine: Automaton, terms: Terms) -> str:
    if not math.isfinite(terms.reward_span):
        return ""
    ends = list[tuple[float, float]]()
    for layer in machine.layers:
        read = layer.count > 0
        if read.any():
            mean, noise = layer.mean[read], np.sqrt(layer.scatter[read] / layer.count[read])
            ends.append((float((mean - FAR * noise).min()), float((mean + FAR * noise).max())))
    low = min((end[0] for end in ends), default=0.0)
    high = max((end[1] for end in ends), default=0.0)
    if not 0 < WIDE * (high - low) < terms.reward_span:
        return ""
    return (
        f"rewards: what was paid lies about within {low:.3g} .. {high:.3g}, in a declared range of "
        f"{terms.reward_range[0]:g} .. {terms.reward_range[1]:g}; a narrower reward_range takes "
        "fewer episodes, if no reward can lie outside it"
    )
