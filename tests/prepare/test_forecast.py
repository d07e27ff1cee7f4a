"""What a proof is expected to take, before it begins: of the true machine, by what a run does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import surepath
from proposals import paths_of
from surepath.builtin_problems import Problem, Tabular
from surepath.builtin_problems.finite import FiniteProblem
from surepath.builtin_problems.truth import bisimilarity, separation
from surepath.errors import InputError
from surepath.inference.proposal import Proposal, Role, Route
from surepath.learners import proving
from surepath.learners.proving import Proving
from surepath.prepare import forecast as forecasting
from surepath.prepare.call import Call
from surepath.prepare.forecast import Forecast, forecast
from surepath.prepare.start import start
from surepath.run.runner import Runner
from surepath.system import FloatArray

SMALL = {"horizon": 3, "states": 3, "observations": 4}
GIVEN: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "tree": ("tabular", SMALL, {}),
    "symbols": ("tabular", {}, {"separation": 0.3}),
    "lock": ("lock", {"horizon": 6}, {"separation": 0.4}),
    "vectors": ("gaussian", {}, {"separation": 0.2}),
    "tree of vectors": ("gaussian", {"horizon": 3}, {"tolerance": 0.05}),
    "no range": ("gaussian", {"reward_noise": 0.2}, {"separation": 0.2}),
    "looking ahead": ("touch", {}, {"separation": 0.5}),
    "norm": ("tabular", SMALL, {"norm": 2.0}),
    "gap": ("tabular", SMALL, {"gap": 0.1}),
}


def call_of(problem: Problem, **options: Any) -> Call:
    return Call.of(problem, guarantee="proved", **options)


def made(name: str) -> tuple[FiniteProblem, Call]:
    kind, parameters, options = GIVEN[name]
    problem = surepath.make(kind, **parameters)
    assert isinstance(problem, FiniteProblem)
    return problem, call_of(problem, **options)


# ---------------------------------------------------------------- the proposal


@pytest.mark.parametrize("name", GIVEN)
def test_what_is_true_is_proposed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without running anything: the plan, what every path pays, and which ends are one state."""
    problem, call = made(name)
    for run in ("rollout", "summarise"):
        monkeypatch.delattr(Problem, run)
    proposal = forecast(call).proposal
    assert proposal.plan == problem.optimum[0]
    mean = proposal.known.total / proposal.known.count
    classes = bisimilarity(problem)
    for path in paths_of(proposal):
        before = [proposal.first[level] for level in range(len(path))]
        actions = tuple((np.array(path) - before) % proposal.n_actions)
        steps = enumerate(zip(problem.path(actions), actions, strict=False))
        pays = [problem.dynamics.rewards[level, *step] for level, step in steps]
        assert mean[path] == pytest.approx(pays, abs=1e-3)
        for level, edge in enumerate(path[:-1]):
            ends = proposal.reading(edge), proposal.reading(proposal.founded_by(edge))
            same = {int(classes[level + 1, problem.path(end)[-1]]) for end in ends}
            assert len(same) == 1
    assert name != "looking ahead" or proposal.rules.future == 2


def test_without_a_separation_nothing_is_merged() -> None:
    problem, call = made("symbols")
    found, merging = forecast(call_of(problem)), forecast(call)
    assert found.proposal.rules.route is Route.TREE
    assert Role.MERGES not in found.proposal.role
    assert found.merges == 0 < found.paths
    assert found.apart is None
    assert merging.proposal.merges
    assert min(merging.merges, merging.paths) > 0
    assert merging.apart == separation(problem)


# ---------------------------------------------------------------- what it takes


@pytest.fixture
def proposed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Proposal, FloatArray]]:
    """What is forecast of, for runs that follow to prove it too."""
    kept = list[tuple[Proposal, FloatArray]]()
    propose = forecasting.propose

    def keeping(*arguments: Any) -> tuple[Proposal, FloatArray]:
        kept.append(propose(*arguments))
        return kept[-1]

    monkeypatch.setattr(forecasting, "propose", keeping)
    monkeypatch.setattr(proving, "propose", lambda *_: kept[-1])
    return kept


def proves(call: Call, seed: int, *, blocks: int | None = None) -> Proving:
    """A run that proposes what was forecast of; it stops before it reads so many blocks."""
    learner = start(call).learner
    assert isinstance(learner, Proving)
    runner, read = Runner(call.system, seed), 0
    while requests := learner.ask():
        if learner.fresh is not None and learner.fresh[1] == blocks:
            break
        learner.tell(runner.run(read, requests, summary=True, fresh=learner.fresh))
        read += 1
    return learner


@pytest.mark.parametrize("name", ["symbols", "lock", "vectors", "looking ahead", "norm", "gap"])
def test_a_run_that_proposes_the_same_expects_the_same(
    name: str, proposed: list[tuple[Proposal, FloatArray]]
) -> None:
    """Before its first block: merges and paths are planned by the same allocation."""
    _, call = made(name)
    found = forecast(call)
    learner = proves(call, 1, blocks=1)
    assert len(proposed) == 1
    assert learner.expected == found.episodes == found.merges + found.paths
    assert learner.attempt is not None
    assert learner.attempt.proposal is found.proposal


@pytest.mark.parametrize("name", ["symbols", "lock", "vectors"])
@pytest.mark.usefixtures("proposed")
def test_it_takes_about_what_was_forecast(name: str) -> None:
    """The mean over some runs that prove what is true; one alone may take twice as much."""
    _, call = made(name)
    found, took = forecast(call), list[int]()
    for seed in range(10):
        attempt = proves(call, seed).attempt
        assert attempt is not None
        assert attempt.proved
        took.append(attempt.episodes)
    assert found.episodes / 1.4 < np.mean(took) < 1.4 * found.episodes


def test_it_costs_more_the_less_is_allowed() -> None:
    problem, _ = made("symbols")

    def costs(**options: Any) -> Forecast:
        return forecast(call_of(problem, **options))

    usual = costs(separation=0.3)
    closer, finer = costs(separation=0.2), costs(separation=0.3, tolerance=0.01)
    assert closer.merges > 1.5 * usual.merges
    assert finer.paths > usual.paths
    assert finer.merges == usual.merges
    assert costs(separation=0.3, delta=0.001).episodes > usual.episodes


def test_a_shorter_horizon_is_forecast_for_itself() -> None:
    problem = surepath.make("tabular", horizon=5)
    found = forecast(Call.of(problem, 3, guarantee="proved"))
    assert len(found.proposal.plan) == 3
    assert found.episodes < forecast(call_of(problem)).episodes


# ---------------------------------------------------------------- what is refused


def refusal(call: Call) -> InputError:
    with pytest.raises(InputError) as refused:
        forecast(call)
    return refused.value


def test_too_many_sequences_are_refused_as_learn_refuses_them() -> None:
    problem = surepath.make("lock")
    with pytest.raises(InputError) as learned:
        surepath.learn(problem, guarantee="proved")
    assert str(refusal(call_of(problem))) == str(learned.value)


@pytest.mark.parametrize(
    ("problem", "options", "words"),
    [
        ("mixing", {"separation": 0.3}, "finitely many hidden states"),
        ("tabular", {"separation": "exact"}, "not exact"),
        ("tabular", {"separation": 0.3, "norm": 2.0}, "not on both"),
        ("touch", {"norm": 3.0}, "does not tell the states of this problem apart"),
    ],
)
def test_what_cannot_be_forecast_is_refused(
    problem: str, options: dict[str, Any], words: str
) -> None:
    assert words in refusal(call_of(surepath.make(problem), **options)).what


def test_plans_that_tie_need_a_tolerance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecasting, "MOST_ROUNDS", 20)
    tied = Tabular.from_arrays([[0, 0]], [[1.0, 0.0]], [[[0.5, 0.5]], [[0.5, 0.2]]])
    assert "too close together" in refusal(call_of(tied, tolerance=1e-9)).what
    assert forecast(call_of(tied, tolerance=0.1)).episodes > 0
