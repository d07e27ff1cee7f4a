"""Benchmarks: suites as data, one command, ratios from one run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from surepath.bench.adaptive import adaptive
from surepath.bench.constants import constants
from surepath.bench.futures import futures
from surepath.bench.gain import gain
from surepath.bench.kernels import kernels
from surepath.bench.real import real
from surepath.bench.report import Report

SUITES: Mapping[str, Callable[[], Report]] = {
    "constants": constants,
    "futures": futures,
    "kernels": kernels,
    "gain": gain,
    "adaptive": adaptive,
    "real": real,
}

PARTS: Mapping[str, Callable[[Collection[str]], Report]] = {"adaptive": adaptive, "real": real}
"""Suites of which single parts can be run."""
