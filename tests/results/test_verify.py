"""A saved result is checked against its own readings: it passes, and no tampering does."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import surepath
from surepath.cli import app
from surepath.errors import InputError
from surepath.learners.adaptive import Adaptive
from surepath.learners.base import Asking
from surepath.prepare.call import Call
from surepath.prepare.start import start
from surepath.results.verify import verify
from surepath.run.driver import drive
from surepath.run.runner import Runner
from surepath.system import Actions

Data = dict[str, Any]


def saved(folder: Path, result: surepath.Result) -> Path:
    path = folder / "result.json"
    result.save(path)
    return path


def entry_of(data: Data, prefix: list[int]) -> Data:
    return next(entry for entry in data["record"] if entry["prefix"] == prefix)


def changed(path: Path, change: Callable[[Data], object]) -> Path:
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    return path


PROBLEMS: list[tuple[str, Data, Data]] = [
    ("tabular", {"horizon": 3, "states": 3, "observations": 4}, {}),
    ("gaussian", {"horizon": 3, "states": 3}, {}),
    ("tabular", {"horizon": 3, "states": 2, "observations": 3}, {"guarantee": "proved"}),
    ("overcomplete", {"horizon": 4}, {"future": 2}),
    ("mixing", {"horizon": 3}, {"gap": 0.1}),
]


@pytest.mark.parametrize(("name", "options", "how"), PROBLEMS)
def test_a_saved_result_verifies(name: str, options: Data, how: Data, tmp_path: Path) -> None:
    for seed in range(4):
        result = surepath.learn(surepath.make(name, seed=seed, **options), seed=seed, **how)
        found = verify(saved(tmp_path, result))
        assert found.differences == ()
        assert found.agrees
        assert found.certified == result.certified
        assert found.certificate == result.certificate


def test_a_result_of_rewards_without_a_range_verifies(tmp_path: Path) -> None:
    problem = surepath.make("gaussian", horizon=3, states=3, reward_noise=0.3, seed=1)
    assert verify(saved(tmp_path, surepath.learn(problem, seed=1))).agrees


def test_a_result_whose_budget_ended_agrees_with_its_readings(tmp_path: Path) -> None:
    """It claims nothing, but what it says of its readings is what they say."""
    disagree = list[tuple[int, int]]()
    for seed in range(12):
        problem = surepath.make("tabular", horizon=3, states=3, observations=4, seed=seed)
        for budget in (10, 30, 80, 120, 200):
            result = surepath.learn(problem, seed=seed, budget=budget)
            if not verify(saved(tmp_path, result)).agrees:
                disagree.append((seed, budget))
    assert disagree == []


def test_a_plan_that_is_known_in_part_agrees_with_its_readings(tmp_path: Path) -> None:
    """The budget ends where the best state was predicted and never expanded."""
    problem, partly = surepath.make("continuous", seed=1), list[int]()
    learner = start(Call.of(problem, future=1)).learner  # no sequences first
    assert isinstance(learner, Adaptive)
    known = list[Actions]()

    def watch(_: Asking) -> None:
        if learner.judgement is not None and len(learner.judgement.plan.edges) < problem.horizon:
            partly.append(learner.usage.episodes)
            known.append(learner.incumbent)

    drive(learner, Runner(problem, 0), budget=3000, watch=watch)
    assert partly
    assert set(map(len, known)) == {problem.horizon}
    # Not the beginning of a plan that ends where nobody has been, and zeros: what is known.
    assert min(problem.expected_return(each) for each in known) > problem.oracle.value / 2
    result = surepath.learn(problem, future=1, budget=partly[0])
    assert not result.certified
    assert result.actions == known[0]
    assert math.isnan(result.value)
    assert result.certificate.levels == ()
    assert verify(saved(tmp_path, result)).differences == ()


# ---------------------------------------------------------------- tampering


@pytest.fixture(scope="module", params=["tabular", "gaussian"])
def original(request: pytest.FixtureRequest) -> surepath.Result:
    result = surepath.learn(surepath.make(request.param, horizon=3, states=3, seed=1), seed=1)
    assert result.certified
    return result


def other_action(data: Data) -> None:
    data["actions"][1] = 1 - data["actions"][1]


def reward_sum(data: Data) -> None:
    entry_of(data, data["actions"])["rewards"][1] *= 0.99


def reward_count(data: Data) -> None:
    entry_of(data, data["actions"])["rewards"][0] += 1


def more_delta(data: Data) -> None:
    data["certificate"]["delta"] = data["certificate"]["delta"] / 2


def delta_of_the_terms(data: Data) -> None:
    data["certificate"]["terms"]["delta"] /= 2


def both_deltas(data: Data) -> None:
    more_delta(data)
    delta_of_the_terms(data)


def failure(data: Data) -> None:
    data["certificate"]["failure"] /= 10


def claim(data: Data) -> None:
    data["certificate"]["claim"] = "these actions are best"


def no_longer_certified(data: Data) -> None:
    data["certificate"]["certified"] = False


def open_again(data: Data) -> None:
    data["certificate"]["status"] = "open"
    data["certificate"]["certified"] = data["certified"] = False


def tolerance(data: Data) -> None:
    data["certificate"]["tolerance"] = 0.05


def margin(data: Data) -> None:
    data["certificate"]["levels"][1]["margin"] += 0.01


def width(data: Data) -> None:
    data["certificate"]["levels"][0]["width"] *= 0.9


def assumption(data: Data) -> None:
    data["certificate"]["assumptions"].pop()


def given_gap(data: Data) -> None:
    data["certificate"]["terms"]["gap"] = 0.5


def dropped_prefix(data: Data) -> None:
    data["record"].remove(entry_of(data, data["actions"][:2]))


def dropped_sequence(data: Data) -> None:
    data["record"] = [entry for entry in data["record"] if entry["prefix"][:1] != [0]]


def dropped_readings(data: Data) -> None:
    data["record"] = data["record"][:1]


def value(data: Data) -> None:
    data["value"] += 0.1


CHANGES = [
    other_action, reward_sum, reward_count, more_delta, delta_of_the_terms, both_deltas, failure,
    claim, open_again, tolerance, margin, width, assumption, given_gap, dropped_prefix,
    dropped_sequence, dropped_readings, value,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_tampering_shows(
    change: Callable[[Data], object], original: surepath.Result, tmp_path: Path
) -> None:
    found = verify(changed(saved(tmp_path, original), change))
    assert not found.agrees
    assert not found.certified
    assert found.differences


@pytest.mark.parametrize("change", [no_longer_certified, lambda data: data.update(certified=False)])
def test_a_file_that_contradicts_itself_is_refused(
    change: Callable[[Data], object], original: surepath.Result, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="certified"):
        verify(changed(saved(tmp_path, original), change))


def observation_count(data: Data) -> None:
    """A tenth more readings than there are in the sum."""
    entry = entry_of(data, data["actions"][:1])
    entry["observations"][0] += max(1, entry["observations"][0] // 10)


def interval(data: Data) -> None:
    data["interval"][0] += 0.1


def episodes(data: Data) -> None:
    data["usage"]["episodes"] //= 2
    data["episodes"] = data["usage"]["episodes"]


def steps(data: Data) -> None:
    data["usage"]["steps"] -= 1
    data["steps"] = data["usage"]["steps"]


@pytest.mark.parametrize(
    "change",
    [interval, episodes, steps],
)
def test_tampering_beside_the_certificate_shows(
    change: Callable[[Data], object], original: surepath.Result, tmp_path: Path
) -> None:
    assert not verify(changed(saved(tmp_path, original), change)).agrees


@pytest.mark.parametrize(
    "name",
    ["tabular", "gaussian"],
)
def test_more_observations_than_were_read_show(name: str, tmp_path: Path) -> None:
    result = surepath.learn(surepath.make(name, horizon=3, states=3, seed=1), seed=1)
    assert not verify(changed(saved(tmp_path, result), observation_count)).agrees


def test_a_certificate_cannot_be_written_by_hand(tmp_path: Path) -> None:
    """A run that ended early, with the certificate of a run that did not."""
    problem = surepath.make("tabular", horizon=3, states=3, observations=4, seed=1)
    whole = surepath.learn(problem, seed=1).to_dict()["certificate"]
    early = surepath.learn(problem, seed=1, budget=60)
    assert not early.certified

    def claim_it(data: Data) -> None:
        data["certificate"], data["certified"] = json.loads(json.dumps(whole)), True

    found = verify(changed(saved(tmp_path, early), claim_it))
    assert not found.agrees
    assert not found.certified
    assert any("certified" in difference for difference in found.differences)


# ---------------------------------------------------------------- refusing, and the command line


def test_files_without_readings_are_refused(tmp_path: Path) -> None:
    fixed = surepath.learn(surepath.make("lock", horizon=3), schedule="tight")
    with pytest.raises(InputError, match="holds no readings"):
        verify(saved(tmp_path, fixed))
    adaptive = saved(tmp_path, surepath.learn(surepath.make("lock", horizon=3)))
    with pytest.raises(InputError, match="holds no readings"):
        verify(changed(adaptive, lambda data: data.pop("record")))


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["verify", *arguments])


def test_exit_codes(original: surepath.Result, tmp_path: Path) -> None:
    path = saved(tmp_path, original)
    good = invoke(str(path))
    assert good.exit_code == 0
    assert "verified" in good.output
    said = json.loads(invoke(str(path), "--json").output)
    assert said["certified"]
    assert said["agrees"]
    assert said["differences"] == []
    bad = invoke(str(changed(path, margin)))
    assert bad.exit_code == 1
    assert "do not carry this certificate" in bad.output
    assert json.loads(invoke(str(path), "--json").output)["agrees"] is False
    assert invoke(str(tmp_path / "nothing.json")).exit_code == 2
    (tmp_path / "text.json").write_text("[]")
    assert invoke(str(tmp_path / "text.json")).exit_code == 2


def test_agreeing_without_a_certificate_is_exit_code_one(tmp_path: Path) -> None:
    result = surepath.learn(surepath.make("lock", horizon=4), budget=1)
    found = invoke(str(saved(tmp_path, result)))
    assert found.exit_code == 1
    assert "not certified" in found.output
