"""What holds for every test: examples are the same every time, and none is too slow."""

from __future__ import annotations

import signal

import pytest
from hypothesis import HealthCheck, settings

# A shell that runs the tests in the background has them ignore Ctrl-C. Some of them are about it.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "same everywhere",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("same everywhere")


@pytest.fixture
def always_merging(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with few sequences, where a run would go without."""
    monkeypatch.setattr("surepath.learners.bare_tree.MOST_LEAVES", 0)
