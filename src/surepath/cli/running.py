"""The commands that run episodes: learn, resume, serve.

Their exit codes: 0 when the plan is certified, 1 when there is a plan without a certificate, 2 on
bad input, 130 after Ctrl-C, 143 after SIGTERM.
"""

from __future__ import annotations

import sys
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import typer

from surepath.api import learn
from surepath.asktell import AskTell
from surepath.cli.options import (
    AsJson,
    AtOnce,
    Budget,
    DataFiles,
    Delta,
    Gap,
    GuaranteeName,
    JournalFile,
    MostRetries,
    Parameters,
    Plot,
    Predict,
    ReturnRange,
    RewardRange,
    Save,
    ScheduleName,
    SeparationOption,
    StartLimit,
    TimeLimit,
    Tolerance,
    Workers,
    future_of,
    parameters_of,
    schedule_of,
    separation_of,
    tolerance_of,
)
from surepath.cli.output import check_outputs, own_output, show_result
from surepath.cli.serve import serve
from surepath.cli.stopping import finished, how_to_go_on, stoppable
from surepath.features import NAMES
from surepath.journal.database import Journal
from surepath.journal.identity import call_of
from surepath.prepare.call import Call
from surepath.prepare.systems import system_again, system_named
from surepath.results.result import Result
from surepath.run.choose_executor import executor_of
from surepath.run.fleet import START_LIMIT


def learn_command(
    env: Annotated[
        str,
        typer.Argument(help="A built-in problem, a Gymnasium id, or your own as module:factory."),
    ],
    param: Parameters = None,
    schedule: ScheduleName = str(Call.schedule),
    guarantee: GuaranteeName = Call.guarantee,
    features: Annotated[str, typer.Option(help=f"{', '.join(NAMES)}.")] = str(Call.features),
    future: Annotated[
        str | None,
        typer.Option(
            help="Observations that tell states apart; or auto. Default: as many as needed."
        ),
    ] = None,
    ridge: Annotated[float | None, typer.Option(help="For a schedule of your own.")] = None,
    threshold: Annotated[float, typer.Option(help="For a schedule of your own.")] = 1.0,
    feature_samples: Annotated[int | None, typer.Option(help="Likewise: M.")] = None,
    reward_samples: Annotated[int | None, typer.Option(help="Likewise: M'.")] = None,
    horizon: Annotated[int | None, typer.Option(help="Default: the system's.")] = None,
    delta: Delta = Call.delta,
    gap: Gap = None,
    tolerance: Tolerance = None,
    separation: SeparationOption = None,
    predict: Predict = Call.predict,
    norm: Annotated[float | None, typer.Option(help="Bound on the weights of Q*.")] = None,
    reward_range: RewardRange = Call.reward_range,
    return_range: ReturnRange = None,
    data: DataFiles = None,
    budget: Budget = None,
    journal: JournalFile = None,
    workers: Workers = None,
    at_once: AtOnce = Call.at_once,
    time_limit: TimeLimit = None,
    start_limit: StartLimit = START_LIMIT,
    retries: MostRetries = 4,
    seed: Annotated[int, typer.Option(help="Of the noise.")] = Call.seed,
    save: Save = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Learn a system's best action sequence and show the evidence.

    Exit code: 0 when the plan is certified, 1 when there is a plan without a proof, 2 on bad input,
    130 after Ctrl-C, which shows the best plan so far.
    """
    out = own_output()
    check_outputs(save, plot, journal)
    system = system_named(env, parameters_of(param), horizon)
    how: dict[str, Any] = {
        "features": features,
        "future": None if future is None else future_of(future),
        "schedule": schedule_of(schedule, ridge, threshold, feature_samples, reward_samples),
        "guarantee": guarantee,
        "delta": delta,
        "gap": gap,
        "tolerance": None if tolerance is None else tolerance_of(tolerance),
        "separation": None if separation is None else separation_of(separation),
        "predict": predict,
        "norm": norm,
        "reward_range": reward_range,
        "return_range": return_range,
        "data": data or None,
        "at_once": at_once,
        "seed": seed,
    }

    def run() -> Result:
        with executor_of(workers, time_limit, retries, start_limit) as executor, stoppable():
            return learn(
                system,
                horizon,
                budget=budget,
                journal=journal,
                workers=executor,
                progress=not as_json,
                **how,
            )

    show = partial(show_result, system=system, save=save, plot=plot, out=out, as_json=as_json)
    raise finished(run, show, how_to_go_on(journal, env))


def resume_command(
    file: Annotated[Path, typer.Argument(help="A journal that learn --journal began.")],
    system: Annotated[
        str | None,
        typer.Option(
            help="The system that the journal names, if it has to be imported: say it again here."
        ),
    ] = None,
    budget: Budget = None,
    workers: Workers = None,
    time_limit: TimeLimit = None,
    start_limit: StartLimit = START_LIMIT,
    retries: MostRetries = 4,
    save: Save = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Go on with a run where it was stopped or killed; what it recorded is not run again.

    A system of your own, module:factory, is only imported if you name it here too. Exit codes as of
    learn.
    """
    out = own_output()
    check_outputs(save, plot, file)
    with Journal(file) as journal:
        called = call_of(journal.configuration)
    called.pop("data", None)  # the journal has it
    again = system_again(called.pop("system"), called["horizon"], system)

    def run() -> Result:
        with executor_of(workers, time_limit, retries, start_limit) as executor, stoppable():
            return learn(
                again,
                budget=budget,
                journal=file,
                workers=executor,
                progress=not as_json,
                **called,
            )

    show = partial(show_result, system=again, save=save, plot=plot, out=out, as_json=as_json)
    raise finished(run, show, how_to_go_on(file, system))


def serve_command(
    horizon: Annotated[int, typer.Option(help="Actions of a plan.")],
    actions: Annotated[int, typer.Option(help="Number of actions.")],
    observations: Annotated[
        int | None, typer.Option(help="Number of symbols, where observations are 0 .. n - 1.")
    ] = None,
    dimension: Annotated[
        int | None, typer.Option(help="Numbers in an observation, where it is a vector.")
    ] = None,
    delta: Delta = Call.delta,
    gap: Gap = None,
    reward_range: RewardRange = Call.reward_range,
    return_range: ReturnRange = None,
    data: DataFiles = None,
    at_once: AtOnce = Call.at_once,
    journal: JournalFile = None,
    seed: Annotated[int, typer.Option(help="Of the choices that are drawn.")] = Call.seed,
) -> None:
    """Ask for episodes on standard output and read them from standard input, as lines of JSON.

    Exit codes as of learn. The lines are described in docs/hardware.md.
    """
    out = own_output()
    how = "the same command goes on where it was" if journal else how_to_go_on(None, None)
    with AskTell(
        horizon,
        actions,
        n_observations=observations,
        dimension=dimension,
        delta=delta,
        gap=gap,
        reward_range=reward_range,
        return_range=return_range,
        data=data or None,
        at_once=at_once,
        journal=journal,
        seed=seed,
    ) as loop:
        # Bytes that are no UTF-8 come through as what no text holds, and are answered as an error.
        lines = TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="surrogateescape")

        def run() -> Result:
            with stoppable():
                return serve(loop, lines, out)

        ended = finished(run, lambda _: None, how)
        lines.detach()
    raise ended
