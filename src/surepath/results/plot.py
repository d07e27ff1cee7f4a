"""Pictures of a run as Axes of matplotlib, which is an extra and imported here only.

Colours are those of Okabe and Ito, which people who see fewer of them can tell apart; what is
chosen is also larger, and lines differ in their dashes. Every function draws into the Axes that it
is given, or into a figure of its own, which `axes.figure` is.
"""

# matplotlib leaves its keyword arguments untyped:
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from surepath.errors import InputError, MissingExtraError
from surepath.inference.states import UNKNOWN
from surepath.journal.course import Purpose, course_in
from surepath.journal.snapshot import snapshot
from surepath.results.certificate import Certificate
from surepath.results.result import Result
from surepath.results.verify import judged_again
from surepath.results.words import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#8a929e"

LONGEST_TITLE = 90


def plot_result(result: Result, axes: Axes | None = None) -> Axes:
    """The estimated worth of every action by step; the chosen one with the width of its lead."""
    axes = _axes(axes)
    certificate = result.certificate
    if not certificate.levels:
        raise _nothing(certificate.reason)
    for level in certificate.levels:
        others = [q for a, q in enumerate(level.estimates) if a != level.action]
        axes.plot([level.level] * len(others), others, "o", color=GREY, markersize=5)
        chosen = level.estimates[level.action]
        width = level.width if math.isfinite(level.width) else None
        axes.errorbar(level.level, chosen, yerr=width, fmt="D", color=BLUE, capsize=3, markersize=7)
        place = (level.level, chosen)
        axes.annotate(
            str(level.action), place, xytext=(7, 0), textcoords="offset points", color=BLUE
        )
    axes.margins(y=0.2)
    axes.plot([], [], "D", color=BLUE, label="chosen action, with its width")
    axes.plot([], [], "o", color=GREY, label="other actions")
    axes.legend(fontsize=8, loc="upper right", ncols=2)
    axes.locator_params(axis="x", integer=True)
    axes.set(xlabel="step", ylabel="estimated worth")
    axes.set_title(_title(certificate), fontsize=10, parse_math=False)
    return axes


def plot_convergence(journal: str | Path, axes: Axes | None = None) -> Axes:
    """The best known plan and what no plan is worth more than, against episodes.

    journal: the path of one, also of a run that goes on.
    """
    with snapshot(Path(journal)) as (opened, _):
        course = [point for point in course_in(opened) if math.isfinite(point["value"])]
    if not course:
        raise _nothing("a journal without the course of a run")
    axes = _axes(axes)
    episodes = [point["episodes"] for point in course]
    values, bounds = ([point[name] for point in course] for name in ("value", "bound"))
    axes.step(episodes, values, where="post", color=BLUE, label="best known plan")
    axes.step(episodes, bounds, "--", where="post", color=ORANGE, label="no plan is worth more")
    axes.fill_between(episodes, values, bounds, step="post", color=BLUE, alpha=0.1)
    axes.set(xlabel="episodes", ylabel="value", xscale="log")
    axes.legend(fontsize=8)
    return axes


def plot_where(journal: str | Path, axes: Axes | None = None) -> Axes:
    """Where episodes went: by batch, what they were for. journal: the path of one."""
    with snapshot(Path(journal)) as (opened, _):
        course = course_in(opened)
    if not course:
        raise _nothing("a journal without the course of a run")
    axes = _axes(axes)
    before = [0] * len(course)
    batches = [point["batch"] for point in course]
    hatches = ("", "//", "..", "xx")
    for place, purpose in enumerate(Purpose):
        spent = [point["spent"][place] for point in course]
        colour = (GREY, BLUE, ORANGE, GREEN)[place]
        axes.bar(
            batches,
            spent,
            bottom=before,
            color=colour,
            hatch=hatches[place],
            edgecolor="white",
            linewidth=0,
            label=purpose,
        )
        before = [old + new for old, new in zip(before, spent, strict=True)]
    axes.set(xlabel="batch", ylabel="episodes")
    axes.legend(fontsize=8)
    return axes


def plot_states(result: Result, axes: Axes | None = None) -> Axes:
    """The states that were told apart, level by level, and where actions lead; the plan in blue."""
    judged = judged_again(result)
    if judged is None:
        raise _nothing("a result without readings")
    axes = _axes(axes)
    from matplotlib.collections import LineCollection

    layers = judged.machine.layers
    plan = dict(enumerate(judged.plan.edges))
    lines, chosen = list[list[tuple[int, int]]](), list[list[tuple[int, int]]]()
    for level, layer in enumerate(layers[:-1]):
        for state, action in layer.edges:
            target = int(layer.target[state, action])
            if target == UNKNOWN:
                continue
            drawn = chosen if plan.get(level) == (state, action) else lines
            drawn.append([(level, state), (level + 1, target)])
    axes.add_collection(LineCollection(lines, colors=GREY, linewidths=0.6, alpha=0.6))
    axes.add_collection(LineCollection(chosen, colors=BLUE, linewidths=2.5))
    for level, layer in enumerate(layers):
        states = range(len(layer.prefixes))
        axes.plot([level] * len(states), states, "o", color=GREY, markersize=4)
        if level in plan:
            axes.plot(level, plan[level][0], "D", color=BLUE, markersize=7)
    axes.invert_yaxis()
    axes.locator_params(integer=True)
    axes.set(xlabel="level", ylabel="state")
    return axes


def _axes(given: Axes | None) -> Axes:
    if given is not None:
        return given
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plot", "plot") from error
    if in_notebook():
        from matplotlib import pyplot  # whose figures a notebook shows below their cell

        return pyplot.figure(figsize=(8, 4), layout="constrained").subplots()
    return Figure(figsize=(8, 4), layout="constrained").subplots()


def in_notebook() -> bool:
    """Whether this is the kernel of a notebook."""
    running = sys.modules.get("IPython")
    shell = running.get_ipython() if running is not None else None
    return hasattr(shell, "kernel")


def _nothing(got: str) -> InputError:
    return InputError(
        "there is nothing to plot",
        got=got,
        remedy="Give the run a larger budget, or a journal that records its course.",
    )


def _title(certificate: Certificate) -> str:
    return short(certificate.sentence, LONGEST_TITLE)
