"""The doctor's pilot: a fixed number of episodes, chosen before any of them is read.

Most of them walk two sequences that differ at every step, many times: what depends on each other
within an episode shows there. The others begin in many ways and go on in few: what looks alike and
is not shows there. All are spread evenly over the pilot, in rounds: what changes with time shows in
every sequence.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surepath.errors import InputError
from surepath.features import Features, OneHot
from surepath.inference.drift import Drift
from surepath.journal.rows import GIVEN
from surepath.prepare.call import Call
from surepath.readings.embedding import CloudEmbedding
from surepath.readings.trie import Node
from surepath.run.runner import Runner
from surepath.run.seeds import choices_beside
from surepath.system import Actions, Episodes, FloatArray, IntArray, Request, steps_of

ROUNDS = 8
MAIN_SHARE = 0.6
"""Of the episodes: those of two sequences that are walked often."""

BROAD = 24
"""Sequences at most that the rest is spread over."""

TAILS = 4
"""Ways to go on after these, by turns: what follows is compared where it is the same."""

LEAST = 16 * ROUNDS
"""Episodes of a pilot at least."""


def requests_of_pilot(call: Call, episodes: int) -> list[Request]:
    """What the pilot asks for, a function of the call alone, in the order of its rounds."""
    horizon, n_actions = call.horizon, call.system.n_actions
    rng = choices_beside(call.seed, GIVEN, 2**31)
    choices = [n_actions] * (horizon - 1) + [call.last_actions or n_actions]
    main = _distinct(_apart(choices, rng))
    depth = 0
    while depth < horizon and n_actions ** (depth + 1) <= BROAD:
        depth += 1
    tails = [tuple(int(a) for a in row) for row in rng.integers(choices, size=(TAILS, horizon))]
    starts = list(product(*map(range, choices[:depth])))
    if depth < horizon:  # and some that begin at random, for levels further down
        starts += _distinct(rng.integers(choices, size=(BROAD - len(starts), horizon)))
    several = [
        list(dict.fromkeys(start + tail[len(start) :] for start in starts)) for tail in tails
    ]
    often = max(1, round(MAIN_SHARE * episodes / ROUNDS / len(main)))
    seldom = max(1, round((1 - MAIN_SHARE) * episodes / ROUNDS / len(several[0])))
    observed = range(steps_of(main[0], horizon))
    return [
        Request(actions, count, observed, range(horizon))
        for turn in range(ROUNDS)
        for actions, count in (
            *((each, often) for each in main),
            *((each, seldom) for each in several[turn % TAILS]),
        )
    ]


def _apart(choices: list[int], rng: np.random.Generator) -> IntArray:
    """Two random sequences that differ wherever there is a choice: one action alone may slip."""
    first = rng.integers(choices)
    return np.array([first, (first + rng.integers(1, np.maximum(2, choices))) % choices])


def _distinct(rows: IntArray) -> list[Actions]:
    return list(dict.fromkeys(tuple(int(a) for a in row) for row in rows))


@dataclass(frozen=True)
class Pilot:
    """The pilot as arrays: an episode a row, in the order in which they were run."""

    call: Call
    features: Features
    told: tuple[Episodes, ...]  # as they were asked for
    seconds: float  # that they took

    @classmethod
    def run(cls, call: Call, features: Features, runner: Runner, episodes: int) -> Pilot:
        if episodes < LEAST:
            raise InputError(
                f"a pilot has at least {LEAST} episodes",
                got=episodes,
                remedy="Give more of them; 2000 show what the docs say.",
            )
        begun = time.perf_counter()
        requests = requests_of_pilot(call, episodes)
        told = tuple(
            each
            for each in runner.run(GIVEN, requests, summary=False)
            if isinstance(each, Episodes)  # no statistic was asked for
        )
        return cls(call, features, told, time.perf_counter() - begun)

    @property
    def episodes(self) -> int:
        return len(self.actions)

    @property
    def steps(self) -> int:
        return self.episodes * self.observations.shape[1]

    @cached_property
    def actions(self) -> IntArray:
        """[n, H]"""
        return np.repeat(
            np.array([each.actions for each in self.told]), [e.count for e in self.told], axis=0
        )

    @cached_property
    def observations(self) -> NDArray[Any]:
        """[n, H, ...]"""
        return np.concatenate([each.observations[:, : self.call.horizon] for each in self.told])

    @cached_property
    def rewards(self) -> FloatArray:
        """[n, H]"""
        return np.concatenate([each.rewards for each in self.told])

    @cached_property
    def rows(self) -> list[FloatArray]:
        """The features of what was read, by step, [n, d]."""
        return [self.features.rows(self.observations[:, h]) for h in range(self.call.horizon)]

    @property
    def symbols(self) -> bool:
        """Whether the features say which symbol it was, and nothing else."""
        return isinstance(self.features, OneHot)

    def groups(self, length: int) -> list[IntArray]:
        """Episodes whose first so many actions are the same, by their numbers."""
        _, label = np.unique(self.actions[:, :length], axis=0, return_inverse=True)
        order = np.argsort(label.ravel(), kind="stable")
        return np.split(order, np.cumsum(np.bincount(label.ravel()))[:-1])

    @cached_property
    def pooled(self) -> tuple[Node, Drift]:
        """All readings by prefix, and over time."""
        root, drift = Node(), Drift(self.call.rewards)
        embedding = CloudEmbedding(self.features, self.call.system.n_actions)
        for each in self.told:
            digests = {
                step: embedding.digest(each.observations[:, step])
                for step in range(steps_of(each.actions, self.call.horizon))
            }
            rewards = {step: each.reward(step) for step in range(len(each.actions))}
            root.take_in(each.actions, digests, rewards)
            drift.add(root, each.actions, digests, rewards)
        return root, drift

    @cached_property
    def exact(self) -> bool:
        """Whether all readings of every prefix are the same."""
        return all(
            bool((self.observations[group, step] == self.observations[group[0], step]).all())
            for step in range(self.call.horizon)
            for group in self.groups(step)
        )
