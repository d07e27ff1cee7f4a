"""Rivals and ours on the same ground: what is watched, what is counted, and what is made of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from surepath.bench.harness import contest
from surepath.bench.harness.contest import (
    OURS,
    RIVALS,
    Settings,
    Trace,
    Trial,
    arena_of,
    attempt,
    checkpoints,
    grid,
    ratio_interval,
    settings_of,
    steps_to,
    success,
    tune,
)
from surepath.bench.harness.report import Figure, Section, fit
from surepath.bench.harness.runs import Crew, Instance
from surepath.bench.harness.worlds import Case
from surepath.bench.suites import lower_bounds, peers, scaling, table1

SMALL = Instance("tabular", {"horizon": 3, "states": 2, "actions": 2, "observations": 3, "seed": 1})
CONTINUOUS = Instance("continuous", {"horizon": 2, "seed": 0})


def trace(*points: tuple[int, float], total: int = 1000, stopped: bool = True) -> Trace:
    steps, losses = zip(*points, strict=True) if points else ((), ())
    return Trace(steps, losses, total, stopped)


# ------------------------------------------------------------ a run


def test_an_answer_stands_until_the_next() -> None:
    seen = trace((10, 0.5), (40, 0.0), (80, 0.2))
    assert [seen.exact_at(s) for s in (5, 10, 39, 40, 79, 80, 1e9)] == [
        False, False, False, True, True, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize("method", [OURS, *RIVALS])
def test_every_method_runs_within_its_steps(method: str) -> None:
    settings: Settings = () if method == OURS else settings_of(method, SMALL)[0]
    cap = 6000
    run = attempt(Trial(SMALL, method, settings, cap, 0))
    assert not run.refused
    assert 0 < run.total <= cap
    assert list(run.steps) == sorted(run.steps)
    assert len(run.steps) == len(run.losses) > 0
    assert all(loss >= -1e-9 for loss in run.losses)
    assert run == attempt(Trial(SMALL, method, settings, cap, 0))


def test_ours_is_what_learn_is() -> None:
    import surepath

    problem = SMALL.build()
    result = surepath.learn(problem, seed=3)
    run = attempt(Trial(SMALL, OURS, (), 10**9, 3))
    assert (run.total, run.certified, run.stopped) == (result.steps, result.certified, True)
    assert run.exact_at(run.total) == problem.is_optimal(result.actions)


def test_what_cannot_be_run_says_why() -> None:
    many = Instance("lock", {"horizon": 20, "actions": 4, "seed": 0})
    run = attempt(Trial(many, "LUCB", (), 1000, 0))
    assert "sequences" in run.refused
    assert not run.exact_at(1000)


def test_features_that_are_fitted_are_paid_for_by_all() -> None:
    """What a pilot costs is in the steps of every method that uses what it was for."""
    run = attempt(Trial(CONTINUOUS, "agnostic Q", grid(samples=(8,))[0], 10**5, 0))
    ours = attempt(Trial(CONTINUOUS, OURS, (), 10**5, 0))
    assert min(run.steps[0], ours.steps[0]) > 200


def test_an_arena_knows_what_plans_are_worth() -> None:
    arena = arena_of(SMALL)
    problem = SMALL.build()
    actions, value = problem.optimum
    assert arena.loss(actions) == pytest.approx(0, abs=1e-12)
    assert arena.loss((1 - actions[0],)) == pytest.approx(
        value - problem.expected_return((1 - actions[0], 0, 0))
    )


def test_a_real_environment_is_an_arena_too() -> None:
    case = Case("MiniGrid-Empty-5x5", "minigrid_key", "MiniGrid-Empty-5x5-v0")
    arena = arena_of(case)
    assert arena.horizon == 7
    assert arena.loss((2, 2, 1, 2, 2, 0, 0)) == pytest.approx(0)
    assert arena.loss(()) > 0.5


# ------------------------------------------------------------ many runs


def test_checkpoints_end_at_the_cap() -> None:
    points = checkpoints(1000)
    assert points[-1] == 1000
    assert points[0] == pytest.approx(8, rel=0.2)
    assert np.allclose(np.diff(np.log2(points)), 0.25)


def test_success_has_to_last() -> None:
    good, late = trace((5, 0.0)), trace((5, 0.3), (500, 0.0))
    lucky = trace((5, 0.0), (900, 0.4))
    assert steps_to([good] * 20, 1000) == pytest.approx(checkpoints(1000)[0])
    assert 500 <= steps_to([good, late], 1000) <= 600
    assert steps_to([good] * 18 + [late] * 2, 1000) >= 500
    assert steps_to([good] * 19 + [late], 1000) < 20
    assert steps_to([lucky], 1000) == math.inf
    assert success([good, late], [10, 600]) == [0.5, 1.0]
    assert steps_to([good, late], 1000, wanted=0.5) < 20


def test_a_ratio_comes_with_its_interval() -> None:
    def runs(*steps: int) -> list[Trace]:
        return [trace((each, 0.0)) for each in steps]

    low, high = ratio_interval(runs(*[50] * 20), runs(*[500] * 20), 1000)
    assert low == high == pytest.approx(0.1, rel=0.1)
    mixed = runs(*range(50, 850, 40))
    low, high = ratio_interval(mixed, runs(*[500] * 20), 1000)
    assert low < steps_to(mixed, 1000) / steps_to(runs(500), 1000) <= high
    low, high = ratio_interval(mixed, mixed, 1000)
    assert low == high == 1  # in pairs: the same instances are hard for both
    assert ratio_interval(runs(500), [trace()], 1000)[0] == pytest.approx(0.5, rel=0.2)


def test_grids_are_all_combinations() -> None:
    assert len(grid(a=(1, 2), b=(3, 4, 5))) == 6
    assert grid(a=(1,)) == ((("a", 1),),)


# ------------------------------------------------------------ suites


def test_settings_are_chosen_on_training_instances(monkeypatch: pytest.MonkeyPatch) -> None:
    slow, hasty, never = ((("batch", 1),), (("batch", 2),), (("batch", 3),))
    good, refused = trace((900, 0.0)), Trace((), (), 0, stopped=False, refused="no")
    ends = {
        slow: lambda _: good,
        hasty: lambda seed: trace((20, 0.0 if seed % 2 else 0.1)),  # right in half of its runs
        never: lambda _: refused,
    }

    def fake(trial: Trial) -> Trace:
        assert trial.seed >= contest.TRAINING
        assert trial.stage.parameters["seed"] == trial.seed
        return ends[trial.settings](trial.seed)

    monkeypatch.setattr(contest, "attempt", fake)
    monkeypatch.setattr(contest, "settings_of", lambda *_: (never, hasty, slow))

    def chosen() -> Settings:
        return tune(Crew(), ["UCT"], SMALL, 1000, 4, "small")["UCT"][0]

    assert chosen() == slow  # what is right in the end comes before what is sometimes right soon
    ends[slow] = lambda _: trace((5, 0.7))
    assert chosen() == hasty
    ends[hasty] = ends[slow]
    assert chosen() == hasty  # the first that could be run


def test_features_of_an_environment_have_length_one() -> None:
    """Otherwise rivals with constants of their own take all states for one."""
    case = Case("MiniGrid-Empty-5x5", "minigrid_key", "MiniGrid-Empty-5x5-v0")
    arena = arena_of(case)
    build = RIVALS["agnostic Q"].build
    learner, runner = build(arena, 20_000, 0, {"samples": 32, "threshold": 1.0})
    assert learner.usage.steps == contest.LENGTHS
    contest.drive(learner, runner, steps=20_000)
    assert sum(map(sum, learner.stored)) > 5


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


def test_the_floor_is_given_where_there_are_few_sequences() -> None:
    small, large = (peers.Contest(t, i, 1000) for t, i in (("small", SMALL), ("bay", CONTINUOUS)))
    (said,) = peers._floor(Crew(), small, 2)
    assert said.startswith("small: ")
    assert peers._floor(Crew(), large, 2) == []


@pytest.mark.parametrize("part", ["few-actions", "tunable-gap"])
def test_the_gap_costs_what_it_costs(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proved schedule: the inverse square, up to logarithms; never below the floor."""
    scale = lower_bounds.Scale(instances=2, games=1, stakes=(0.25, 0.125), eps=(0.8, 0.2))
    monkeypatch.setattr(lower_bounds, "FULL", scale)
    along = lower_bounds._along

    def only_tight(crew: Crew, title: str, points: Any, _: Any, seeds: int) -> Any:
        return along(crew, title, points, ["tight"], seeds)  # adaptive games take minutes

    monkeypatch.setattr(lower_bounds, "_along", only_tight)
    table, figure = lower_bounds.PARTS[part](Crew())
    assert isinstance(table, Section)
    assert isinstance(figure, Figure)
    tight = next(row for row in table.rows if row[0] == "tight")
    assert float(str(tight[-2]).split()[0]) == pytest.approx(2, abs=0.3)
    for row in table.rows[1:]:
        assert float(str(row[1])) < float(str(tight[1]))


def test_the_floor_of_the_tunable_gap_grows_with_its_inverse_square() -> None:
    few, many = lower_bounds.fewest_steps(0.02), lower_bounds.fewest_steps(0.01)
    assert many / few == pytest.approx(4, rel=0.01)
    # Three draws an episode, each worth 2 gap^2 near 1/2; kl(0.05, 0.95) = 0.9 ln 19.
    assert many == pytest.approx(4 * 0.9 * math.log(19) / (6 * (0.01 / 4) ** 2), rel=0.01)


def test_bases_and_exponents_are_fitted() -> None:
    assert lower_bounds.base([2, 3, 4], [9, 27, 81]) == pytest.approx(3)
    rng = np.random.default_rng(0)
    sizes = np.repeat([1.0, 2.0, 4.0, 8.0], 25)
    inside = 0
    for _ in range(200):
        noisy = 3 * sizes**1.5 * np.exp(0.3 * rng.standard_normal(100))
        found = fit(sizes.tolist(), noisy.tolist())
        inside += found.low <= 1.5 <= found.high
    assert 180 <= inside <= 199  # 95 % of 200, within five standard deviations


def test_a_verdict_is_an_exponent_or_where_it_ended() -> None:
    def need(size: float, steps: float, *, refused: bool = False, **settings: float) -> table1.Need:
        return table1.Need(size, steps, tuple(settings.items()), refused)

    assert table1.verdict("H", [need(4, 10), need(8, 40)]) == "yes, 2.0"
    assert table1.verdict("H", [need(4, 10), need(8, 40, share=1.0)]) == "yes"
    assert table1.verdict("H", [need(4, 10), need(6, math.inf)]) == "no, from H=6"
    stuck = need(8, math.inf, refused=True)
    assert table1.verdict("H", [need(4, 10), stuck]) == "cannot be run, from H=8"


def test_fixed_schedules_are_told_what_is_true_of_all_instances(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    jobs: list[scaling.Job] = []
    original = scaling.play
    monkeypatch.setattr(scaling, "play", lambda job: jobs.append(job) or original(job))
    sweep = scaling.Sweep("1/gap", "tabular", scaling._over("share", 1, 0.5), scaling.SIZE)
    sizes, _ = scaling._run(Crew(), "tight", sweep, 2)
    problems = [job.instance.build() for job in jobs]
    told = [job.options for job in jobs]
    assert told[0]["gap"] == told[1]["gap"] == 2 * told[2]["gap"]
    assert all(o["gap"] <= p.gap + 1e-12 for o, p in zip(told, problems, strict=True))
    assert all(o["norm"] >= p.norm - 1e-12 for o, p in zip(told, problems, strict=True))
    assert sizes == [1 / o["gap"] for o in told]
