"""Values of states that were not expanded, predicted from those that were, with measured errors.

Q* is linear in the embedding, so what was learned at some states of a level says what the others
are worth. How well it does is not assumed but measured: each expanded state is predicted from all
the others (leave-one-out), and the errors found there set the scale of the errors to expect. With
few expanded states nothing can be measured, and nothing is predicted.

Ridge regression in its dual form, K + lambda I over the expanded states, with the ridge of smallest
leave-one-out error. A point's error is in proportion to its distance from what they span:
k(x, x) + lambda - k' (K + lambda I)^-1 k, for a state left out 1 / [(K + lambda I)^-1]_ii.
(Sundararajan and Keerthi, "Predictive Approaches for Choosing Hyperparameters in Gaussian
Processes", Neural Computation 13, 2001, equations 13 and 14.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from surepath.inference.states import Automaton
from surepath.inference.tuning import TUNING
from surepath.system import FloatArray


@dataclass(frozen=True, slots=True)
class Values:
    """Estimates of Q* for every state and action of each level."""

    q: list[FloatArray]  # [S, A]; minus infinity where nothing is known
    variance: list[FloatArray]  # [S], of the error of predictions; 0 where nothing is predicted

    def best(self, level: int) -> FloatArray:
        return self.q[level].max(axis=1)


def estimate(
    machine: Automaton, most: float, span: float, cap: Callable[[int], float] | None = None
) -> Values:
    """Q* by backward induction; values of states that were not expanded are predicted.

    most: the largest reward. A state that cannot be predicted is taken to earn it at every level
    that is left. span: range of one reward; twice its noise where it has no range. cap: the most
    that can be earned from a level on, where more is known of that.
    """
    q, variance = list[FloatArray](), list[FloatArray]()
    for level in range(machine.horizon - 1, -1, -1):
        layer = machine.layers[level]
        values = layer.mean.copy()
        if q:
            values += q[-1].max(axis=1)[layer.target] if len(q[-1]) else 0.0
        errors = np.zeros(len(values))
        known = layer.expanded
        if not known.all():
            values[~known] = cap(level) if cap else most * (machine.horizon - level)
            if layer.points is not None and known.sum() >= TUNING.least_points:
                found = _predict(layer.points[known], values[known], layer.points[~known], span)
                inside = np.flatnonzero(~known)[found.inside]
                values[inside], errors[inside] = found.values, found.variance
        q.append(values)
        variance.append(errors)
    return Values(q[::-1], variance[::-1])


class _Predicted(NamedTuple):
    inside: NDArray[np.bool_]  # [m], which of the others can be predicted
    values: FloatArray  # [k, A], of these
    variance: FloatArray  # [k], of their errors


def _predict(points: FloatArray, values: FloatArray, others: FloatArray, span: float) -> _Predicted:
    """Values of the others, predicted from the points, with the variance of the errors.

    Another point is predicted only if it is no farther from the span of the points than the
    farthest of them is from the span of the rest. Where the points are far from each other's span
    (each has a direction of its own), nothing is predicted.
    """
    centre = points.mean(axis=0)
    size = float(((points - centre) ** 2).sum(axis=1).mean()) or 1.0
    x, z = (_with_constant(p - centre, size) for p in (points, others))
    fits = [_fit(x @ x.T, values, ridge) for ridge in (np.array(TUNING.ridges) * size).tolist()]
    ridge, inverse, missed = min(fits, key=lambda fit: float((fit[2] ** 2).mean()))
    left_out = 1 / np.diag(inverse)  # squared distance of each point from the others
    # That no state was missed so far does not say that none ever will: as in Laplace's rule of
    # succession, one more is counted as missed, by a whole reward at a usual distance. Otherwise
    # a dozen states that all pay nothing would promise that no state pays.
    errors = np.append((missed**2 / left_out[:, None]).mean(axis=1), span**2 / size)
    # Few large errors among many small ones are not Gaussian: the largest counts by itself.
    scale = max(float(errors.mean()), TUNING.largest_error_share * float(errors.max()))
    cross = z @ x.T
    distance = (z**2).sum(axis=1) + ridge - np.einsum("ij,jk,ik->i", cross, inverse, cross)
    spans = float(np.median(left_out)) <= TUNING.new_direction * size + ridge
    inside = (distance <= left_out.max()) & spans
    predicted = (cross @ inverse @ values)[inside]
    return _Predicted(inside, predicted, scale * np.maximum(distance[inside], ridge))


def _with_constant(points: FloatArray, size: float) -> FloatArray:
    """With a long constant coordinate: the average value is fitted too, hardly shrunk by the ridge,
    and left out with the state that is left out.
    """
    return np.column_stack([points, np.full(len(points), TUNING.constant_length * np.sqrt(size))])


def _fit(
    gram: FloatArray, values: FloatArray, ridge: float
) -> tuple[float, FloatArray, FloatArray]:
    """The ridge, (K + ridge I)^-1, and by how much each state is missed when it is left out."""
    inverse = np.asarray(np.linalg.inv(gram + ridge * np.eye(len(gram))), dtype=np.float64)
    return ridge, inverse, (inverse @ values) / np.diag(inverse)[:, None]
