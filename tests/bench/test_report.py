"""What a suite found, as text."""

from __future__ import annotations

import math

import pytest

from surepath.bench.harness.report import number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (12345, "12345"),
        (123456, "123000"),
        (8838.83, "8840"),
        (999.6, "1000"),
        (0.123456, "0.123"),
        (1234567.0, "1.23e+06"),
        (999_999.0, "1e+06"),
        (-4321.0, "-4320"),
        (math.inf, "inf"),
        (math.nan, "nan"),
    ],
)
def test_numbers_are_short(value: float, text: str) -> None:
    assert number(value) == text
