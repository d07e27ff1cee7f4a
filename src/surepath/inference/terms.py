"""What an adaptive run is held to: what may be assumed, and how sure the answer has to be."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from surepath.decoding.kinds import Bottomless, Probability, Unbounded
from surepath.inference.proposal import Route
from surepath.inference.separation import Separation, in_noise_units
from surepath.inference.states import Shape
from surepath.inference.tuning import TUNING
from surepath.system import FloatArray
from surepath.validate import SAID_IF_GIVEN

EXACT: Literal["exact"] = "exact"
"""In place of a separation: readings have no noise, and say which state it is."""

SEPARATION = 0.3
"""The separation of a calibrated run that was told none."""

ONE_HOT = 0.5**0.5
"""Half the largest distance between two unit vectors that no kernel makes negative."""

MOST_SEQUENCES = 2**13
"""Action sequences of a system of which the bare tree is read."""

UNUSED_RADIUS = 1.0
"""Of features whose distances nothing rests on."""


def merge_evidence(delta: float) -> float:
    """Ln E at which a merge is settled, where that should be wrong with probability delta at most.

    E reaches 1/d with probability d at most, whenever one looks. One looks a few times only, and E
    jumps past what it has to reach: simulated, laws at exactly the separation pass 1 + 1/(2 delta)
    with probability delta at most, whatever the law (`surepath bench calibration --only
    false-merges`).
    """
    return math.log1p(1 / (2 * delta))


@dataclass(frozen=True, slots=True)
class Terms:
    shape: Shape
    guarantee: str  # one of `surepath.inference.guarantee_widths.GUARANTEES`
    delta: Probability
    gap: float | None  # least loss of a suboptimal plan, where it is known
    tolerance: float | None  # plans closer than this count as equal; None: it follows what is paid
    reward_range: tuple[Bottomless, Unbounded]
    tolerance_share: float | None = None  # of the plan's value, in place of a tolerance
    separation: float | Literal["exact"] | None = SEPARATION  # of observation laws, as a total
    # variation; None where nothing is merged by it
    predict: bool = True  # whether values of states that were not tried may be predicted
    norm: float | None = None  # of the proved guarantee only, like the next three
    radius: Unbounded = UNUSED_RADIUS  # half the largest distance between features
    feature_noise: float | None = None  # sub-Gaussian parameter of features that are not bounded
    shared_noise: bool = False  # whether steps of an episode may depend on each other
    reward_noise: float = 0.5  # sub-Gaussian parameter of rewards: half their range where finite
    returns: tuple[Bottomless, Unbounded] | None = field(
        default=None, metadata={SAID_IF_GIVEN: True}
    )  # least and most of a whole episode, where that was declared

    @property
    def reward_span(self) -> float:
        return self.reward_range[1] - self.reward_range[0]

    @property
    def return_range(self) -> tuple[float, float]:
        """The least and the most that a whole episode can pay."""
        low, high = (end * self.shape.horizon for end in self.reward_range)
        if self.returns is None:
            return low, high
        return max(low, self.returns[0]), min(high, self.returns[1])

    def most_from(self, level: int) -> float:
        """The most that can be earned from a level on, whatever was earned before it."""
        low, high = self.reward_range
        most = high * (self.shape.horizon - level)
        if self.returns is None:
            return most
        return min(most, self.returns[1] - low * level if level else self.returns[1])

    @property
    def merge_test(self) -> Separation | None:
        """What has to be excluded before prefixes count as one state; None: nothing is merged."""
        if self.separation is None:
            return None
        evidence = merge_evidence(self.delta)
        if self.separation == EXACT:
            return Separation(math.inf, evidence)
        declared = self.separation
        return Separation(declared if self.shape.symbols else in_noise_units(declared), evidence)

    @property
    def exact(self) -> bool:
        """Whether one reading says which state it is."""
        return self.separation == EXACT

    @property
    def first_readings(self) -> list[int]:
        """Of every edge of each level, before anything is decided."""
        if self.exact:
            return [1] * self.shape.horizon
        if not self.shape.merges:
            return [TUNING.first_on_tree] * self.shape.horizon
        some = TUNING.first_symbols if self.shape.symbols else TUNING.first_readings
        return [some] * (self.shape.horizon - 1) + [TUNING.first_on_tree]

    @property
    def merge_readings(self) -> int:
        """Of every sequence that is followed to see what was taken for one state."""
        return 1 if self.exact else TUNING.merge_readings

    @property
    def most_labels(self) -> int:
        """Continuations that are told apart from each state when challengers are searched."""
        return TUNING.most_exact_labels if self.exact else TUNING.most_labels

    @property
    def route(self) -> Route:
        """Why a proved claim may rest on the machine."""
        if self.norm is not None:
            return Route.NORM
        return Route.TREE if self.separation is None else Route.SEPARATION

    def with_future(self, future: int) -> Terms:
        return replace(self, shape=replace(self.shape, future=future))

    def tree(self) -> Terms:
        """The same without merging: with a future beyond the horizon nothing is."""
        return self.with_future(self.shape.horizon + 1)

    def proposing(self) -> Terms:
        """The terms of the calibrated run that proposes what is to be proved."""
        return replace(
            self.tree() if self.route is Route.TREE else self,
            guarantee="calibrated",
            delta=TUNING.proposal_delta,
            separation=self.separation or SEPARATION,
            predict=False,
        )

    def allowed_loss(self, value: float, paid: float) -> float:
        """How much a plan may fall short of the best one and still be the answer.

        value: of the plan. paid: what one of its steps typically pays, 0 where none ever paid.
        """
        if self.tolerance is not None:
            return self.tolerance
        if self.tolerance_share is not None:
            return self.tolerance_share * abs(value)
        return TUNING.tolerance * (paid or 2 * self.reward_noise)

    def excess(
        self, margin: FloatArray, width: FloatArray, tolerance: float, among: float = 1.0
    ) -> FloatArray:
        """By how much the width of a lead is too large; negative when the question is settled.

        Settled: the plan leads for certain; or loses, if at all, less than any suboptimal plan
        does; or, where no gap is known, its lead is known to within the tolerance, so that it
        loses less than that, if at all. among: how much wider a tie is among others.
        """
        if self.gap is not None:
            return width - np.maximum(margin, (margin + self.gap) / among)
        return width - np.maximum(margin, (tolerance + np.minimum(margin, 0.0)) / among)

    def beyond_ties(self, spread: FloatArray, tolerance: float) -> FloatArray:
        """Spreads of predictions, widened so that no prediction is taken for a tie.

        What was read may count as equal within the tolerance. A prediction that comes so close is
        a reason to go there and look.
        """
        if self.gap is not None:
            return spread
        return np.where(spread > 0, spread + tolerance**2, spread)
