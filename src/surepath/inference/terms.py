"""What an adaptive run is held to: what may be assumed, and how sure the answer has to be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from surepath.decoding.kinds import Bottomless, Probability, Unbounded
from surepath.inference.separation import Separation, in_noise_units
from surepath.inference.states import Shape
from surepath.inference.tuning import TUNING
from surepath.system import FloatArray

EXACT: Literal["exact"] = "exact"
"""In place of a separation: readings have no noise, and say which state it is."""


@dataclass(frozen=True, slots=True)
class Terms:
    shape: Shape
    guarantee: str  # a name of `surepath.inference.guarantee_widths.GUARANTEES`
    delta: Probability
    gap: float | None  # least loss of a suboptimal plan, where it is known
    tolerance: float | None  # plans closer than this count as equal; None: it follows what is paid
    reward_range: tuple[Bottomless, Unbounded]
    tolerance_share: float | None = None  # of the plan's value, in place of a tolerance
    separation: float | Literal["exact"] = 0.3  # of observation laws, as a total variation
    predict: bool = True  # whether values of states that were not tried may be predicted
    norm: float | None = None  # of the proved guarantee only, like the next two
    radius: Unbounded = 1.0
    feature_noise: float | None = None
    reward_noise: float = 0.5  # sub-Gaussian parameter of rewards: half their range where finite

    @property
    def reward_span(self) -> float:
        return self.reward_range[1] - self.reward_range[0]

    @property
    def return_range(self) -> tuple[float, float]:
        """The least and the most that a whole episode can pay."""
        low, high = (end * self.shape.horizon for end in self.reward_range)
        return low, high

    @property
    def merge_test(self) -> Separation | None:
        """What has to be excluded before prefixes count as one state; None: nothing rests on it."""
        if self.guarantee == "proved":
            return None
        evidence = math.log(1 / self.delta)
        if self.separation == EXACT:
            return Separation(math.inf, evidence)
        declared = self.separation
        return Separation(declared if self.shape.symbols else in_noise_units(declared), evidence)

    def allowed_loss(self, value: float, paid: float) -> float:
        """How much a plan may fall short of the best one and still be the answer.

        value: of the plan. paid: what one of its steps typically pays, 0 where none ever paid.
        """
        if self.tolerance is not None:
            return self.tolerance
        if self.tolerance_share is not None:
            return self.tolerance_share * abs(value)
        return TUNING.tolerance * (paid or 2 * self.reward_noise)

    def excess(self, margin: FloatArray, width: FloatArray, tolerance: float) -> FloatArray:
        """By how much the width of a lead is too large; negative when the question is settled.

        Settled: the plan leads for certain; or loses, if at all, less than any suboptimal plan
        does; or, where no gap is known, its lead is known to within the tolerance, so that it
        loses less than that, if at all.
        """
        if self.gap is not None:
            return width - margin - self.gap
        return width - np.maximum(margin, tolerance + np.minimum(margin, 0.0))

    def beyond_ties(self, spread: FloatArray, tolerance: float) -> FloatArray:
        """Spreads of predictions, widened so that no prediction is taken for a tie.

        What was read may count as equal within the tolerance. A prediction that comes so close is
        a reason to go there and look.
        """
        if self.gap is not None:
            return spread
        return np.where(spread > 0, spread + tolerance**2, spread)
