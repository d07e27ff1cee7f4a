"""The options that commands share, and what the words given to them stand for."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer
from rich.markup import escape

from surepath.errors import InputError
from surepath.inference.guarantee_widths import GUARANTEES
from surepath.inference.terms import SEPARATION
from surepath.prepare.call import ADAPTIVE, Future
from surepath.theory.schedule import SCHEDULES, Schedule

Otherwise = TypeVar("Otherwise")

# ---------------------------------------------------------------- options of several commands

Parameters = Annotated[
    list[str] | None, typer.Option("-p", "--param", help="A parameter as name=value; repeatable.")
]
ScheduleName = Annotated[
    str, typer.Option(help=f"How much to sample: {', '.join((ADAPTIVE, *SCHEDULES))}.")
]
GuaranteeName = Annotated[
    str,
    typer.Option(
        help=f"Of the adaptive schedule: {', '.join(GUARANTEES)}; proved is for "
        "every system that satisfies what is assumed, with --separation, --norm or neither."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
Delta = Annotated[float, typer.Option(help="Allowed probability of error.")]
Gap = Annotated[float | None, typer.Option(help="Least lead of a best action.")]
Tolerance = Annotated[
    str | None,
    typer.Option(help="What the plan may fall short of the best: a number, or a share such as 2%."),
]
SeparationOption = Annotated[
    str | None,
    typer.Option(
        "--separation",
        help=f"Least difference of what is read in different states; or exact. Default: "
        f"{SEPARATION}; with --guarantee proved nothing, and no states are merged.",
    ),
]
Predict = Annotated[bool, typer.Option(help="Predict states that were not tried.")]
RewardRange = Annotated[
    tuple[float, float], typer.Option(help="Smallest and largest reward of your own system.")
]
ReturnRange = Annotated[
    tuple[float, float] | None,
    typer.Option(help="Least and most that a whole episode can pay, where rewards alone say less."),
]
JournalFile = Annotated[
    Path | None, typer.Option(help="Record every episode in this file; continue an old one.")
]
DataFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--data", help="Episodes from before: a journal, or a .csv or .parquet file; repeatable."
    ),
]
Budget = Annotated[int | None, typer.Option(help="Most episodes to spend.")]
Workers = Annotated[str | None, typer.Option(help="So many processes, or ray; default: none.")]
AtOnce = Annotated[
    int,
    typer.Option(
        help="Episodes that can run at the same time: fewer rounds, for some episodes more."
    ),
]
TimeLimit = Annotated[
    float | None, typer.Option(help="Seconds an episode may take before it is run again.")
]
StartLimit = Annotated[
    float, typer.Option(help="Seconds in which the first worker has to be ready.")
]
MostRetries = Annotated[int, typer.Option(help="Attempts at an episode that fails.")]
Save = Annotated[Path | None, typer.Option(help="Write the result to this file.")]
Plot = Annotated[Path | None, typer.Option(help="Draw the evidence into this file.")]


# ---------------------------------------------------------------- from words to values


def parameters_of(words: list[str] | None) -> dict[str, Any]:
    """The parameters that name=value words give: a value is Python's, or else the text itself."""
    parameters: dict[str, Any] = {}
    for word in words or ():
        name, separator, value = word.partition("=")
        if not separator or not name:
            raise InputError(
                "a parameter is name=value",
                got=escape(word),
                remedy="Write for example -p horizon=20.",
            )
        try:
            parameters[name.replace("-", "_")] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            parameters[name.replace("-", "_")] = value
    return parameters


def future_of(word: str) -> Future:
    if word == "auto":
        return "auto"
    if not word.isdecimal():
        raise InputError(
            "future is a number of observations, or auto",
            got=repr(word),
            remedy="Write for example --future 2.",
        )
    return int(word)


def tolerance_of(word: str) -> float | str:
    return _number(word, word)


def separation_of(word: str) -> float | Literal["exact"]:
    if word == "exact":
        return "exact"
    number = _number(word, None)
    if number is None:
        raise InputError(
            "separation is a number between 0 and 1, or exact",
            got=repr(word),
            remedy="Write for example --separation 0.3.",
        )
    return number


def _number(word: str, otherwise: Otherwise) -> float | Otherwise:
    try:
        return float(word)
    except ValueError:
        return otherwise


def schedule_of(
    name: str,
    ridge: float | None,
    threshold: float,
    feature_samples: int | None,
    reward_samples: int | None,
) -> str | Schedule:
    """The named schedule, or one of the user's own where its numbers are given."""
    if ridge is None and feature_samples is None and reward_samples is None:
        return name
    if ridge is None or feature_samples is None or reward_samples is None:
        raise InputError(
            "a schedule of your own needs --ridge, --feature-samples and --reward-samples",
            got=f"ridge={ridge}, feature_samples={feature_samples}, "
            f"reward_samples={reward_samples}",
            remedy="Give all three, or none to use a proved schedule.",
        )
    return Schedule(ridge, threshold, feature_samples, reward_samples)
