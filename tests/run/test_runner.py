"""From requests to readings: what is recorded is not run again, and kills change nothing."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import surepath
from clocks import Clock
from flaky import Faulty, Gauge, Walk, breaks, content
from kills import Kills, check_as_if_never_killed, killed_and_resumed
from surepath.decoding import limits
from surepath.errors import EpisodeError, InputError, JournalError
from surepath.journal.database import Journal
from surepath.journal.rows import Fault, Row, joined
from surepath.results.verify import verify
from surepath.run import executors, runner, work
from surepath.run.executors import Serial
from surepath.run.processes import Processes
from surepath.run.runner import Runner, _missing
from surepath.run.work import Unit, error_text, perform, unit_of
from surepath.system import Actions, Episodes, Play, Request, Summary

CONFIGURATION = {"system": {"system": "walk"}}


def request(count: int, actions: Actions = (1, 0)) -> Request:
    return Request(actions, count, range(len(actions) + 1), range(len(actions)))


def numbered(first: int, count: int) -> Episodes:
    """Episodes that say which they are."""
    numbers = np.arange(first, first + count)
    return Episodes((0,), np.stack([numbers, numbers], axis=1), numbers[:, None].astype(float))


# ---------------------------------------------------------------- what is missing


@given(cuts=st.sets(st.integers(1, 39)), kept=st.randoms(use_true_random=False))
@settings(max_examples=100)
def test_recorded_and_missing_parts_are_the_whole(cuts: set[int], kept: Any) -> None:
    unit = Unit(request(40), 0, 0, 0, 40, 0, single=True)
    edges = [0, *sorted(cuts), 40]
    parts = [(a, b) for a, b in pairwise(edges) if kept.random() < 0.5]
    kept.shuffle(parts)
    missing = _missing(unit, [(a, numbered(a, b - a)) for a, b in parts])
    spans = sorted([*parts, *((m.first, m.first + m.count) for m in missing)])
    assert [spans[0][0], spans[-1][1]] == [0, 40]
    assert all(mine[1] == following[0] for mine, following in pairwise(spans))
    assert all(m.count > 0 for m in missing)
    whole = joined((0,), [(a, numbered(a, b - a)) for a, b in spans])
    assert isinstance(whole, Episodes)
    assert whole.rewards[:, 0].tolist() == list(range(40))


# ---------------------------------------------------------------- the same readings


def as_run(readings: Sequence[Any]) -> list[tuple[bytes, bytes]]:
    return [(each.observations.tobytes(), each.rewards.tobytes()) for each in readings]


@pytest.mark.parametrize("system", [Walk(), Gauge()])
def test_recorded_readings_are_the_same_in_every_byte(system: Any, tmp_path: Path) -> None:
    """Also in the order that they have in memory, on which the last digit of a sum depends."""
    asked = [request(30), request(20, (0, 0))]
    alone = Runner(system, 1).run(0, asked, summary=False)
    with Journal(tmp_path / "a.db", CONFIGURATION) as journal:
        live = Runner(system, 1, journal=journal).run(0, asked, summary=False)
        again = Runner(system, 1, journal=journal).run(0, asked, summary=False)
        assert journal.count() == (50, 0)
    assert as_run(alone) == as_run(live) == as_run(again)
    for readings in (*alone, *live, *again):
        assert isinstance(readings, Episodes)
        assert readings.observations.flags.c_contiguous
        assert readings.observations.flags.writeable
    other = Runner(system, 2).run(0, asked, summary=False)
    assert as_run(other) != as_run(alone)


def test_summaries_are_recorded(tmp_path: Path) -> None:
    problem = surepath.make("tabular", horizon=3, states=3, observations=4, seed=1)
    asked = [request(10**12), request(5)]
    with Journal(tmp_path / "a.db", CONFIGURATION) as journal:
        live = Runner(problem, 1, journal=journal).run(0, asked, summary=True)
        again = Runner(problem, 1, journal=journal).run(0, asked, summary=True)
        assert journal.count() == (10**12 + 5, 0)
    assert isinstance(live[0], Summary)
    assert repr(live) == repr(again)


def test_only_what_is_missing_is_run(tmp_path: Path) -> None:
    played = list[int]()

    class Counted(Walk):
        def play(self, actions: Actions, seed: int) -> Play:
            played.append(seed)
            return super().play(actions, seed)

    with Journal(tmp_path / "a.db", CONFIGURATION) as journal:
        first = Runner(Counted(), 0, journal=journal).run(0, [request(20)], summary=False)
        everything = played.copy()
        (found,) = first
        assert isinstance(found, Episodes)
        middle = Episodes(found.actions, found.observations[5:9], found.rewards[5:9])
    played.clear()
    with Journal(tmp_path / "b.db", CONFIGURATION) as journal:
        journal.add([Row(0, 0, 5, middle)])
        again = Runner(Counted(), 0, journal=journal).run(0, [request(20)], summary=False)
    assert played == everything[:5] + everything[9:]
    assert as_run(first) == as_run(again)


@pytest.mark.parametrize(
    "rows",
    [
        [Row(0, 1, 0, numbered(0, 2))],  # there is no such request
        [Row(0, -1, 0, numbered(0, 2))],  # nor is it the last
        [Row(0, 0, 4, numbered(0, 2))],  # more than was asked for
        [Row(0, 0, 0, Episodes((1,), np.zeros((2, 2)), np.zeros((2, 1))))],  # other actions
        [Row(0, 0, 0, numbered(0, 3)), Row(0, 0, 2, numbered(2, 2))],  # an episode twice
    ],
)
def test_a_journal_that_does_not_fit_is_refused(rows: list[Row], tmp_path: Path) -> None:
    with Journal(tmp_path / "a.db", CONFIGURATION) as journal:
        journal.add(rows)
        with pytest.raises(JournalError, match="does not fit this run"):
            Runner(Walk(), 0, journal=journal).run(0, [request(5, (0,))], summary=False)


# ---------------------------------------------------------------- what must not be recorded


class Says(Gauge):
    """Answers what it was told to."""

    def __init__(self, observation: float, reward: float) -> None:
        super().__init__()
        self.said = (observation, reward)

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        observations, rewards = np.zeros((n, len(actions) + 1, 2)), np.zeros((n, len(actions)))
        observations[-1, 1, 1], rewards[-1, 1] = self.said
        return Episodes(actions, observations, rewards)


@pytest.mark.parametrize(
    ("observation", "reward", "message"),
    [
        (0.0, np.nan, r"rewards must lie in \[0, 1\].*nan at step 1 of \(1, 0\)"),
        (0.0, np.inf, r"inf at step 1"),
        (0.0, 1.5, r"1.5 at step 1.*reward_range"),
        (0.0, -0.1, r"-0.1 at step 1"),
        (np.nan, 0.0, r"observations must be finite.*nan.* at step 1 of \(1, 0\)"),
        (-np.inf, 0.0, r"observations must be finite"),
    ],
)
def test_bad_readings_are_refused_and_not_recorded(
    observation: float, reward: float, message: str, tmp_path: Path
) -> None:
    with Journal(tmp_path / "a.db", CONFIGURATION) as journal:
        running = Runner(
            Says(observation, reward), 0, journal=journal, reward_range=(0, 1), executor=Serial()
        )
        with pytest.raises(InputError, match=message):
            running.run(0, [request(4)], summary=False)
        assert journal.count() == (0, 0)


@pytest.mark.parametrize("span", [(0.0, 1.0), (-0.3, 0.1), (-100.0, 0.0), (-np.inf, np.inf)])
def test_rewards_that_rounding_put_outside_are_at_the_end_of_their_range(
    span: tuple[float, float], tmp_path: Path
) -> None:
    for end, way in zip(span, (-1, 1), strict=True):
        reward = end + 2 * way * np.spacing(max(map(abs, span))) if np.isfinite(end) else 1e6
        with Journal(tmp_path / f"{way}.db", CONFIGURATION) as journal:
            running = Runner(Says(0.0, reward), 0, journal=journal, reward_range=span)
            (read,) = running.run(0, [request(4)], summary=False)
            (recorded,) = journal.rows()
        for readings in (read, recorded.readings):
            assert isinstance(readings, Episodes)
            assert readings.rewards[-1, 1] == (end if np.isfinite(end) else reward)


def test_what_came_before_a_stop_is_recorded(tmp_path: Path) -> None:
    """The requests that were answered, though the batch never ended."""
    with Journal(tmp_path / "a.db", CONFIGURATION) as journal:
        system = Faulty(fault=breaks, share=30)
        running = Runner(system, 0, journal=journal, executor=Serial(retries=1, pause=0))
        with pytest.raises(EpisodeError, match="failed 2 times"):
            running.run(0, [request(40), request(3, (0, 0))], summary=False)
        episodes, faults = journal.count()
        failed = sum(
            seed % 30 == 0
            for seed in unit_of(system, 0, 0, request(40), 0, summary=False).episode_seeds()
        )
        assert faults >= 2
        assert 40 - failed <= episodes < 43
    assert running.retries == faults


def test_faults_alone_are_recorded(tmp_path: Path) -> None:
    system = Faulty(fault=breaks, share=1)
    with Journal(tmp_path / "a.db", CONFIGURATION) as journal:
        running = Runner(system, 0, journal=journal, executor=Serial(retries=2, pause=0))
        with pytest.raises(EpisodeError):
            running.run(0, [request(1)], summary=False)
        assert journal.count() == (0, 3)
        with journal._explained():
            noted = journal._database.execute(
                "SELECT batch, request, episode, attempt, error FROM faults"
            ).fetchall()
    assert noted == [(0, 0, 0, attempt, "OSError: the arm is stuck") for attempt in range(3)]
    with Journal(tmp_path / "a.db", CONFIGURATION) as journal:
        assert Runner(system, 0, journal=journal).retries == 3


def test_a_failure_while_gathering_costs_only_its_part() -> None:
    """The episodes that were gathered before are kept, and not run again."""

    class Ragged(Faulty):
        def gather(self, actions: Actions, plays: Sequence[Play]) -> Episodes:
            if len(plays) > 3:
                raise TypeError("not now")
            return super().gather(actions, plays)

    seeds = Unit(request(60), 0, 0, 0, 60, 0, single=True).episode_seeds()
    system = Ragged(fault=breaks, share=5)
    report = perform(system, Unit(request(60), 0, 0, 0, 60, 0, single=True))
    spans = [(unit.first, unit.first + unit.count) for unit, _ in report.done]
    spans += [(f.unit.first, f.unit.first + f.unit.count) for f in report.failed]
    spans.sort()
    assert [number for a, b in spans for number in range(a, b)] == list(range(60))
    assert any("TypeError" in failure.error for failure in report.failed)
    assert sum("OSError" in f.error for f in report.failed) == sum(s % 5 == 0 for s in seeds)


# ---------------------------------------------------------------- killed and resumed


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, surepath.Result]:
    path = tmp_path_factory.mktemp("alone") / "a.db"
    result = surepath.learn(Walk(), journal=path)
    assert result.certified
    assert result == surepath.learn(Walk())
    return path, result


def test_killed_runs_end_as_if_they_never_had_been(
    alone: tuple[Path, surepath.Result], tmp_path: Path
) -> None:
    kills = Kills()
    for run in count():
        path = tmp_path / f"{run}.db"
        killed_and_resumed(path, random.Random(run), kills, alone[0])
        check_as_if_never_killed(path, *alone)
        if run >= 5 and kills.number >= 6:  # on a fast machine some runs end before they are killed
            break


def test_resuming_adds_up_whatever_the_executor(
    alone: tuple[Path, surepath.Result], tmp_path: Path
) -> None:
    """Budgets instead of kills: so much, then so much more, then the rest."""
    path, whole, system = tmp_path / "a.db", alone[1], Walk()
    with Processes(2) as processes:
        for budget, workers in ((60, None), (150, processes), (151, None)):
            part = surepath.learn(system, journal=path, budget=budget, workers=workers)
            assert not part.certified
            assert part.episodes <= budget
            assert part == surepath.learn(Walk(), budget=budget)
            assert verify(path).agrees
        assert surepath.learn(system, journal=path, workers=processes) == whole
    check_as_if_never_killed(path, *alone)


def test_a_run_that_was_interrupted_goes_on(
    alone: tuple[Path, surepath.Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(Walk):
        def play(self, actions: Actions, seed: int) -> Play:
            if seed % 50 == 0:
                raise KeyboardInterrupt
            return super().play(actions, seed)

    monkeypatch.setattr(executors, "SLICE", 0.0)
    with pytest.raises(KeyboardInterrupt):
        surepath.learn(Interrupted(), journal=tmp_path / "a.db")
    before = content(tmp_path / "a.db")
    whole = content(alone[0])
    assert before
    assert {place: whole[place] for place in before} == before
    assert surepath.learn(Walk(), journal=tmp_path / "a.db") == alone[1]
    check_as_if_never_killed(tmp_path / "a.db", *alone)


def test_rows_are_written_while_a_batch_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a clock of its own: an episode takes 1/8 s."""
    clock = Clock()
    for module in (runner, work):
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(runner, "FLUSH_SECONDS", 0.5)
    monkeypatch.setattr(executors, "SLICE", 0.25)
    written = list[list[int]]()

    class Timed(Walk):
        def play(self, actions: Actions, seed: int) -> Play:
            clock.sleep(0.125)
            return super().play(actions, seed)

    class Watched(Journal):
        def add(self, rows: Sequence[Row], faults: Sequence[Fault] = ()) -> None:
            written.append([row.readings.count for row in rows])
            super().add(rows, faults)

    with Watched(tmp_path / "a.db", CONFIGURATION) as journal:
        Runner(Timed(), 0, journal=journal).run(0, [request(62)], summary=False)
        assert journal.count() == (62, 0)
    # Three episodes are reported together after 3/8 s, and two reports are written together.
    assert written == [[3, 3]] * 10 + [[2]]


def test_an_error_is_cut_where_a_journal_would_refuse_it() -> None:
    text = error_text(OSError("x" * 2 * limits.CELL_BYTES))
    assert text.startswith("OSError: xxx")
    assert len(text) < limits.CELL_BYTES
