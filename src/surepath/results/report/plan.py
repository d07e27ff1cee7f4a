"""The plan, step by step: what leads by how much, how sure that is, and what comes second."""

from __future__ import annotations

import math
from collections.abc import Callable

from surepath.inference.judgement import Judgement
from surepath.inference.paths import Challenger
from surepath.results.certificate import Level
from surepath.results.report.html import EMPTY, Child, Html, element, table, together
from surepath.results.report.scale import Scale
from surepath.results.result import Result
from surepath.results.words import number, second_best

Named = Callable[[int], str]
"""How an action is called."""

WIDE = 240
"""Of the small drawing of a lead, in its own units."""

MOST_AHEAD = 10
"""Actions of a runner-up that are written out."""


def strip(result: Result, named: Named) -> Html:
    """The actions in a row."""
    return element(
        "ol",
        *(element("li", named(action)) for action in result.actions),
        cls="strip",
        aria_label="The plan, one action a step",
    )


def steps(result: Result, judged: Judgement | None, named: Named) -> Html:
    """A row for each step, with a drawing of its lead."""
    levels = result.certificate.levels
    if not levels:
        return element("p", "There was no whole plan when the run stopped.")
    ends = [0.0] + [
        end for level in levels for end in _ends(level) if math.isfinite(end)
    ]  # the line at 0 is always there
    across = Scale.over(ends, 6, WIDE - 6)
    rows = [_row(level, across, _second(level, judged, named), named) for level in levels]
    head = ["step", "action", "worth", "lead and its width", "", "runner-up", "readings"]
    whole = table(head, rows, "The plan, step by step", "steps")
    return together(element("p", _explained(result), cls="hint"), whole)


def _explained(result: Result) -> str:
    settles = (
        "these bars are of the readings that proposed the plan. It was proved by evidence over all "
        "steps together, on fresh readings, so a bar may cross the line"
        if result.certificate.guarantee == "proved" and result.certified
        else "a bar that stays right of the line settles the step"
    )
    return (
        "Worth: what the rest of the episode is estimated to pay from this action on. Lead: over "
        "the alternative that is hardest to rule out. Its width is how far that estimate may be "
        f"off if the claim holds; {settles}."
    )


def _ends(level: Level) -> tuple[float, float]:
    return level.margin - level.width, level.margin + level.width


def _row(level: Level, across: Scale, second: tuple[int, str] | None, named: Named) -> list[Child]:
    width = number(level.width, 3) if math.isfinite(level.width) else "unknown"
    alone = math.isinf(level.margin)
    lead = "no other action" if alone else f"{number(level.margin, 3)} \u00b1 {width}"
    return [
        str(level.level),
        element("b", named(level.action)),
        number(level.estimates[level.action]),
        EMPTY if alone else _bar(level, across),
        lead,
        "none" if second is None else together(element("b", named(second[0])), second[1]),
        number(level.samples),
    ]


def _bar(level: Level, across: Scale) -> Html:
    """A dot for the lead and a bar for its width; the rest of the row says the same in words."""
    low, high = (across(end) if math.isfinite(end) else None for end in _ends(level))
    settled = "settled" if level.margin > level.width else "open"
    bar = (
        None
        if low is None or high is None
        else element("line", x1=low, x2=high, y1=11, y2=11, cls="whisker")
    )
    return element(
        "svg",
        element("line", x1=across(0), x2=across(0), y1=1, y2=21, cls="zero"),
        bar,
        element("circle", cx=across(level.margin), cy=11, r=5),
        viewBox=f"0 0 {WIDE} 22",
        cls=f"lead {settled}",
        aria_hidden="true",
    )


def _second(level: Level, judged: Judgement | None, named: Named) -> tuple[int, str] | None:
    """The action that comes second, and how its plan would go on."""
    here = [] if judged is None else [c for c in judged.challengers if c.level == level.level]
    if here:
        closest = max(here, key=lambda challenger: challenger.excess)
        return closest.action, _ahead(closest, named)
    other = second_best(level.estimates, level.action)
    return None if other is None else (other, f", worth {number(level.estimates[other])}")


def _ahead(challenger: Challenger, named: Named) -> str:
    rest = challenger.path.actions[1:]
    more = " ..." if len(rest) > MOST_AHEAD else ""
    then = f", then {' '.join(map(named, rest[:MOST_AHEAD]))}{more}" if rest else ""
    gains = f"; may gain {number(challenger.loss, 3)}" if challenger.loss > 0 else ""
    return then + gains
