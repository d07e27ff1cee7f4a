"""Features through landmarks, of which more can be added where none of them sees what is read.

A landmark sees what lies around it. Far from all landmarks every feature is close to 0, so that any
two places there look the same. How much is seen of a reading o is the squared length of its
features beside k(o, o), which is what it would be with a landmark everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surepath.features.kernels import Nystroem
from surepath.features.maps import Approximated
from surepath.system import FloatArray
from surepath.validate import whole

SEEN_WELL = 1e-3
"""A reading of which a smaller share than this is not seen needs no landmark of its own."""


def share_seen(nystroem: Nystroem, views: FloatArray, repeats: FloatArray | None = None) -> float:
    """How much the landmarks see of observations [n, p], each read so often [n]: from 0 to 1."""
    repeats = np.ones(len(views)) if repeats is None else repeats
    squares = np.square(nystroem.transform(views)).sum(axis=1)
    return float(repeats @ squares / (repeats @ nystroem.kernel.diag(views)))


class Growing(Approximated):
    """Features of a kernel on landmarks, which new ones join until there are `most`.

    More landmarks than `components` do not make more features: then what is averaged, and what is
    recorded of every prefix, would grow too. The features are those directions that the landmarks
    fill most. Few landmarks in a region of its own fill as many directions; many of them in one
    region hardly differ in the last ones, which are given up.
    """

    def __init__(
        self,
        nystroem: Nystroem,
        view: Callable[[NDArray[Any]], FloatArray],
        *,
        components: int,
        most: int,
        usual: float = 1.0,
    ) -> None:
        """`usual` is the share that is seen of what the first landmarks were chosen from."""
        super().__init__(nystroem, view)
        self.nystroem = nystroem
        self.components = whole("components", components, least=nystroem.dimension)
        self.most = whole("most", most, least=1)
        self.usual = usual

    @property
    def landmarks(self) -> int:
        return len(self.nystroem.landmarks)

    @property
    def full(self) -> bool:
        return self.landmarks >= self.most

    def of_views(self, views: FloatArray) -> FloatArray:
        """Features of observations that were looked at through `view` before, [n, d]."""
        return self.nystroem.transform(views)

    def lengths(self, views: FloatArray) -> FloatArray:
        """k(o, o) of every observation, [n]: the squared length where all of it is seen."""
        return np.asarray(self.nystroem.kernel.diag(views), dtype=np.float64)

    def grown(self, views: FloatArray, several: int) -> Growing:
        """The same with up to `several` of the observations as landmarks, the least seen first.

        Readings of one place differ by their noise alone, and still one of them is not enough: from
        a single landmark nobody sees on which side of it something lies.
        """
        lengths = np.maximum(self.lengths(views), 1e-300)
        features = self
        for _ in range(min(several, self.most - self.landmarks)):
            unseen = 1 - np.square(features.of_views(views)).sum(axis=1) / lengths
            least = int(unseen.argmax())
            if unseen[least] <= SEEN_WELL:
                break
            features = features.with_landmarks(views[least])
        return features

    def with_landmarks(self, more: FloatArray) -> Growing:
        landmarks = np.vstack([self.nystroem.landmarks, more])
        return Growing(
            Nystroem(self.nystroem.kernel, landmarks, self.components),
            self.view,
            components=self.components,
            most=self.most,
            usual=self.usual,
        )
