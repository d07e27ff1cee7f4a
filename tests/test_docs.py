"""Every example in the docs runs, and what it says is so."""

from __future__ import annotations

import re
import runpy
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import surepath
from places import ROOT

PAGES = sorted((ROOT / "docs").glob("*.md"))
FILES = ["CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md"]


def test_the_readme_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(example, "README.md", "exec"), names)
    result, problem = names["result"], names["problem"]
    assert isinstance(result, surepath.Result)
    assert isinstance(problem, surepath.Problem)
    assert result.actions == problem.optimum[0]
    assert result.certified
    low, high = (round(end, 3) for end in result.interval)
    assert f"# (True, ({low}, {high}))" in example
    assert low <= problem.optimum[1] <= high
    assert result.certificate.claim in example
    assert (tmp_path / "result.png").exists()


@pytest.mark.parametrize("page", [*FILES, *(f"docs/{p.name}" for p in PAGES)])
def test_links_and_pictures_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", (ROOT / page).read_text()):
        if not target.startswith("http"):
            assert ((ROOT / page).parent / target).exists(), target


def test_the_readme_says_what_the_bench_found() -> None:
    """Its ratios and the rivals behind them are those of the generated page."""
    page = (ROOT / "docs" / "compare.md").read_text()
    table = (ROOT / "README.md").read_text().split("**Does it beat ...?**")[1]
    for problem in ("mixing", "tabular", "continuous", "overcomplete"):
        found = re.search(rf"^\| {problem} \|(.*)\|$", page, re.MULTILINE)
        assert found
        *_, rival, ratio, _, _ = [cell.strip() for cell in found[1].split("|")]
        said = re.search(rf"^\| `{problem}` \| [\d,]+ \| (.*) \((.*)\) \|$", table, re.MULTILINE)
        assert said
        assert ratio.startswith(said[1])
        assert rival.split(",")[0] == said[2]
    locks = re.findall(r"^\| lock H=\d+ \|.*\| (\S.*?) (?:\[.*\] )?\| state", page, re.MULTILINE)
    assert locks == ["0.5", "0.35", "< 0.5"]
    assert "| 0.5 / 0.35 (state merging" in table


def test_the_example_system_finds_its_optimum() -> None:
    module = runpy.run_path(str(ROOT / "examples" / "own_system.py"))
    schedule = surepath.Schedule(
        ridge=0.01, threshold=1.0, feature_samples=3000, reward_samples=3000
    )
    result = surepath.learn(module["Valve"](), schedule=schedule, seed=3)
    assert result.actions == (1, 0, 0, 0)


# ---------------------------------------------------------------- files of the project


def test_the_version_is_the_same_everywhere() -> None:
    cited = (ROOT / "CITATION.cff").read_text()
    assert re.findall(r"^version: (.*)$", cited, re.MULTILINE) == [surepath.__version__]
    changes = (ROOT / "CHANGELOG.md").read_text()
    sections = re.findall(r"^## (.*)$", changes, re.MULTILINE)
    assert sections[0] == "Unreleased"
    assert sections[1].split()[0] == surepath.__version__


def test_commands_that_are_named_exist() -> None:
    known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in (*FILES, ".pre-commit-config.yaml"):
        named = set(re.findall(r"`make ([a-z-]+)`", (ROOT / page).read_text()))
        assert named <= known, page


def test_the_oldest_versions_are_the_lowest_that_are_allowed() -> None:
    """Of all that is installed for the tests: no linters, no PyTorch, nothing to build the site."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    tested = [extras[name] for name in extras if name not in ("dev", "docs", "rivals")]
    allowed = [Requirement(text) for text in chain(project["dependencies"], *tested)]
    lowest = {
        each.name: Version(next(iter(each.specifier)).version)
        for each in allowed
        if each.name != "surepath"
    }
    lines = (ROOT / "constraints-oldest.txt").read_text().splitlines()
    assert lines == sorted(lines)
    pinned = dict(line.split("==") for line in lines)
    assert {name: Version(version) for name, version in pinned.items()} == lowest
