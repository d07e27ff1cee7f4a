"""Every episode is handed out once and reported once, whoever dies or takes too long."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clocks import Clock
from flaky import Walk
from surepath.run import fleet
from surepath.run.fleet import Fleet, Worker, WorkerDiedError, _Queue
from surepath.run.work import Unit, UnitReport, perform
from workers import numbers, unit, until_it_stops


@given(
    counts=st.lists(st.tuples(st.integers(1, 200), st.booleans()), max_size=6),
    workers=st.integers(1, 9),
    most=st.integers(1, 80),
)
@settings(max_examples=100)
def test_every_episode_is_handed_out_once(
    counts: list[tuple[int, bool]], workers: int, most: int
) -> None:
    units = [unit(n, single=single, index=i) for i, (n, single) in enumerate(counts)]
    queue, taken = _Queue(deque(units)), list[Unit]()
    while queue:
        taken.append(queue.take(workers, most))
    handed = [(u.index, u.first + i) for u in taken for i in range(u.count)]
    assert handed == [(u.index, i) for u in units for i in range(u.count)]
    assert all(u.count <= most for u in taken if u.single)
    assert all(u.count == u.request.count for u in taken if not u.single)


def test_all_workers_get_something() -> None:
    queue = _Queue(deque([unit(8)]))
    assert [queue.take(4, 64).count for _ in range(8)] == [1] * 8
    assert not queue


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(fleet, "time", clock)
    return clock


def test_what_was_postponed_wakes_in_its_order(clock: Clock) -> None:
    queue = _Queue(deque())
    queue.postpone(unit(1, index=0), 0.02)
    queue.postpone(unit(1, index=1), 0.0)
    queue.postpone(unit(1, index=2), 60.0)
    queue.wake()
    assert [u.index for u in queue.ready] == [1]
    clock.sleep(0.03)
    queue.wake()
    assert [u.index for u in queue.ready] == [1, 0]
    assert queue.later[0][-1].index == 2


class Local(Worker):
    """A worker of this process that dies when it is told to."""

    def __init__(self, system: Any, dies: Callable[[Unit], bool]) -> None:
        self.system, self.dies = system, dies
        self.given: Unit | None = None

    def send(self, unit: Unit) -> None:
        self.given = unit

    def receive(self) -> UnitReport:
        if self.given is None:
            return UnitReport()
        if self.dies(self.given):
            raise WorkerDiedError("gone")
        return perform(self.system, self.given)

    def stop(self) -> None:
        self.given = None


class Crew(Fleet):
    """A fleet of those."""

    def __init__(self, size: int, dies: Callable[[Unit], bool], **how: Any) -> None:
        super().__init__(size, **how)
        self.dies = dies
        self.pick = np.random.default_rng(0)

    def _start(self, payload: bytes) -> Worker:
        return Local(pickle.loads(payload), self.dies)

    def _ready(self, workers: Sequence[Worker], seconds: float) -> Sequence[Worker]:
        return [w for w in workers if self.pick.random() < 0.7]


@given(
    counts=st.lists(st.integers(1, 150), min_size=1, max_size=4),
    size=st.integers(1, 5),
    chance=st.floats(0, 0.5),
    seed=st.integers(0, 99),
)
@settings(max_examples=40)
def test_a_fleet_does_every_episode_once_whoever_dies(
    counts: list[int], size: int, chance: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    crew = Crew(size, lambda _: bool(rng.random() < chance), retries=1000, pause=0)
    units = [unit(n, index=i) for i, n in enumerate(counts)]
    reports = list(crew.run(Walk(), units))
    assert sorted(numbers(reports)) == [
        (i, n) for i, count in enumerate(counts) for n in range(count)
    ]
    assert len(crew._workers) == size
    crew.close()
    assert crew._workers == []


def test_deaths_of_the_same_episodes_are_bounded() -> None:
    crew = Crew(3, lambda given: given.first <= 7 < given.first + given.count, retries=2)
    reports, message = until_it_stops(crew.run(Walk(), [unit(40)]))
    assert "workers died 3 times of the same episodes" in message
    assert crew.replaced == 3
    assert (0, 7) not in numbers(reports)


class Stuck(Crew):
    """Some units are never answered; time passes when nobody else has an answer, and only then."""

    def __init__(self, size: int, clock: Clock, hangs: Callable[[Unit], bool], **how: Any) -> None:
        super().__init__(size, lambda _: False, **how)
        self.clock, self.hangs = clock, hangs

    def _ready(self, workers: Sequence[Worker], seconds: float) -> Sequence[Worker]:
        answering = [w for w in workers if not (w.given and self.hangs(w.given))]  # pyright: ignore[reportAttributeAccessIssue]
        if not answering:
            self.clock.sleep(seconds)
        return answering


def test_only_an_episode_that_takes_too_long_fails_and_its_worker_is_replaced(
    clock: Clock,
) -> None:
    def hangs(given: Unit) -> bool:
        return given.first in (3, 4) and given.attempt == 0

    with Stuck(2, clock, hangs, time_limit=5.0, pause=0.25) as crew:
        reports = list(crew.run(Walk(), [unit(9)]))
    failures = [(f.unit.first, f.unit.count, f.error) for r in reports for f in r.failed]
    assert sorted(failures) == [(n, 1, "it took longer than 5 s") for n in (3, 4)]
    assert crew.replaced == 2
    assert sorted(numbers(reports)) == [(0, i) for i in range(9)]


def test_too_many_episodes_that_take_too_long_stop_the_run(clock: Clock) -> None:
    with Stuck(2, clock, lambda given: given.first == 3, time_limit=5.0, retries=2) as crew:
        reports, message = until_it_stops(crew.run(Walk(), [unit(9)]))
    assert "an episode failed 3 times" in message
    assert "it took longer than 5 s" in message
    assert (0, 3) not in numbers(reports)
    assert crew.replaced == 3


def test_a_worker_has_as_long_as_it_needs_to_start(clock: Clock) -> None:
    """The time limit is for episodes: importing and building the system are not part of it."""

    class Late(Local):
        def receive(self) -> UnitReport:
            if self.given is None:
                clock.sleep(100.0)
            return super().receive()

    class Slow(Crew):
        def _start(self, payload: bytes) -> Worker:
            return Late(pickle.loads(payload), self.dies)

    with Slow(1, lambda _: False, time_limit=0.5) as crew:
        reports = list(crew.run(Walk(), [unit(3)]))
    assert clock.now == 100.0
    assert crew.replaced == 0
    assert sorted(numbers(reports)) == [(0, 0), (0, 1), (0, 2)]
    assert all(not report.failed for report in reports)
