"""The drawings of a page: how the gap closed, where episodes went, whether anything drifted."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from surepath.journal.course import Point, Purpose
from surepath.results.report.html import (
    EMPTY,
    Child,
    Html,
    element,
    folded,
    scrolled,
    table,
    together,
)
from surepath.results.report.scale import Scale
from surepath.results.report.steadiness import LIMIT, Window
from surepath.results.words import number

WIDTH, LEFT, RIGHT = 860, 74, 846
"""Of all drawings, in their own units."""

CLOSED = 382.0
"""Where a gap lies that is closed: below all others, which have a logarithm."""

FAR = 7.0
"""Bounds so many times as far above as all that follows is high, and above twice what the plan is
worth, are cut off at the top."""

MOST_POINTS = 600
"""That are drawn of a course, and listed below it."""


def drawing(height: int, label: str, *parts: Child) -> Html:
    return element(
        "svg", *parts, viewBox=f"0 0 {WIDTH} {height}", role="img", aria_label=label, cls="chart"
    )


# ---------------------------------------------------------------- how the gap closed


def thinned(points: Sequence[Point]) -> list[Point]:
    """Few enough to draw; the first and the last among them."""
    step = max(1, -(-len(points) // MOST_POINTS))
    return [*points[:-1:step], *points[-1:]]


def drawn_points(points: Sequence[Point]) -> list[Point]:
    """Of a course those that a drawing can show: from the first whole plan on."""
    return [point for point in thinned(points) if math.isfinite(point["value"])]


def closing(shown: Sequence[Point]) -> tuple[Scale, list[Html]]:
    """Value, bound and gap against episodes, drawn; and where a number of episodes lies."""
    across = Scale.over([p["episodes"] for p in shown], LEFT, RIGHT, logarithmic=True)
    return across, [*_values(shown, across), *_gaps(shown, across), *_episodes(across, 404)]


def told(last: Point) -> str:
    """What a drawing of the course shows, for those who do not see it."""
    return (
        f"Over {number(last['episodes'])} episodes the value of the best known plan came to "
        f"{number(last['value'])} and the bound on all plans to {number(last['bound'])}."
    )


def convergence(points: Sequence[Point]) -> Html:
    """Incumbent, bound and gap against episodes."""
    shown = drawn_points(points)
    if len(shown) < 2:
        return element("p", "There was no whole plan for long enough to draw how its gap closed.")
    whole = drawing(430, told(shown[-1]), *closing(shown)[1])
    rows: list[list[Child]] = [
        [
            number(p["episodes"]),
            number(p["value"]),
            number(p["bound"]),
            number(p["bound"] - p["value"]),
            "-" if p["states"] is None else number(p["states"]),
            "-" if p["open_questions"] is None else number(p["open_questions"]),
        ]
        for p in shown
    ]
    head = ["episodes", "incumbent", "bound", "gap", "states", "open questions"]
    listed = folded("The numbers behind it", table(head, rows, "The course of the run"))
    drawn = scrolled(whole, "Chart of value, bound and gap")
    return together(_legend(), drawn, element("p", cls="readout", aria_hidden="true"), listed)


def _legend() -> Html:
    keys = [("incumbent", "best known plan"), ("bound", "no plan is worth more"), ("gap", "gap")]
    return element(
        "ul",
        *(element("li", element("span", cls=f"key {key}"), words) for key, words in keys),
        cls="legend",
    )


def _values(points: Sequence[Point], across: Scale) -> list[Html]:
    """The upper drawing. A bound far above all that follows would flatten the rest."""
    values = [p["value"] for p in points]
    late = [p["bound"] for p in points[len(points) // 3 :] if math.isfinite(p["bound"])]
    low, high = min(values), max(values + late)
    highest = high + max(FAR * (high - low), abs(high))
    bounds = [p["bound"] for p in points if p["bound"] <= highest]
    up = Scale.over(values + late + bounds, 236, 14)
    limits = [(p["episodes"], min(p["bound"], up.high)) for p in points]
    incumbents = [(p["episodes"], p["value"]) for p in points]
    above, below = _stairs(limits, across, up), _stairs(incumbents, across, up)
    area = element("path", d=f"M{' '.join([*above, *reversed(below)])}Z", cls="area")
    lines = [
        element("polyline", points=" ".join(side), cls=f"line {key}")
        for side, key in ((above, "bound"), (below, "incumbent"))
    ]
    return [*_rows(up, "value"), area, *lines]


def _gaps(points: Sequence[Point], across: Scale) -> list[Html]:
    """The lower drawing, in which a gap that shrinks tenfold falls as far each time."""
    gaps = [(p["episodes"], p["bound"] - p["value"]) for p in points]
    positive = [gap for _, gap in gaps if 0 < gap < math.inf]
    if not positive:
        return []
    up = Scale.over(positive, 356, 276, logarithmic=True)

    def height(gap: float) -> float:
        return up(gap) if gap > 0 else CLOSED

    held = [(at, min(gap, up.high)) for at, gap in gaps]
    line = element("polyline", points=" ".join(_stairs(held, across, height)), cls="line gap")
    closed = [
        element("line", x1=LEFT, x2=RIGHT, y1=CLOSED, y2=CLOSED, cls="grid"),
        element("text", "0", x=LEFT - 8, y=CLOSED + 4, cls="mark end"),
    ]
    return [*_rows(up, "gap"), *closed, line]


def _stairs(
    pairs: Sequence[tuple[float, float]], across: Scale, up: Callable[[float], float]
) -> list[str]:
    """Corners of a line that keeps its height until the next point."""
    corners, before = list[str](), ""
    for at, value in pairs:
        x, y = across(at), f"{up(value):g}"
        corners += [f"{x:g},{before}"] if before and before != y else []
        corners.append(f"{x:g},{y}")
        before = y
    return corners


def _rows(up: Scale, name: str) -> list[Html]:
    parts = list[Html]()
    for mark in up.marks():
        y = up(mark)
        parts.append(element("line", x1=LEFT, x2=RIGHT, y1=y, y2=y, cls="grid"))
        parts.append(element("text", number(mark), x=LEFT - 8, y=y + 4, cls="mark end"))
    middle = (up.start + up.end) / 2
    turned = f"translate(14 {middle:g}) rotate(-90)"
    return [*parts, element("text", name, transform=turned, cls="mark middle")]


def _episodes(across: Scale, y: float) -> list[Html]:
    marks = [
        element("text", number(mark), x=across(mark), y=y, cls="mark middle")
        for mark in across.marks()
    ]
    name = element("text", "episodes", x=(LEFT + RIGHT) / 2, y=y + 20, cls="mark middle")
    return [*marks, name]


# ---------------------------------------------------------------- where episodes went


def spending(parts: Sequence[tuple[str, int, str]]) -> Html:
    """Names, episodes and what they were for, as one bar and a table."""
    whole = sum(count for _, count, _ in parts)
    if not whole:
        return EMPTY
    bars, start = list[Html](), 0.0
    for place, (name, count, _) in enumerate(parts):
        width = WIDTH * count / whole
        label = f"{name}: {number(count)}"
        if width > 0:
            bar = element(
                "rect", x=round(start, 1), y=6, width=round(width, 1), height=34, cls=f"part{place}"
            )
            bars.append(element("g", element("title", label), bar))
        start += width
    label = ", ".join(f"{name} {number(count)}" for name, count, _ in parts)
    rows: list[list[Child]] = [
        [
            together(element("span", cls=f"key part{place}"), name),
            number(count),
            f"{count / whole:.1%}",
            words,
        ]
        for place, (name, count, words) in enumerate(parts)
    ]
    head = ["for", "episodes", "share", "what that is"]
    listed = table(head, rows, "Where episodes went")
    return together(drawing(46, f"Episodes by purpose: {label}", *bars), listed)


PURPOSES = {
    Purpose.EXPLORE: "states that nobody had seen, or hardly",
    Purpose.TELL_APART: "the plan against what may be better",
    Purpose.IDENTIFY: "which state an action leads to",
    Purpose.CERTIFY: "the plan walked, merges and predictions audited, the proof",
}


# ---------------------------------------------------------------- drift


def steadiness(windows: Sequence[Window]) -> Html:
    """How far rewards were from the mean of their own prefix, part by part of the run."""
    largest = max([LIMIT + 1, *(abs(w.score) for w in windows)])
    up, across = Scale(-largest, largest, 170, 12), Scale(0, len(windows), LEFT, RIGHT)
    band = element(
        "rect", x=LEFT, y=up(LIMIT), width=RIGHT - LEFT, height=up(-LIMIT) - up(LIMIT), cls="band"
    )
    dots = [
        element(
            "g",
            element("title", f"from episode {number(w.first)}: {w.score:.1f}"),
            element("line", x1=across(i + 0.5), x2=across(i + 0.5), y1=up(0), y2=up(w.score)),
            element("circle", cx=across(i + 0.5), cy=up(w.score), r=4),
            cls="far" if abs(w.score) > LIMIT else "near",
        )
        for i, w in enumerate(windows)
    ]
    zero = element("line", x1=LEFT, x2=RIGHT, y1=up(0), y2=up(0), cls="axis")
    ends = [
        element("text", number(windows[0].first), x=LEFT, y=190, cls="mark"),
        element("text", number(windows[-1].last), x=RIGHT, y=190, cls="mark end"),
        element("text", "episode", x=(LEFT + RIGHT) / 2, y=190, cls="mark middle"),
    ]
    far = sum(abs(w.score) > LIMIT for w in windows)
    label = (
        f"{far} of {len(windows)} parts of the run paid more than {LIMIT:g} standard errors above "
        "or below what the same actions paid over the whole run."
    )
    whole = drawing(200, label, band, *_rows(up, "standard errors"), zero, *dots, *ends)
    return scrolled(whole, "Rewards over time")
