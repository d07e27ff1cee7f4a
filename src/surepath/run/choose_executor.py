"""Who runs the episodes, by the words and numbers that a caller gives.

A new executor needs a file of its own and one line in `BY_NAME`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from surepath.errors import InputError
from surepath.run.executors import Executor, Serial
from surepath.run.fleet import START_LIMIT
from surepath.run.processes import Processes
from surepath.run.ray import RayCluster

BY_NAME: Mapping[str, Callable[..., Executor]] = {"ray": RayCluster}
"""Executors that have a name; each takes the keywords time_limit, start_limit and retries."""


def executor_of(
    workers: int | str | Executor | None,
    time_limit: float | None = None,
    retries: int = 4,
    start_limit: float = START_LIMIT,
) -> Executor:
    """The executor that `workers` stands for.

    workers: a number of processes, also written as text; the name of an executor; an executor,
    which is returned as it is; or None for this process alone.
    time_limit: seconds that an episode may take before its worker is replaced and it is run again.
    retries: how often an episode that fails is run again.
    start_limit: seconds in which one of the workers has to be ready.

    Limits and retries are for an executor that is made here; whoever calls this closes it. One
    that was given has its own, and is closed by the one who made it.
    """
    if workers is None:
        if time_limit is not None:
            raise _cannot_be_stopped(time_limit)
        return Serial(retries)
    if isinstance(workers, str) and workers in BY_NAME:
        return BY_NAME[workers](time_limit=time_limit, start_limit=start_limit, retries=retries)
    number = _number(workers)
    if number is not None:
        return Processes(number, time_limit=time_limit, start_limit=start_limit, retries=retries)
    if isinstance(workers, Executor):
        return workers
    names = ", ".join(f'"{name}"' for name in BY_NAME)
    raise InputError(
        f"workers is a number of processes, {names}, or an executor",
        got=repr(workers),
        remedy="Write for example workers=4, or workers=surepath.Processes(4, time_limit=10); on "
        "the command line --workers 4.",
    )


def _number(workers: int | str | Executor) -> int | None:
    """The number of processes, where it is one; True and False are none."""
    if isinstance(workers, str):
        return int(workers) if workers.isdecimal() else None
    return workers if isinstance(workers, int) and not isinstance(workers, bool) else None


def _cannot_be_stopped(time_limit: float) -> InputError:
    return InputError(
        "only workers can be stopped when an episode takes too long",
        got=f"a time limit of {time_limit:g} s without workers",
        remedy="Add workers=1, on the command line --workers 1.",
    )
