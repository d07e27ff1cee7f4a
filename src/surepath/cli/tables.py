"""Bounds and forecasts as tables for people, and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rich.markup import escape
from rich.table import Table

from surepath.builtin_problems.finite import FiniteProblem
from surepath.errors import visible
from surepath.inference.proposal import Route
from surepath.prepare.call import Call
from surepath.prepare.forecast import Forecast
from surepath.system import System
from surepath.theory.floor import Floor
from surepath.theory.schedule import Schedule, Setting, bounds
from surepath.validate import plain

LARGEST_FLOOR = 5_000
"""Most action sequences of a problem whose floor is computed; more would take too long."""


def shown(text: str) -> str:
    """A text that a file or a system may have made up, as Rich prints it: letter by letter."""
    return escape(visible(text))


def bounds_table(setting: Setting, schedules: Mapping[str, Schedule]) -> Table:
    """What each schedule asks for at most, in a column of its own."""
    most = {name: bounds(schedule, setting) for name, schedule in schedules.items()}
    rows: dict[str, list[float]] = {
        "ridge (lambda)": [s.ridge for s in schedules.values()],
        "threshold (epsilon)": [s.threshold for s in schedules.values()],
        "samples of an embedding (M)": [s.feature_samples for s in schedules.values()],
        "samples of a reward (M')": [s.reward_samples for s in schedules.values()],
        "expansions of a level (N')": [b.expansions for b in most.values()],
        "embeddings (F)": [b.feature_batches for b in most.values()],
        "reward means (R)": [b.reward_batches for b in most.values()],
        "episodes": [b.episodes for b in most.values()],
        "steps": [b.steps for b in most.values()],
        "failure probability": [b.failure for b in most.values()],
    }
    table = Table("at most", *schedules)
    for name, values in rows.items():
        table.add_row(name, *(f"{value:.4g}" for value in values))
    return table


def bounds_json(
    setting: Setting,
    schedules: Mapping[str, Schedule],
    refused: Mapping[str, str],
    floor: Floor | None,
) -> str:
    payload: dict[str, Any] = {
        "setting": plain(setting, repr),
        "schedules": {
            name: {**plain(schedule), "bounds": plain(bounds(schedule, setting))}
            for name, schedule in schedules.items()
        },
        "refused": dict(refused),
        "floor_episodes": None if floor is None else floor.episodes,
    }
    return json.dumps(payload)


def forecast_table(found: Forecast) -> Table:
    """What it is expected to take to prove the best plan, and of what machine."""
    rules = found.proposal.rules
    table = Table("expected of the proof", rules.route)
    table.add_row("states to read, by level", " ".join(map(str, found.proposal.states)))
    if rules.route is not Route.TREE:
        table.add_row("ends of edges to merge", str(len(found.proposal.merges)))
        table.add_row("observations to tell states apart", str(rules.future))
    table.add_row("tolerance", f"{rules.tolerance:.4g}")
    table.add_row("fresh episodes for merges", str(found.merges))
    table.add_row("and for all other plans", str(found.paths))
    table.add_row("fresh episodes in all", str(found.episodes))
    return table


def forecast_notes(found: Forecast, call: Call) -> list[str]:
    """What has to be known beside the table."""
    notes = [
        "The calibrated run that proposes the plan comes before these episodes; an attempt that "
        "fails costs another one."
    ]
    said = call.separation
    if found.apart is not None and isinstance(said, float) and found.apart < said:
        notes.append(
            f"Two hidden states look only {found.apart:.3g} apart: a proof with a separation of "
            f"{said:g} would rest on what is not true here."
        )
    return notes


def forecast_json(found: Forecast, call: Call, floor: Floor | None) -> str:
    proposal, rules = found.proposal, found.proposal.rules
    payload: dict[str, Any] = {
        "proved": {
            "route": rules.route,
            "delta": rules.delta,
            "separation": call.separation,
            "norm": rules.norm,
            "tolerance": rules.tolerance,
            "gap": rules.gap,
            "future": rules.future,
            "plan": proposal.plan,
            "states": proposal.states,
            "merges": len(proposal.merges),
            "apart": found.apart,
            "episodes": found.episodes,
            "for_merges": found.merges,
            "for_paths": found.paths,
        },
        "floor_episodes": None if floor is None else floor.episodes,
    }
    return json.dumps(payload)


def floor_of(system: System, delta: float) -> Floor | None:
    """The information-theoretic floor of a small finite problem; None where it does not apply."""
    if not isinstance(system, FiniteProblem) or not system.oracle.unique:
        return None
    small = system.n_actions**system.horizon <= LARGEST_FLOOR
    return system.floor(delta) if small else None
