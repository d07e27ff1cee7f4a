"""What the actions of a run's system are called, for whoever looks at its journal."""

from __future__ import annotations

from surepath.decoding.typed import decoded
from surepath.journal.database import Journal
from surepath.system import System, action_names

KEY = "action names"


def keep_names(journal: Journal, system: System) -> None:
    """Write the names down, where the system has some and the journal does not."""
    names = action_names(system)
    if names and journal.get(KEY) is None:
        journal.put(KEY, names)


def names_in(journal: Journal) -> tuple[str, ...]:
    """The names; empty where the journal has none."""
    said = journal.get(KEY)
    return () if said is None else decoded(tuple[str, ...], said, f"the {KEY}")
