"""Ask and tell from outside: the same run as `learn`, a journal that goes on, lines of JSON."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surepath
from surepath.asktell import AskTell
from surepath.cli.serve import serve
from surepath.errors import InputError, JournalError
from surepath.results.verify import verify
from surepath.run.seeds import generator
from surepath.system import Episodes, Request

SIZES = {"horizon": 3, "states": 3, "observations": 4, "seed": 2}


def problem() -> surepath.Problem:
    return surepath.make("tabular", **SIZES)


def loop_for(system: surepath.Problem, **options: Any) -> AskTell:
    return AskTell(
        system.horizon, system.n_actions, n_observations=system.n_observations, **options
    )


def answers(system: Any, requests: tuple[Request, ...], batch: int) -> list[Episodes]:
    return [
        system.rollout(request.actions, request.count, generator(0, batch, index))
        for index, request in enumerate(requests)
    ]


def finish(loop: AskTell, system: Any, batch: int = 0, most: int = 10**6) -> int:
    while (requests := loop.ask()) and batch < most:
        loop.tell(answers(system, requests, batch))
        batch += 1
    return batch


class Single:
    """The problem as a system of single episodes, for the same run by `learn`."""

    def __init__(self) -> None:
        inner = problem()
        self.horizon, self.n_actions = inner.horizon, inner.n_actions
        self.n_observations, self.rollout = inner.n_observations, inner.rollout


def test_it_is_the_run_that_learn_makes() -> None:
    loop = loop_for(problem())
    finish(loop, problem())
    assert loop.done
    result, other = loop.result(), surepath.learn(Single())
    assert result == other
    assert result.record == other.record
    assert problem().is_optimal(result.actions)


@pytest.mark.parametrize("stop", [0, 1, 4])
def test_a_journal_goes_on_where_it_stopped(stop: int, tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    with loop_for(problem(), journal=path) as loop:
        told = finish(loop, problem(), most=stop)
        asked = loop.ask()
    with loop_for(problem(), journal=path) as loop:
        assert loop.ask() == asked
        finish(loop, problem(), told)
        result = loop.result()
    assert result == surepath.learn(Single())
    assert verify(path).certified


def test_bad_readings_are_refused_and_not_recorded(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    with loop_for(problem(), journal=path) as loop:
        asked = loop.ask()
        good = answers(problem(), asked, 0)
        bad = [*good[:-1], Episodes(good[-1].actions, good[-1].observations, good[-1].rewards + 5)]
        with pytest.raises(InputError, match="rewards must lie"):
            loop.tell(bad)
        with pytest.raises(InputError, match="every request"):
            loop.tell(good[:-1])
        assert loop.ask() == asked
    with loop_for(problem(), journal=path) as loop:
        assert loop.ask() == asked


def test_another_run_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    loop_for(problem(), journal=path).close()
    with pytest.raises(JournalError, match=r"delta: 0.05 in the journal, 0.1 now"):
        loop_for(problem(), journal=path, delta=0.1)


def test_vectors_are_told_with_their_dimension() -> None:
    system = surepath.make("gaussian", horizon=3, states=3, seed=1)
    loop = AskTell(3, system.n_actions, dimension=system.dimension)
    finish(loop, system)
    assert system.is_optimal(loop.result().actions)


@pytest.mark.parametrize("kind", [{}, {"n_observations": 3, "dimension": 2}])
def test_observations_are_symbols_or_vectors(kind: dict[str, int]) -> None:
    with pytest.raises(InputError, match="either symbols or vectors"):
        AskTell(3, 2, **kind)


def test_what_needs_a_pilot_is_refused() -> None:
    with pytest.raises(InputError, match="told, not run"):
        AskTell(3, 2, dimension=2, features="rbf")


# ---------------------------------------------------------------- lines of JSON


class Lab(io.StringIO):
    """Answers what is asked, a line for a line; some lines are spoiled on purpose."""

    def __init__(self, spoiled: dict[int, str] | None = None, lines: int = 10**6) -> None:
        super().__init__()
        self.asked: list[dict[str, Any]] = []
        self.spoiled, self.left, self.batch = spoiled or {}, lines, 0

    def readline(self, *_: Any) -> str:
        self.left -= 1
        if self.left < 0:
            return ""
        if len(self.asked) in self.spoiled:
            return self.spoiled.pop(len(self.asked)) + "\n"
        told = []
        for index, request in enumerate(self.asked[-1]["ask"]):
            actions = tuple(request["actions"])
            episodes = problem().rollout(actions, request["count"], generator(0, self.batch, index))
            told.append(
                {
                    "observations": episodes.observations.tolist(),
                    "rewards": episodes.rewards.tolist(),
                }
            )
        self.batch += 1
        return json.dumps({"tell": told}) + "\n"

    def write(self, text: str) -> int:
        message = json.loads(text)
        if "ask" in message:
            self.asked.append(message)
        else:
            self.last = message
        return len(text)


def test_lines_of_json_make_the_same_run() -> None:
    lab = Lab()
    result = serve(loop_for(problem()), lab, lab)
    assert result == surepath.learn(Single())
    assert lab.last["result"]["actions"] == list(result.actions)
    assert lab.last["result"]["certified"]


def told(observation: object, reward: str) -> str:
    """A line with this for every number of the first requests."""
    return (
        json.dumps(
            {
                "tell": [
                    {
                        "observations": [["#"] * min(len(each.actions) + 1, 3)] * each.count,
                        "rewards": [["@"] * len(each.actions)] * each.count,
                    }
                    for each in loop_for(problem()).ask()
                ]
            }
        )
        .replace('"#"', str(observation))
        .replace('"@"', reward)
    )


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("not json", "JSONDecodeError"),
        ("{}", "KeyError"),
        ('{"tell": []}', "ValueError"),
        ('{"tell": 3}', "TypeError"),
        ("[" * 10**5, "RecursionError"),
        ("9" * 10**4, "ValueError"),
        ("null", "TypeError"),
        ("\udcff", "UnicodeEncodeError"),
        (told('"1"', "0"), "are numbers"),
        (told("0", '"0"'), "are numbers"),
        (told(10**30, "0"), "are numbers"),
        (told("null", "0"), "are numbers"),
        (told("0", "1e999"), "rewards"),
        (told("0", "NaN"), "rewards"),
        (told("0.5", "0"), "observations"),
        (told(7, "0"), "observations"),
        (told("[[[]]]", "0"), ""),
    ],
)
def test_a_bad_line_is_answered_and_asked_for_again(line: str, complaint: str) -> None:
    errors: list[str] = []

    class Listening(Lab):
        def write(self, text: str) -> int:
            if "error" in (message := json.loads(text)):
                errors.append(message["error"])
            return super().write(text)

    lab = Listening({1: line, 2: line})
    result = serve(loop_for(problem()), lab, lab)
    assert len(errors) == 2
    assert all(complaint in error for error in errors)
    assert result == surepath.learn(Single())


def test_a_line_that_is_too_long_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    from surepath.cli import serve as module

    monkeypatch.setattr(module, "LONGEST", 100)
    out = io.StringIO()
    result = serve(loop_for(problem()), io.StringIO("x" * 100 + "y" * 350 + "\n{}\n"), out)
    answers = [next(iter(json.loads(line).items())) for line in out.getvalue().splitlines()]
    assert [name for name, _ in answers] == ["ask", "error", "error", "result"]
    assert "too long" in answers[1][1]
    assert "KeyError" in answers[2][1]
    assert not result.certified


def test_bytes_that_are_no_text_are_answered() -> None:
    command = [sys.executable, "-m", "surepath", "serve", "--horizon", "2", "--actions", "2"]
    done = subprocess.run(
        [*command, "--observations", "2"], input=b"\xff\xfe\n{}\n", capture_output=True, check=False
    )
    assert done.returncode == 1, done.stderr
    names = [next(iter(json.loads(line))) for line in done.stdout.splitlines()]
    assert names == ["ask", "error", "error", "result"]


def test_when_nobody_answers_the_best_so_far_is_given() -> None:
    lab = Lab(lines=2)
    result = serve(loop_for(problem()), lab, lab)
    assert not result.certified
    assert np.isfinite(result.episodes)
    assert "result" in lab.last


# ---------------------------------------------------------------- episodes nobody asked for


@pytest.mark.parametrize("guarantee", ["calibrated", "proved"])
def test_episodes_nobody_asked_for_are_evidence(tmp_path: Path, guarantee: str) -> None:
    system, path = problem(), tmp_path / "run.db"
    rng = np.random.default_rng(0)
    extra = [system.rollout(actions, 30, rng) for actions in ((0, 0, 0), (1, 1, 1), (0, 1))]
    with loop_for(system, guarantee=guarantee, journal=path, data=extra[:1]) as loop:
        for batch in range(2):
            requests = loop.ask()
            loop.tell(extra[1 + batch :], asked=False)
            assert loop.ask() == requests  # what was asked for stays so
            loop.tell(answers(system, requests, batch))
    with loop_for(system, guarantee=guarantee, journal=path, data=extra[:1]) as loop:
        finish(loop, system, 2)
        result = loop.result()
        assert result.certified
        assert result.usage.given_episodes == 30 * 4
        with pytest.raises(InputError, match="nothing is left"):
            loop.tell(extra, asked=False)
    found = surepath.verify(path)
    assert found.certified
    assert not found.taken
    with loop_for(system, guarantee=guarantee, journal=path) as loop:
        assert loop.result() == result


def test_unasked_episodes_that_are_wrong_are_refused_and_not_kept(tmp_path: Path) -> None:
    system, path = problem(), tmp_path / "run.db"
    wrong = Episodes((0,), np.zeros((2, 2), dtype=int), np.full((2, 1), 3.0))
    with loop_for(system, journal=path) as loop:
        with pytest.raises(InputError, match="rewards must lie"):
            loop.tell([wrong], asked=False)
        finish(loop, system)
        assert loop.result().usage.given_episodes == 0
