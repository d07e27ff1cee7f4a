"""The picture of a run closing its gap."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

import surepath
from commands import invoke
from flaky import Walk
from reports import HOSTILE
from surepath.api import report
from surepath.journal.course import Point
from surepath.results.report.moving import FRAMES, LONGEST, moving_picture
from surepath.results.report.sheet import Sheet

SVG = "{http://www.w3.org/2000/svg}"


def point(episodes: int, value: float, bound: float) -> Point:
    return {
        "batch": episodes, "episodes": episodes, "steps": 3 * episodes, "value": value,
        "bound": bound, "states": 4, "open_questions": 1, "spent": [1, 0, 0, 0],
    }  # fmt: skip


COURSE = [point(10, 0.25, 4.0), point(100, 0.5, 1.0), point(1000, 0.75, 0.75)]


def said(picture: str) -> list[str]:
    """What is written above the chart, moment by moment, and at the end."""
    texts = ElementTree.fromstring(picture).iter(f"{SVG}text")
    return [each.text or "" for each in texts if "said" in each.get("class", "")]


def test_the_numbers_follow_the_course() -> None:
    result = surepath.learn(Walk())
    lines = said(moving_picture(Sheet("run.db", result, None, course=COURSE)))
    assert len(lines) == FRAMES + 1
    gaps = [float(line.split("gap ")[1]) for line in lines[:-1]]
    assert gaps[0] == 3.75
    assert gaps[FRAMES // 2 - 1] == 3.75  # a tenth of the episodes is half of the way
    assert set(gaps[FRAMES // 2 + 1 :]) == {0.5}
    assert lines[-1] == f"certified: {result.certificate.claim}"


def test_a_run_that_goes_on_claims_nothing() -> None:
    result = surepath.learn(Walk())
    assert said(moving_picture(Sheet("a", result, None, course=COURSE, running=True)))[-1] == (
        "the run goes on"
    )
    refused = replace(result, certificate=replace(result.certificate, status=surepath.Status.OPEN))
    last = said(moving_picture(Sheet("a", refused, None, course=COURSE)))[-1]
    assert last.startswith("not certified: ")


def test_whatever_a_run_is_called_stays_text() -> None:
    result = surepath.learn(Walk())
    hostile = replace(result, certificate=replace(result.certificate, claim=HOSTILE))
    call = {"system": {"problem": HOSTILE}}
    picture = moving_picture(Sheet(HOSTILE, hostile, None, call=call, course=COURSE))
    names = {each.tag.removeprefix(SVG) for each in ElementTree.fromstring(picture).iter()}
    assert names <= {"svg", "title", "style", "rect", "text", "g", "line", "path", "polyline"}
    assert not re.search("[\x00\x1b\u202e\u2066\u2028]", picture)
    assert max(len(each) for each in said(picture)) <= LONGEST
    assert len(picture) < 40_000


def test_without_a_course_there_is_nothing_to_show(tmp_path: Path) -> None:
    result = surepath.learn(Walk())
    result.save(tmp_path / "run.json")
    with pytest.raises(surepath.InputError, match="no course to draw"):
        report(tmp_path / "run.json", animated=True)
    with pytest.raises(surepath.InputError, match="no course to draw"):
        moving_picture(Sheet("a", result, None, course=COURSE[:1]))


def test_the_command_writes_it_beside_the_page(tmp_path: Path) -> None:
    path, picture = tmp_path / "run.db", tmp_path / "gap.svg"
    result = surepath.learn(Walk(), journal=path)
    done = invoke("report", str(path), "--animate", str(picture))
    assert done.exit_code == 0, done.output
    assert said(picture.read_text())[-1] == f"certified: {result.certificate.claim}"
    assert (tmp_path / "run.html").exists()
    kept = path.read_bytes()
    for wrong in (path, tmp_path / "run.html", tmp_path / "none" / "a.svg"):
        assert invoke("report", str(path), "--animate", str(wrong)).exit_code == 2
    assert path.read_bytes() == kept
