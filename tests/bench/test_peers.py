"""Ours beside every rival: what is made of their runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from surepath.bench.harness.attempt import OURS, Trace, Trial
from surepath.bench.harness.rivals import Settings
from surepath.bench.harness.runs import Crew
from surepath.bench.suites import peers
from traces import CONTINUOUS, SMALL, trace


def test_the_summary_says_who_wins() -> None:
    def standing(method: str, steps: int, loss: float = 0.0) -> peers.Standing:
        return peers.Standing(method, (), [trace((steps, loss), total=steps)] * 20, 1000)

    findings = peers._summary(
        {
            "ours": [standing(OURS, 50), standing("UCT", 500), standing("LUCB", 800)],
            "theirs": [standing(OURS, 800), standing("UCT", 50)],
            "ours alone": [standing(OURS, 100), standing("UCT", 10, loss=0.1)],
            "nobody": [standing(OURS, 10, loss=0.2), standing("UCT", 10, loss=0.1)],
        }
    )
    rows = {
        row[0]: dict(zip(findings.columns[1:], map(str, row[1:]), strict=True))
        for row in findings.rows
    }
    assert rows["ours"]["best rival"].startswith("UCT, ")
    assert float(rows["ours"]["ratio"].split()[0]) < 0.2
    assert float(rows["theirs"]["ratio"].split()[0]) > 10
    assert rows["theirs"]["ratio"].endswith("]")
    assert rows["ours alone"]["best rival"] == "none"
    assert rows["ours alone"]["ratio"].startswith("< 0.1")
    assert rows["nobody"]["ratio"] == rows["nobody"]["ratio at 50 %"] == "-"
    assert rows["ours"]["stops by itself"] == "20/20 after 50"


def test_who_is_told_more_stands_apart() -> None:
    def standing(method: str, steps: int) -> peers.Standing:
        return peers.Standing(method, (), [trace((steps, 0.0), total=steps)] * 20, 1000)

    told = "elimination, told states"
    found = {"lock": [standing(OURS, 100), standing("UCT", 400), standing(told, 25)]}
    (row,) = peers._summary(found).rows
    assert str(row[4]).startswith("UCT, ")
    assert str(row[6]).startswith("UCT, ")
    assert str(row[7]).endswith("]")  # the interval at 50 %
    (row,) = peers._knowing(found).rows
    assert str(row[2]).startswith(told)
    assert float(str(row[3]).split()[0]) > 3
    names = [str(row[0]) for row in peers._matrix(found).rows]
    assert names == ["UCT", f"{told} *"]
    (row,) = peers._knowing({"lock": found["lock"][:2]}).rows
    assert row[2] == "none can be told"


def test_a_rival_that_is_never_right_makes_few_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours makes all of them, and so does a rival that was right once."""

    def fake(trial: Trial) -> Trace:
        right = trial.method != "LUCB" and (trial.method == "UCT") == (trial.seed == 3)
        return trace((20, 0.0 if right else 0.1))

    monkeypatch.setattr(peers, "attempt", fake)
    contest = peers.Contest("small", SMALL, 1000)
    chosen: dict[str, Settings] = {"UCT": (), "LUCB": ()}
    scale = peers.Scale(instances=peers.FIRST_RUNS + 4, policies=0)
    found = {s.method: s.traces for s in peers.compete(Crew(), contest, chosen, scale)}
    assert {method: len(traces) for method, traces in found.items()} == {
        OURS: scale.instances,
        "UCT": scale.instances,
        "LUCB": peers.FIRST_RUNS,
    }
    assert [each.losses[-1] == 0.0 for each in found["UCT"]].index(True) == 3
    few = replace(scale, instances=peers.FIRST_RUNS - 6)
    assert all(len(s.traces) == 4 for s in peers.compete(Crew(), contest, chosen, few))


def test_the_floor_is_given_where_there_are_few_sequences() -> None:
    small, large = (peers.Contest(t, i, 1000) for t, i in (("small", SMALL), ("bay", CONTINUOUS)))
    (said,) = peers._floor(Crew(), small, 2)
    assert said.startswith("small: ")
    assert peers._floor(Crew(), large, 2) == []
