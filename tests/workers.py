"""What the tests of executors share: units to run, and the comparison with one process alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import cloudpickle

import flaky
import surepath
from flaky import Gauge, Walk, content
from surepath.errors import EpisodeError
from surepath.run.executors import Executor
from surepath.run.work import Unit, UnitReport
from surepath.system import Request

cloudpickle.register_pickle_by_value(flaky)  # workers need not find this folder


def unit(count: int = 10, *, single: bool = True, attempt: int = 0, index: int = 0) -> Unit:
    asked = Request((1, 0), count, range(3), range(2))
    return Unit(asked, 0, index, 0, count, 0, single=single, attempt=attempt)


def numbers(reports: Sequence[UnitReport]) -> list[tuple[int, int]]:
    """Request and number of every episode that was reported done."""
    return [
        (part.index, part.first + i)
        for report in reports
        for part, readings in report.done
        for i in range(readings.count)
    ]


def until_it_stops(running: Iterator[UnitReport]) -> tuple[list[UnitReport], str]:
    """What came before the error, and the error."""
    reports = list[UnitReport]()
    try:
        reports.extend(running)
    except EpisodeError as error:
        return reports, str(error)
    raise AssertionError("there was no error")


def systems() -> dict[str, tuple[Any, dict[str, Any]]]:
    problem = surepath.make("tabular", horizon=3, states=3, observations=4, seed=1)
    return {
        "one by one": (Walk(), {}),
        "at once": (Gauge(), {"features": "linear"}),
        "more at once": (Gauge(), {"features": "linear", "at_once": 6}),
        "summaries": (problem, {}),
    }


@cache
def run_serially() -> dict[str, surepath.Result]:
    return {name: surepath.learn(system, **how) for name, (system, how) in systems().items()}


def check_same(executor: Executor, folder: Path) -> None:
    """The executor finds what one process finds alone, and records the same episodes."""
    serially = run_serially()
    for name, (system, how) in systems().items():
        path = folder / f"{name}.db"
        result = surepath.learn(system, workers=executor, journal=path, **how)
        assert result == serially[name], name
        assert result.record == serially[name].record, name
        surepath.learn(system, journal=folder / f"{name} alone.db", **how)
        assert content(path) == content(folder / f"{name} alone.db"), name
        assert surepath.learn(system, journal=path, **how) == result, name
