"""Go-Explore: remember places that were reached, return to one, and explore from there.

Ecoffet, Huizinga, Lehman, Stanley and Clune, "First return, then explore" (Nature 590, 2021), with
return by replay: the system is deterministic, so the actions that led to a place lead there again.
A place is a *cell*: the level, and the mean reading there, rounded. Readings are noisy, so every
sequence is played `batch` times and its means are rounded; with few of them, noise makes cells.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from surepath.features import Features
from surepath.learners.base import Answer, Asking
from surepath.readings.embedding import VectorEmbedding
from surepath.results.usage import shorten
from surepath.system import Actions, FloatArray, Request
from surepath.validate import between, whole

Cell: TypeAlias = tuple[int, ...]
"""The level, and the rounded reading."""


@dataclass(slots=True)
class Place:
    """How a cell is reached best, as far as it is known, and how often it was begun from."""

    actions: Actions
    paid: float  # on the way
    begun: int = 0


class GoExplore(Asking):
    """Explores by random actions from cells that were begun from seldom, as long as it is told.

    The incumbent is the sequence with the largest mean return over all its episodes.
    """

    def __init__(
        self,
        horizon: int,
        n_actions: int,
        features: Features,
        *,
        width: float,
        batch: int,
        repeat: float = 0.0,
        seed: int = 0,
        reward_range: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        """width: of a cell, in every direction of the features. repeat: probability with which the
        incumbent is played again, which alone tells luck from merit.
        """
        super().__init__(horizon, n_actions, VectorEmbedding(features, n_actions), reward_range)
        self.width = between("width", width, 0, math.inf)
        self.batch = whole("batch", batch, least=1)
        self.repeat = between("repeat", repeat, 0, 1, closed=(True, False))
        self._rng = np.random.default_rng(whole("seed", seed, least=0))
        self.cells: dict[Cell, Place] = {(0,): Place((), 0.0)}
        self._returns: dict[Actions, tuple[int, float]] = {}  # episodes, and their total
        self._advance(None)

    def status(self) -> dict[str, str]:
        return {
            "cells": str(len(self.cells)),
            "episodes": f"{self.usage.episodes:.3g}",
            "incumbent": shorten(self.incumbent, 12) or "-",
        }

    def _advance(self, answers: list[Answer] | None) -> None:
        for answer in answers or ():
            self._learn(answer)
        again = bool(self.incumbent) and self._rng.random() < self.repeat
        actions = self.incumbent if again else self._explored()
        levels = range(self.horizon)
        self._pending = (Request(actions, self.batch, levels, levels),)

    def _explored(self) -> Actions:
        """Back to a cell, the seldom begun more often, and on by random actions."""
        places = list(self.cells.values())
        weights = np.array([1 / math.sqrt(place.begun + 1) for place in places])
        place = places[int(self._rng.choice(len(places), p=weights / weights.sum()))]
        place.begun += 1
        left = self.horizon - len(place.actions)
        return place.actions + tuple(self._rng.integers(self.n_actions, size=left).tolist())

    def _learn(self, answer: Answer) -> None:
        actions, paid = answer.raw.actions, 0.0
        for level in range(1, self.horizon):
            paid += answer.rewards[level - 1].mean
            mean: FloatArray = answer.observations[level].value
            cell = (level, *(int(each) for each in np.round(mean / self.width).tolist()))
            known = self.cells.get(cell)
            if known is None:
                self.cells[cell] = Place(actions[:level], paid)
            elif paid > known.paid:  # as in the paper: better ways replace worse ones
                known.actions, known.paid = actions[:level], paid
        paid += answer.rewards[self.horizon - 1].mean
        played, total = self._returns.get(actions, (0, 0.0))
        self._returns[actions] = played + self.batch, total + self.batch * paid
        self.incumbent = max(self._returns, key=self._mean)
        self.value = self._mean(self.incumbent)

    def _mean(self, actions: Actions) -> float:
        played, total = self._returns[actions]
        return total / played
