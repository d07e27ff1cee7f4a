"""The command bound: how much a run costs at most, at least and by forecast, before it is run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from surepath.builtin_problems import make
from surepath.cli import tables
from surepath.cli.options import (
    AsJson,
    Parameters,
    SeparationOption,
    Tolerance,
    parameters_of,
    separation_of,
    tolerance_of,
)
from surepath.cli.output import console
from surepath.errors import InputError
from surepath.prepare.call import PROVED, Call
from surepath.prepare.fixed_run import FixedRun
from surepath.prepare.forecast import forecast
from surepath.prepare.task import plan_task
from surepath.theory.floor import Floor
from surepath.theory.schedule import SCHEDULES, Schedule
from surepath.theory.setting import Setting


def bound_command(
    problem: Annotated[
        str | None, typer.Argument(help="A built-in problem; or give the quantities yourself.")
    ] = None,
    param: Parameters = None,
    horizon: Annotated[int | None, typer.Option()] = None,
    actions: Annotated[int | None, typer.Option()] = None,
    dimension: Annotated[int | None, typer.Option(help="Of the features.")] = None,
    gap: Annotated[float | None, typer.Option()] = None,
    norm: Annotated[float | None, typer.Option()] = None,
    delta: Annotated[float, typer.Option()] = Call.delta,
    latent_dimension: Annotated[
        int | None, typer.Option(help="Dimension of the span of the embeddings, if known.")
    ] = None,
    unique: Annotated[bool, typer.Option(help="One optimal action in every state.")] = False,
    future: Annotated[int, typer.Option(help="Observations one embedding looks ahead.")] = 1,
    proved: Annotated[
        bool,
        typer.Option(
            "--proved",
            help="Of a problem: the fresh episodes that learn --guarantee proved is expected to "
            "take, with --separation, --norm or neither.",
        ),
    ] = False,
    separation: SeparationOption = None,
    tolerance: Tolerance = None,
    as_json: AsJson = False,
) -> None:
    """What the fixed schedules ask for at most; for small finite problems also the floor that no
    learner can beat. With --proved: what it is expected to take to prove the best plan.
    """
    quantities = Quantities(
        horizon, actions, dimension, gap, norm, delta, latent_dimension, unique, future,
        separation, tolerance,
    )  # fmt: skip
    if proved:
        _show_proved(_proved_call(problem, parameters_of(param), quantities), as_json=as_json)
        return
    _refuse_without_proved(quantities)
    if problem is None:
        setting, floor = _setting_of_quantities(quantities), None
    else:
        setting, floor = _setting_of_problem(problem, parameters_of(param), quantities)
    schedules, refused = _schedules(setting)
    if as_json:
        typer.echo(tables.bounds_json(setting, schedules, refused, floor))
    else:
        _show(setting, schedules, refused, floor)


@dataclass(frozen=True, slots=True)
class Quantities:
    """What a bound depends on, as far as it was given."""

    horizon: int | None
    actions: int | None
    dimension: int | None
    gap: float | None
    norm: float | None
    delta: float
    latent_dimension: int | None
    unique: bool
    future: int
    separation: str | None  # of a proof only, like the next
    tolerance: str | None


def _refuse_known(name: str, given: Quantities) -> None:
    """Refuse what a built-in problem knows of itself."""
    own = {
        "actions": given.actions is not None,
        "dimension": given.dimension is not None,
        "latent-dimension": given.latent_dimension is not None,
        "unique": given.unique,
        "future": given.future != 1,
    }
    ignored = [option for option, is_given in own.items() if is_given]
    if ignored:
        raise InputError(
            f"a built-in problem knows its own {', '.join(ignored)}",
            got=" ".join(f"--{option}" for option in ignored) + f" with {name!r}",
            remedy="Leave these out, or leave out the problem and give all quantities.",
        )


def _setting_of_problem(
    name: str, parameters: dict[str, Any], given: Quantities
) -> tuple[Setting, Floor | None]:
    """What a built-in problem knows of itself, and its floor where that can be computed."""
    _refuse_known(name, given)
    system = make(name, **parameters)
    told = {"gap": given.gap, "norm": given.norm, "delta": given.delta}
    setting = FixedRun.of(
        plan_task(Call.of(system, given.horizon, schedule="tight", **told))
    ).setting
    assert setting is not None  # a named schedule always has one
    return setting, tables.floor_of(system, given.delta) if given.horizon is None else None


def _setting_of_quantities(given: Quantities) -> Setting:
    needed = {
        name: getattr(given, name) for name in ("horizon", "actions", "dimension", "gap", "norm")
    }
    missing = [name for name, value in needed.items() if value is None]
    if missing:
        raise InputError(
            f"a bound needs {', '.join(missing)}",
            got=", ".join(f"{name}={value}" for name, value in needed.items()),
            remedy="Give "
            + " ".join(f"--{name} ..." for name in missing)
            + ", or name a built-in problem.",
        )
    return Setting(
        horizon=needed["horizon"],
        n_actions=needed["actions"],
        dimension=needed["dimension"],
        gap=needed["gap"],
        norm=needed["norm"],
        delta=given.delta,
        latent_dimension=given.latent_dimension,
        unique=given.unique,
        future=given.future,
    )


def _refuse_without_proved(given: Quantities) -> None:
    only = {"--separation": given.separation, "--tolerance": given.tolerance}
    words = [f"{option} {word}" for option, word in only.items() if word is not None]
    if words:
        raise InputError(
            "the fixed schedules have neither a separation nor a tolerance",
            got=" ".join(words),
            remedy="Add --proved, or leave these out.",
        )


def _proved_call(name: str | None, parameters: dict[str, Any], given: Quantities) -> Call:
    """The call of `learn` whose proof is to be forecast."""
    if name is None:
        raise InputError(
            "what a proof takes is forecast for a built-in problem",
            got="--proved without a problem",
            remedy="Name one, for example: surepath bound lock --proved --separation 0.4.",
        )
    _refuse_known(name, given)
    return Call.of(
        make(name, **parameters),
        given.horizon,
        guarantee=PROVED,
        delta=given.delta,
        gap=given.gap,
        norm=given.norm,
        separation=None if given.separation is None else separation_of(given.separation),
        tolerance=None if given.tolerance is None else tolerance_of(given.tolerance),
    )


def _show_proved(call: Call, *, as_json: bool) -> None:
    found = forecast(call)
    whole = call.horizon == call.system.horizon
    floor = tables.floor_of(call.system, call.delta) if whole else None
    if as_json:
        typer.echo(tables.forecast_json(found, call, floor))
        return
    console.print(tables.forecast_table(found))
    for note in tables.forecast_notes(found, call):
        console.print(note, highlight=False)
    _show_floor(floor, call.delta)


def _schedules(setting: Setting) -> tuple[dict[str, Schedule], dict[str, str]]:
    """The fixed schedules of the setting by name, and why the others do not apply."""
    schedules, refused = dict[str, Schedule](), dict[str, str]()
    for name, choose in SCHEDULES.items():
        try:
            schedules[name] = choose(setting)
        except InputError as error:  # its theorem does not cover this problem
            if name == "tight":  # which covers all there are
                raise
            refused[name] = f"{error.what}, not {error.got}"
    return schedules, refused


def _show(
    setting: Setting, schedules: dict[str, Schedule], refused: dict[str, str], floor: Floor | None
) -> None:
    console.print(tables.bounds_table(setting, schedules))
    for name, reason in refused.items():
        console.print(f"{name} does not apply: {reason}.", highlight=False)
    _show_floor(floor, setting.delta)


def _show_floor(floor: Floor | None, delta: float) -> None:
    if floor is not None:
        console.print(
            f"No learner that is right with probability {1 - delta:g} needs fewer than "
            f"{floor.episodes:.4g} episodes on average (information-theoretic floor).",
            highlight=False,
        )
