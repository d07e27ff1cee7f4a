"""The command doctor: does a system fit, what will a run cost, and what should be changed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from surepath.cli.options import (
    AsJson,
    Delta,
    Gap,
    GuaranteeName,
    Parameters,
    Predict,
    ReturnRange,
    RewardRange,
    SeparationOption,
    Tolerance,
    Workers,
    future_of,
    parameters_of,
    separation_of,
    tolerance_of,
)
from surepath.cli.output import PIPED_WIDTH, own_output
from surepath.cli.stopping import stoppable
from surepath.cli.tables import shown
from surepath.doctor.diagnose import EPISODES, diagnose
from surepath.doctor.finding import BROKEN, DOUBTFUL, Diagnosis
from surepath.features import NAMES
from surepath.prepare.call import Call
from surepath.prepare.systems import system_named
from surepath.results.words import number

COLOURS = {"holds": "green", "doubtful": "yellow", "broken": "red", "not tested": "dim"}


def doctor_command(
    env: Annotated[
        str,
        typer.Argument(help="A built-in problem, a Gymnasium id, or your own as module:factory."),
    ],
    param: Parameters = None,
    episodes: Annotated[int, typer.Option(help="Of the pilot.")] = EPISODES,
    guarantee: GuaranteeName = Call.guarantee,
    features: Annotated[str, typer.Option(help=f"{', '.join(NAMES)}.")] = str(Call.features),
    future: Annotated[str | None, typer.Option(help="As of learn.")] = None,
    horizon: Annotated[int | None, typer.Option(help="Default: the system's.")] = None,
    delta: Delta = Call.delta,
    gap: Gap = None,
    tolerance: Tolerance = None,
    separation: SeparationOption = None,
    predict: Predict = Call.predict,
    reward_range: RewardRange = Call.reward_range,
    return_range: ReturnRange = None,
    forecast: Annotated[bool, typer.Option(help="Also say what a run will take.")] = True,
    journal: Annotated[
        Path | None,
        typer.Option(help="Record the pilot here; learn --journal goes on with it."),
    ] = None,
    workers: Workers = None,
    seed: Annotated[int, typer.Option(help="Of the noise.")] = Call.seed,
    as_json: AsJson = False,
) -> None:
    """See whether a system satisfies what learn assumes, what a run will cost, what to change.

    Exit code: 0 when nothing speaks against it, 1 when something is doubtful or broken, 2 on bad
    input.
    """
    out = own_output()
    system = system_named(env, parameters_of(param), horizon)
    with stoppable():
        found = diagnose(
            system,
            horizon,
            episodes=episodes,
            features=features,
            future=None if future is None else future_of(future),
            guarantee=guarantee,
            delta=delta,
            gap=gap,
            tolerance=None if tolerance is None else tolerance_of(tolerance),
            separation=None if separation is None else separation_of(separation),
            predict=predict,
            reward_range=reward_range,
            return_range=return_range,
            forecast=forecast,
            journal=journal,
            workers=int(workers) if workers and workers.isdecimal() else workers,
            seed=seed,
        )
    if as_json:
        out.write(found.to_json() + "\n")
    else:
        own = Console(file=out, width=None if out.isatty() else PIPED_WIDTH, emoji=False)
        for table in tables_of(found):
            own.print(table)
        own.print(_last_line(found, journal), highlight=False)
    out.flush()
    raise typer.Exit(0 if found.sound else 1)


def tables_of(found: Diagnosis) -> list[Table]:
    """What was found, and what a run will take."""
    table = Table(
        "assumption",
        "verdict",
        "p",
        "evidence and remedy",
        show_lines=True,
        caption=f"doubtful below p = {DOUBTFUL:g}, broken below {BROKEN:g}",
    )
    for each in found.findings:
        colour = COLOURS[each.verdict]
        words = shown(each.evidence) + (f"\n[bold]{shown(each.remedy)}[/bold]" * bool(each.remedy))
        chance = "" if each.chance is None else f"{each.chance:.2g}"
        table.add_row(shown(each.assumption), f"[{colour}]{each.verdict}[/]", chance, words)
    costs = Table(
        "a run", "episodes", "between", "steps", f"seconds of the system, {found.workers} at a time"
    )
    for each in found.forecasts:
        between = f"{number(each.low, 2)} .. {number(each.high, 2)}{shown(each.note)}"
        costs.add_row(
            each.guarantee,
            number(each.episodes, 2),
            between,
            number(each.steps, 2),
            number(each.seconds, 2),
        )
    return [table, costs] if found.forecasts else [table]


def _last_line(found: Diagnosis, journal: Path | None) -> str:
    against = [each for each in found.findings if not each.holds]
    odd = "; ".join(f"{each.assumption}: {each.verdict}" for each in against)
    word = f"[yellow]not sound[/yellow] ({shown(odd)})" if odd else "[green]sound[/green]"
    kept = f"; recorded in {shown(str(journal))}" if journal else ""
    return f"{word}, by {found.episodes} episodes of {found.step_seconds:.2g} s a step{kept}"
