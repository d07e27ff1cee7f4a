"""A proposal: the machine, the plan and the rules that fresh readings are to prove.

Any data may propose. Once proposed, nothing of it changes: what is read afterwards can only pass
its tests or not (`path_evidence`, `merge_evidence`). `docs/proof.md` is the same in words, for
whoever checks it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from surepath.system import Actions, FloatArray, IntArray

SHARE, SHRINKS = 0.8, 0.2
"""Attempt j = 1, 2, ... may fail with probability SHARE * SHRINKS^(j - 1) * delta; the sum over all
attempts is delta."""


class Route(StrEnum):
    """Why the machine may be believed."""

    TREE = "tree"  # no two prefixes are taken for one
    SEPARATION = "separation"  # what is merged would differ by a separation if it were not one
    NORM = "norm"  # what is merged is close, and Q* is linear with a known norm


class Role(StrEnum):
    """What an edge of the machine is to the state it leads to."""

    ENDS = "ends"  # the episode ends there
    FOUNDS = "founds"  # the state is where this edge leads
    MERGES = "merges"  # it is taken to lead where another edge leads
    TOP = "top"  # it is not followed: what comes after it counts as the most there is


@dataclass(frozen=True, slots=True)
class Observed:
    """How ends of edges are compared: by the shares of symbols, or by mean features."""

    type: str  # "symbols"; "bounded" features; "noisy" ones, sub-Gaussian
    size: int  # number of symbols or of features
    scale: float  # of features: their diameter, or their sub-Gaussian parameter
    map: str  # of features: which

    @property
    def proxy(self) -> float:
        """Variance proxy of one reading, along the set or the direction that tells two apart."""
        if self.type == "symbols":
            return 1 / 4
        return self.scale**2 / 4 if self.type == "bounded" else self.scale**2


@dataclass(frozen=True, slots=True)
class Rules:
    """What is claimed, what is assumed, and how sure it has to be."""

    route: Route
    rewards: tuple[float, float]  # their range; infinite where only their noise is known
    reward_noise: float  # sub-Gaussian parameter; half the range where that is finite
    delta: float
    attempt: int  # 1, 2, ...
    shared: bool  # whether steps of an episode may depend on each other
    observed: Observed | None  # None on the tree
    future: int  # observations that tell states apart
    separation: float | None  # in units of `observed`; infinite where readings are exact
    norm: float | None
    tolerance: float  # the most that the plan may be allowed to lose
    gap: float | None

    @property
    def share(self) -> float:
        """The probability with which this attempt may be wrong."""
        return SHARE * SHRINKS ** (self.attempt - 1) * self.delta

    @property
    def level(self) -> float:
        """The logarithm of the evidence at which a test is passed."""
        return math.log(1 / self.share)

    @property
    def bounded(self) -> bool:
        return math.isfinite(self.rewards[1] - self.rewards[0])

    @property
    def span(self) -> float:
        """The range of rewards, or what stands for it."""
        return 2 * self.reward_noise


@dataclass(slots=True)
class Sums:
    """Rewards of every edge: their number, sum and squares."""

    count: FloatArray  # [E]
    total: FloatArray  # [E]
    squares: FloatArray  # [E]

    @classmethod
    def none(cls, size: int) -> Sums:
        return cls(np.zeros(size), np.zeros(size), np.zeros(size))

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.count + other.count, self.total + other.total, self.squares + other.squares
        )


@dataclass(frozen=True)
class Proposal:
    """A closed machine: every state of a level has every action, and a plan through it."""

    rules: Rules
    horizon: int
    n_actions: int
    states: tuple[int, ...]  # [H], how many
    role: list[Role]  # [E], edges by level, state and action
    target: IntArray  # [E], state of the next level; -1 where there is none
    radius: FloatArray  # [E], of merges on the route of a norm; else 0
    known: Sums  # [E], of the rewards, before the first block: a guess
    plan: Actions

    @cached_property
    def first(self) -> list[int]:
        """The number of the first edge of each level, and of all edges."""
        sizes = [0, *(n * self.n_actions for n in self.states)]
        return [int(each) for each in np.cumsum(sizes)]

    @cached_property
    def plan_edges(self) -> list[int]:
        return self.walk(self.plan)

    @cached_property
    def merges(self) -> list[int]:
        """Edges that are taken to lead where another edge leads."""
        return [e for e, role in enumerate(self.role) if role is Role.MERGES]

    @cached_property
    def founder(self) -> dict[tuple[int, int], int]:
        """By level and state: the edge that founds it."""
        founders = dict[tuple[int, int], int]()
        for level in range(self.horizon - 1):
            for edge in range(self.first[level], self.first[level + 1]):
                if self.role[edge] is Role.FOUNDS:
                    founders[level + 1, int(self.target[edge])] = edge
        return founders

    @cached_property
    def is_top(self) -> NDArray[np.bool_]:
        return np.array([role is Role.TOP for role in self.role])

    @cached_property
    def level_of(self) -> IntArray:
        """[E], the level that each edge leaves."""
        return np.repeat(np.arange(self.horizon), np.diff(self.first))

    @cached_property
    def slack(self) -> FloatArray:
        """[E], what a path by this edge may be worth beyond the rewards that it reads."""
        rules = self.rules
        left = (self.horizon - self.level_of - 1) * rules.rewards[1] if rules.bounded else 0.0
        return np.where(self.is_top, left, 0.0) + (rules.norm or 0.0) * self.radius

    def founded_by(self, edge: int) -> int:
        """The edge that founds the state where this one leads."""
        return self.founder[int(self.level_of[edge]) + 1, int(self.target[edge])]

    def edge(self, level: int, state: int, action: int) -> int:
        return self.first[level] + state * self.n_actions + action

    def walk(self, actions: Sequence[int]) -> list[int]:
        """The edges that are read by these actions, one for each step as far as it counts."""
        return self._followed(actions, self.goes_on)

    def passed(self, actions: Sequence[int]) -> list[int]:
        """The edges of the path that the machine takes by these actions."""
        return self._followed(actions, self.target)

    def _followed(self, actions: Sequence[int], leads_to: IntArray) -> list[int]:
        state, edges = 0, list[int]()
        for level, action in enumerate(actions):
            edges.append(self.edge(level, state, action))
            state = int(leads_to[edges[-1]])
            if state < 0:
                break
        return edges

    def reading(self, edge: int) -> Actions:
        """The representative way to read an edge."""
        level = int(self.level_of[edge])
        state, action = divmod(edge - self.first[level], self.n_actions)
        return (*self.representatives[level][state], action)

    @cached_property
    def goes_on(self) -> IntArray:
        """[E], the state at which readings behind the edge count; -1 where they do not.

        On the route of a norm those of the representative alone do.
        """
        if self.rules.route is not Route.NORM:
            return self.target
        founds = np.array([role is Role.FOUNDS for role in self.role])
        return np.where(founds, self.target, -1)

    @cached_property
    def representatives(self) -> list[list[Actions]]:
        """By level: the action sequence that stands for each state."""
        found: list[list[Actions]] = [[()]]
        for level in range(1, self.horizon):
            row = list[Actions]()
            for state in range(self.states[level]):
                edge = self.founder[level, state] - self.first[level - 1]
                source, action = divmod(edge, self.n_actions)
                row.append((*found[level - 1][source], action))
            found.append(row)
        return found
