"""Many runs, and what a run is judged by."""

from __future__ import annotations

from surepath.bench.harness.runs import Crew, Instance, Job, Outcome, grouped, play


def test_processes_give_what_one_gives_in_the_same_order() -> None:
    one = Instance("tabular", {"horizon": 2})
    jobs = [Job(one.numbered(seed), seed) for seed in range(3)]
    with Crew(2) as crew, Crew(1) as alone:
        assert crew.spread(play, jobs, "two") == alone.spread(play, jobs, "one")


def an_outcome(loss: float, *, certified: bool = True, tolerance: float = 0.0) -> Outcome:
    return Outcome(loss, tolerance, certified, "", (), 10, 20)


def test_a_certificate_is_false_when_it_promises_more_than_is_true() -> None:
    assert not an_outcome(0.0).wrong
    assert an_outcome(0.05).false
    assert an_outcome(0.05, tolerance=0.1).wrong
    assert not an_outcome(0.05, tolerance=0.1).false
    assert not an_outcome(0.5, certified=False).false


def test_runs_are_grouped_as_their_jobs_were_laid_out() -> None:
    assert grouped([1, 2, 3, 4, 5, 6], 2) == [[1, 2], [3, 4], [5, 6]]
