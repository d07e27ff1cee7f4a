"""SciPy's special functions, imported when one is first needed.

Loading them takes as long as loading all of surepath, and most commands need none.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any


@cache
def _special() -> Any:  # its published types say little
    return import_module("scipy.special")


def normal_below(score: Any) -> Any:
    """The probability that a standard normal number is smaller than the score."""
    return _special().ndtr(score)


def normal_quantile(share: Any) -> Any:
    """The score below which a standard normal number lies with this probability."""
    return _special().ndtri(share)


def chi_square_tail(freedom: Any, square: Any) -> Any:
    """The probability that a chi-square number is larger."""
    return _special().chdtrc(freedom, square)


def log_gamma(value: Any) -> Any:
    """The logarithm of the gamma function."""
    return _special().gammaln(value)


def scaled_bessel(order: Any, value: Any) -> Any:
    """The modified Bessel function of the first kind, times exp(-value)."""
    return _special().ive(order, value)


def beta_share(one: Any, other: Any, value: Any) -> Any:
    """The regularised incomplete beta function."""
    return _special().betainc(one, other, value)
