"""Ask and tell as lines of JSON, for a program in any language.

Written, one line each:

    {"ask": [{"actions": [0, 2], "count": 8}, ...]}       what to run
    {"error": "..."}                                      the last line cannot be used: tell again
    {"result": {...}}                                     the end

Read, one line for each ask:

    {"tell": [{"observations": [[o_0, o_1, ...], ...], "rewards": [[r_0, r_1], ...]}, ...]}

with one entry for each request, in its order, and in it one row for each episode: the observations
read before each action and, unless the horizon is reached, after the last; and the rewards.
"""

from __future__ import annotations

import json
from typing import Any, TextIO, cast

import numpy as np

from surepath.asktell import AskTell
from surepath.errors import ExplainedError, InputError
from surepath.results.result import Result
from surepath.system import Episodes, Request


def serve(loop: AskTell, lines: TextIO, out: TextIO) -> Result:
    """Ask and read answers until nothing is left to ask, or until the lines end.

    A line that cannot be used is answered with an error, and may be told again. The result is
    written last, and returned.
    """
    while requests := loop.ask():
        asked = [{"actions": list(each.actions), "count": each.count} for each in requests]
        _write(out, {"ask": asked})
        while line := lines.readline():
            try:
                loop.tell(_episodes(line, requests))
                break
            except ExplainedError as error:
                _write(out, {"error": str(error)})
        else:
            break
    result = loop.result()
    _write(out, {"result": json.loads(result.to_json())})
    return result


def _write(out: TextIO, message: dict[str, Any]) -> None:
    out.write(json.dumps(message) + "\n")
    out.flush()


def _episodes(line: str, requests: tuple[Request, ...]) -> list[Episodes]:
    """The episodes that a line tells, in the order of the requests."""
    try:
        told = cast(list[dict[str, Any]], json.loads(line)["tell"])
        return [
            Episodes(
                request.actions,
                np.array(each["observations"]),
                np.array(each["rewards"], dtype=np.float64).reshape(-1, len(request.actions)),
            )
            for request, each in zip(requests, told, strict=True)
        ]
    except InputError:
        raise
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            'a line must be {"tell": [...]} with observations and rewards for every request',
            got=f"{type(error).__name__}: {error}",
            remedy=f"Answer all {len(requests)} requests in one line, arrays with equal rows.",
        ) from error
