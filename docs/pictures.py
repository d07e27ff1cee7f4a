"""Makes the pictures of the docs: `make pictures`."""

from __future__ import annotations

import tempfile
from itertools import product
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

import surepath
from surepath.api import report
from surepath.bench.harness.figures import svg_of

FOLDER = Path(__file__).parent / "pictures"
COLOURS = ("#0072b2", "#e69f00", "#009e73")
"""Of the three positions of the valve."""

STEPS = 3


def position(prefix: tuple[int, ...]) -> int:
    """Of a valve that action 1 opens and action 0 closes."""
    at = 0
    for action in prefix:
        at = min(max(at + (1 if action else -1), 0), 2)
    return at


def tree(axes: Axes) -> None:
    for level in range(STEPS + 1):
        for place, prefix in enumerate(product((0, 1), repeat=level)):
            y = (place + 0.5) / 2**level
            if prefix:
                axes.plot([level - 1, level], [(place // 2 + 0.5) / 2 ** (level - 1), y], "-",
                          color="#8a929e", linewidth=1, zorder=1)  # fmt: skip
            axes.plot(level, y, "o", color=COLOURS[position(prefix)], markersize=13)
    axes.set_title("every sequence is on its own", fontsize=10)


def machine(axes: Axes) -> None:
    places = set[tuple[int, int]]()
    for level in range(STEPS + 1):
        for prefix in product((0, 1), repeat=level):
            places.add((level, position(prefix)))
            if prefix:
                ends = [(position(prefix[:-1]) + 0.5) / 3, (position(prefix) + 0.5) / 3]
                axes.plot([level - 1, level], ends, "-", color="#8a929e", linewidth=1, zorder=1)
    for level, at in sorted(places):
        axes.plot(level, (at + 0.5) / 3, "o", color=COLOURS[at], markersize=13)
    axes.set_title("one dot for each hidden position", fontsize=10)


def merging() -> Figure:
    figure = Figure(figsize=(8, 3), layout="constrained")
    left, right = figure.subplots(1, 2)
    tree(left)
    machine(right)
    for axes in (left, right):
        axes.set(xticks=range(STEPS + 1), yticks=[], xlabel="actions taken", ylim=(0, 1))
        axes.spines[["top", "left", "right"]].set_visible(False)
    return figure


def write(figure: Figure, name: str) -> None:
    (FOLDER / f"{name}.svg").write_text(svg_of(figure), encoding="utf-8")


def main() -> None:
    write(merging(), "merging")
    problem = surepath.make("tabular", horizon=8, states=5, actions=3, observations=8, seed=1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.db"
        result = surepath.learn(problem, journal=path)
        assert result.certified
        picture = report(path, animated=True).picture
    assert picture is not None
    (FOLDER / "gap.svg").write_text(picture, encoding="utf-8")
    for name, axes in (("worth", result.plot()), ("states", result.plot_states())):
        assert isinstance(axes.figure, Figure)
        write(axes.figure, name)


if __name__ == "__main__":
    main()
