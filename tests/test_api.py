"""`surepath.learn` and what it returns."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

import surepath
from places import ASSETS
from surepath.features import OneHot
from surepath.results.verify import verify


class Coin:
    """A user's own system: one hidden bit that action 1 flips; heads pays."""

    horizon = 3
    n_actions = 2
    n_observations = 2

    def rollout(
        self, actions: tuple[int, ...], n: int, rng: np.random.Generator
    ) -> surepath.Episodes:
        bits = [0]
        for action in actions[: self.horizon - 1]:
            bits.append(bits[-1] ^ action)
        noise = rng.random((n, len(bits))) < 0.2
        observations = (np.array(bits) ^ noise).astype(np.int64)
        pays = [0.9 if bits[h] ^ action else 0.1 for h, action in enumerate(actions)]
        rewards = (rng.random((n, len(actions))) < pays).astype(np.float64)
        return surepath.Episodes(actions, observations, rewards)


CUSTOM = surepath.Schedule(ridge=0.01, threshold=1.0, feature_samples=2000, reward_samples=2000)


def test_a_system_of_ones_own_needs_neither_gap_nor_norm() -> None:
    result = surepath.learn(Coin())
    assert result.actions == (1, 0, 0)
    assert result.certified
    assert result.certificate.schedule is None
    assert result.certificate.guarantee == "calibrated"


def test_a_system_of_ones_own_with_a_schedule_of_ones_own() -> None:
    result = surepath.learn(Coin(), schedule=CUSTOM, seed=1)
    assert result.actions == (1, 0, 0)
    assert not result.certified
    assert "not given" in result.certificate.reason
    assert result.interval == (0.0, 3.0)
    assert result.episodes == result.usage.episodes > 0


def test_a_schedule_of_ones_own_is_judged_when_gap_and_norm_are_given() -> None:
    few = surepath.learn(Coin(), schedule=CUSTOM, gap=0.8, norm=4.5)
    assert not few.certified
    assert "failure probability" in few.certificate.reason or "proves nothing" in (
        few.certificate.reason
    )
    problem = surepath.make("lock", horizon=3)
    proved = surepath.learn(problem, schedule="tight").certificate.schedule
    assert proved is not None
    lean = replace(proved, feature_samples=2 * proved.feature_samples // 3, name="my own")
    sure = surepath.learn(problem, schedule=lean, gap=problem.gap, norm=problem.norm)
    assert sure.certified
    assert sure.certificate.failure <= 0.05
    assert sure.actions == problem.optimum[0]


def test_single_episodes_and_summaries_give_the_same_plan() -> None:
    problem = surepath.make("tabular", horizon=4, states=3, observations=4, gap=0.3, seed=2)
    schedule = surepath.Schedule(
        ridge=0.01, threshold=1.0, feature_samples=20_000, reward_samples=20_000
    )

    class Raw:
        horizon, n_actions, n_observations = problem.horizon, problem.n_actions, 4
        rollout = staticmethod(problem.rollout)

    assert surepath.learn(problem, schedule=schedule).actions == problem.optimum[0]
    assert surepath.learn(Raw(), schedule=schedule).actions == problem.optimum[0]


@pytest.mark.parametrize("schedule", ["adaptive", "tight"])
def test_same_seed_same_run_other_seed_other_noise(schedule: str) -> None:
    problem = surepath.make("lock", horizon=6)
    first, again, other = (
        surepath.learn(problem, schedule=schedule, seed=seed) for seed in (5, 5, 6)
    )
    assert first == again
    assert first.record == again.record
    assert first.interval != other.interval or first.value != other.value
    assert first.actions == other.actions


@pytest.mark.parametrize(("schedule", "budget"), [("adaptive", 50), ("tight", 10_000_000)])
def test_a_budget_ends_the_run_without_a_claim(schedule: str, budget: int) -> None:
    problem = surepath.make("lock", horizon=6)
    result = surepath.learn(problem, schedule=schedule, budget=budget)
    assert not result.certified
    assert result.episodes <= budget
    assert len(result.actions) == 6
    assert "the run stopped" in result.certificate.reason
    with pytest.raises(surepath.InputError, match="nothing to plot"):
        result.plot()


@pytest.mark.parametrize(
    ("schedule", "budget"),
    [("adaptive", None), ("adaptive", 50), ("tight", None), ("tight", 10_000_000)],
)
def test_results_survive_a_file(tmp_path: Path, schedule: str, budget: int | None) -> None:
    result = surepath.learn(surepath.make("lock", horizon=6), schedule=schedule, budget=budget)
    assert result.certified == (budget is None)
    result.save(tmp_path / "result.json")
    loaded = surepath.load(tmp_path / "result.json")
    assert loaded.to_json() == result.to_json()
    assert loaded.certificate == result.certificate
    assert loaded.interval == result.interval
    assert loaded.record == result.record


@pytest.mark.parametrize(("schema", "status", "tolerance"), [(2, "within", 0.1), (3, "optimal", 0)])
def test_results_of_older_adaptive_runs_are_still_read(
    schema: int, status: str, tolerance: float, tmp_path: Path
) -> None:
    """Of schema 2, which said "within 0.0251" in words only, what is claimed is the resolution."""
    path = ASSETS / f"result_schema_{schema}.json"
    data = json.loads(path.read_text())
    assert data["schema"] == data["certificate"]["schema"] == schema
    assert not data["certificate"].keys() & {"rests_on", "excluded_separation", "audit"}
    old = surepath.load(path)
    assert old.certified
    assert old.certificate.status == status
    assert old.certificate.tolerance == tolerance
    terms = old.certificate.terms
    assert terms is not None
    assert terms.tolerance == data["certificate"]["terms"]["resolution"] == 0.1
    assert terms.separation == 1.0  # none was declared: nothing weaker can be said
    assert old.certificate.rests_on == ()
    assert old.certificate.excluded_separation is None
    assert old.certificate.audit is None
    assert list(old.actions) == data["actions"]
    assert old.saved()["record"] == data["record"]
    old.save(tmp_path / "again.json")
    assert surepath.load(tmp_path / "again.json") == old
    for file in (path, tmp_path / "again.json"):
        with pytest.raises(surepath.InputError, match=r"rules of an older version.*derived again"):
            verify(file)


def test_results_of_schema_1_are_still_read(tmp_path: Path) -> None:
    """They come from fixed schedules, and have no readings to check them against."""
    path = ASSETS / "result_schema_1.json"
    data = json.loads(path.read_text())
    assert data["schema"] == data["certificate"]["schema"] == 1
    assert not data["certificate"].keys() & {"guarantee", "terms", "doubts"}
    old = surepath.load(path)
    assert old.certified
    assert old.actions == surepath.make("lock", horizon=2, actions=3).optimum[0]
    assert old.interval == tuple(data["interval"])
    assert old.usage.expansions == data["usage"]["expansions"]
    certificate = old.certificate
    assert certificate.guarantee == "schedule"
    assert certificate.terms is None
    assert certificate.doubts == ()
    assert certificate.schedule == surepath.Schedule(**data["certificate"]["schedule"])
    assert certificate.bounds is not None
    assert certificate.bounds.failure == certificate.failure <= certificate.delta
    assert [level.action for level in certificate.levels] == list(old.actions)
    assert old.record is None
    assert list(old.to_dataframe()["action"]) == list(old.actions)
    old.save(tmp_path / "again.json")
    assert surepath.load(tmp_path / "again.json") == old
    with pytest.raises(surepath.InputError, match=r"no readings to check.*'tight'"):
        verify(path)


@pytest.mark.parametrize("text", ["", "[1]", '{"schema": 99}', "\x00"])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(surepath.InputError, match=r"save\(path\)"):
        surepath.load(path)


@pytest.mark.parametrize("schedule", ["adaptive", "tight"])
def test_tables_and_pictures(schedule: str) -> None:
    result = surepath.learn(surepath.make("lock", horizon=4), schedule=schedule)
    frame = result.to_dataframe()
    assert list(frame["action"]) == list(result.actions)
    assert {"q0", "q1", "q2", "q3", "width", "margin", "coverage", "samples"} <= set(frame.columns)
    assert "certified" in result.plot().get_title()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"delta": 0.0}, "delta must be a number in"),
        ({"delta": 1.0}, "delta must be a number in"),
        ({"horizon": 0}, "horizon must be a whole number"),
        ({"horizon": 4}, "horizon must be a whole number"),
        ({"schedule": "tight"}, "not given: gap and norm"),
        ({"schedule": "tight", "gap": 0.8}, "not given: norm"),
        ({"schedule": "tight", "norm": 3.0}, "not given: gap"),
        ({"schedule": "paper"}, "not given: gap and norm"),
        ({"gap": -1.0, "norm": 3.0}, "gap must be a number in"),
        ({"schedule": "tigth", "gap": 0.8, "norm": 3.0}, "Did you mean 'tight'"),
        ({"features": "onehott", "gap": 0.8, "norm": 3.0}, "Did you mean 'onehot'"),
        ({"features": 3, "gap": 0.8, "norm": 3.0}, "features must be"),
        (
            {"schedule": "tight", "features": "linear", "gap": 0.8, "norm": 3.0},
            "needs a bound on the features",
        ),
        ({"budget": 0, "gap": 0.8, "norm": 3.0}, "budget must be"),
        ({"seed": -1, "gap": 0.8, "norm": 3.0}, "seed must be"),
        ({"reward_range": (1, 0), "gap": 0.8, "norm": 3.0}, "low < high"),
        ({"future": 0}, "future must be a whole number"),
        ({"separation": 0.0}, r"separation must be a number in \(0, 1\)"),
        ({"separation": 1.0}, r"separation must be a number in \(0, 1\)"),
        ({"separation": "close"}, r"separation must be a number in \(0, 1\)"),
        ({"tolerance": 0.0}, "every run has a tolerance"),
        ({"tolerance": -0.1}, r"tolerance must be a number in \(0, inf\)"),
        ({"tolerance": "2"}, "in units of return, or a share of it such as 2%"),
        ({"tolerance": "2%%"}, "in units of return, or a share of it such as 2%"),
        ({"tolerance": "two%"}, "in units of return, or a share of it such as 2%"),
        ({"tolerance": "0%"}, "in units of return, or a share of it such as 2%"),
        ({"tolerance": "100%"}, "in units of return, or a share of it such as 2%"),
        ({"tolerance": 0.1, "gap": 0.8}, "a gap or a tolerance"),
        ({"tolerance": "2%", "gap": 0.8}, "a gap or a tolerance"),
    ],
)
def test_bad_input_says_what_and_what_to_do(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(surepath.InputError, match=message) as caught:
        surepath.learn(Coin(), **arguments)  # type: ignore[arg-type]
    assert caught.value.what
    assert caught.value.remedy


def test_something_that_is_no_system() -> None:
    with pytest.raises(surepath.InputError, match="env must be a system"):
        surepath.learn(3)
    with pytest.raises(surepath.InputError, match="no environment 'locks'"):
        surepath.learn("locks", 3)
    with pytest.raises(surepath.InputError, match=r"Perhaps you meant Coin\(\.\.\.\)"):
        surepath.learn(Coin)


def test_a_problem_may_be_given_by_name() -> None:
    assert surepath.learn("tabular", budget=50) == surepath.learn(
        surepath.make("tabular"), budget=50
    )


@pytest.mark.parametrize("answer", [None, (1, 2), "text"])
def test_a_rollout_that_returns_something_else(answer: object) -> None:
    class Odd(Coin):
        def rollout(self, actions: object, n: int, rng: object) -> object:  # type: ignore[override]
            return answer

    with pytest.raises(surepath.InputError, match=r"rollout must return surepath\.Episodes"):
        surepath.learn(Odd(), schedule=CUSTOM)


def test_episodes_are_arrays() -> None:
    with pytest.raises(surepath.InputError, match=r"numpy\.asarray"):
        surepath.Episodes((0,), [[0, 1]], np.zeros((1, 1)))  # type: ignore[arg-type]


def test_emissions_that_do_not_tell_states_apart_are_refused_before_anything_runs() -> None:
    problem = surepath.Tabular.from_arrays(
        transitions=[[0, 1], [1, 0]],
        emissions=[[0.5, 0.5], [0.5, 0.5]],
        rewards=np.full((3, 2, 2), 0.5),
    )
    with pytest.raises(surepath.InputError, match=r"level 1.*singular value .* at level 1"):
        surepath.learn(problem, schedule="tight")


def test_a_reward_outside_its_range_stops_the_run() -> None:
    class Rich(Coin):
        def rollout(
            self, actions: tuple[int, ...], n: int, rng: np.random.Generator
        ) -> surepath.Episodes:
            episodes = super().rollout(actions, n, rng)
            return surepath.Episodes(actions, episodes.observations, episodes.rewards + 3)

    with pytest.raises(
        surepath.InputError, match=r"rewards must lie in \[0, 1\] and be finite.*at step"
    ):
        surepath.learn(Rich(), schedule=CUSTOM)


def test_features_of_ones_own() -> None:
    def parity(observations: np.ndarray) -> np.ndarray:
        return np.stack([np.ones(len(observations)), 2.0 * observations - 1], axis=1) / np.sqrt(2)

    features = surepath.Custom(parity, 2, radius=1.0)
    schedule = surepath.Schedule(
        ridge=1e-3, threshold=1.0, feature_samples=5000, reward_samples=5000
    )
    assert surepath.learn(Coin(), features=features, schedule=schedule).actions == (1, 0, 0)
    explicit = surepath.learn(Coin(), features=OneHot(2), schedule=schedule)
    assert explicit.actions == (1, 0, 0)


def test_a_budget_binds_what_is_spent_before_the_run_as_well() -> None:
    problem = surepath.make("continuous", horizon=3)
    with pytest.raises(surepath.InputError, match="pilot of 128 episodes"):
        surepath.learn(problem, schedule=CUSTOM, budget=100)
    overcomplete = surepath.make("overcomplete")
    with pytest.raises(surepath.InputError, match="more episodes than the budget"):
        surepath.learn(overcomplete, schedule="tight", future="auto", budget=10**8)


def test_windows_of_an_exact_kernel_need_as_many_readings_as_others() -> None:
    problem = surepath.make("continuous", horizon=3, actions=2)
    few = surepath.Schedule(ridge=0.05, threshold=1.0, feature_samples=40, reward_samples=100)
    exact = surepath.KernelFeatures(RBF(1.0), "exact")
    for told in ({"features": exact, "gap": 0.1, "norm": 2.0}, {}):
        assert not surepath.learn(problem, schedule=few, future=2, **told).certified


def test_a_run_that_tried_nothing_says_so() -> None:
    coarse = surepath.Schedule(ridge=9.0, threshold=1.0, feature_samples=10, reward_samples=10)
    result = surepath.learn(Coin(), schedule=coarse)
    assert not sum(result.usage.expansions)
    assert "nothing was tried" in result.certificate.warnings[0]


class Stretched:
    """Readings times a factor: linear, and not what the problem says of its readings."""

    radius = None
    statistics = ()

    def __init__(self, dimension: int, factor: float, radius: float | None = None) -> None:
        self.dimension, self.factor, self.radius = dimension, factor, radius

    def rows(self, observations: np.ndarray) -> np.ndarray:
        return self.factor * observations.reshape(len(observations), -1)

    def mean(self, sample: np.ndarray) -> np.ndarray:
        return self.rows(sample).mean(axis=0)


def test_what_a_problem_says_of_its_readings_is_not_said_of_other_features() -> None:
    problem = surepath.make("gaussian", horizon=3)
    features = Stretched(problem.dimension, 1e4)
    with pytest.raises(surepath.InputError, match="a proof needs a bound on the features"):
        surepath.learn(
            problem,
            features=features,
            schedule="tight",
            gap=problem.gap,
            norm=problem.norm / 1e4,
        )


@pytest.mark.parametrize("schedule", ["adaptive", "tight"])
def test_a_bound_on_features_is_held_to(schedule: str) -> None:
    long = surepath.Custom(lambda o: 50 * np.eye(6)[o], 6, radius=1.0)
    problem = surepath.make("lock", horizon=3)
    with pytest.raises(surepath.InputError, match=r"no longer than 1.*length 50"):
        surepath.learn(problem, features=long, schedule=schedule, gap=0.8, norm=2.0)


def test_the_interval_of_a_prediction_is_as_wide_as_the_prediction() -> None:
    """A root that counts as covered before anything was tried is only predicted."""
    problem = surepath.Tabular.from_arrays([[0]], [[1.0]], [[[0.5]]])
    coarse = surepath.Schedule(1.005**2, 1.0, 10**9, 10**9)
    result = surepath.learn(problem, gap=1.01, norm=0.5, schedule=coarse)
    low, high = result.interval
    assert low <= problem.optimum[1] <= high


def test_sources_are_told_apart() -> None:
    problem = surepath.make("lock", horizon=3)
    text = surepath.learn(problem, schedule="tight", norm=10.0).certificate.assumptions
    assert any("norm at most 10 (as given)" in line for line in text)
    assert any("at least 0.8 (from the problem's oracle)" in line for line in text)


def test_a_future_beyond_the_horizon_costs_what_it_tries() -> None:
    problem = surepath.make("tabular", horizon=3, seed=1)
    result = surepath.learn(problem, future=5, schedule="tight")
    assert result.certified
    assert problem.is_optimal(result.actions)
    assert result.certificate.bounds is not None
    assert result.certificate.bounds.expansions == 0


# ---------------------------------------------------------------- in words


def test_a_result_prints_what_a_person_asks_first() -> None:
    result = surepath.learn(surepath.make("lock", horizon=3, actions=2))
    plan, value, claim, cost = str(result).splitlines()
    assert plan == "plan " + " ".join(map(str, result.actions))
    assert value.startswith(("value 0.", "value 1"))
    assert claim == f"certified: {result.certificate.claim}"
    assert cost.startswith(f"{result.episodes:,} episodes")
    assert str(result.certificate).startswith(claim)
    for assumption in result.certificate.assumptions:
        assert f"- {assumption}" in str(result.certificate).splitlines()


def test_a_result_without_a_certificate_says_so() -> None:
    result = surepath.learn(surepath.make("lock", horizon=3, actions=2), budget=20)
    assert f"not certified: {result.certificate.reason}" in str(result).splitlines()
    assert "certified: none" not in str(result.certificate)
