"""Predictions are checked before anything is certified that rests on them.

Where the answer rests on states whose value was only predicted, some of them are drawn at random
and tried, with fresh readings. If one of them is worth something else than was predicted, by more
than the prediction allowed for, the run goes on with what it has learned, and others are drawn when
it is settled again. A sample that shows no miss bounds the share of states that would: not more. No
method can promise that a state that nobody has read is not an exception.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from surepath.inference.guarantee_widths import Calibrated
from surepath.inference.judgement import Judgement
from surepath.inference.terms import Terms
from surepath.inference.tuning import TUNING
from surepath.readings.trie import Node
from surepath.results.certificate import Audit
from surepath.system import Actions
from surepath.validate import plain


@dataclass(frozen=True, slots=True)
class _Case:
    """A state that was drawn, and what was predicted of it."""

    prefix: Actions
    value: float
    spread: float  # of the prediction, as it entered the judgement


class Auditor:
    """Draws states, and compares what was predicted of them with what they are worth."""

    def __init__(self, choices: np.random.Generator) -> None:
        self._choices = choices
        self._drawn: list[_Case] = []
        self.passed: Audit | None = None

    def wanted(self, judged: Judgement, terms: Terms, root: Node) -> list[tuple[int, int]]:
        """Levels and states that have to be tried before the judgement counts; none: it does."""
        self.passed = None
        if self._drawn:
            misses = [_miss(case, judged, terms, root) for case in self._drawn]
            size, worst = len(misses), max(miss.size for miss in misses)
            self._drawn = []
            if not any(miss.beyond for miss in misses):
                self.passed = Audit(states=size, worst_miss=worst, predicted=len(judged.predicted))
                return []
        return self._draw(judged, terms)

    def decided(self) -> dict[str, Any]:
        """What was drawn and what was passed, as data."""
        return plain({"drawn": self._drawn, "passed": self.passed})

    def catch_up(self, decided: Mapping[str, Any]) -> None:
        """Be where these data say."""
        self._drawn = [
            _Case(tuple(each["prefix"]), each["value"], each["spread"]) for each in decided["drawn"]
        ]
        self.passed = None if decided["passed"] is None else Audit(**decided["passed"])

    def _draw(self, judged: Judgement, terms: Terms) -> list[tuple[int, int]]:
        predicted = judged.predicted
        size = min(len(predicted), math.ceil(math.log(1 / terms.delta) / TUNING.audited_share))
        drawn: list[int] = self._choices.permutation(len(predicted))[:size].tolist()
        chosen = [predicted[i] for i in sorted(drawn)]
        guesses = Calibrated.under(terms).guesses(judged.values.variance)
        self._drawn = [
            _Case(
                judged.machine.layers[level].prefixes[state],
                float(judged.values.best(level)[state]),
                float(guesses[level][state]),
            )
            for level, state in chosen
        ]
        return chosen


@dataclass(frozen=True, slots=True)
class _Miss:
    size: float
    beyond: bool  # more than was allowed for


def _miss(case: _Case, judged: Judgement, terms: Terms, root: Node) -> _Miss:
    node = root
    for action in case.prefix:
        node = node.children[action]  # it was tried
    layer, level = judged.machine.layers[node.level], node.level
    state = next(s for s, nodes in enumerate(layer.members) if any(n is node for n in nodes))
    best = int(judged.values.q[level][state].argmax())
    size = abs(float(judged.values.q[level][state, best]) - case.value)
    spread = case.spread + float(judged.spreads[level][state, best])
    return _Miss(size, size > float(Calibrated.under(terms).width(np.array(spread))))
