"""Pictures are Axes, of their own figure or of somebody else's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.figure import Figure

import surepath
from flaky import Walk
from places import ASSETS
from reports import HOSTILE


def test_every_picture_draws_into_the_axes_it_is_given(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    result = surepath.learn(Walk(), journal=path)
    for draw in (
        result.plot,
        result.plot_states,
        lambda axes=None: surepath.plot_convergence(path, axes),
        lambda axes=None: surepath.plot_where(path, axes),
    ):
        own = Figure().subplots()
        assert draw(own) is own
        made = draw()
        assert made.figure is not own.figure
        assert made.get_xlabel()
        assert made.get_ylabel()
        assert made.lines or made.collections or made.patches
        made.figure.canvas.draw()


def test_what_is_drawn_is_what_was_found(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    result = surepath.learn(Walk(), journal=path)
    bars = surepath.plot_where(path).patches
    assert sum(bar.get_height() for bar in bars) == result.episodes
    incumbent, bound = surepath.plot_convergence(path).lines
    assert incumbent.get_ydata()[-1] == result.value
    assert (bound.get_ydata() >= incumbent.get_ydata()).all()
    assert incumbent.get_linestyle() != bound.get_linestyle()  # without colours too
    edges, plan = result.plot_states().collections
    assert len(plan.get_paths()) == len(result.actions) - 1
    assert len(edges.get_paths()) > 1


def test_hostile_texts_are_drawn_as_they_are() -> None:
    result = surepath.learn(Walk(), budget=60)
    hostile = replace(result.certificate, reason="$\\frac{$ " + HOSTILE)
    axes = replace(result, certificate=hostile).plot()
    axes.figure.canvas.draw()
    assert len(axes.get_title()) < 120
    assert axes.get_title().isprintable()


def test_there_is_not_always_something_to_draw(tmp_path: Path) -> None:
    older = tmp_path / "a.db"
    older.write_bytes((ASSETS / "journal_engine_5.db").read_bytes())
    for draw in (surepath.plot_convergence, surepath.plot_where):
        with pytest.raises(surepath.InputError, match="nothing to plot"):
            draw(older)
    fixed = surepath.learn(
        surepath.make("tabular", horizon=2, states=2, observations=3), schedule="tight"
    )
    with pytest.raises(surepath.InputError, match="nothing to plot"):
        fixed.plot_states()
