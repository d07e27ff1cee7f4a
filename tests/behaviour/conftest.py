"""A run that nothing disturbs, and runs that record every episode by itself."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import surepath
from faults import PROVED, Undisturbed
from flaky import Walk
from surepath.run import executors, runner


def learned(path: Path, **how: Any) -> Undisturbed:
    """Every request is one row and every batch one transaction, also on a slow machine."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(executors, "SLICE", math.inf)
        patched.setattr(runner, "FLUSH_SECONDS", math.inf)
        result = surepath.learn(Walk(), journal=path, **how)
    assert result.certified
    return result, path


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return learned(tmp_path_factory.mktemp("undisturbed") / "a.db")


@pytest.fixture(scope="module")
def proved(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return learned(tmp_path_factory.mktemp("proved") / "a.db", **PROVED)


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every episode is a row of its own, so that each stop has something before it."""
    monkeypatch.setattr(executors, "SLICE", 0.0)
