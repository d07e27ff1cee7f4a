"""What holds for every test: examples are the same every time, and none is too slow."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "same everywhere",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("same everywhere")
