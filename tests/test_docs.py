"""The site is built without a warning, no link is dead, and what files of the project say is so."""

from __future__ import annotations

import html
import re
import runpy
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path
from urllib.parse import unquote

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import surepath
from places import ROOT

PAGES = sorted((ROOT / "docs").glob("*.md"))
FILES = ["CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md"]


def headings(page: Path) -> set[str]:
    """What links into a page may point at, by the rule of code hosting sites and of the site."""
    titles = re.findall(r"^#{1,4} (.*)$", page.read_text(), re.MULTILINE)
    plain = [re.sub(r"\[(.*?)\]\(.*?\)", r"\1", title).lower() for title in titles]
    return {re.sub(r"[^\w\- ]", "", title).strip().replace(" ", "-") for title in plain}


@pytest.mark.parametrize("page", [*FILES, *(f"docs/{p.name}" for p in PAGES)])
def test_links_and_pictures_lead_somewhere(page: str) -> None:
    """Also into the middle of a page; those that leave the project are not followed."""
    here = ROOT / page
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?", here.read_text()):
        if not target.startswith("http"):
            there = here.parent / target if target else here
            assert there.exists(), target
            assert not anchor or anchor in headings(there), f"{target}#{anchor}"


def test_the_readme_is_a_screen_and_a_half() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) < 100


def test_the_site(tmp_path: Path) -> None:
    """As `make docs` builds it, with the notebook run: any warning fails."""
    pytest.importorskip("sphinx")
    site = built_in(tmp_path)
    no_link_is_dead(site)
    the_tutorial_ran(site)
    every_page_and_every_public_name_is_there(site)


def built_in(out: Path) -> Path:
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", "-b", "html"]
    folders = [str(ROOT / "docs"), str(out / "html"), "-d", str(out / "trees")]
    built = subprocess.run([*command, *folders], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return out / "html"


def no_link_is_dead(site: Path) -> None:
    """Links and anchors of every page, as they came to be; nothing is asked over the network."""
    pages = {path: path.read_text() for path in site.rglob("*.html")}
    names = {path: set(re.findall(r'\sid="([^"]+)"', text)) for path, text in pages.items()}
    checked = 0
    for page, text in pages.items():
        for link in re.findall(r'\s(?:href|src)="([^"]+)"', text):
            target, _, anchor = unquote(html.unescape(link)).partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            there = (page.parent / target.partition("?")[0]).resolve() if target else page
            assert there.exists(), f"{page.name}: {link}"
            assert not anchor or there.suffix != ".html" or anchor in names[there], link
            checked += 1
    assert checked > 500


def the_tutorial_ran(site: Path) -> None:
    page = (site / "tutorial.html").read_text()
    assert "Certified: optimal" in page
    assert page.count("<img") >= 3
    assert "the best of all 3.590" in page


def every_page_and_every_public_name_is_there(site: Path) -> None:
    for page in PAGES:
        assert (site / f"{page.stem}.html").exists()
    reference = (site / "api.html").read_text()
    for name in surepath.__all__:
        assert f'id="surepath.{name}"' in reference


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
