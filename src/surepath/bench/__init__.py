"""Benchmarks: suites as data, one loop, ratios from one run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from surepath.bench.harness.figures import draw
from surepath.bench.harness.report import SuiteReport
from surepath.bench.harness.runs import Crew, Part
from surepath.bench.harness.store import Store
from surepath.bench.suites import (
    adaptive,
    calibration,
    cpu,
    doctor,
    lower_bounds,
    passes,
    peers,
    proved,
    real,
    scaling,
    settings,
    table1,
    workers,
)
from surepath.bench.suites.constants import constants
from surepath.bench.suites.futures import futures
from surepath.bench.suites.gain import gain
from surepath.bench.suites.kernels import kernels
from surepath.errors import InputError
from surepath.validate import nearest

SUITES: Mapping[str, Mapping[str, Part]] = {
    "constants": {"constants": constants},
    "futures": {"futures": futures},
    "kernels": {"kernels": kernels},
    "gain": {"gain": gain},
    "settings": settings.PARTS,
    "adaptive": adaptive.PARTS,
    "calibration": calibration.PARTS,
    "proved": proved.PARTS,
    "doctor": doctor.PARTS,
    "real": real.PARTS,
    "passes": passes.PARTS,
    "lower-bounds": lower_bounds.PARTS,
    "table1": table1.PARTS,
    "peers": peers.PARTS,
    "scaling": scaling.PARTS,
    "cpu": cpu.PARTS,
    "workers": workers.PARTS,
}
"""The parts of each suite, by name."""


QUICK = (
    "calibration", "proved", "doctor", "passes", "lower-bounds", "table1", "peers", "scaling",
    "cpu",
    "workers",
)  # fmt: skip
"""Suites that also have a size that takes minutes."""


def parts_of(suite: str, only: Collection[str] = ()) -> list[Part]:
    """The parts of a suite, or those that are named, in its order."""
    _known("benchmark suite", suite, SUITES)
    for name in only:
        _known(f"part of the suite {suite},", name, SUITES[suite])
    return [part for name, part in SUITES[suite].items() if not only or name in only]


def run_suite(suite: str, crew: Crew, only: Collection[str] = ()) -> SuiteReport:
    report = SuiteReport(suite)
    for part in parts_of(suite, only):
        for finding in part(crew):
            report.add(finding)
    if crew.store is not None and (others := crew.store.others):
        report.add(
            f"{others} of the runs were made by other code than this: remove {crew.store.path.name}"
            " to make them again."
        )
    return report


def _known(what: str, name: str, known: Collection[str]) -> None:
    if name not in known:
        raise InputError(
            f"there is no {what} {name!r}", got=repr(name), remedy=nearest(name, known)
        )


def publish(report: SuiteReport, store: Store, folder: Path) -> list[Path]:
    """Tables, figures and all runs of a suite as files of the folder."""
    pages, runs = folder / f"{report.suite}.md", folder / f"{report.suite}-runs.csv"
    pages.write_text(report.markdown(), encoding="utf-8")
    store.table(runs)
    pictures = [folder / f"{report.suite}-{figure.name}.svg" for figure in report.figures]
    for figure, path in zip(report.figures, pictures, strict=True):
        draw(figure, path)
    return [pages, runs, *pictures]
