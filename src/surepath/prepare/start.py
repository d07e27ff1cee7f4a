"""From a call to a run that can begin: the one place that chooses between the kinds of run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from surepath.prepare.adaptive_run import AdaptiveRun
from surepath.prepare.call import PROVED, Call
from surepath.prepare.fixed_run import FixedRun, check_told_enough
from surepath.prepare.proved_run import ProvedRun, task_of
from surepath.prepare.task import plan_task
from surepath.run.runner import Runner

Run: TypeAlias = FixedRun | AdaptiveRun | ProvedRun


def start(call: Call, runner: Callable[[], Runner] | None = None) -> Run:
    """The run that the call asks for.

    `runner` is called once the call is known to make sense, before anything is run: it says who
    runs the episodes, and where they are recorded.
    """
    if not call.adaptive:
        check_told_enough(call)
    who = runner() if runner else None
    if call.guarantee == PROVED:
        return _given(ProvedRun.of(task_of(call, who)))
    task = plan_task(call, who)
    return _given(AdaptiveRun.of(task)) if call.adaptive else FixedRun.of(task)


def _given(run: AdaptiveRun | ProvedRun) -> AdaptiveRun | ProvedRun:
    """The run that was told what was read before it."""
    data = run.task.call.data
    if data is not None:
        data.record(run.task.runner.journal)
        run.learner.give(data.readings)
    return run
