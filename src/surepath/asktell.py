"""Ask and tell, for systems that are not Python objects: a bench, a robot, another language.

loop = AskTell(horizon=4, n_actions=3, n_observations=3)
while requests := loop.ask():
loop.tell([run_on_the_bench(request) for request in requests])
loop.result()
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from surepath.errors import InputError, JournalError
from surepath.journal.course import Course
from surepath.journal.database import Journal
from surepath.journal.rows import GIVEN, Origin, Row, joined, requests_of
from surepath.learners.base import sound
from surepath.prepare.call import Call, Future
from surepath.prepare.given import Given, recorded_data
from surepath.prepare.start import start
from surepath.results.result import Result
from surepath.run.driver import point_of
from surepath.run.interrupts import uninterrupted
from surepath.run.runner import Runner
from surepath.system import Actions, Episodes, Readings, Request


class Elsewhere:
    """A system that cannot be called from here, known by its sizes."""

    def __init__(
        self, horizon: int, n_actions: int, n_observations: int | None, dimension: int | None
    ) -> None:
        if (n_observations is None) == (dimension is None):
            raise InputError(
                "observations are either symbols or vectors",
                got=f"n_observations={n_observations}, dimension={dimension}",
                remedy="Give n_observations for symbols 0 .. n - 1, or dimension for vectors.",
            )
        self.horizon, self.n_actions = horizon, n_actions
        self.n_observations, self.dimension = n_observations, dimension
        self.preferred_features = "linear" if n_observations is None else "onehot"
        self.identity = {
            "elsewhere": True,
            "n_actions": n_actions,
            "n_observations": n_observations,
            "dimension": dimension,
        }

    def rollout(self, actions: Actions, n: int, _rng: np.random.Generator) -> Episodes:
        raise InputError(
            "episodes are told, not run: what needs some before the first ask cannot be used",
            got=f"a request for {n} episodes of {actions}",
            remedy='Use features that need no pilot: "onehot", "linear" or Custom.',
        )


class AskTell:
    """A run of the adaptive schedule whose episodes come from outside.

    `journal` records what is told before it is used; with an existing one the run goes on where it
    stopped. Features that are fitted on a pilot are refused: they need episodes before the first
    `ask`. It belongs to the thread that made it, until it is closed.
    """

    def __init__(
        self,
        horizon: int,
        n_actions: int,
        *,
        n_observations: int | None = None,
        dimension: int | None = None,
        features: object = Call.features,
        future: Future | None = Call.future,
        guarantee: str = Call.guarantee,
        delta: float = Call.delta,
        gap: float | None = Call.gap,
        tolerance: float | str | None = Call.tolerance,
        separation: float | Literal["exact"] | None = Call.separation,
        predict: bool = Call.predict,
        norm: float | None = Call.norm,
        reward_range: tuple[float, float] = Call.reward_range,
        return_range: tuple[float, float] | None = Call.return_range,
        data: object = None,
        at_once: int = Call.at_once,
        journal: str | Path | None = None,
        seed: int = Call.seed,
    ) -> None:
        system = Elsewhere(horizon, n_actions, n_observations, dimension)
        call = Call.of(
            system,
            features=features,
            future=future,
            guarantee=guarantee,
            delta=delta,
            gap=gap,
            tolerance=tolerance,
            separation=separation,
            predict=predict,
            norm=norm,
            reward_range=reward_range,
            return_range=return_range,
            data=recorded_data(data, journal),
            at_once=at_once,
            seed=seed,
        )
        self._thread = threading.get_ident()
        self._closed = False
        self._call, self._batch, self._unasked = call, 0, list[Readings]()
        self._journal: Journal | None = None
        self._course: Course | None = None

        def runner() -> Runner:
            if journal is not None:
                self._journal = Journal(journal, call.recorded())
                self._course = Course(self._journal)
            return Runner(call.system, seed, journal=self._journal)

        try:
            self._run = start(call, runner)
            self._learner = self._run.learner
            if self._journal is not None:
                self._replay(self._journal)
        except BaseException:
            if self._journal is not None:
                self._journal.close()
            raise

    @property
    def done(self) -> bool:
        return self._learner.done

    def ask(self) -> tuple[Request, ...]:
        """Action sequences to run, and how often; empty when the answer is settled."""
        self._check_use()
        return self._learner.ask()

    def tell(self, readings: Sequence[Readings], *, asked: bool = True) -> None:
        """The readings of every request of the last `ask`, in its order.

        asked: False for episodes that nobody asked for: of a log, or of somebody else. They are
        recorded at once, and used when the next requests are told; what was asked for stays so. As
        with `data=`, no proof rests on them.

        What is wrong with them is said before anything is recorded or used. Ctrl-C waits until both
        is done.
        """
        self._check_use()
        if not asked:
            self._keep_unasked(readings)
            return
        good = [self._sound(each) for each in readings]
        with uninterrupted():
            if self._journal is not None:
                self._learner.check(good)
                pairs = enumerate(good)
                self._journal.add([Row(self._batch, i, 0, each, Origin.GIVEN) for i, each in pairs])
            self._take(good)

    def _keep_unasked(self, readings: Sequence[Readings]) -> None:
        if not self._learner.ask():
            raise InputError(
                "nothing is left to ask, and nothing more is taken in",
                got=f"{len(readings)} readings that nobody asked for",
                remedy="Make another AskTell, with data= of all episodes there are.",
            )
        given = Given.of(list(readings), self._call.system, self._call.horizon)
        good = [self._sound(each) for each in given.readings]
        batch, place = GIVEN + 1 + self._batch, len(self._unasked)
        rows = [Row(batch, place + i, 0, each, Origin.GIVEN) for i, each in enumerate(good)]
        with uninterrupted():
            if self._journal is not None:
                self._journal.add(rows)
            self._unasked += good

    def _take(self, told: Sequence[Readings]) -> None:
        if self._unasked:
            self._learner.give(self._unasked, decide=False)
        spent = self._learner.spending
        self._learner.tell(told)
        if self._course is not None:
            self._course.note(point_of(self._learner, self._batch, spent))
        self._batch, self._unasked = self._batch + 1, []

    def result(self) -> Result:
        """What is known by now; certified once there is nothing left to ask."""
        self._check_use()
        found = self._run.result()
        if self._journal is not None:
            self._journal.put("result", found.saved())
        return found

    def close(self) -> None:
        """Close the journal; nothing can be asked or told after that."""
        self._check_thread()
        self._closed = True
        if self._journal is not None:
            self._journal.close()

    def __enter__(self) -> AskTell:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _sound(self, readings: Readings) -> Readings:
        good = sound(readings, self._learner.reward_range)
        self._call.check_paid(good)
        return good

    def _check_use(self) -> None:
        self._check_thread()
        if self._closed:
            raise InputError(
                "this loop was closed",
                got="a call after close()",
                remedy="Make another AskTell; with the same journal it goes on where this one was.",
            )

    def _check_thread(self) -> None:
        """Two threads would tell the same batch twice."""
        if threading.get_ident() != self._thread:
            raise InputError(
                "a loop of ask and tell belongs to the thread that made it",
                got=f"a call from the thread {threading.current_thread().name}",
                remedy="Ask and tell in one thread; others can run the episodes and hand it what "
                "they read.",
            )

    def _replay(self, journal: Journal) -> None:
        while requests := self.ask():
            kept = requests_of(journal.batch(GIVEN + 1 + self._batch))
            self._unasked = [self._sound(readings) for _, readings in kept]
            rows = journal.batch(self._batch)
            if not rows:
                break
            told = [self._sound(row.readings) for row in rows]
            if [(r.actions, r.count) for r in told] != [(r.actions, r.count) for r in requests]:
                raise JournalError(
                    "the journal does not fit this run",
                    got=f"other episodes in batch {self._batch} than are asked for",
                    remedy="Continue it with the version of surepath that began it.",
                )
            self._take([joined(r.actions, [(0, r)]) for r in told])
