"""What a callback is told after every round of a run."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from surepath.inference.judgement import Judgement
from surepath.system import Actions


@dataclass(frozen=True, slots=True)
class Round:
    """Where a run is: what a person who watches it would want to see."""

    episodes: int  # spent so far, those of a pilot among them
    steps: int
    actions: Actions  # the best known so far; shorter than the horizon while there is no whole plan
    value: float = math.nan  # estimate of what they pay; NaN before there is one
    bound: float = math.inf  # what no plan is worth more than, as far as it is known by now
    open_questions: int | None = None  # that have to be settled; None before there is a whole plan
    weakest: str = ""  # the one that is hardest to settle, in words
    states: int | None = None  # that were told apart; None where none are looked for
    proof: str = ""  # how far the proof is, where one goes on

    @property
    def gap(self) -> float:
        """What the plan may still fall short of the best."""
        return self.bound - self.value


def log_cells(found: Round) -> dict[str, str]:
    """A line of a solver's log, by the names of its columns."""
    known = found.open_questions is not None
    return {
        "episodes": f"{found.episodes:,}",
        "states": f"{found.states:,}" if found.states is not None else "-",
        "incumbent": f"{found.value:.4f}" if known else "-",
        "bound": f"{found.bound:.4f}" if known else "-",
        "gap": f"{found.gap:.4f}" if known else "-",
        "weakest": found.weakest or "-",
    }


def measured(found: Round) -> dict[str, float]:
    """The numbers of a round that are known, by name: what a curve is drawn of."""
    numbers = {
        "steps": found.steps,
        "value": found.value,
        "bound": found.bound,
        "gap": found.gap,
        "states": found.states,
        "open_questions": found.open_questions,
    }
    return {
        name: float(each)
        for name, each in numbers.items()
        if each is not None and math.isfinite(each)
    }


Callback: TypeAlias = Callable[[Round], object]
"""Is called after every round; the run stops when it returns True."""


def weakest_of(judged: Judgement) -> str:
    """The challenger that is ruled out by the least, in words."""
    weakest = judged.weakest
    assert weakest is not None  # there are challengers
    return (
        f"level {weakest.level}: {judged.plan.actions[weakest.level]} over "
        f"{weakest.action} by {weakest.margin:.3f} +- {weakest.width:.3f}"
    )
