"""Features through landmarks, of which more can be added where none of them sees what is read.

A landmark sees what lies around it. Far from all landmarks every feature of the kernel is close to
0, so that any two places there look the same. How much is seen of a reading o is the squared length
of these features beside k(o, o), which is what it would be with a landmark everywhere.

And a landmark sees as far as its kernel is wide: of two places that are close together for the
kernel, but not for the noise of a good sensor, it sees one. So the numbers themselves stand beside
the features of the kernel. They tell apart places with different means wherever these are; the
kernel tells apart what means do not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surepath.features.kernels import Nystroem, thin
from surepath.features.maps import Approximated, checked_rows
from surepath.system import FloatArray
from surepath.theory.kernel_matrix import Kernel, gram
from surepath.validate import whole

CANDIDATES = 256
"""Readings among which new landmarks are chosen."""

SEEN_WELL = 1e-3
"""Where a smaller share of the readings than this is not seen, no landmark is missing."""

COMPANY = 1.5
"""Readings that a landmark has to see, itself included: half of another one at least. What lies
apart from all the others is a glitch and not a place."""


def shares_seen(nystroem: Nystroem, views: FloatArray) -> FloatArray:
    """How much of each observation the landmarks see, from 0 to 1: [n]."""
    lengths = nystroem.lengths(views)
    squares = np.square(nystroem.transform(views)).sum(axis=1)
    return np.where(lengths > 0, squares / np.maximum(lengths, 1e-300), 1.0)


@dataclass(frozen=True, slots=True)
class Numbers:
    """Observations as they are, in a unit that makes them about as long as features of a kernel."""

    centre: FloatArray  # [p]
    unit: float

    @classmethod
    def like(cls, views: FloatArray) -> Numbers:
        """With a mean square length of 1 on these observations [n, p]."""
        centre = views.mean(axis=0)
        return cls(centre, math.sqrt(np.square(views - centre).sum(axis=1).mean()) or 1.0)

    def of(self, views: FloatArray) -> FloatArray:
        return (views - self.centre) / self.unit


class Growing(Approximated):
    """Features of a kernel on landmarks, which new ones join until there are `most`.

    More landmarks than `components` do not make more features: then what is averaged, and what is
    recorded of every prefix, would grow too. The features are those directions that the landmarks
    fill most. Landmarks in a region of their own fill directions of their own. Of many landmarks in
    one region the last directions hardly matter, and these are given up.
    """

    def __init__(
        self,
        nystroem: Nystroem,
        view: Callable[[NDArray[Any]], FloatArray],
        *,
        components: int,
        most: int,
        usual: float = 1.0,
        numbers: Numbers | None = None,
    ) -> None:
        """`usual` is the share that is seen of what the first landmarks were chosen from.

        numbers: how the observations themselves stand beside the kernel's features, if they do.
        """
        super().__init__(nystroem, view)
        self.nystroem = nystroem
        self.numbers = numbers
        self.dimension = nystroem.dimension + (len(numbers.centre) if numbers else 0)
        self.components = whole("components", components, least=nystroem.dimension)
        self.most = whole("most", most, least=1)
        self.usual = usual
        self.radius = None if numbers else Approximated.radius

    @property
    def landmarks(self) -> int:
        return len(self.nystroem.landmarks)

    @property
    def full(self) -> bool:
        return self.landmarks >= self.most

    def of_views(self, views: FloatArray) -> FloatArray:
        """Features of observations that were looked at through `view` before, [n, d]."""
        seen = self.nystroem.transform(views)
        return np.hstack([seen, self.numbers.of(views)]) if self.numbers else seen

    def rows(self, observations: NDArray[Any]) -> FloatArray:
        return checked_rows(
            self.of_views(self.view(observations)), len(observations), self.dimension
        )

    def _average(self, observations: NDArray[Any]) -> FloatArray:
        return self.rows(observations).mean(axis=0)

    def missing(self, views: FloatArray, several: int) -> FloatArray:
        """Up to `several` of the observations that would be good landmarks, [m, p].

        Each is the one from which most is seen of what was not seen before. Readings of one place
        differ by their noise alone, and still one of them is not enough: from a single landmark
        nobody sees on which side of it something lies.
        """
        some = _in_company(self.nystroem.kernel, thin(views, CANDIDATES))
        if not len(some):
            return some
        rows = self.nystroem.transform(some)
        # The kernel of what is not seen; a landmark takes away what lies in its direction.
        unseen = gram(self.nystroem.kernel, some, some) - rows @ rows.T
        enough = SEEN_WELL * float(self.nystroem.lengths(some).sum())
        chosen = list[int]()
        while np.trace(unseen) > enough and len(chosen) < several:
            own = np.diag(unseen)
            gains = np.square(unseen).sum(axis=0) / np.maximum(own, SEEN_WELL * own.max())
            chosen.append(int(gains.argmax()))
            column = unseen[:, chosen[-1]].copy()
            unseen -= np.outer(column, column) / column[chosen[-1]]
        return some[chosen]

    def with_landmarks(self, more: FloatArray) -> Growing:
        """The same with more landmarks [m, p], as far as there is room for them."""
        more = more[: self.most - self.landmarks]
        landmarks = np.vstack([self.nystroem.landmarks, more])
        return Growing(
            Nystroem(self.nystroem.kernel, landmarks, self.components),
            self.view,
            components=self.components,
            most=self.most,
            usual=self.usual,
            numbers=self.numbers,
        )


def _in_company(kernel: Kernel, views: FloatArray) -> FloatArray:
    """The observations that others are close to; a single one is taken as it is."""
    matrix = gram(kernel, views, views)
    lengths = np.maximum(np.diag(matrix), 1e-300)
    company = (np.square(matrix) / np.outer(lengths, lengths)).sum(axis=1)
    return views[company >= min(COMPANY, len(views))]
