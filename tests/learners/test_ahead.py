"""Where many episodes run at once, what will probably be needed next is asked for too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import surepath
from flaky import Gauge
from machines import Raw
from playing import learner_for, play, small
from surepath.errors import InputError, JournalError
from surepath.inference.judgement import judge
from surepath.journal.course import Purpose
from surepath.learners.adaptive import Adaptive
from surepath.learners.ahead import MOST_MORE, filled, parts
from surepath.learners.proving import Proving
from surepath.prepare.call import Call
from surepath.prepare.start import start
from surepath.run.runner import Runner


def read_a_little(rounds: int = 1) -> Adaptive:
    """Of a problem with three steps and two actions."""
    learner, runner = learner_for(small(1)), Runner(small(1), 0)
    for batch in range(rounds):
        learner.tell(runner.run(batch, learner.ask(), summary=True))
    return learner


def fill(asked: dict[Purpose, list[Any]], at_once: int, later: list[Any] | None = None) -> Any:
    learner = read_a_little()
    machine = judge(learner.root, learner.terms).machine
    return filled(asked, at_once, machine, learner.root, later or [])


def test_a_round_that_is_full_stays_as_it_is() -> None:
    asked = {Purpose.IDENTIFY: [((0, 1), 5), ((1,), 3)]}
    assert fill(asked, 8, [((1, 1, 1), 20)]) == asked


def test_a_run_that_is_done_asks_for_nothing() -> None:
    assert fill({Purpose.CERTIFY: []}, 64, [((1, 1, 1), 20)]) == {Purpose.CERTIFY: []}


def test_untried_actions_are_followed_by_all_actions_where_all_fit() -> None:
    wanted = [((0, 0, 0), 4), ((9,), 4), ((9, 9), 4)]  # nobody has taken a ninth action
    found = fill({Purpose.EXPLORE: wanted}, 20)[Purpose.EXPLORE]
    assert found == [((0, 0, 0), 4), ((9, 0), 4), ((9, 1), 4), ((9, 9, 0), 4), ((9, 9, 1), 4)]
    further = fill({Purpose.EXPLORE: wanted}, 28)[Purpose.EXPLORE]
    assert [actions for actions, _ in further][1:5] == [(9, a, b) for a in (0, 1) for b in (0, 1)]
    assert fill({Purpose.EXPLORE: wanted}, 19)[Purpose.EXPLORE] == [(w[0], 6) for w in wanted]


def test_what_the_certificate_needs_comes_before_more_of_the_same() -> None:
    asked = {Purpose.IDENTIFY: [((0, 1), 6)]}
    found = fill(asked, 20, [((1, 1, 1), 10), ((1, 1, 0), 10)])
    assert found[Purpose.CERTIFY] == [((1, 1, 1), 10), ((1, 1, 0), 4)]
    assert found[Purpose.IDENTIFY] == [((0, 1), 6)]
    assert fill(asked, 12)[Purpose.IDENTIFY] == [((0, 1), 12)]
    assert fill(asked, 1000)[Purpose.IDENTIFY] == [((0, 1), int(6 * MOST_MORE))]


def test_requests_are_cut_so_that_all_have_something_to_do() -> None:
    wanted = [((0,), 40), ((1,), 3)]
    assert parts(wanted, 8, None) == wanted  # where the system draws statistics
    assert parts(wanted, 1, 16) == [((0,), 16), ((0,), 16), ((0,), 8), ((1,), 3)]
    cut = parts(wanted, 8, 4096)
    assert [count for _, count in cut] == [6] * 6 + [4, 3]
    assert sum(count for actions, count in cut if actions == (0,)) == 40


@pytest.mark.parametrize("at_once", [64, 256])
def test_rounds_are_filled_and_fewer(at_once: int) -> None:
    alone = together = 0
    for seed in range(6):
        problem = small(seed, horizon=5)
        learner = learner_for(problem, seed=seed, at_once=at_once)
        asked = play(learner, problem, seed)
        counts = [sum(request.count for request in requests) for requests in asked]
        # What was asked for is asked for 2.5 times at most, and 4 episodes are the least.
        assert min(counts) >= min(at_once / 2, 4)
        assert problem.is_optimal(learner.incumbent)
        together += len(asked)
        alone += len(play(learner_for(problem, seed=seed), problem, seed))
    assert together < alone


def test_one_at_once_is_what_there_was() -> None:
    problem = small(3)
    default, one = (learner_for(problem, seed=3, **how) for how in ({}, {"at_once": 1}))
    assert play(default, problem, 3) == play(one, problem, 3)
    assert "at_once" not in Call.of(problem).recorded()  # journals from before say the same


def test_a_system_with_only_rollout_gets_its_requests_in_parts() -> None:
    learner = learner_for(Raw(small(1)), at_once=8)
    first = learner.ask()
    total = sum(request.count for request in first)
    assert len(first) >= 8
    assert max(request.count for request in first) == -(-total // 8)


SYSTEMS = {"rollout": (Gauge(), {"features": "linear"}), "summaries": (small(2), {})}


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_stopped_run_goes_on_and_is_verified(name: str, tmp_path: Path) -> None:
    system, how = SYSTEMS[name]
    whole = surepath.learn(system, at_once=8, journal=tmp_path / "whole.db", **how)
    path = tmp_path / "stopped.db"
    surepath.learn(system, at_once=8, journal=path, budget=2 * whole.episodes // 3, **how)
    assert surepath.learn(system, at_once=8, journal=path, **how) == whole
    for each in (path, tmp_path / "whole.db"):
        found = surepath.verify(each)
        assert found.agrees
        assert not found.taken
    with pytest.raises(JournalError):
        surepath.learn(system, at_once=4, journal=path, **how)


def proving(**options: Any) -> Proving:
    learner = start(
        Call.of(small(1), seed=4, guarantee="proved", separation=0.3, **options)
    ).learner
    assert isinstance(learner, Proving)
    runner = Runner(small(1), 4)
    for batch in range(60):
        if learner.fresh:
            return learner
        learner.tell(runner.run(batch, learner.ask(), summary=True))
    raise AssertionError("nothing was proposed")


def test_a_block_of_a_proof_has_no_more_for_it() -> None:
    """Its counts are fixed by what was read before, and cut at most."""
    learner = proving()
    wanted = learner.ask()
    learner._at_once, learner._largest_batch = 64, 4096
    assert learner.attempt is not None
    learner.attempt.blocks.clear()
    again = learner._block(learner.attempt)
    assert len(again) > len(wanted)
    for request in wanted:
        same = [each.count for each in again if each.actions == request.actions]
        assert sum(same) == request.count


def test_a_proof_of_a_run_that_asks_for_more(tmp_path: Path) -> None:
    path = tmp_path / "proved.db"
    system = Raw(small(1))
    found = surepath.learn(
        system, guarantee="proved", separation=0.3, seed=4, at_once=16, journal=path
    )
    assert found.certified
    assert surepath.verify(path).agrees


@pytest.mark.parametrize(
    ("at_once", "how", "said"),
    [(0, {}, "at_once"), (2**21, {}, "at_once"), (8, {"schedule": "tight"}, "Leave out at_once")],
)
def test_what_cannot_be_is_refused(at_once: int, how: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        surepath.learn(small(1), at_once=at_once, **how)
