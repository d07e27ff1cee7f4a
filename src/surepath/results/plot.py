"""Pictures of a result; matplotlib is an extra and imported here only."""

# matplotlib leaves its keyword arguments untyped:
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from surepath.errors import InputError, MissingExtraError
from surepath.results.certificate import Certificate
from surepath.results.usage import Usage

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CHOSEN, OTHER, COST = "#1b7837", "#9e9e9e", "#4575b4"


def plot_result(certificate: Certificate, usage: Usage) -> Figure:
    """Estimates of every action by level, the chosen one marked, and below them the expansions."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plot", "plot") from error
    if not certificate.levels:
        raise InputError(
            "there is nothing to plot: the run ended before it had a plan",
            got=certificate.reason,
            remedy="Give it a larger budget.",
        )
    figure = Figure(figsize=(8, 4.8), layout="constrained")
    values, cost = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    _plot_values(values, certificate)
    levels = range(len(usage.expansions))
    cost.bar(levels, usage.expansions, color=COST, width=0.6)
    cost.set(xlabel="level", ylabel="expansions")
    cost.locator_params(integer=True)
    figure.suptitle(_title(certificate), fontsize=11)
    return figure


def _plot_values(axes: Axes, certificate: Certificate) -> None:
    for level in certificate.levels:
        others = [q for a, q in enumerate(level.estimates) if a != level.action]
        axes.plot([level.level] * len(others), others, "o", color=OTHER, markersize=5)
        chosen = level.estimates[level.action]
        axes.errorbar(
            level.level,
            chosen,
            yerr=level.width if math.isfinite(level.width) else None,
            fmt="o",
            color=CHOSEN,
            capsize=3,
            markersize=7,
        )
        axes.annotate(
            str(level.action),
            (level.level, chosen),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
            color=CHOSEN,
        )
    axes.margins(y=0.2)
    axes.set(ylabel="estimated value")
    axes.plot([], [], "o", color=CHOSEN, label="chosen action, with its width")
    axes.plot([], [], "o", color=OTHER, label="other actions")
    axes.legend(fontsize=8, loc="upper right", ncols=2)


def _title(certificate: Certificate) -> str:
    if certificate.certified:
        return f"certified: {certificate.claim}"
    return f"not certified: {certificate.reason}"
