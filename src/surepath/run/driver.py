"""The loop of a run: ask the learner, run what it asks for, tell it the readings."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

from surepath.journal.course import Course, Point
from surepath.learners.base import Asking
from surepath.run.checkpoints import caught_up, keep_checkpoint
from surepath.run.interrupts import interruptible, uninterrupted
from surepath.run.runner import Runner, summarises
from surepath.system import Request, steps_of

LOG = logging.getLogger("surepath")
"""Says after every batch how far a run is; nothing where nobody listens."""

Watcher: TypeAlias = Callable[[Asking], bool | None]
"""Is called with the learner after every batch; the run stops when it returns True."""

RAW_BATCH = 4096
"""Most episodes that one request may ask for where all of their readings are held in memory."""


def drive(
    learner: Asking,
    runner: Runner,
    *,
    budget: int | None = None,
    steps: int | None = None,
    watch: Watcher | None = None,
    note: Callable[[Point], None] | None = None,
    checkpoints: bool = True,
) -> bool:
    """Run the learner on the runner's system until it asks for nothing more.

    budget: most episodes to spend. steps: most steps to spend. Returns False when the next batch
    would cost more than one of them allows; that batch is not run. Also when `watch` stops it
    before the learner is done. InterruptedRun on Ctrl-C, when
    the learner has taken in all that it was told, or a second time. checkpoints: whether to go on
    where the journal's last one was made, without deciding once more what was decided before it,
    and to make others. note: is told the course of the run; without it, that is
    recorded with the checkpoints.
    """
    summary = summarises(runner.system, learner.embedding.statistics)
    within = (budget or math.inf, steps or math.inf)
    batch, known = caught_up(learner, runner.journal, within) if checkpoints else (0, None)
    if note is None and checkpoints and runner.journal is not None:
        note = Course(runner.journal).note
    while requests := _next(learner):
        cost = sum(request.count for request in requests)
        if budget is not None and learner.usage.episodes + cost > budget:
            return False
        if steps is not None and learner.usage.steps + _steps(learner, requests) > steps:
            return False
        with interruptible():
            readings = runner.run(batch, requests, summary=summary, fresh=learner.fresh)
        with uninterrupted():
            if checkpoints:
                keep_checkpoint(learner, runner.journal, batch)
            if unasked := runner.unasked(batch):
                learner.give(unasked, decide=False)
            spent, known = known or learner.spending, None
            learner.tell(readings)
            learner.usage.retries, learner.usage.replaced = runner.retries, runner.replaced
            if LOG.isEnabledFor(logging.INFO):
                LOG.info("batch %d: %s", batch, learner.status())
            if note is not None:
                note(point_of(learner, batch, spent))
            batch += 1
            if watch is not None and watch(learner) and not learner.done:
                return False
    return True


def point_of(learner: Asking, batch: int, spent: list[int]) -> Point:
    """What is known after a batch, whose episodes were spent on this."""
    found = learner.round()
    return {
        "batch": batch,
        "episodes": found.episodes,
        "steps": found.steps,
        "value": found.value,
        "bound": found.bound,
        "states": found.states,
        "open_questions": found.open_questions,
        "spent": spent,
    }


def _next(learner: Asking) -> Sequence[Request]:
    with uninterrupted():  # the first requests may be worked out when they are asked for
        return learner.ask()


def _steps(learner: Asking, requests: Sequence[Request]) -> int:
    return sum(each.count * steps_of(each.actions, learner.horizon) for each in requests)
