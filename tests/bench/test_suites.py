"""Every suite runs, at a size for tests, and reports what it says it reports."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from sklearn.gaussian_process.kernels import RBF

from surepath.bench import (
    SUITES,
    cpu,
    lower_bounds,
    passes,
    peers,
    real,
    run_suite,
    scaling,
    table1,
    workers,
)
from surepath.bench.harness.report import SuiteReport
from surepath.bench.harness.runs import Crew
from surepath.bench.harness.statistics import exponent
from surepath.bench.suites.adaptive import Scale
from surepath.features.kernels import Bag, mean_gram_row
from surepath.prepare.call import Call
from surepath.prepare.fixed_run import FixedRun
from surepath.prepare.task import plan_task
from surepath.theory.schedule import bounds, tight

SIZES: dict[str, dict[str, Any]] = {
    "constants": {"SWEEP": (1.0, 0.8)},
    "futures": {"SAMPLES": (30,), "SEEDS": 2, "FUTURES": (2,)},
    "kernels": {"COUNTS": ((5, 20),), "EXACT_ROWS": 3, "COMPONENTS": (8, 64)},
    "gain": {"SIZES": (4, 8, 16), "RIDGES": (0.1,), "SEEDS": 1, "CANDIDATES": 64},
    "settings": {"WINDOWS": 1, "WINDOW_GAP": 0.6, "SPACES": 1, "COUNTS": 2, "BEFORE": 1},
    # Its parts are tested one by one elsewhere.
    "adaptive": {"SCALE": Scale(instances=1, repeats=1)},
    "calibration": {"FULL": 300},  # one run of each family
    "proved": {"FULL": 300},  # one run of a family
    "doctor": {"SOUND": 2},
    "real": {"SCALE": real.Scale(repeats=1)},
    "passes": {
        "FULL": passes.Scale(kernels=("calls",), middle=1, runs=1, timings=10, patience=2)
    },
    "lower-bounds": {
        "FULL": lower_bounds.Scale(
            horizons=(2, 3), bits=(1, 2), instances=2, searches=1, cap=400, stakes=(0.25, 0.2),
            games=1, eps=(0.8, 0.4),
        )
    },
    "table1": {
        "FULL": table1.Scale(instances=1, training=1, points=2),
        "METHODS": ("surepath", "state merging", "UCT"),
        "CAP": 1000,
    },
    "peers": {
        "FULL": peers.Scale(instances=2, training=1, policies=0, shrink=50, contests=("tabular",)),
        "MOST_PATHS": 100,
    },
    "scaling": {
        "FULL": scaling.Scale({"adaptive": 1, "tight": 1, "paper": 1}),
        "SWEEPS": {
            "adaptive": scaling.ADAPTIVE_SWEEPS[4:5],
            "tight": scaling.TIGHT_SWEEPS[:1] + scaling.TIGHT_SWEEPS[3:],
            "paper": (),
        },
    },
    "cpu": {"SWEEPS": {"lock": cpu.SWEEPS["tabular"][:1] + cpu.SWEEPS["lock"][:2]}},
    "workers": {"FULL": workers.Scale({"tabular": 1}, sizes=(1, 8))},
}  # fmt: skip
MODULES = {name: import_module(f"surepath.bench.suites.{name.replace('-', '_')}") for name in SIZES}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, module in MODULES.items():
        for constant, value in SIZES[name].items():
            monkeypatch.setattr(module, constant, value)
    rules = MODULES["constants"].RULES
    quick = {name: rule for name, rule in rules.items() if "paper" not in name}
    # The paper's own parameters take seconds; another test runs them.
    monkeypatch.setattr(MODULES["constants"], "RULES", {"paper": tight, **quick})


@pytest.mark.parametrize("name", SUITES)
@pytest.mark.usefixtures("small")
def test_every_suite_reports(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    # The parts of the larger suites are tested one by one elsewhere.
    some = {
        "adaptive": ["floor"],
        "calibration": ["plain"],
        "proved": ["tabular"],
        "doctor": ["level"],
        "real": ["bookkeeping"],
        "passes": ["statements"],
        "lower-bounds": ["leaking", "search"],
        "cpu": ["lock"],
        "workers": ["rounds"],
    }
    report = run_suite(name, Crew(), some.get(name, ()))
    assert isinstance(report, SuiteReport)
    assert report.suite == name
    json.dumps(report.to_dict())
    for figure in report.figures:
        assert all(len(line.x) == len(line.y) for line in figure.lines)
    for section in report.sections:
        assert section.rows or name == "scaling"
        assert {len(row) for row in section.rows} <= {len(section.columns)}
    report.show(Console(width=200))
    assert report.sections[0].title.split()[0] in capsys.readouterr().out


@pytest.mark.usefixtures("small")
def test_every_run_of_the_constants_is_optimal_and_within_its_bound() -> None:
    report = run_suite("constants", Crew())
    section = report.sections[0]
    table = [dict(zip(section.columns, row, strict=True)) for row in section.rows]
    assert all(row["optimal"] for row in table)
    assert all(row["expanded"] <= row["N'"] and row["steps"] <= row["bound"] for row in table)


def test_exponents_of_the_bounds_are_the_theorems() -> None:
    """About 5 for the paper's parameters and 2 for the sharp ones, up to logarithms."""
    module = MODULES["constants"]
    setting = FixedRun.of(plan_task(Call.of(module.instance(), schedule="tight"))).setting
    assert setting is not None
    far = [replace(setting, gap=gap) for gap in module.ASYMPTOTIC_GAPS]
    ratios = [s.norm / s.gap for s in far]
    fitted = {
        name: exponent(ratios, [bounds(rule(s), s).steps for s in far]).value
        for name, rule in module.RULES.items()
    }
    assert fitted["paper"] == pytest.approx(5, abs=0.5)
    assert fitted["paper, eps^2"] == pytest.approx(4, abs=0.5)
    assert fitted["tight"] == pytest.approx(2, abs=0.4)


def test_two_hundred_nodes_of_two_thousand_readings_fit_in_memory() -> None:
    """A row of the Gram matrix against all of them: every pair is used, few are held at once."""
    rng = np.random.default_rng(0)
    bags = [Bag.of(rng.standard_normal((2000, 4))) for _ in range(200)]
    tracemalloc.start()
    row = mean_gram_row(RBF(2.0), bags[0], bags)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert row.shape == (200,)
    assert peak < 100 * 2**20  # beside 13 MB of readings
