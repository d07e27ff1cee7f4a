"""Where a run was: a resumed one is told its readings, and does not decide everything once more.

What a learner has read is a fold of what it was told. What it decided on the way follows from that
too, but only by judging again after every batch, which is most of its time. So the decisions are
kept in the journal, as data, with the number of the batch they led to; what they were decided from
stays in the rows, and is read again. `surepath verify` uses no checkpoint, and compares it with the
replayed run.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, TypedDict

from surepath.decoding.typed import decoded
from surepath.errors import JournalError, SurepathError
from surepath.journal.database import Journal
from surepath.journal.rows import PILOT, requests_of
from surepath.learners.adaptive import Adaptive
from surepath.learners.base import Asking
from surepath.learners.proving import Proving
from surepath.system import Readings

CHECKPOINT = "checkpoint"
"""The entry of a journal that holds it."""


class _Decided(TypedDict):
    """What every checkpoint says."""

    batch: int
    episodes: int
    steps: int
    decided: dict[str, Any]


class Checkpoint(_Decided, total=False):
    """Where a learner was before it was told a batch."""

    spent: list[int]  # episodes of that batch, by purpose; not in older journals


def checkpoint_of(learner: Asking, batch: int) -> Checkpoint | None:
    """The checkpoint before this batch is told; None of a learner that keeps none."""
    decided = learner.decided()
    if decided is None:
        return None
    usage = learner.usage
    return {
        "batch": batch,
        "episodes": usage.episodes,
        "steps": usage.steps,
        "decided": decided,
        "spent": learner.spending,
    }


def keep_checkpoint(learner: Asking, journal: Journal | None, batch: int) -> None:
    """Write the checkpoint down, where the journal is not ahead of it."""
    if journal is None:
        return
    found = _kept(journal)
    if found is not None and found["batch"] >= batch:
        return
    made = checkpoint_of(learner, batch)
    if made is not None:
        journal.put(CHECKPOINT, made)


def caught_up(
    learner: Asking, journal: Journal | None, within: tuple[float, float]
) -> tuple[int, list[int] | None]:
    """Bring a new learner to the last checkpoint: the batch that it asks for then, by number.

    And its episodes by purpose, which a learner does not know that did not decide on them; None
    where it does. within: episodes and steps that may be spent: a run that would have ended before
    does not skip.
    """
    found = None if journal is None else _kept(journal)
    if journal is None or found is None or not isinstance(learner, Adaptive | Proving):
        return 0, None
    if found["episodes"] > within[0] or found["steps"] > within[1]:
        return 0, None
    try:
        learner.catch_up(_told(journal, found["batch"]), found["decided"])
    except SurepathError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError) as error:  # no learner decided that
        raise _misfit(f"{type(error).__name__}: {error}") from error
    if (learner.usage.episodes, learner.usage.steps) != (found["episodes"], found["steps"]):
        raise _misfit(
            f"{learner.usage.episodes} episodes before batch {found['batch']}, where "
            f"{found['episodes']} were"
        )
    return found["batch"], found.get("spent")


def _kept(journal: Journal) -> Checkpoint | None:
    found = journal.get(CHECKPOINT)
    return None if found is None else decoded(Checkpoint, found, "the checkpoint")


def _misfit(got: str) -> JournalError:
    return JournalError(
        "the journal does not fit its checkpoint",
        got=got,
        remedy="Restore the file from a copy; surepath verify says what is wrong with it.",
    )


def _told(journal: Journal, stop: int) -> Iterator[list[Readings]]:
    """The readings of all requests of each batch before `stop`."""
    rows = (row for row in journal.rows() if row.batch < min(stop, PILOT))
    for _, batch in groupby(requests_of(rows), key=lambda pair: pair[0].batch):
        yield [readings for _, readings in batch]
