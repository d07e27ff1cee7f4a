"""What a run has found by now, from its journal alone: for whoever looks while it goes on."""

from __future__ import annotations

import math
from contextlib import suppress

from surepath.errors import JournalError
from surepath.journal.database import Journal
from surepath.prepare.replay import UNUSABLE, impossible, run_again
from surepath.results.result import Result
from surepath.run.checkpoints import caught_up
from surepath.run.driver import drive


def so_far(journal: Journal) -> Result | None:
    """The result that the run would give now; None where nobody can tell from the file.

    What the run decided is taken from its last checkpoint. One that makes none is replayed as far
    as its episodes go.
    """
    configured = journal.configuration
    try:
        if impossible(configured):
            return None
        run, runner = run_again(journal, configured)
        batch, _ = caught_up(run.learner, journal, (math.inf, math.inf))
        if not batch:
            with suppress(JournalError):  # the journal lacks what the run is about to read
                drive(run.learner, runner, checkpoints=False)
        return run.result() if run.learner.usage.episodes else None
    except (JournalError, *UNUSABLE):
        return None
