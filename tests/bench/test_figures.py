"""Figures of a suite as files: lines, small, and the same every time."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from places import ROOT
from surepath.bench.harness.figures import compact, draw
from surepath.bench.harness.report import Figure, Line

STEPS = tuple(float(each) for each in np.geomspace(10, 1e5, 60))
RIVALS = [Line(f"rival {n}", STEPS, tuple(np.linspace(0, 1, 60) ** (n + 1))) for n in range(13)]


def test_a_figure_of_many_lines_is_a_small_file(tmp_path: Path) -> None:
    pictures = list[bytes]()
    for name in ("a.svg", "b.svg"):
        draw(Figure("many", "Many rivals", "steps", "success", RIVALS, log="x"), tmp_path / name)
        pictures.append((tmp_path / name).read_bytes())
    assert pictures[0] == pictures[1]
    assert len(pictures[0].splitlines()) < 450
    assert len(pictures[0]) < 50_000
    assert b"<metadata" not in pictures[0]
    assert b"rival 12" in pictures[0]
    ElementTree.fromstring(pictures[0])


def test_points_stay_points(tmp_path: Path) -> None:
    points = Line("measured", (1.0, 2.0, 4.0), (3.0, 1.0, 2.0), points=True)
    draw(Figure("few", "Points", "x", "y", [points]), tmp_path / "a.svg")
    alone = (tmp_path / "a.svg").read_text().count("<use")
    draw(Figure("few", "Points", "x", "y", [Line("a", points.x, points.y)]), tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text().count("<use") == alone - 4  # one in the legend


def test_a_path_keeps_its_places() -> None:
    assert compact('<path d="M 1.23456 2 \nL 300.004 -0.001 \nz\n" id="a"/>') == (
        '<path d="M 1.23 2 L 300 0 z" id="a"/>'
    )


@pytest.mark.parametrize("path", sorted((ROOT / "docs").glob("*/*.svg")), ids=lambda p: p.name)
def test_pictures_of_the_docs_are_small(path: Path) -> None:
    text = path.read_text()
    ElementTree.fromstring(text.encode())
    assert len(text.splitlines()) < 500
    assert "<metadata" not in text
