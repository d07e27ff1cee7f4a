"""A system with its truth, and a family that such systems are drawn from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from surepath.builtin_problems.finite import FiniteProblem
from surepath.builtin_problems.truth import separation
from surepath.system import Actions, System

SEPARATION = 0.3
"""Total variation that `learn` takes different states to be apart where it is told nothing."""


@dataclass(frozen=True, slots=True)
class Case:
    """A system, what its plans are worth, and how far apart its states really are."""

    system: System
    best: float  # expected return of the best plan
    value: Callable[[Actions], float]  # expected return of any plan
    separation: float  # total variation between states that differ, at least


def case_of(machine: FiniteProblem, future: int = 1, system: System | None = None) -> Case:
    """A finite machine as a case; `system` is what is tried where it is not the machine itself."""
    return Case(
        machine if system is None else system,
        machine.oracle.value,
        machine.expected_return,
        separation(machine, future),
    )


@dataclass(frozen=True, slots=True)
class Family:
    """Systems of one kind, drawn at random, and how `learn` is called on them."""

    name: str
    make: Callable[[np.random.Generator], Case]
    cap: int  # most episodes of a run
    declared: float = SEPARATION  # the separation that `learn` is told
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])  # for `learn`, beside it
    covered: bool = True  # the other assumptions hold: fixed moves, no drift, sensors see all
    runs: int = 300  # of a full suite, for each delta; fewer where one takes many seconds
    must_warn: bool = False  # a certificate without a warning is false, whatever its plan

    def call(self) -> dict[str, Any]:
        """The arguments of `learn` that differ from its defaults."""
        told = {} if self.declared == SEPARATION else {"separation": self.declared}
        return {**told, **self.options, "budget": self.cap}

    def holds(self, true: float) -> bool:
        """Whether all that is assumed is true of a system whose states are so far apart."""
        return self.covered and true >= self.declared - 1e-9
