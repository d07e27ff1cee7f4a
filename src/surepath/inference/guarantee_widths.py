"""The guarantees of the adaptive schedule: all in which they differ stands here.

That is how wide an interval is, whether the nodes of a state are pooled, and how sure it must be
which state an edge leads to. The engine around them is the same.

Both give every edge of the machine a *spread*; the spreads of the edges in which two paths differ
add up, and `width` turns the sum into a half-width of the difference between the paths' values.

Calibrated. Plug-in variances. The difference of two paths is a sum of independent means, so its
standard error is the root of the summed variances; it counts as settled at z standard errors, with
z^2 / 2 = ln(2/delta) + ln(max(1, ways / 4)) for so many ways to leave the plan, and a merge at
evidence of ln(1/delta) against the declared separation. Not proved: validated on systems made to
break it (`surepath bench calibration`).

Proved. For any system that satisfies the stated assumptions with the given norm, all of these hold
at once with probability at least 1 - delta, for every prefix p of l actions and every number n of
readings of it (`docs/adaptive.md` has the derivation):

    |r-hat - r| <= span sqrt(L / (2 n)),                L = ln(4 H A^l c n^2 / delta),
    ||x-hat - x|| <= radius (1 + sqrt(2 L')) / sqrt(n),  L' = ln(2 H A^l c n^2 / delta),

c = pi^2 / 6. Where a node is taken for a state that another node stands for, Q* differs by at most
norm times the distance of their embeddings. Bounds add, so widths add.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from surepath.errors import InputError
from surepath.inference.paths import Spreads
from surepath.inference.states import Automaton, Layer
from surepath.inference.terms import Terms
from surepath.inference.tuning import TUNING
from surepath.readings.digests import Cloud
from surepath.readings.trie import Node
from surepath.system import FloatArray
from surepath.validate import nearest

BASEL = math.pi**2 / 6
"""Sum of 1 / n^2."""


class Guarantee(Protocol):
    @property
    def pools(self) -> bool:
        """Whether the nodes of a state count as one."""
        ...

    @property
    def evidence(self) -> float:
        """Logarithm of the evidence at which a merge counts as settled."""
        ...

    def spreads(self, machine: Automaton) -> Spreads:
        """Of what every edge may be worth more than it seems."""
        ...

    def shortfalls(self, machine: Automaton) -> Spreads:
        """Of what every edge may be worth less than it seems."""
        ...

    def guesses(self, variances: list[FloatArray]) -> list[FloatArray]:
        """Spreads of predicted values, from the variances of their errors."""
        ...

    def width(self, spread: FloatArray) -> FloatArray: ...


@dataclass(frozen=True, slots=True)
class Calibrated:
    delta: float
    reward_range: tuple[float, float]
    reward_noise: float  # sub-Gaussian parameter, for rewards without a range
    ways: int  # to leave the plan

    pools = True

    @classmethod
    def under(cls, terms: Terms) -> Calibrated:
        ways = terms.shape.horizon * (terms.shape.n_actions - 1)
        return cls(terms.delta, terms.reward_range, terms.reward_noise, ways)

    @property
    def evidence(self) -> float:
        return math.log(1 / self.delta)

    @property
    def strength(self) -> float:
        """Half the squared z-score at which a way to leave the plan counts as ruled out."""
        return math.log(2 / self.delta) + math.log(max(1.0, self.ways / TUNING.free_ways))

    def spreads(self, machine: Automaton) -> Spreads:
        return self._spreads(machine, lambda mean: self.reward_range[1] - mean)

    def shortfalls(self, machine: Automaton) -> Spreads:
        return self._spreads(machine, lambda mean: mean - self.reward_range[0])

    def _spreads(self, machine: Automaton, room: Callable[[FloatArray], FloatArray]) -> Spreads:
        """`room` is how far rewards of a mean may lie from it, on the side that matters."""
        low, high = self.reward_range
        if not math.isfinite(high - low):
            known = 2 * self.strength * self.reward_noise**2
            return [known / np.maximum(layer.count, 1) for layer in machine.layers]
        # Few equal rewards do not make a certain mean: another reward may be so rare that none of n
        # readings shows it, with probability exp(-strength) at a chance of strength / n. What it
        # could add, strength * room / n, is added in squares.
        spreads = list[FloatArray]()
        for layer in machine.layers:
            rare = self.strength * np.maximum(room(layer.mean), 0.0) ** 2 / 2
            count = np.maximum(layer.count, 1)
            spreads.append(2 * self.strength * (layer.scatter + rare) / count**2)
        return spreads

    def guesses(self, variances: list[FloatArray]) -> list[FloatArray]:
        return [2 * self.strength * variance for variance in variances]

    def width(self, spread: FloatArray) -> FloatArray:
        return np.sqrt(spread)


@dataclass(frozen=True, slots=True)
class Proved:
    delta: float
    norm: float
    horizon: int
    n_actions: int
    dimension: int
    radius: float  # of the features, or of the embeddings where the features are not bounded
    feature_noise: float | None  # sub-Gaussian parameter of features that are not bounded
    reward_noise: float  # sub-Gaussian parameter; half the span of bounded rewards

    pools = False

    @classmethod
    def under(cls, terms: Terms) -> Proved:
        if terms.norm is None:
            raise InputError(
                'guarantee="proved" needs norm, a bound on the weights of Q*',
                got="norm=None",
                remedy="Give norm (a larger one is always safe, and costs more episodes), or use "
                'guarantee="calibrated".',
            )
        return cls(
            terms.delta,
            terms.norm,
            terms.shape.horizon,
            terms.shape.n_actions,
            terms.shape.dimension,
            terms.radius,
            terms.feature_noise,
            terms.reward_noise,
        )

    @property
    def evidence(self) -> float:
        """Nothing rests on identifications: what a wrong one costs is in the widths."""
        return 0.0

    def spreads(self, machine: Automaton) -> Spreads:
        spreads = list[FloatArray]()
        for level, layer in enumerate(machine.layers):
            spread = np.empty_like(layer.mean)
            for state, nodes in enumerate(layer.members):
                for action in range(self.n_actions):
                    child = nodes[0].children.get(action)
                    spread[state, action] = math.inf
                    if child is not None:
                        spread[state, action] = self._reward(child)
                        if level + 1 < self.horizon:
                            stand_in = _stand_in(machine.layers[level + 1], layer, state, action)
                            spread[state, action] += self.norm * self._distance(child, stand_in)
            spreads.append(spread)
        return spreads

    def shortfalls(self, machine: Automaton) -> Spreads:
        return self.spreads(machine)

    def guesses(self, variances: list[FloatArray]) -> list[FloatArray]:
        return [np.where(variance > 0, np.inf, 0.0) for variance in variances]

    def width(self, spread: FloatArray) -> FloatArray:
        return spread

    def _log(self, node: Node, count: int, share: float) -> float:
        """L for one node: statements over all nodes and counts fail with share * delta in all."""
        return (
            math.log(BASEL * self.horizon / (share * self.delta))
            + node.level * math.log(self.n_actions)
            + 2 * math.log(count)
        )

    def _reward(self, node: Node) -> float:
        count = node.rewards.count
        # Two-sided, with half of delta: 4 = 2 / (1/2). A reward in a span s is s/2-sub-Gaussian.
        return self.reward_noise * math.sqrt(2 * self._log(node, count, 0.25) / count)

    def _distance(self, node: Node, other: Node) -> float:
        if node is other:
            return 0.0
        mine: Cloud = node.digest
        theirs: Cloud = other.digest
        apart = float(np.linalg.norm(mine.value - theirs.value))
        return apart + self._feature(node, mine.count) + self._feature(other, theirs.count)

    def _feature(self, node: Node, count: int) -> float:
        log = 2 * self._log(node, count, 0.5)
        if self.feature_noise is None:
            return self.radius * (1 + math.sqrt(log)) / math.sqrt(count)
        return self.feature_noise * (math.sqrt(self.dimension) + math.sqrt(log)) / math.sqrt(count)


GUARANTEES: Mapping[str, Callable[[Terms], Guarantee]] = {
    "calibrated": Calibrated.under,
    "proved": Proved.under,
}
"""Every guarantee by name, the default first."""


def widths_of(terms: Terms) -> Guarantee:
    """The guarantee that the terms name."""
    return GUARANTEES[known_guarantee(terms.guarantee)](terms)


def known_guarantee(name: str) -> str:
    """The name, if there is such a guarantee."""
    if name not in GUARANTEES:
        raise InputError(
            f"there is no guarantee {name!r}", got=repr(name), remedy=nearest(name, GUARANTEES)
        )
    return name


def _stand_in(below: Layer, layer: Layer, state: int, action: int) -> Node:
    return below.members[int(layer.target[state, action])][0]
