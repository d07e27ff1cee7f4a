"""What a suite makes of many numbers: shares, means, exponents, and intervals around them.

All intervals are of 95 %. SciPy's statistics take a second to import, and every worker process
imports this module: they are imported where they are used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95

RESAMPLES = 1000
"""Of the runs, for a bootstrap interval."""


def rate(successes: int, trials: int, digits: int = 2) -> str:
    """A share with its Wilson interval, as text; more digits for small ones."""
    from scipy import stats

    if not trials:
        return "0/0"
    found = stats.binomtest(successes, trials).proportion_ci(CONFIDENCE, method="wilson")
    return f"{successes}/{trials} [{found.low:.{digits}f}, {found.high:.{digits}f}]"


def geometric(values: Sequence[float]) -> float:
    """Geometric mean."""
    from scipy import stats

    return float(stats.gmean(values))


@dataclass(frozen=True, slots=True)
class Exponent:
    """The power that something grows with, and its interval."""

    value: float
    low: float  # not a number where two points leave nothing to judge the fit by
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


def exponent(x: Sequence[float], y: Sequence[float]) -> Exponent:
    """The exponent p of y ~ x^p by least squares on logarithms, with Student's interval."""
    from scipy import stats

    slope, error = _line([math.log(value) for value in x], y)
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(x) - 2)) * error
    return Exponent(slope, slope - half, slope + half)


def growth_factor(x: Sequence[float], y: Sequence[float]) -> float:
    """The base b of y ~ b^x, by least squares on the logarithms of y."""
    return math.exp(_line(x, y)[0])


def _line(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Slope of ln y in x, and its standard error; y may be too large for a float."""
    from scipy import stats

    found: Any = stats.linregress(x, [math.log(value) for value in y])
    return float(found.slope), float(found.stderr)


def bootstrap_interval(
    statistic: Callable[[NDArray[np.int64]], float], runs: int
) -> tuple[float, float]:
    """Bootstrap interval of a statistic of so many runs.

    The statistic is given the numbers of the runs that were drawn, so that several measurements of
    one run stay together. A single run has no spread: both ends are its own value.
    """
    from scipy import stats

    numbers = np.arange(runs)
    if runs == 1:
        value = statistic(numbers)
        return value, value
    found: Any = stats.bootstrap(
        (numbers,),
        statistic,
        n_resamples=RESAMPLES,
        vectorized=False,
        confidence_level=CONFIDENCE,
        method="percentile",
        random_state=np.random.default_rng(0),
    )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)
