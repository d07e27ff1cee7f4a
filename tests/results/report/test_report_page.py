"""The page about a run says all that is known of it, whatever kind of run it is."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surepath
from flaky import Gauge, Walk
from places import ASSETS
from reports import HOSTILE, hostile_result, of_many_prefixes
from surepath.api import report
from surepath.errors import visible
from surepath.results.report.html import element
from surepath.results.report.page import page_of
from surepath.results.report.sheet import sheet_of_result


class Reader(HTMLParser):
    """What a page holds: its elements by name, their ids, and the text of each section."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names, self.open, self.ids = list[str](), list[str](), list[str]()
        self.attributes = list[tuple[str, str | None]]()
        self.text = dict[str, str]()
        self.data = ""
        self._section = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs
        found = dict(attrs)
        self.ids += [found["id"] or ""] if "id" in found else []
        if tag == "section":
            self._section = found["id"] or ""
        if tag != "link":  # the only one that has no end
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["script"] and not self.data:
            self.data = data
        elif "script" not in self.open and "style" not in self.open:
            self.text[self._section] = self.text.get(self._section, "") + data


def read(page: str) -> Reader:
    found = Reader(page)
    assert found.open == []  # every element was closed, in its order
    assert len(set(found.ids)) == len(found.ids)
    links = [value or "" for name, value in found.attributes if name == "href"]
    assert {link[1:] for link in links if link.startswith("#")} <= set(found.ids)
    return found


def test_a_journal_shows_the_whole_run(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    result = surepath.learn(surepath.make("lock", horizon=6), journal=path)
    page = report(path)
    found = read(page.html)
    assert not page.running
    text = found.text
    assert "these 6 actions are optimal with probability at least 0.95" in text["claim"].lower()
    for assumption in result.certificate.assumptions:
        assert assumption in text["claim"]
    assert "a total variation of 0.3" in text["claim"]
    assert "best known plan" in text["convergence"]
    assert "lead and its width" in text["plan"]
    for purpose in ("explore", "tell apart", "identify", "certify"):
        assert purpose in text["where"]
    assert "standard errors" in text["drift"]
    assert "No diagnosis is in this file" in text["doctor"]
    assert surepath.__version__ in text["run-settings"]
    assert f"{result.episodes:,}" in text["claim"]


def test_the_data_of_the_page_are_the_machine(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    result = surepath.learn(Walk(), journal=path)
    data = json.loads(read(report(path).html).data)
    machine = data["machine"]
    assert [point[0] for point in data["course"]][-1] == result.episodes
    assert machine["chosen"] == list(result.actions)
    assert len(machine["plan"]) == len(result.actions) == len(machine["sizes"])
    assert len(machine["read"]) == sum(machine["sizes"])
    edges, prefixes = machine["edges"], machine["prefixes"]
    assert sum(edges["count"][:2]) == result.episodes  # all leave the start, by one of two actions
    assert prefixes["parent"][0] == -1
    assert all(parent < child for child, parent in enumerate(prefixes["parent"]))
    assert max(edges["to"]) < sum(machine["sizes"])


def test_what_the_doctor_found_is_shown_with_the_run_it_preceded(tmp_path: Path) -> None:
    path, options = tmp_path / "run.db", {"seed": 1}
    found = surepath.diagnose(Walk(), episodes=200, journal=path, forecast=False, **options)
    surepath.learn(Walk(), journal=path, **options)
    text = read(report(path).html).text["doctor"]
    for each in found.findings:
        assert each.assumption in text
        assert visible(each.evidence) in text


PROVED: dict[str, Any] = {"guarantee": "proved", "separation": 0.5}


@pytest.mark.parametrize(
    ("system", "options", "words"),
    [
        (Walk(), PROVED, "Certified"),
        (Walk(), {"budget": 60}, "Not certified: not settled yet"),
        (Walk(), {"budget": 2}, "There was no whole plan"),
        (Gauge(), {"budget": 300}, "standard deviations of a reading"),
        ("tabular", {"schedule": "tight"}, "proved beforehand"),
    ],
    ids=["proved", "uncertified", "hardly begun", "vectors", "fixed"],
)
def test_every_kind_of_run_has_its_page(
    system: Any, options: dict[str, Any], words: str, tmp_path: Path
) -> None:
    path, saved = tmp_path / "run.db", tmp_path / "run.json"
    if isinstance(system, str):
        system = surepath.make(system, horizon=2, states=2, observations=3)
    surepath.learn(system, journal=path, **options).save(saved)
    for each in (path, saved):
        found = read(report(each).html)
        assert words in " ".join(found.text.values())
    assert "does not say how the run went on" in found.text["convergence"]


def test_a_run_of_which_nothing_can_be_said_yet_has_its_page(tmp_path: Path) -> None:
    features = surepath.Custom(lambda batch: np.eye(4)[np.asarray(batch)], 4, 1.0)
    path, pages = tmp_path / "run.db", list[str]()

    def look(_: surepath.Round) -> None:
        pages.append(report(path).html)

    surepath.learn(Walk(), features=features, journal=path, budget=150, callback=look)
    text = read(pages[-1]).text
    assert "not come far enough" in text["claim"]
    assert "best known plan" in text["convergence"]


@pytest.mark.parametrize(
    "name", sorted(path.name for path in ASSETS.iterdir() if path.suffix in (".db", ".json"))
)
def test_files_of_older_versions_have_their_page(name: str, tmp_path: Path) -> None:
    copy = tmp_path / name
    copy.write_bytes((ASSETS / name).read_bytes())
    assert "claim" in read(report(copy).html).text


def test_hostile_texts_stay_text(tmp_path: Path) -> None:
    page = report(hostile_result(tmp_path / "run.json")).html
    found = read(page)
    assert found.names.count("script") == 2  # its data and its own
    assert "img" not in found.names
    assert not [name for name, _ in found.attributes if name.startswith("on")]
    assert all(c.isprintable() or c == "\n" for c in page)
    assert "\\x1b[31m\\x00\\u202eabc" in found.text["claim"]
    assert "characters)" in found.text["claim"]  # what is long is cut
    assert len(page) < 10 * len(HOSTILE) + 200_000


def test_a_hostile_system_stays_text(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    surepath.learn(Walk(identity={"system": HOSTILE}), journal=path, budget=100)
    found = read(report(path).html)
    assert found.names.count("script") == 2
    assert "</script>" not in found.data
    assert "<script>window.hit=1</script>" in found.text[""]  # the title, as text


def test_nothing_is_fetched(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    surepath.learn(Walk()).save(path)
    page = report(path).html
    found = read(page)
    for name, value in found.attributes:
        if name in ("src", "href", "action", "data"):
            assert value is not None
            assert value.startswith(("#", "data:"))
    policies = [value or "" for name, value in found.attributes if name == "content"]
    assert policies[0].startswith("default-src 'none'; ")
    assert re.findall(r"https?://[^\"]*", page) == ["http://www.w3.org/2000/svg"]  # a name


def test_twenty_thousand_prefixes_are_a_page_of_less_than_five_megabytes() -> None:
    page = page_of(sheet_of_result(of_many_prefixes(), "large.json"))
    assert len(page.encode()) < 5_000_000
    machine = json.loads(read(page).data)["machine"]
    assert sum(machine["sizes"]) == len(machine["prefixes"]["state"]) > 20_000
    assert len(machine["edges"]["from"]) > 80_000


def test_a_drawing_of_many_corners_is_whole() -> None:
    corners = " ".join(f"{place},{place % 7}" for place in range(2000))
    assert f'd="M{corners}Z"' in element("path", d=f"M{corners}Z")
