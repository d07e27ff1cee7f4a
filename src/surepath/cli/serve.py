"""Ask and tell as lines of JSON, for a program in any language.

Written, one line each:

    {"ask": [{"actions": [0, 2], "count": 8}, ...]}       what to run
    {"error": "..."}                                      the last line cannot be used: tell again
    {"result": {...}}                                     the end

Read, one line for each ask:

    {"tell": [{"observations": [[o_0, o_1, ...], ...], "rewards": [[r_0, r_1], ...]}, ...]}

with one entry for each request, in its order, and in it one row for each episode: the observations
read before each action and, unless the horizon is reached, after the last; and the rewards. All of
these are JSON's numbers; true and false count as 1 and 0.

Whatever a line is, it is answered.
"""

from __future__ import annotations

import json
from typing import Any, TextIO, cast

import numpy as np
from numpy.typing import NDArray

from surepath.asktell import AskTell
from surepath.errors import ExplainedError, InputError
from surepath.results.result import Result
from surepath.system import Episodes, Request

SHOWN = 200
"""Characters of what was told that an error repeats."""

LONGEST = 2**26
"""Characters of a line: what is longer is not read, so that no line takes all of the memory."""


def serve(loop: AskTell, lines: TextIO, out: TextIO) -> Result:
    """Ask and read answers until nothing is left to ask, or until the lines end.

    A line that cannot be used is answered with an error, and may be told again. The result is
    written last, also on Ctrl-C, and returned.
    """
    stopped: KeyboardInterrupt | None = None
    try:
        _converse(loop, lines, out)
    except KeyboardInterrupt as interrupt:
        stopped = interrupt
    result = loop.result()
    _write(out, {"result": json.loads(result.to_json())})
    if stopped is not None:
        raise stopped
    return result


def _converse(loop: AskTell, lines: TextIO, out: TextIO) -> None:
    while requests := loop.ask():
        asked = [{"actions": list(each.actions), "count": each.count} for each in requests]
        _write(out, {"ask": asked})
        while line := lines.readline(LONGEST):
            try:
                _whole(line, lines)
                loop.tell(_episodes(line, requests))
                break
            except ExplainedError as error:
                _write(out, {"error": str(error)})
        else:
            break


def _write(out: TextIO, message: dict[str, Any]) -> None:
    out.write(json.dumps(message) + "\n")
    out.flush()


def _whole(line: str, lines: TextIO) -> None:
    """Refuse a line that is too long, and pass over what is left of it."""
    if len(line) < LONGEST or line.endswith("\n"):
        return
    while (rest := lines.readline(LONGEST)) and not rest.endswith("\n"):
        pass
    raise InputError(
        "a line is too long",
        got=f"more than {LONGEST} characters",
        remedy="Tell numbers with fewer digits; or ask for another future or fewer features, so "
        "that requests are smaller.",
    )


def _episodes(line: str, requests: tuple[Request, ...]) -> list[Episodes]:
    """The episodes that a line tells, in the order of the requests."""
    try:
        line.encode()  # what was no UTF-8 cannot be encoded
        told = cast(list[dict[str, Any]], json.loads(line)["tell"])
        return [
            Episodes(
                request.actions,
                _numbers(each["observations"]),
                _numbers(each["rewards"]).astype(np.float64).reshape(-1, len(request.actions)),
            )
            for request, each in zip(requests, told, strict=True)
        ]
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise InputError(
            'a line must be {"tell": [...]} with observations and rewards for every request',
            got=f"{type(error).__name__}: {error}"[:SHOWN],
            remedy=f"Answer all {len(requests)} requests in one line, arrays with equal rows.",
        ) from error


def _numbers(told: Any) -> NDArray[Any]:
    values = np.array(told)
    if values.dtype.kind not in "biuf":
        raise InputError(
            "observations and rewards are numbers",
            got=f"{str(told)[:SHOWN]}",
            remedy="Write them as numbers of JSON, no larger than a double holds; not as texts.",
        )
    return values.astype(np.int64) if values.dtype.kind == "b" else values
