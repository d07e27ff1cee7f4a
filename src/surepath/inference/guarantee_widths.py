"""How wide the intervals of the calibrated guarantee are, and when its merges are settled.

Every edge of the machine has a *spread*; the spreads of the edges in which two paths differ add up,
and `width` turns the sum into a half-width of the difference between the paths' values.

Variances are estimated. The difference of two paths is a sum of independent means, so its standard
error is the root of the summed variances; it counts as settled at z standard errors, with
z^2 / 2 = ln(2/delta) + ln(max(1, ways / 32)) for so many ways to leave the plan (ways / 2 for what
rewards too rare to have shown, or seen a few times, may add); as a tie, where
other decisions are as close, with one more in z^2 for each of them, and where other ways through a
level are, with the logarithm of their number in z^2 / 2 (`ties`). A merge is settled at
evidence of ln(1 + 1/(2 delta)) against the declared separation. Not proved: validated on systems
made to break it (`surepath bench calibration`). What is proved rests on none of this (`attempt`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from surepath.errors import InputError
from surepath.inference.consistency import ROUNDING
from surepath.inference.few_readings import largest_square
from surepath.inference.paths import Spreads
from surepath.inference.states import Automaton, Layer
from surepath.inference.terms import EXACT, Terms, merge_evidence
from surepath.inference.tuning import TUNING
from surepath.system import FloatArray
from surepath.validate import nearest

GUARANTEES = ("calibrated", "proved")
"""Every guarantee by name, the default first."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    delta: float
    reward_range: tuple[float, float]
    reward_noise: float  # sub-Gaussian parameter, for rewards without a range
    ways: int  # to leave the plan
    exact: bool = False  # whether readings have no noise: what is paid may have none either

    @classmethod
    def under(cls, terms: Terms) -> Calibrated:
        exact = terms.separation == EXACT
        return cls(terms.delta, terms.reward_range, terms.reward_noise, terms.shape.ways, exact)

    @property
    def evidence(self) -> float:
        return merge_evidence(self.delta)

    @property
    def strength(self) -> float:
        """Half the squared z-score at which a way to leave the plan counts as ruled out."""
        return self._strength(TUNING.free_ways)

    @property
    def rare_strength(self) -> float:
        """The same of rewards that were seen a few times at most."""
        return self._strength(TUNING.free_rare_ways)

    def _strength(self, free: float) -> float:
        """Where so many ways need no correction."""
        return math.log(2 / self.delta) + math.log(max(1.0, self.ways / free))

    def spreads(self, machine: Automaton) -> Spreads:
        """Of what edges may be worth more than they seem."""
        return self._spreads(machine, above=True)

    def shortfalls(self, machine: Automaton) -> Spreads:
        """Of what they may be worth less."""
        return self._spreads(machine, above=False)

    def _spreads(self, machine: Automaton, *, above: bool) -> Spreads:
        low, high = self.reward_range
        if not math.isfinite(high - low):
            known = 2 * self.strength * self.reward_noise**2
            return [known / np.maximum(layer.count, 1) for layer in machine.layers]
        counts = [self._counts(layer) for layer in machine.layers]
        count, mean, scatter = (
            np.concatenate([each.ravel() for each in edges])
            for edges in (
                counts,
                [layer.mean for layer in machine.layers],
                [layer.scatter for layer in machine.layers],
            )
        )
        room = high - mean if above else mean - low
        spread = self._of_edges(count, scatter, np.maximum(room, 0.0), machine.horizon)
        parts = np.split(spread, np.cumsum([each.size for each in counts])[:-1])
        return [part.reshape(each.shape) for part, each in zip(parts, counts, strict=True)]

    def _counts(self, layer: Layer) -> FloatArray:
        """Readings of each edge; where none has any noise, of all of them."""
        repeated = repeated_without_noise(layer) if self.exact else 0
        # What differs from the first reading of its edge would have shown in one of these.
        return np.maximum(layer.count, max(repeated, 1))

    def _of_edges(
        self, count: FloatArray, scatter: FloatArray, room: FloatArray, horizon: int
    ) -> FloatArray:
        """Room: how far rewards of a mean may lie from it, on the side that matters; all [N]."""
        # Few equal rewards do not make a certain mean: another reward may be so rare that none of n
        # readings shows it, with probability exp(-s) at a chance of s / n. What it could add,
        # s * room / n, is added in squares. Of rewards that were seen a few times the tail is
        # hardly lighter than that; a Gaussian's is, and needs less.
        strength, rare = self.strength, max(self.strength, self.rare_strength)
        few = np.minimum(scatter, TUNING.few_events * room**2)
        shown = 2 * (strength * scatter + (rare - strength) * few) + (rare * room) ** 2
        # Rewards may also scatter less than that: no more than coins of their mean.
        span = self.reward_range[1] - self.reward_range[0]
        mean = 1 - np.minimum(room / span, 1.0)
        coins = largest_square(mean, rare / count, horizon)
        return np.minimum(shown / count**2, span**2 * coins)

    def noise(self, machine: Automaton) -> Spreads:
        """The part of the spreads that readings have shown."""
        if not math.isfinite(self.reward_range[1] - self.reward_range[0]):
            return self.spreads(machine)
        return [
            2 * self.strength * layer.scatter / np.maximum(layer.count, 1) ** 2
            for layer in machine.layers
        ]

    def among(self, others: float, rivals: int = 1) -> float:
        """How much wider a tie is where so many other decisions are as close.

        rivals: ways through one level that are as close. Each of them could be the plan by chance.
        """
        more = TUNING.close_decision * others
        more += 2 * math.log(max(1.0, rivals / TUNING.free_rivals))
        return math.sqrt(1 + more / (2 * self.strength))

    def guesses(self, variances: list[FloatArray]) -> list[FloatArray]:
        return [2 * self.strength * variance for variance in variances]

    def width(self, spread: FloatArray) -> FloatArray:
        return np.sqrt(spread)


def repeated_without_noise(layer: Layer) -> int:
    """How often rewards of a level were read again and were the same; 0 where one was not.

    Also 0 where that was too seldom: two rewards that are equal are no rule.
    """
    repeats = int(np.maximum(layer.count - 1, 0).sum())
    noisy = layer.scatter > ROUNDING * np.maximum(layer.count * layer.mean**2, ROUNDING)
    return 0 if noisy.any() or repeats < TUNING.exact_repeats else repeats


def known_guarantee(name: str) -> str:
    """The name, if there is such a guarantee."""
    if name not in GUARANTEES:
        raise InputError(
            f"there is no guarantee {name!r}", got=repr(name), remedy=nearest(name, GUARANTEES)
        )
    return name
