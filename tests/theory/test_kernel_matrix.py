"""Values of a kernel over rows: what is passed on, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from surepath.errors import InputError
from surepath.theory.kernel_matrix import gram, points


def test_values_are_those_of_the_kernel() -> None:
    x, y = np.arange(6.0).reshape(3, 2), np.ones((2, 2))
    np.testing.assert_array_equal(gram(RBF(), x, y), RBF()(x, y))


def test_values_of_another_shape_are_refused() -> None:
    with pytest.raises(InputError, match=r"shape \(3, 2\)"):
        gram(lambda x, _: np.zeros(len(x)), np.zeros((3, 1)), np.zeros((2, 1)))


def test_the_first_value_that_is_not_finite_is_named() -> None:
    x, y = np.array([[1.0], [2.0]]), np.array([[5.0]])
    with pytest.raises(InputError, match=r"inf for \[2.\] and \[5.\]"):
        gram(lambda x, y: np.where(x + y.T > 6, np.inf, 0.0), x, y)


def test_observations_become_rows() -> None:
    assert points(np.zeros((4, 2, 3))).shape == (4, 6)
    assert points([1, 2, 3]).tolist() == [[1.0], [2.0], [3.0]]
    with pytest.raises(InputError, match="row 1"):
        points([0.0, np.nan])
    with pytest.raises(InputError, match="at least one observation"):
        points([])
