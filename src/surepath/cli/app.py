"""The command line: `surepath learn` and what goes with it.

Exit codes: 0 certified (or done, where nothing is certified), 1 finished without a certificate,
2 bad input.
"""

from __future__ import annotations

import ast
import functools
import inspect
import json
import sys
from collections.abc import Callable
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from surepath.api import learn
from surepath.asktell import AskTell
from surepath.builtin_problems import factory, make, problems
from surepath.cli import tables
from surepath.cli.serve import serve
from surepath.errors import ExplainedError, InputError, SurepathError
from surepath.journal.database import Journal
from surepath.journal.export import export
from surepath.journal.identity import call_of
from surepath.prepare.call import Call, Future
from surepath.prepare.start import FixedRun, start
from surepath.prepare.systems import system_again, system_named
from surepath.results.result import Result
from surepath.results.verify import verify
from surepath.run.executors import Executor, Serial
from surepath.run.processes import Processes
from surepath.run.ray import RayCluster
from surepath.system import System
from surepath.theory.schedule import SCHEDULES, Schedule, Setting

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Find the exact best action sequence of a system that can be reset, with a certificate.",
)
out = Console(width=None if sys.stdout.isatty() else 110)

P = ParamSpec("P")
R = TypeVar("R")


class ScheduleName(StrEnum):
    adaptive = "adaptive"
    paper = "paper"
    tight = "tight"


class GuaranteeName(StrEnum):
    calibrated = "calibrated"
    proved = "proved"


def reports_errors(command: Callable[P, R]) -> Callable[P, R]:
    """Turn what surepath refuses into a readable message and exit code 2."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except ExplainedError as error:
            lines = (f"error: {error.what}", f"  got: {error.got}", f"  do:  {error.remedy}")
            typer.echo("\n".join(lines), err=True)
        except SurepathError as error:
            typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2)

    return run


Parameters = Annotated[
    list[str] | None, typer.Option("-p", "--param", help="A parameter as name=value; repeatable.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
Delta = Annotated[float, typer.Option(help="Allowed probability of error.")]
Gap = Annotated[float | None, typer.Option(help="Least lead of a best action.")]
RewardRange = Annotated[
    tuple[float, float], typer.Option(help="Smallest and largest reward of your own system.")
]
JournalFile = Annotated[
    Path | None, typer.Option(help="Record every episode in this file; continue an old one.")
]
Budget = Annotated[int | None, typer.Option(help="Most episodes to spend.")]
Workers = Annotated[str | None, typer.Option(help="So many processes, or ray; default: none.")]
TimeLimit = Annotated[
    float | None, typer.Option(help="Seconds an episode may take before it is run again.")
]
MostRetries = Annotated[int, typer.Option(help="Attempts at an episode that fails.")]
Save = Annotated[Path | None, typer.Option(help="Write the result to this file.")]
Plot = Annotated[Path | None, typer.Option(help="Draw the evidence into this file.")]


@app.command("learn")
@reports_errors
def learn_command(
    env: Annotated[
        str,
        typer.Argument(help="A built-in problem, a Gymnasium id, or your own as module:factory."),
    ],
    param: Parameters = None,
    schedule: Annotated[
        ScheduleName, typer.Option(help="How much to sample.")
    ] = ScheduleName.adaptive,
    guarantee: Annotated[
        GuaranteeName, typer.Option(help="Of the adaptive schedule; proved needs --norm.")
    ] = GuaranteeName.calibrated,
    features: Annotated[str, typer.Option(help="auto, onehot, linear, rbf or matern.")] = "auto",
    future: Annotated[
        str, typer.Option(help="Observations an embedding looks ahead; or auto.")
    ] = "1",
    ridge: Annotated[float | None, typer.Option(help="For a schedule of your own.")] = None,
    threshold: Annotated[float, typer.Option(help="For a schedule of your own.")] = 1.0,
    feature_samples: Annotated[int | None, typer.Option(help="Likewise: M.")] = None,
    reward_samples: Annotated[int | None, typer.Option(help="Likewise: M'.")] = None,
    horizon: Annotated[int | None, typer.Option(help="Default: the system's.")] = None,
    delta: Delta = 0.05,
    gap: Gap = None,
    norm: Annotated[float | None, typer.Option(help="Bound on the weights of Q*.")] = None,
    reward_range: RewardRange = (0.0, 1.0),
    budget: Budget = None,
    journal: JournalFile = None,
    workers: Workers = None,
    time_limit: TimeLimit = None,
    retries: MostRetries = 4,
    seed: Annotated[int, typer.Option(help="Of the noise.")] = 0,
    save: Save = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Learn a system's best action sequence and show the evidence.

    Exit code: 0 when the plan is certified, 1 when there is a plan without a proof, 2 on bad input.
    """
    _check_outputs(save, plot)
    system = system_named(env, _parameters(param), horizon)
    with _executor(workers, time_limit, retries) as executor:
        result = learn(
            system,
            horizon,
            features=features,
            future=_future(future),
            schedule=_schedule(schedule.value, ridge, threshold, feature_samples, reward_samples),
            guarantee=guarantee.value,
            delta=delta,
            gap=gap,
            norm=norm,
            reward_range=reward_range,
            budget=budget,
            journal=journal,
            workers=executor,
            seed=seed,
            progress=not as_json,
        )
    _show(result, system, save, plot, as_json=as_json)


@app.command("resume")
@reports_errors
def resume_command(
    file: Annotated[Path, typer.Argument(help="A journal that learn --journal began.")],
    budget: Budget = None,
    workers: Workers = None,
    time_limit: TimeLimit = None,
    retries: MostRetries = 4,
    save: Save = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Go on with a run where it was stopped or killed; what it recorded is not run again.

    Exit codes as of learn.
    """
    _check_outputs(save, plot)
    with Journal(file) as journal:
        called = call_of(journal.configuration)
    system = system_again(called.pop("system"), called["horizon"])
    with _executor(workers, time_limit, retries) as executor:
        result = learn(
            system,
            budget=budget,
            journal=file,
            workers=executor,
            progress=not as_json,
            **called,
        )
    _show(result, system, save, plot, as_json=as_json)


def _show(
    result: Result, system: System, save: Path | None, plot: Path | None, *, as_json: bool
) -> None:
    if as_json:
        typer.echo(result.to_json())
    else:
        out.print(tables.result_table(result))
        out.print(tables.verdict(result, system), highlight=False)
    if save is not None:
        result.save(save)
    if plot is not None:
        result.plot().savefig(plot, dpi=110)  # pyright: ignore[reportUnknownMemberType]  # untyped keywords
    raise typer.Exit(0 if result.certified else 1)


def _executor(workers: str | None, time_limit: float | None, retries: int) -> Executor:
    """Who runs the episodes, from the command line's words."""
    if workers == "ray":
        return RayCluster(time_limit=time_limit, retries=retries)
    if workers is not None and workers.isdigit():
        return Processes(int(workers), time_limit=time_limit, retries=retries)
    if workers is not None:
        raise InputError(
            "workers is a number of processes, or ray",
            got=repr(workers),
            remedy="Write for example --workers 4.",
        )
    if time_limit is not None:
        raise InputError(
            "only workers can be stopped when an episode takes too long",
            got=f"--time-limit {time_limit:g} without --workers",
            remedy="Add --workers 1.",
        )
    return Serial(retries)


@app.command("serve")
@reports_errors
def serve_command(
    horizon: Annotated[int, typer.Option(help="Actions of a plan.")],
    actions: Annotated[int, typer.Option(help="Number of actions.")],
    observations: Annotated[
        int | None, typer.Option(help="Number of symbols, where observations are 0 .. n - 1.")
    ] = None,
    dimension: Annotated[
        int | None, typer.Option(help="Numbers in an observation, where it is a vector.")
    ] = None,
    delta: Delta = 0.05,
    gap: Gap = None,
    reward_range: RewardRange = (0.0, 1.0),
    journal: JournalFile = None,
    seed: Annotated[int, typer.Option(help="Of the choices that are drawn.")] = 0,
) -> None:
    """Ask for episodes on standard output and read them from standard input, as lines of JSON.

    Exit codes as of learn. The lines are described in docs/running.md.
    """
    with AskTell(
        horizon,
        actions,
        n_observations=observations,
        dimension=dimension,
        delta=delta,
        gap=gap,
        reward_range=reward_range,
        journal=journal,
        seed=seed,
    ) as loop:
        result = serve(loop, sys.stdin, sys.stdout)
    raise typer.Exit(0 if result.certified else 1)


@app.command("export")
@reports_errors
def export_command(
    file: Annotated[Path, typer.Argument(help="A journal.")],
    to: Annotated[Path, typer.Argument(help="A .csv or .parquet file to write.")],
) -> None:
    """Write the episodes of a journal as a table, one row for each step."""
    with Journal(file) as journal:
        rows = export(journal, to)
    typer.echo(f"{rows} rows in {to}")


@app.command("verify")
@reports_errors
def verify_command(
    file: Annotated[Path, typer.Argument(help="A result that learn --save wrote, or a journal.")],
    as_json: AsJson = False,
) -> None:
    """Derive a saved certificate again from its recorded readings, without the learner.

    Exit code: 0 when the readings carry the certificate, 1 when they do not, 2 on bad input.
    """
    if not file.is_file():
        raise InputError("there is no such file", got=str(file), remedy="Give a saved result.")
    found = verify(file)
    if as_json:
        typer.echo(
            json.dumps(
                {
                    "certified": found.certified,
                    "agrees": found.agrees,
                    "differences": found.differences,
                    "reason": found.certificate.reason,
                }
            )
        )
    elif found.agrees:
        word = "[green]verified[/green]" if found.certified else "agrees, and is not certified"
        out.print(f"{word}: {escape(found.certificate.claim)}", highlight=False)
        out.print(f"  {escape(found.certificate.reason)}", highlight=False)
    else:
        out.print("[red]the readings do not carry this certificate[/red]")
        for difference in found.differences:
            out.print(f"  {escape(difference)}", highlight=False)
    raise typer.Exit(0 if found.certified else 1)


@app.command("problems")
@reports_errors
def problems_command(as_json: AsJson = False) -> None:
    """List the built-in problems and their parameters."""
    about = problems()
    defaults = {
        name: {key: p.default for key, p in inspect.signature(factory(name)).parameters.items()}
        for name in about
    }
    if as_json:
        listing = {name: {"about": about[name], "parameters": defaults[name]} for name in about}
        typer.echo(json.dumps(listing))
        return
    table = Table("problem", "what it is", "parameters (-p name=value)", show_lines=True)
    for name, parameters in defaults.items():
        table.add_row(name, about[name], " ".join(f"{k}={v}" for k, v in parameters.items()))
    out.print(table)


@app.command("bound")
@reports_errors
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
    delta: Annotated[float, typer.Option()] = 0.05,
    latent_dimension: Annotated[
        int | None, typer.Option(help="Dimension of the span of the embeddings, if known.")
    ] = None,
    unique: Annotated[bool, typer.Option(help="One optimal action in every state.")] = False,
    future: Annotated[int, typer.Option(help="Observations one embedding looks ahead.")] = 1,
    as_json: AsJson = False,
) -> None:
    """What the fixed schedules ask for at most; for small finite problems also the floor that no
    learner can beat.
    """
    if problem is not None:
        own = {"actions": actions, "dimension": dimension, "latent-dimension": latent_dimension}
        ignored = [name for name, value in own.items() if value is not None]
        ignored += ["unique"] * unique + ["future"] * (future != 1)
        if ignored:
            raise InputError(
                f"a built-in problem knows its own {', '.join(ignored)}",
                got=" ".join(f"--{name}" for name in ignored) + f" with {problem!r}",
                remedy="Leave these out, or leave out the problem and give all quantities.",
            )
        system = make(problem, **_parameters(param))
        run = start(Call.of(system, horizon, schedule="tight", gap=gap, norm=norm, delta=delta))
        assert isinstance(run, FixedRun)
        setting = run.setting
        assert setting is not None  # a named schedule always has one
        floor = tables.floor_of(system, delta) if horizon is None else None
    else:
        quantities = {
            "horizon": horizon,
            "actions": actions,
            "dimension": dimension,
            "gap": gap,
            "norm": norm,
        }
        missing = [name for name, value in quantities.items() if value is None]
        if missing:
            raise InputError(
                f"a bound needs {', '.join(missing)}",
                got=", ".join(f"{name}={value}" for name, value in quantities.items()),
                remedy="Give "
                + " ".join(f"--{name} ..." for name in missing)
                + ", or name a built-in problem.",
            )
        setting = Setting(
            horizon=horizon or 0,
            n_actions=actions or 0,
            dimension=dimension or 0,
            gap=gap or 0.0,
            norm=norm or 0.0,
            delta=delta,
            latent_dimension=latent_dimension,
            unique=unique,
            future=future,
        )
        floor = None
    rows, refused = dict[str, Schedule](), dict[str, str]()
    for name, choose in SCHEDULES.items():
        try:
            rows[name] = choose(setting)
        except InputError as error:  # its theorem does not cover this problem
            if name == "tight":  # which covers all there are
                raise
            refused[name] = f"{error.what}, not {error.got}"
    if as_json:
        typer.echo(tables.bounds_json(setting, rows, refused, floor))
        return
    out.print(tables.bounds_table(setting, rows))
    for name, reason in refused.items():
        out.print(f"{name} does not apply: {reason}.", highlight=False)
    if floor is not None:
        out.print(
            f"No learner that is right with probability {1 - delta:g} needs fewer than "
            f"{floor.episodes:.4g} episodes on average (information-theoretic floor).",
            highlight=False,
        )


@app.command("bench")
@reports_errors
def bench_command(
    suite: Annotated[str, typer.Argument(help="Which suite to run.")],
    only: Annotated[
        list[str] | None, typer.Option(help="Run this part of the suite alone; repeatable.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--out", help="Write tables, figures and all runs here; goes on if stopped."),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Runs side by side.")] = 2,
    quick: Annotated[bool, typer.Option("--quick", help="The size that takes minutes.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run a benchmark suite and print its tables."""
    from surepath import bench as benches  # with all rivals: other commands start without them

    benches.parts_of(suite, only or ())  # before anything is made
    if quick and suite not in benches.QUICK:
        raise InputError(
            f"the suite {suite!r} has one size only",
            got="--quick",
            remedy=f"Leave it out, or run one of {', '.join(benches.QUICK)}.",
        )
    with ExitStack() as opened:
        store = None
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            store = opened.enter_context(benches.Store(folder / f"{suite}.jsonl"))
        crew = opened.enter_context(benches.Crew(workers, store=store, quick=quick))
        report = benches.run_suite(suite, crew, only or ())
        written: list[Path] = []
        if folder is not None and store is not None:
            written = benches.publish(report, store, folder)
    if as_json:
        typer.echo(json.dumps(report.to_dict()))
        return
    report.show(out)
    for path in written:
        out.print(f"written: {path}", highlight=False, soft_wrap=True)


def _check_outputs(save: Path | None, plot: Path | None) -> None:
    """Refuse paths that cannot be written before anything is paid for."""
    for path in (save, plot):
        if path is not None and not path.parent.is_dir():
            raise InputError(
                "the folder of an output file must exist",
                got=str(path),
                remedy=f"Create {path.parent}, or write elsewhere.",
            )
    if plot is not None and plot.suffix not in (".png", ".svg", ".pdf"):
        raise InputError(
            "a picture is a .png, .svg or .pdf file",
            got=str(plot),
            remedy="Give the file one of these endings.",
        )


def _future(text: str) -> Future:
    if text == "auto":
        return "auto"
    if not text.isdigit():
        raise InputError(
            "future is a number of observations, or auto",
            got=repr(text),
            remedy="Write for example --future 2.",
        )
    return int(text)


def _schedule(
    name: str, ridge: float | None, threshold: float, features: int | None, rewards: int | None
) -> str | Schedule:
    """The named schedule, or one of the user's own when its numbers are given."""
    if ridge is None and features is None and rewards is None:
        return name
    if ridge is None or features is None or rewards is None:
        raise InputError(
            "a schedule of your own needs --ridge, --feature-samples and --reward-samples",
            got=f"ridge={ridge}, feature_samples={features}, reward_samples={rewards}",
            remedy="Give all three, or none to use a proved schedule.",
        )
    return Schedule(ridge, threshold, features, rewards)


def _parameters(param: list[str] | None) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    for text in param or ():
        name, separator, value = text.partition("=")
        if not separator or not name:
            raise InputError(
                "a parameter is name=value",
                got=escape(text),
                remedy="Write for example -p horizon=20.",
            )
        try:
            parameters[name.replace("-", "_")] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            parameters[name.replace("-", "_")] = value
    return parameters
