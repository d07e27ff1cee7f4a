"""A result as tables for people: the evidence for every step, and what a person asks first."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from rich.markup import escape
from rich.table import Table

from surepath.builtin_problems.base import Problem
from surepath.cli.tables import shown
from surepath.results.certificate import Level
from surepath.results.result import Result
from surepath.results.usage import Usage
from surepath.results.words import action_name, number, second_best, short
from surepath.system import Actions, System, action_names

MOST_ACTIONS = 40
"""Of a plan that are written out."""

LONGEST_NAME = 24
"""Characters of an action's name that are shown."""

Cell = Callable[[Level], str]


def evidence(result: Result, system: System) -> Table:
    """One row for each step of the plan; columns that would say nothing are left out."""
    names = action_names(system)
    levels = result.certificate.levels
    columns: dict[str, Cell] = {
        "step": lambda level: str(level.level),
        "action": lambda level: _named(names, level.action),
        "worth": lambda level: f"{level.estimates[level.action]:.4f}",
        "lead": lambda level: f"{level.margin:.4f}" if math.isfinite(level.margin) else "-",
        "width": lambda level: f"{level.width:.4f}" if math.isfinite(level.width) else "-",
        "next best": lambda level: _second(names, level),
        "readings": lambda level: number(level.samples, 3),
    }
    if any(level.coverage for level in levels):
        columns["coverage"] = lambda level: f"{level.coverage:.3f}"
    if len({level.source for level in levels}) > 1:
        columns["from"] = lambda level: level.source
    table = Table(*columns)
    for level in levels:
        table.add_row(*(cell(level) for cell in columns.values()))
    return table


def _named(names: Sequence[str], action: int) -> str:
    return escape(short(action_name(names, action), LONGEST_NAME))


def _second(names: Sequence[str], level: Level) -> str:
    other = second_best(level.estimates, level.action)
    return "-" if other is None else _named(names, other)


def summary(result: Result, system: System) -> Table:
    """The plan, its value, how sure that is, what it cost and what it assumes."""
    certificate = result.certificate
    rows = [
        ("plan", written(result.actions, action_names(system))),
        ("value", f"{result.value:.4f}; {_best_possible(result)}"),
    ]
    if certificate.certified:
        rows.append(("sure", f"[green]certified[/green]: {shown(certificate.claim)}"))
        rows.append(("because", shown(certificate.reason)))
    else:
        rows.append(("sure", f"[yellow]not certified[/yellow]: {shown(certificate.reason)}"))
    rows.append(("cost", _cost(result.usage)))
    rows += _compared(result, system)
    rows += [("warning", f"[yellow]{shown(each)}[/yellow]") for each in certificate.warnings]
    assumed = certificate.assumptions if certificate.certified else ()
    rows += _listed("assumes", [shown(each) for each in assumed])
    excluded = certificate.excluded_separation
    if excluded is not None and certificate.certified:
        rows.append(("tested", f"- the readings exclude separations from {excluded:.2g} on"))
    rows += _listed("chosen", [shown(each) for each in certificate.notes])
    grid = Table.grid(padding=(0, 0))
    grid.add_column(min_width=10, no_wrap=True)
    grid.add_column(overflow="fold")
    for row in rows:
        grid.add_row(*row)
    return grid


def _best_possible(result: Result) -> str:
    low, high = result.interval
    terms = result.certificate.terms
    if not result.certified and terms is not None and (low, high) == terms.return_range:
        return "what is best possible is not known"
    return f"the best possible is in [{low:.4f}, {high:.4f}]"


def _listed(name: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    return [(name if place == 0 else "", f"- {text}") for place, text in enumerate(texts)]


def written(actions: Actions, names: Sequence[str]) -> str:
    """A plan in a line or a few: by names, with numbers where there are none."""
    known = all(action < len(names) for action in actions)
    words = [_named(names, action) for action in actions[:MOST_ACTIONS]]
    more = f" ... ({len(actions)} actions)" if len(actions) > MOST_ACTIONS else ""
    return (", " if known else " ").join(words) + more


def _cost(usage: Usage) -> str:
    parts = [f"{number(usage.episodes)} episodes", f"{number(usage.steps)} steps"]
    if usage.pilot_episodes:
        parts.append(f"{number(usage.pilot_episodes)} of the episodes a pilot")
    if usage.given_episodes:
        parts.append(f"beside {number(usage.given_episodes)} episodes given from before")
    parts.append(f"{number(usage.nodes)} prefixes tried")
    if usage.retries:
        parts.append(f"{number(usage.retries)} failed attempts")
    return ", ".join(parts)


def _compared(result: Result, system: System) -> list[tuple[str, str]]:
    """How the plan stands beside the one that a built-in problem knows to be best."""
    whole = len(result.actions) == system.horizon and bool(result.certificate.levels)
    if not (isinstance(system, Problem) and whole):
        return []
    best, value = system.optimum
    agree = "equals" if result.actions == best else "ties with"
    found = agree if system.is_optimal(result.actions) else "[red]DIFFERS from[/red]"
    plan = written(best, action_names(system))
    return [("oracle", f"{plan}  (value {value:.4f})"), ("", f"the plan {found} the oracle's")]
