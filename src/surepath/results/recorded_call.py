"""The terms of a certificate must be those of the call that a file records."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from surepath.errors import InputError
from surepath.inference.terms import UNUSED_RADIUS, Terms

DEFAULTS = {"norm": None, "radius": UNUSED_RADIUS, "feature_noise": None, "shared_noise": False}
"""Terms of the proved guarantee, as every other run has them."""


def terms_against_call(terms: Terms, call: Mapping[str, Any]) -> tuple[str, ...]:
    """Where the terms are not what this call comes down to.

    What depends on the system and its features too is not decided here: their number and kind are
    compared with the readings, and a replay of the run compares all of it.
    """
    try:
        follow = _following(terms, call)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(
            "the recorded call is not one that a run can have",
            got=f"{type(error).__name__}: {error}",
            remedy="Use the file as it was written.",
        ) from error
    return tuple(
        f"{name}: the terms say {said!r}, the recorded call comes down to {asked!r}"
        for name, (said, asked) in follow.items()
        if said != asked
    )


def _following(terms: Terms, call: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """By name: what the terms say, and what the call comes down to."""
    share = call["tolerance"] if isinstance(call["tolerance"], str) else None
    follow: dict[str, tuple[Any, Any]] = {
        "horizon": (terms.shape.horizon, call["horizon"]),
        "schedule": ("adaptive", call["schedule"]),
        "tolerance": (terms.tolerance, None if share else call["tolerance"]),
        "tolerance_share": (terms.tolerance_share, None if share is None else _share(share)),
    }
    for name in ("guarantee", "delta", "gap", "separation", "predict"):
        follow[name] = (getattr(terms, name), call[name])
    returns = call.get("return_range")
    follow["returns"] = (terms.returns, None if returns is None else _range(returns))
    grows = call["separation"] is not None and call["future"] in (None, "auto")
    if not grows:
        follow["future"] = (terms.shape.future, call["future"] or 1)
    if call["guarantee"] != "proved":
        follow |= {name: (getattr(terms, name), each) for name, each in DEFAULTS.items()}
    else:
        follow["norm"] = (terms.norm, call["norm"])
    return follow | _of_the_system(terms, call)


def _of_the_system(terms: Terms, call: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    declared = call.get("declared")
    if declared is None:  # a built-in problem, or a journal from before this was written down
        return {}
    rewards = _range(declared["rewards"])
    follow: dict[str, tuple[Any, Any]] = {
        "n_actions": (terms.shape.n_actions, declared["n_actions"]),
        "rewards": (terms.reward_range, rewards),
    }
    if call["guarantee"] != "proved":
        follow["last_actions"] = (terms.shape.last_actions, declared.get("last_actions"))
    if not declared["problem"]:  # which has a range of its own
        follow["reward_range"] = (terms.reward_range, _range(call["reward_range"]))
    if not math.isfinite(rewards[1] - rewards[0]):
        follow["reward_noise"] = (terms.reward_noise, declared["reward_noise"])
    return follow


def _range(ends: Sequence[float | None]) -> tuple[float, float]:
    low, high = ends
    return (-math.inf if low is None else low, math.inf if high is None else high)


def _share(percent: str) -> float:
    return float(percent.strip().removesuffix("%")) / 100
