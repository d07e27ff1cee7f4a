"""A run that nothing disturbs, and runs that record every episode by itself."""

from __future__ import annotations

import math

import pytest

import surepath
from faults import Undisturbed
from flaky import Walk
from surepath.run import executors, runner


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """Every request is one row and every batch one transaction, also on a slow machine."""
    path = tmp_path_factory.mktemp("undisturbed") / "a.db"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(executors, "SLICE", math.inf)
        patched.setattr(runner, "FLUSH_SECONDS", math.inf)
        result = surepath.learn(Walk(), journal=path)
    assert result.certified
    return result, path


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every episode is a row of its own, so that each stop has something before it."""
    monkeypatch.setattr(executors, "SLICE", 0.0)
