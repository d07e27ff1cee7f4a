"""Random machines with a plan and what could beat it, checked by enumerating all paths."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from machines import paths_from, random_machine
from surepath.inference.paths import Challenger, best_path, challengers
from surepath.inference.states import Edge
from surepath.inference.values import estimate

GAP, RESOLUTION = 0.05, 0.3
Rule = Callable[[np.ndarray, np.ndarray], np.ndarray]
Width = Callable[[np.ndarray], np.ndarray]
WIDTHS: list[Width] = [np.sqrt, lambda spread: spread]  # errors add in squares, or as they are


def with_gap(margin: np.ndarray, width: np.ndarray) -> np.ndarray:
    return width - margin - GAP


def strictly(margin: np.ndarray, width: np.ndarray) -> np.ndarray:
    return width - margin


def within_resolution(margin: np.ndarray, width: np.ndarray) -> np.ndarray:
    return width - np.maximum(margin, RESOLUTION - np.abs(margin))


class Case:
    """A random machine with spreads, its plan, and what could beat it."""

    def __init__(self, seed: int, width: Width, rule: Rule, sizes: tuple[int, int, int]) -> None:
        rng = np.random.default_rng(seed)
        self.machine = random_machine(rng, *sizes)
        # A few edges are far wider than the others.
        self.spreads = [0.3 * rng.random(layer.mean.shape) ** 4 for layer in self.machine.layers]
        self.values = estimate(self.machine, 1.0, 1.0)
        self.plan = best_path(self.machine, self.values)
        self.width, self.rule = width, rule
        guesses = [np.zeros(len(layer.members)) for layer in self.machine.layers]
        self.found = challengers(
            self.machine, self.plan, self.values, self.spreads, guesses, width, rule
        )

    def leaving(self, level: int, action: int) -> list[tuple[float, float, float]]:
        """Margin, width and excess of every path that leaves the plan there."""
        state = self.plan.edges[level][0]
        ours = set(enumerate(self.plan.edges[level:], start=level))
        following = int(self.machine.layers[level].target[state, action])
        rests = paths_from(self.machine, level + 1, following)
        return [self._compare(ours, level, ((state, action), *rest)) for rest in rests]

    def of(self, challenger: Challenger) -> tuple[float, float, float]:
        ours = set(enumerate(self.plan.edges[challenger.level :], start=challenger.level))
        return self._compare(ours, challenger.level, tuple(challenger.path.edges))

    def _compare(
        self, ours: set[tuple[int, Edge]], level: int, edges: tuple[Edge, ...]
    ) -> tuple[float, float, float]:
        theirs = set(enumerate(edges, start=level))
        layers = self.machine.layers
        margin = sum(layers[h].mean[e] for h, e in ours) - sum(layers[h].mean[e] for h, e in theirs)
        spread = sum(float(self.spreads[h][e]) for h, e in ours ^ theirs)
        width = self.width(np.array(spread))
        return float(margin), float(width), float(self.rule(np.array(margin), width))


SIZES = [(1, 3, 1), (2, 2, 2), (4, 3, 3), (5, 2, 4), (6, 2, 2)]
