"""Go-Explore: its archive, its returns by replay, and what it finds."""

from __future__ import annotations

import numpy as np

from sequences import fewest, small
from surepath.baselines.goexplore import GoExplore
from surepath.features import Features
from surepath.prepare.call import Call
from surepath.prepare.task import plan_task
from surepath.run.driver import drive
from surepath.run.runner import Runner
from surepath.system import Request


def features_of(seed: int) -> Features:
    return plan_task(Call.of(small(seed))).features  # type: ignore[return-value]


def test_the_optimum_of_small_instances_is_found() -> None:
    exact = 0
    for i in range(20):
        learner = GoExplore(4, 2, features_of(i), width=0.5, batch=64, repeat=0.3, seed=i)
        drive(learner, Runner(small(i), i), budget=20_000)
        exact += small(i).is_optimal(learner.incumbent)
    assert exact >= fewest(20, 0.8)


def test_every_sequence_returns_to_a_cell_and_goes_on_to_the_end() -> None:
    learner = GoExplore(4, 2, features_of(1), width=0.5, batch=8, seed=0)
    runner = Runner(small(1), 0)
    for batch in range(40):
        known = {place.actions for place in learner.cells.values()}
        (request,) = learner.ask()
        assert len(request.actions) == 4
        assert any(request.actions[: len(actions)] == actions for actions in known)
        learner.tell(runner.run(batch, [request], summary=True))
    levels = {cell[0] for cell in learner.cells}
    assert levels == {0, 1, 2, 3}
    assert sum(place.begun for place in learner.cells.values()) == 41


def test_a_cell_keeps_the_best_way_to_it() -> None:
    learner = GoExplore(4, 2, features_of(1), width=1e6, batch=16, seed=0)  # one cell a level
    runner = Runner(small(1), 0)
    paid: dict[int, float] = {}
    for batch in range(30):
        (request,) = learner.ask()
        (readings,) = runner.run(batch, [request], summary=True)
        learner.tell([readings])
        for level in (1, 2, 3):
            found = sum(readings.reward(h).mean for h in range(level))
            paid[level] = max(paid.get(level, -np.inf), found)
    assert len(learner.cells) == 4
    for cell, place in learner.cells.items():
        assert place.paid == paid.get(cell[0], 0.0)


def test_the_incumbent_is_the_best_mean_of_all_its_episodes() -> None:
    learner = GoExplore(4, 2, features_of(2), width=0.5, batch=4, repeat=0.5, seed=3)
    runner, returns = Runner(small(2), 0), dict[tuple[int, ...], list[float]]()
    for batch in range(60):
        asked: tuple[Request, ...] = learner.ask()
        (readings,) = runner.run(batch, asked, summary=True)
        total = sum(readings.reward(h).mean for h in range(4))
        returns.setdefault(asked[0].actions, []).append(total)
        learner.tell([readings])
    means = {actions: float(np.mean(each)) for actions, each in returns.items()}
    assert max(map(len, returns.values())) > 5  # it was played again
    assert means[learner.incumbent] == max(means.values())
