"""Runs with guarantee="proved": what they write is accepted by a checker that shares no code."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, DotProduct

import surepath
from machines import Raw
from surepath import api
from surepath.builtin_problems import Problem
from surepath.errors import InputError
from surepath.features import Custom
from surepath.prepare.kernel_features import KernelFeatures
from surepath.results.check_proof import check
from surepath.system import Actions, Episodes

SMALL = {"horizon": 3, "states": 3, "observations": 4, "gap": 0.15}
SHORT = {"horizon": 2, "states": 2, "observations": 3, "gap": 0.2}
WINDOW = {"states": 4, "observations": 2, "gap": 0.15}
READ = {"horizon": 3, "states": 2, "dimension": 3, "noise": 0.5, "gap": 0.15}


class Numbers:
    """A problem whose symbols are shown as points of a circle: features of one's own."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.horizon = problem, problem.horizon
        self.n_actions = problem.n_actions

    def rollout(
        self, actions: tuple[int, ...], n: int, rng: np.random.Generator
    ) -> surepath.Episodes:
        read = self.problem.rollout(actions, n, rng)
        angle = 2 * math.pi * read.observations / (self.problem.n_observations or 1)
        seen = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        return surepath.Episodes(actions, seen, read.rewards)


def as_it_is(observations: Any) -> Any:
    return observations


def runs() -> dict[str, tuple[Any, dict[str, Any]]]:
    """Systems and how they are learned, of every route and every kind of reading."""
    make = surepath.make
    found = dict[str, tuple[Any, dict[str, Any]]]()
    for seed in range(2):
        found[f"tree {seed}"] = make("tabular", **SHORT, seed=seed), {}
        found[f"symbols {seed}"] = make("tabular", **SMALL, seed=seed), {"separation": 0.3}
        found[f"norm {seed}"] = make("tabular", **SHORT, seed=seed), {"norm": 1.5}
        found[f"noisy {seed}"] = make("gaussian", **READ, seed=seed), {"separation": 0.3}
    for seed in range(2):
        problem = make("overcomplete", horizon=4, **WINDOW, seed=(8, 11)[seed])
        found[f"grown {seed}"] = problem, {"separation": 0.2}
        problem = make("overcomplete", horizon=3, **WINDOW, seed=seed)
        found[f"window {seed}"] = problem, {"separation": 0.3, "future": 2}
        problem = make("gaussian", **READ, reward_noise=0.2, seed=seed)
        found[f"no range {seed}"] = problem, {"separation": 0.3}
        bounded = {"features": Custom(as_it_is, 2, radius=1.0), "separation": 0.25}
        found[f"bounded {seed}"] = Numbers(make("tabular", **SHORT, seed=seed)), bounded
        found[f"gap {seed}"] = make("tabular", **SHORT, seed=seed), {"gap": 0.2}
    found["lock"] = make("lock", horizon=5, actions=3), {"separation": 0.3}
    found["episodes"] = Raw(make("tabular", **SMALL, seed=7)), {"separation": 0.3}
    found["percent"] = make("tabular", **SMALL, seed=8), {"separation": 0.3, "tolerance": "5%"}
    return found


RUNS = runs()


@pytest.mark.parametrize("name", RUNS)
def test_what_a_run_proves_is_accepted_and_true(name: str, tmp_path: Path) -> None:
    system, options = RUNS[name]
    path = tmp_path / "run.db"
    result = surepath.learn(
        system, guarantee="proved", seed=3, budget=200_000, journal=path, **options
    )
    assert result.certified, result.certificate.reason
    assert result.proof is not None
    single = api.proof(path)
    for lines in (result.proof, single):
        verdict = check(lines)
        assert verdict.valid, verdict
    pooled, raw = ([json.loads(line) for line in lines] for lines in (result.proof, single))
    assert pooled[0] == raw[0]
    numbers = ("value", "tolerance", "episodes", "blocks", "claim")
    assert [pooled[-1][n] for n in numbers] == pytest.approx([raw[-1][n] for n in numbers])
    assert result.value == pytest.approx(pooled[-1]["value"])
    assert result.actions == tuple(pooled[0]["plan"])
    assert surepath.verify(path).agrees
    problem = getattr(system, "problem", system)
    if isinstance(problem, Problem):
        allowed = result.certificate.tolerance or 0.0
        assert problem.expected_return(result.actions) >= problem.optimum[1] - allowed - 1e-9


def test_the_runs_are_of_every_kind(tmp_path: Path) -> None:
    """Otherwise what is said above would be said of few kinds only."""
    first = dict[str, Any]()
    for name in ("symbols 1", "noisy 0", "bounded 0", "norm 0", "grown 0", "no range 0"):
        system, options = RUNS[name]
        found = surepath.learn(system, guarantee="proved", seed=3, **options)
        assert found.proof is not None
        first[name] = json.loads(found.proof[0])
    seen = {name: line["observations"]["type"] for name, line in first.items()}
    assert set(seen.values()) == {"symbols", "noisy", "bounded"}
    assert first["grown 0"]["future"] == 2
    assert first["norm 0"]["route"] == "norm"
    assert first["no range 0"]["rewards"] == {"noise": 0.2}
    assert "merges" in {edge[0] for edge in first["grown 0"]["edges"]}
    roles = {edge[0] for line in first.values() for edge in line["edges"]}
    assert roles >= {"founds", "merges", "ends"}


# ---------------------------------------------------------------- runs that go on


@pytest.mark.parametrize("name", ["symbols 0", "tree 1", "window 0", "episodes"])
def test_a_run_that_is_taken_up_again_proves_the_same(name: str, tmp_path: Path) -> None:
    system, options = RUNS[name]
    options = options | {"guarantee": "proved", "seed": 3}
    whole = surepath.learn(system, **options)
    path = tmp_path / "run.db"
    spent = 0
    for share in (0.3, 0.7, 0.9):
        part = surepath.learn(
            system, journal=path, budget=math.ceil(share * whole.episodes), **options
        )
        assert not part.certified
        assert part.proof is None
        assert part.episodes >= spent
        spent = part.episodes
    result = surepath.learn(system, journal=path, **options)
    assert result.proof == whole.proof
    assert result.certificate == whole.certificate
    assert check(api.proof(path)).valid
    again = surepath.learn(system, journal=path, **options)
    assert again == result


def test_a_result_that_is_saved_keeps_its_proof(tmp_path: Path) -> None:
    system, options = RUNS["symbols 1"]
    result = surepath.learn(system, guarantee="proved", seed=3, **options)
    result.save(tmp_path / "a.json")
    assert api.proof(tmp_path / "a.json") == result.proof
    assert surepath.verify(tmp_path / "a.json").agrees


def test_without_a_proof_there_is_none_to_write(tmp_path: Path) -> None:
    problem = surepath.make("tabular", **SHORT)
    surepath.learn(problem, journal=tmp_path / "a.db", seed=1)
    surepath.learn(problem, guarantee="proved", budget=10, journal=tmp_path / "b.db", seed=1)
    for name in ("a.db", "b.db"):
        with pytest.raises(InputError, match="holds no proof"):
            api.proof(tmp_path / name)


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"separation": 0.3, "norm": 2.0}, "not on both"),
        ({"horizon": 8, "actions": 4}, "too many"),
        ({"norm": 2.0, "future": 2}, "a future of 1"),
    ],
)
def test_calls_that_nothing_can_be_proved_for(options: dict[str, Any], message: str) -> None:
    sizes = {name: options.pop(name) for name in ("horizon", "actions") if name in options}
    problem = surepath.make("tabular", states=3, observations=4, **{"horizon": 3} | sizes)
    with pytest.raises(InputError, match=message):
        surepath.learn(problem, guarantee="proved", budget=100, **options)


def test_exact_readings_have_to_be_symbols() -> None:
    with pytest.raises(InputError, match="needs symbols"):
        surepath.learn(
            surepath.make("gaussian", **READ), guarantee="proved", separation="exact", budget=100
        )


@pytest.mark.parametrize("rewards", [(1e7, 1e7 + 1), (-1e9, -1e9 + 10)])
def test_rewards_far_from_zero_are_refused(rewards: tuple[float, float]) -> None:
    """Sums of squares would cancel: a lead would seem to have no noise."""
    with pytest.raises(InputError, match="so far from 0"):
        surepath.learn(Coin(), guarantee="proved", separation=0.5, reward_range=rewards, budget=100)


@pytest.mark.parametrize("features", ["rbf", KernelFeatures("matern", "nystroem", 8)])
def test_a_norm_of_features_that_come_from_readings_is_refused(features: Any) -> None:
    with pytest.raises(InputError, match="no norm can be stated"):
        surepath.learn(Coin(), guarantee="proved", norm=1.0, features=features, budget=1000)


@pytest.mark.parametrize(("kernel", "apart"), [(RBF(1.0), 2**0.5), (DotProduct(0.0, "fixed"), 2.0)])
def test_features_of_a_kernel_are_as_far_apart_as_they_can_be(kernel: Any, apart: float) -> None:
    """A right angle, where no two can have a negative kernel."""
    features = KernelFeatures(kernel, "nystroem", 4)
    result = surepath.learn(
        Coin(), guarantee="proved", separation=0.6, features=features, budget=1000
    )
    assert result.certificate.terms is not None
    assert 2 * result.certificate.terms.radius == pytest.approx(apart)


def test_a_future_beyond_the_horizon_merges_nothing(tmp_path: Path) -> None:
    problem = surepath.make("tabular", **SHORT)
    result = surepath.learn(
        problem, guarantee="proved", separation=0.5, future=problem.horizon + 1, seed=1
    )
    assert result.certified
    assert result.certificate.rests_on == ()
    result.save(tmp_path / "a.json")
    assert surepath.verify(tmp_path / "a.json").agrees


class Coin:
    """Shows -1 or 1, and pays by it."""

    horizon, n_actions, dimension = 2, 2, 1

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        shown = rng.choice([-1.0, 1.0], size=(n, min(len(actions) + 1, self.horizon), 1))
        return Episodes(actions, shown, (rng.random((n, len(actions))) < 0.5).astype(float))
