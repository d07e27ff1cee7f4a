"""Episodes from before a run: evidence for what it proposes, and never for a proof.

They are told to the learner before its first request, and are in the journal before that. They are
not counted as the run's own: nobody paid for them now.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from surepath.errors import InputError, JournalError
from surepath.journal.database import Journal, is_begun
from surepath.journal.logs import readings_in
from surepath.journal.rows import GIVEN, Origin, Row, encode, joined, requests_of
from surepath.system import Declared, Episodes, Readings, Summary, System, steps_of

PILOT = "pilot"


@dataclass(frozen=True, slots=True)
class Given:
    """Episodes that were read before a run, as it is told them."""

    readings: tuple[Readings, ...]
    pilot: bool = False  # of the doctor: run here, and named by their number

    @classmethod
    def of(cls, data: object, system: System, horizon: int) -> Given:
        """The episodes that `data` stands for: a file, `Episodes`, or several of either."""
        if isinstance(data, Given):
            return data
        parts: tuple[object, ...] = (data,)
        if isinstance(data, Sequence) and not isinstance(data, str):
            parts = tuple(cast(Sequence[object], data))
        found = [each for part in parts for each in _readings(part)]
        if not found:
            raise InputError(
                "data= holds no episodes",
                got=type(cast(object, data)).__name__,
                remedy="Leave it out, or give a log that has some.",
            )
        return cls(tuple(_fitted(each, system, horizon) for each in found))

    @classmethod
    def recorded_in(cls, journal: Journal) -> Given | None:
        """What the run of a journal was told before its first request; None where it was nothing.

        The journal must have all of it: its configuration says how much, and what.
        """
        said = journal.configuration.get("data")
        if said is None:
            return None
        rows = journal.batch(GIVEN)
        return cls(tuple(readings for _, readings in requests_of(rows)), pilot=PILOT in said)

    @property
    def episodes(self) -> int:
        return sum(each.count for each in self.readings)

    def described(self) -> dict[str, Any]:
        """How the recorded call of a run names them."""
        if self.pilot:
            return pilot_of(self.episodes)
        state = hashlib.blake2b(digest_size=16)
        for row in self.rows():
            state.update(encode(row, row.request)[-1])
        return {"episodes": self.episodes, "readings": state.hexdigest()}

    def rows(self) -> list[Row]:
        return [
            Row(GIVEN, place, 0, each, Origin.GIVEN) for place, each in enumerate(self.readings)
        ]

    def record(self, journal: Journal | None) -> None:
        """Write them down, where they are not there already."""
        if journal is not None and not journal.batch(GIVEN):
            journal.add(self.rows())


def pilot_of(episodes: int) -> dict[str, Any]:
    """How a recorded call names the episodes of a pilot that the doctor runs."""
    return {PILOT: episodes}


def recorded_data(data: object, journal: str | Path | None) -> object:
    """The data of a call, or those that an existing journal was begun with.

    What is wrong with a journal is said when it is continued.
    """
    if data is not None or journal is None:
        return data
    try:
        if not is_begun(journal):
            return None
        with Journal(journal) as begun:
            return Given.recorded_in(begun)
    except (JournalError, OSError):
        return None


def _readings(part: object) -> list[Readings]:
    if isinstance(part, Episodes | Summary):
        return [part]
    if isinstance(part, str | Path):
        return readings_in(part)
    raise InputError(
        "data= is a file, or episodes as surepath.Episodes, or several of them",
        got=f"{type(part).__name__}",
        remedy="Give the path of a journal, a .csv or a .parquet file; or Episodes(actions, "
        "observations, rewards).",
    )


def _fitted(readings: Readings, system: System, horizon: int) -> Readings:
    """The readings as this system has them: no longer than the horizon, and in their shape."""
    actions = readings.actions
    if any(action not in range(system.n_actions) for action in actions):
        raise InputError(
            "given episodes must be of the system's actions",
            got=f"{actions[:20]}, where there are {system.n_actions} actions",
            remedy="Give episodes of this system, with actions 0 .. n - 1.",
        )
    if not isinstance(readings, Episodes):
        if len(actions) > horizon:
            raise InputError(
                "a statistic of longer episodes cannot be cut",
                got=f"{len(actions)} actions, horizon {horizon}",
                remedy="Give single episodes, or use their horizon.",
            )
        return readings
    steps = steps_of(actions, horizon)
    if readings.observations.shape[1] < steps:
        raise InputError(
            "a given episode has an observation before each action and, before the horizon, one "
            "after the last",
            got=f"{readings.observations.shape[1]} observations of {len(actions)} actions",
            remedy=f"Give {steps} of them, or leave that episode out.",
        )
    cut = replace(
        readings,
        actions=actions[:horizon],
        observations=_shaped(readings.observations[:, :steps], system),
        rewards=readings.rewards[:, :horizon],
    )
    return joined(cut.actions, [(0, cut)])


def _shaped(observations: Any, system: System) -> Any:
    """Numbers of a table as the observations that the system has; others as they are."""
    said = Declared(system)
    flat = observations.ndim == 3
    if said.n_observations is not None and flat and observations.shape[2] == 1:
        return np.rint(observations[:, :, 0]).astype(np.int64)
    shape: tuple[int, ...] | None = getattr(said.observation_space, "shape", None)
    if shape is not None and flat and int(np.prod(shape)) == observations.shape[2]:
        kind = said.observation_space.dtype
        return observations.reshape(*observations.shape[:2], *shape).astype(kind)
    return observations
