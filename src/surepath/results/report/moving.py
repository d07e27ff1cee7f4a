"""A picture that moves: a run closing its gap, as one SVG without a script.

It plays wherever a browser shows pictures. Who asked the browser for less motion, and whoever
prints it, sees the end.
"""

from __future__ import annotations

from collections.abc import Sequence

from surepath.errors import InputError
from surepath.journal.course import Point
from surepath.results.report.charts import LEFT, RIGHT, WIDTH, closing, drawn_points, told
from surepath.results.report.html import Html, asset, element
from surepath.results.report.scale import Scale
from surepath.results.report.sheet import Sheet
from surepath.results.words import number, short

HEIGHT, HEAD = 500, 64
"""Of the whole picture, and of what is written above the chart."""

FRAMES = 48
"""So often the numbers above the chart change."""

PLAYED, HELD = 7.0, 4.0
"""Seconds: until the gap is closed, and until it begins again."""

LONGEST, LONGEST_TITLE = 112, 44
"""Characters of a line that fit, and of the title beside the names of the lines."""


def moving_picture(sheet: Sheet) -> str:
    """The course of a run as an SVG that plays again and again."""
    shown = drawn_points(sheet.course)
    if len(shown) < 2 or shown[0]["episodes"] >= shown[-1]["episodes"]:
        raise InputError(
            "there is no course to draw",
            got=f"{sheet.name}, with {len(shown)} points at which there was a whole plan",
            remedy="Give the journal of a run that has come further: learn(..., journal=path).",
        )
    across, parts = closing(shown)
    style = asset("drawing.css", "moving.css")
    whole = element(
        "svg",
        element("title", f"{sheet.title}: {told(shown[-1])}"),
        element("style", Html(f"{style}{_timing()}")),
        element("rect", width=WIDTH, height=HEIGHT, rx=8, cls="paper"),
        element("text", short(sheet.title, LONGEST_TITLE), x=16, y=28, cls="name"),
        *_frames(shown, across),
        element("text", _ending(sheet), x=16, y=52, cls="said end-of-run"),
        element("g", *parts, _cover(), transform=f"translate(0 {HEAD})", cls="chart"),
        *_keys(),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
    )
    return f"{whole}\n"


def _ending(sheet: Sheet) -> str:
    """What the run came to, or that it goes on."""
    if sheet.running or sheet.result is None:
        return "the run goes on"
    return short(sheet.result.certificate.sentence, LONGEST)


def _frames(shown: Sequence[Point], across: Scale) -> list[Html]:
    """What was known at moments that are as far apart on the axis of episodes."""
    frames, place = list[Html](), 0
    for frame in range(FRAMES):
        at = LEFT + (RIGHT - LEFT) * frame / FRAMES
        while place + 1 < len(shown) and across(shown[place + 1]["episodes"]) <= at:
            place += 1
        point = shown[place]
        words = (
            f"{number(point['episodes'])} episodes    best known plan {point['value']:.3f}    "
            f"bound {point['bound']:.3f}    gap {point['bound'] - point['value']:.3f}"
        )
        delay = f"animation-delay:{PLAYED * frame / FRAMES - PLAYED - HELD:.3f}s"
        frames.append(element("text", words, x=16, y=52, cls="said frame", style=delay))
    return frames


def _keys() -> list[Html]:
    """What the lines are, in their colours."""
    keys = (("bound", "no plan is worth more"), ("incumbent", "best known plan"), ("gap", "gap"))
    places = (RIGHT - 370, RIGHT - 190, RIGHT - 36)
    return [
        element("text", words, x=x, y=28, cls=f"key {key}")
        for (key, words), x in zip(keys, places, strict=True)
    ]


def _cover() -> Html:
    """Hides what is still to come, and goes away to the right."""
    return element("rect", x=LEFT, y=4, width=RIGHT - LEFT + 8, height=384, cls="cover")


def _timing() -> str:
    whole = PLAYED + HELD
    shown, played = 100 * PLAYED / FRAMES / whole, 100 * PLAYED / whole
    return (
        f":root{{--whole:{whole:g}s}}"
        f"@keyframes frame{{0%{{opacity:1}}{shown:.3f}%,100%{{opacity:0}}}}"
        f"@keyframes after{{0%{{opacity:0}}{played:.3f}%,100%{{opacity:1}}}}"
        f"@keyframes away{{0%{{transform:translateX(0)}}{played:.3f}%,100%"
        f"{{transform:translateX({RIGHT - LEFT + 8}px)}}}}"
    )
