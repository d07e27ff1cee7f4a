"""What an adaptive run is held to: what may be assumed, and how sure the answer has to be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surepath.inference.states import Shape
from surepath.system import FloatArray


@dataclass(frozen=True, slots=True)
class Terms:
    shape: Shape
    guarantee: str  # a name of `surepath.inference.guarantee_widths.GUARANTEES`
    delta: float
    gap: float | None  # least loss of a suboptimal plan, where it is known
    resolution: float  # without a gap, plans closer than this count as equal; and paths that
    # promise at most so much less than the best are looked at, with a gap or without
    reward_range: tuple[float, float]
    norm: float | None = None  # of the proved guarantee only, like the next two
    radius: float = 1.0
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

    def excess(self, margin: FloatArray, width: FloatArray) -> FloatArray:
        """By how much the width of a lead is too large; negative when the question is settled.

        Settled: the plan leads for certain; or loses, if at all, less than any suboptimal plan
        does; or, where no gap is known, its lead is known to within the resolution, so that it
        loses less than that, if at all.
        """
        if self.gap is not None:
            return width - margin - self.gap
        return width - np.maximum(margin, self.resolution + np.minimum(margin, 0.0))

    def beyond_ties(self, spread: FloatArray) -> FloatArray:
        """Spreads of predictions, widened so that no prediction is taken for a tie.

        What was read may count as equal within the resolution. A prediction that comes so close is
        a reason to go there and look.
        """
        if self.gap is not None:
            return spread
        return np.where(spread > 0, spread + self.resolution**2, spread)
