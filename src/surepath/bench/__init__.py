"""Benchmarks: suites as data, one command, ratios from one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from surepath.bench.constants import constants
from surepath.bench.report import Report

SUITES: Mapping[str, Callable[[], Report]] = {
    "constants": constants,
}
