"""Small systems for the tests of journals, executors and faults: sound ones, and ones that fail.

All walks say the same of themselves, so that a sound one can go on with the journal of a faulty one
and must then end where a sound one ends that had it alone.
"""

from __future__ import annotations

import os
import signal
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from surepath.journal.database import Journal
from surepath.system import Actions, Episodes, Play, Summary, steps_of

PAYS = (0.25, 0.75, 0.4)
SHOWN = np.array([(0.7, 0.1, 0.1, 0.1), (0.1, 0.7, 0.1, 0.1), (0.1, 0.1, 0.4, 0.4)])


def positions(actions: Actions) -> list[int]:
    """Three places: action 1 goes on to the next one and stops at the last, action 0 goes back."""
    place, places = 0, [0]
    for action in actions:
        place = min(place + 1, 2) if action else 0
        places.append(place)
    return places


@dataclass
class Walk:
    """One episode at a time: symbols and coins."""

    pause: float = 0.0  # seconds that an episode takes
    horizon: int = 3
    n_actions: int = 2
    n_observations: int = 4
    identity: dict[str, str] = field(default_factory=lambda: {"system": "walk"})

    def play(self, actions: Actions, seed: int) -> Play:
        if self.pause:
            time.sleep(self.pause)
        rng = np.random.default_rng(seed)
        places = positions(actions)
        seen = places[: steps_of(actions, self.horizon)]
        observations = [int(rng.choice(4, p=SHOWN[place])) for place in seen]
        return observations, [float(rng.random() < PAYS[place]) for place in places[1:]]

    def gather(self, actions: Actions, plays: Sequence[Play]) -> Episodes:
        return Episodes(
            actions,
            np.array([observations for observations, _ in plays]),
            np.array([rewards for _, rewards in plays], dtype=np.float64),
        )

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        return self.gather(
            actions, [self.play(actions, int(seed)) for seed in rng.integers(2**31, size=n)]
        )


@dataclass
class Faulty(Walk):
    """A walk that does something else in some episodes, chosen by their noise or named by it."""

    fault: Callable[[Faulty, Actions, Play], Play] | None = None
    share: int = 20  # one episode in so many
    named: frozenset[int] | None = None  # the seeds of these episodes instead
    folder: Path | None = None  # where it remembers, across processes, what has failed once
    hung: Path | None = None  # where it leaves a file for every episode that hangs
    run: int = 0  # the process that has the journal

    def play(self, actions: Actions, seed: int) -> Play:
        played = super().play(actions, seed)
        chosen = seed % self.share == 0 if self.named is None else seed in self.named
        chosen = chosen and (self.folder is None or self._first(actions, seed))
        return self.fault(self, actions, played) if self.fault and chosen else played

    def _first(self, actions: Actions, seed: int) -> bool:
        assert self.folder is not None
        name = "".join(map(str, actions)) + f"-{seed}"
        try:
            (self.folder / name).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True


def breaks(system: Faulty, actions: Actions, played: Play) -> Play:
    raise OSError("the arm is stuck")


def hangs(system: Faulty, actions: Actions, played: Play) -> Play:
    if system.hung is not None:
        (system.hung / uuid.uuid4().hex).touch()
    time.sleep(3600)
    return played


def kills_its_worker(system: Faulty, actions: Actions, played: Play) -> Play:
    os.kill(os.getpid(), signal.SIGKILL)
    return played


def kills_its_run(system: Faulty, actions: Actions, played: Play) -> Play:
    os.kill(system.run, signal.SIGKILL)
    return played


def pays_nan(system: Faulty, actions: Actions, played: Play) -> Play:
    return played[0], [float("nan")] * len(actions)


def pays_too_much(system: Faulty, actions: Actions, played: Play) -> Play:
    return played[0], [7.0] * len(actions)


def reads_nan(system: Faulty, actions: Actions, played: Play) -> Play:
    return [float("nan")] * len(played[0]), played[1]


@dataclass
class Gauge:
    """Many episodes at once: real vectors, laid out in memory by time step."""

    horizon: int = 3
    n_actions: int = 2
    noise: float = 0.5
    identity: dict[str, str] = field(default_factory=lambda: {"system": "gauge"})
    fails: Callable[[], None] | None = None

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        if self.fails is not None:
            self.fails()
        places = positions(actions)
        means = np.eye(3)[places[: steps_of(actions, self.horizon)]]
        by_step = means[:, None] + rng.normal(scale=self.noise, size=(len(means), n, 3))
        paid = rng.random((len(actions), n)) < np.array([PAYS[p] for p in places[1:]])[:, None]
        return Episodes(actions, by_step.swapaxes(0, 1), paid.T.astype(np.float64))


def unpicklable() -> Walk:
    """Holds what no other process can have."""
    system = Walk()
    system.handle = open(os.devnull, "rb")  # noqa: SIM115  # type: ignore[attr-defined]
    return system


# ---------------------------------------------------------------- journals

Content = dict[tuple[int, int, int], tuple[object, ...]]


def content(path: Path) -> Content:
    """What a journal holds by batch, request and number of the episode; none of them twice.

    Of each, first what its row says to be.
    """
    with Journal(path) as journal:
        rows = list(journal.rows())
    held: Content = {}
    for row in rows:
        readings = row.readings
        if isinstance(readings, Summary):
            assert (row.batch, row.request, 0) not in held
            held[row.batch, row.request, 0] = (row.says, readings.actions, repr(readings))
            continue
        for number in range(readings.count):
            place = (row.batch, row.request, row.first + number)
            assert place not in held
            held[place] = (
                row.says,
                readings.actions,
                readings.observations[number].tobytes(),
                readings.rewards[number].tobytes(),
            )
    return held
