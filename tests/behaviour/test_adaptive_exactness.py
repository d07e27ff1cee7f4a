"""The claim itself: certified plans of the adaptive schedule are what they are said to be."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from scipy import stats

import surepath
from surepath.builtin_problems import Problem
from surepath.inference.guarantee_widths import Calibrated
from surepath.inference.terms import Terms
from surepath.inference.tuning import TUNING
from surepath.learners import adaptive
from surepath.results import adaptive_claim

DELTA = 0.1
INSTANCES = 60
MOST = 10**6  # episodes; far more than any of these takes


def random_instance(seed: int) -> tuple[Problem, dict[str, Any]]:
    """A random machine of one of four kinds, and how it is to be learned."""
    rng = np.random.default_rng([11, seed])
    kind = ("tabular", "gaussian", "overcomplete", "mixing")[seed % 4]
    horizon, actions = int(rng.integers(2, 6)), int(rng.integers(2, 4))
    common = {"gap": float(rng.uniform(0.05, 0.2)), "seed": seed}
    states = int(rng.integers(2, 5))
    sizes = {"horizon": horizon, "actions": actions, "states": states}
    if kind == "tabular":
        return surepath.make(kind, observations=states + 2, **sizes, **common), {}
    if kind == "gaussian":
        return surepath.make(kind, dimension=states + 1, noise=0.5, **sizes, **common), {}
    if kind == "overcomplete":
        few = {"horizon": max(3, horizon), "actions": 2, "states": 4, "observations": 2}
        return surepath.make(kind, **few, **common), {"future": 2}
    return surepath.make(kind, horizon=min(4, horizon), actions=actions, **common), {}


def holds(problem: Problem, result: surepath.Result) -> bool:
    """Whether the plan is what the claim says: optimal, or within so much of it."""
    within = re.search(r"within (\S+) of optimal", result.certificate.claim)
    if within is None:
        return problem.is_optimal(result.actions)
    # The number is printed with three digits.
    allowed = float(within[1]) * 1.01
    return problem.expected_return(result.actions) >= problem.optimum[1] - allowed


def failures(results: list[tuple[Problem, surepath.Result]]) -> int:
    return sum(result.certified and not holds(problem, result) for problem, result in results)


def learn_all(seeds: range) -> list[tuple[Problem, surepath.Result]]:
    found = list[tuple[Problem, surepath.Result]]()
    for seed in seeds:
        problem, options = random_instance(seed)
        found.append(
            (problem, surepath.learn(problem, seed=seed, delta=DELTA, budget=MOST, **options))
        )
    return found


@pytest.fixture(scope="module")
def learned() -> list[tuple[Problem, surepath.Result]]:
    return learn_all(range(INSTANCES))


def test_calibrated_failures_stay_below_delta(
    learned: list[tuple[Problem, surepath.Result]],
) -> None:
    """More than this many has a probability of 1 in 1000, even if each failed with delta."""
    assert failures(learned) <= stats.binom.isf(1e-3, INSTANCES, DELTA)


@pytest.mark.parametrize(
    "future",
    [
        1,
        pytest.param(
            2,
            marks=pytest.mark.xfail(
                reason="instance 10 is refused in three of four runs, whatever their seed: "
                "prefixes of different states are taken for one, and then pay differently"
            ),
        ),
    ],
)
def test_every_run_ends_with_a_certificate(
    learned: list[tuple[Problem, surepath.Result]], future: int
) -> None:
    """Whatever its features can tell apart is read until it is told apart.

    By chance a sound run looks as if it drifted; no more of them may than that explains.
    """
    refused = list[str]()
    results = learned + learn_all(range(222, 223))
    for _, result in results:
        terms = result.certificate.terms
        assert terms is not None
        if terms.shape.future == future and not result.certified:
            refused.append(result.certificate.reason)
    drifting = [reason for reason in refused if "changed while the run went on" in reason]
    assert len(drifting) <= stats.binom.isf(1e-3, len(results), TUNING.drift_alarm)
    assert refused == drifting


def test_intervals_hold_the_optimal_value(learned: list[tuple[Problem, surepath.Result]]) -> None:
    outside = sum(
        not result.interval[0] <= problem.optimum[1] <= result.interval[1]
        for problem, result in learned
    )
    assert outside <= stats.binom.isf(1e-3, INSTANCES, DELTA)


def test_less_evidence_shows(
    learned: list[tuple[Problem, surepath.Result]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopping at a thousandth of the evidence fails the test above: it can fail."""
    for level in ("evidence", "strength", "rare_strength"):
        monkeypatch.setattr(Calibrated, level, property(lambda self: 0.002))
    monkeypatch.setattr(Terms, "merge_test", property(lambda self: None))
    for module in (adaptive, adaptive_claim):
        monkeypatch.setattr(module, "own_walk", lambda *_: [])
    hasty = learn_all(range(3 * INSTANCES))
    assert failures(hasty) > stats.binom.isf(1e-3, 3 * INSTANCES, DELTA)
    assert failures(hasty) > failures(learned)
    cost = [result.episodes for _, result in learned]
    assert np.median([result.episodes for _, result in hasty]) < np.median(cost) / 2


@pytest.mark.parametrize("first", [0, 10, 20])
def test_what_is_proved_does_not_fail(first: int) -> None:
    """Tests that every other plan has to fail leave hardly room for a failure in 30 instances."""
    for seed in range(first, first + 10):
        rng = np.random.default_rng([13, seed])
        sizes = {"horizon": int(rng.integers(1, 4)), "actions": 2, "states": 2}
        common = {"gap": 0.2, "singular_value": 0.5, "seed": seed}
        problem = (
            surepath.make("gaussian", dimension=3, noise=0.5, **sizes, **common)
            if seed % 2
            else surepath.make("tabular", observations=3, **sizes, **common)
        )
        result = surepath.learn(problem, seed=seed, delta=DELTA, guarantee="proved")
        assert result.certified, seed
        assert holds(problem, result), seed
        assert result.interval[0] <= problem.optimum[1] <= result.interval[1], seed
