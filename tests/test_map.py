"""The map of the package stays as docs/architecture.md draws it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import surepath
from places import ROOT
from surepath.bench.harness import rivals
from surepath.bench.harness.runs import Instance
from surepath.run import choose_executor
from surepath.theory import schedule

PACKAGE = ROOT / "src" / "surepath"
FILES = sorted(PACKAGE.rglob("*.py"))
PAGE = (ROOT / "docs" / "architecture.md").read_text()


# ---------------------------------------------------------------- sizes


def test_no_file_is_long() -> None:
    assert [str(path) for path in FILES if len(path.read_text().splitlines()) > 400] == []


def test_functions_are_short() -> None:
    lengths = [
        node.end_lineno - node.lineno + 1
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and node.end_lineno
    ]
    assert np.quantile(lengths, 0.95) <= 26


def test_the_top_of_the_package_and_its_layers_are_few() -> None:
    entries = {path.name for path in PACKAGE.iterdir()} - {"__pycache__"}
    assert len(entries) <= 25
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = settings["contracts"][0]["layers"]
    assert len(layers) <= 16
    known = {name for layer in layers for name in re.split(r"\s*\|\s*", layer)}
    assert known == {name.removesuffix(".py") for name in entries} - {
        "__init__",
        "__main__",
        "py.typed",
    }


def test_the_page_names_every_layer_and_files_that_exist() -> None:
    for entry in PACKAGE.iterdir():
        if entry.is_dir() and entry.name != "__pycache__":
            assert entry.name in PAGE
    folder = ""
    for row in re.findall(r"^\| (.*?) \| (`.*?\.py`.*?) \|", PAGE, re.MULTILINE):
        folder = row[0].strip("`| ") or folder
        for name in re.findall(r"`([\w/]+\.py)`", row[1]):
            assert any((PACKAGE / place / name).exists() for place in (folder, "")), name
    for name in re.findall(r"`([a-z_]+/[\w/]+\.py)`", PAGE):
        assert (PACKAGE / name).exists() or (ROOT / name).exists(), name


# ---------------------------------------------------------------- shapes


def calls_of(path: Path, function: str) -> list[str]:
    return [
        ast.unparse(node)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == function
    ]


def test_nobody_asks_which_kind_of_run_it_is() -> None:
    asked = [
        f"{path.name}: {call}"
        for path in FILES
        for call in calls_of(path, "isinstance")
        if re.search(r"\b(Schedule|Terms|FixedRun|AdaptiveRun)\b", call)
    ]
    assert asked == []


def test_nothing_reads_the_words_of_a_certificate() -> None:
    """Claims, reasons, notes, warnings and doubts are written and shown, never compared."""
    words = re.compile(r"\b(claim|reason|notes?|warnings?|doubts?|assumptions?)\b")
    searched = re.compile(r"\.(startswith|endswith|find|index|match|search|split)\(")
    compared = [
        f"{path.relative_to(PACKAGE)}: {text}"
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        for text in [ast.unparse(node) if isinstance(node, ast.Compare | ast.Call) else ""]
        if len(text) < 120
        and words.search(text)
        and (
            (isinstance(node, ast.Compare) and re.search(r"['\"]", text))
            or (isinstance(node, ast.Call) and searched.search(text))
        )
    ]
    assert compared == []


def test_no_module_takes_the_place_of_a_public_name() -> None:
    """A folder of the same name would, as soon as somebody imports it: import all there is."""
    code = (
        "import pkgutil, surepath\n"
        "before = {name: getattr(surepath, name) for name in surepath.__all__}\n"
        "for module in pkgutil.walk_packages(surepath.__path__, 'surepath.'):\n"
        "    if '__main__' not in module.name:\n"
        "        __import__(module.name)\n"
        "print([n for n in surepath.__all__ if getattr(surepath, n) is not before[n]])\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout == "[]\n"


# ---------------------------------------------------------------- adding from outside


def test_an_executor_is_added_by_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    made = list[surepath.Serial]()

    def here(*, time_limit: float | None, start_limit: float, retries: int) -> surepath.Serial:
        made.append(surepath.Serial(retries))
        return made[-1]

    monkeypatch.setattr(choose_executor, "BY_NAME", {"here": here})
    assert surepath.learn(surepath.make("lock", horizon=3, actions=2), workers="here").certified
    assert len(made) == 1


def test_a_schedule_is_added_by_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def lavish(setting: surepath.Setting) -> surepath.Schedule:
        chosen = schedule.tight(setting)
        return surepath.Schedule(
            chosen.ridge, chosen.threshold, 2 * chosen.feature_samples, 2 * chosen.reward_samples
        )

    for module in (schedule, surepath.prepare.call, surepath.prepare.fixed_run):
        monkeypatch.setattr(module, "SCHEDULES", {"lavish": lavish})
    problem = surepath.make("tabular", horizon=2, states=2, observations=3)
    assert surepath.learn(problem, schedule="lavish").certified


def test_a_problem_is_added_by_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from surepath import builtin_problems
    from surepath.builtin_problems.lock import lock

    known = {**builtin_problems._FACTORIES, "safe": lock}
    monkeypatch.setattr(builtin_problems, "_FACTORIES", known)
    assert "safe" in surepath.problems()
    assert surepath.learn("safe", budget=50).episodes <= 50


def test_a_baseline_is_added_by_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from surepath.bench.harness.attempt import Trial, attempt

    known = {**rivals.RIVALS, "again": rivals.RIVALS["UCT"]}
    monkeypatch.setattr("surepath.bench.harness.attempt.RIVALS", known)
    stage = Instance("lock", {"horizon": 3, "actions": 2})
    settings = rivals.settings_of("UCT", stage)[0]
    trace = attempt(Trial(stage, "again", settings, 300, 0))
    assert trace.total <= 300
    assert not trace.refused
