"""Methods that are told the states: their graph, their rules, and what they find."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

import surepath
from sequences import fewest, played, rounds, small
from surepath.baselines.told import Graph, Told, ToldElimination, ToldHalving, ToldLucb
from surepath.builtin_problems import Problem
from surepath.errors import InputError

KINDS: dict[str, Any] = {
    "halving": lambda *sizes, **how: ToldHalving(*sizes, episodes=2000, **how),
    "LUCB": lambda *sizes, **how: ToldLucb(*sizes, batch=4, width=0.2, **how),
    "elimination": lambda *sizes, **how: ToldElimination(*sizes, batch=4, width=0.3, **how),
}


def told(kind: str, problem: Problem, **how: Any) -> Told:
    return KINDS[kind](problem.horizon, problem.n_actions, problem.start, problem.move, **how)


@pytest.mark.parametrize("kind", KINDS)
def test_the_optimum_of_small_instances_is_found(kind: str) -> None:
    exact = 0
    for i in range(20):
        learner = told(kind, small(i), seed=i)
        exact += played(learner, small(i), i)
        assert learner.done
    assert exact >= fewest(20, 0.95)


def random_graph(seed: int) -> tuple[Graph, list[Any]]:
    rng = np.random.default_rng(seed)
    moves = rng.integers(3, size=(4, 3, 2))
    graph = Graph.of(0, lambda h, s, a: int(moves[h, s, a]), 4, 2)
    return graph, [rng.random(part.shape) for part in graph.zeros(2)]


@pytest.mark.parametrize("seed", range(8))
def test_paths_are_those_that_trying_all_finds(seed: int) -> None:
    graph, weights = random_graph(seed)
    worth = {
        actions: sum(weights[h][edge] for h, edge in enumerate(graph.edges(actions)))
        for actions in product(range(2), repeat=4)
    }
    assert worth[graph.best(weights)] == pytest.approx(max(worth.values()))
    through = graph.through(weights)
    for h, part in enumerate(through):
        for edge in np.ndindex(*part.shape):
            passing = [v for a, v in worth.items() if graph.edges(a)[h] == edge]
            assert part[edge] == pytest.approx(max(passing))


def test_ways_to_one_state_are_one_however_they_round() -> None:
    def move(level: int, state: Any, action: int) -> Any:
        return (state[0] + (0.1, 0.2, 0.3)[action], np.array([level]))

    graph = Graph.of((0.0, np.array([0])), move, 3, 3)
    assert graph.targets[1].max() + 1 == 5  # 0.2 .. 0.6


def test_rewards_are_pooled_over_all_ways_to_a_state() -> None:
    problem = small(3)
    learner = told("elimination", problem)
    read = [np.zeros(part.shape) for part in learner.counts]
    for requests, _ in rounds(learner, problem, 0):
        for request in requests:
            for h, edge in enumerate(learner.graph.edges(request.actions)):
                read[h][edge] += request.count
    for mine, theirs in zip(read, learner.counts, strict=True):
        assert mine.tolist() == theirs.tolist()
    assert min(part.min() for part in read) > 0  # every edge was read


def test_halving_spends_what_it_has_and_halves() -> None:
    problem, left = small(2), list[int]()
    learner = told("halving", problem)
    assert isinstance(learner, ToldHalving)
    for _ in rounds(learner, problem, 0):
        left.append(sum(int(part.sum()) for part in learner.left))
    assert learner.usage.episodes <= 2000
    assert all(b <= max(problem.horizon, (a + 1) // 2) for a, b in pairwise(left))


def test_elimination_keeps_the_best_path() -> None:
    """With the intervals of the theorem, what it drops is not on the optimal plan."""
    for i in range(5):
        problem = small(i)
        learner = ToldElimination(4, 2, problem.start, problem.move, batch=64, seed=i)
        best = learner.graph.edges(problem.oracle.actions)
        for _ in rounds(learner, problem, i, budget=20_000):
            assert all(learner.active[h][edge] for h, edge in enumerate(best))


def test_too_many_states_are_refused() -> None:
    with pytest.raises(InputError, match="lists all states"):
        Graph.of((), lambda _, state, action: (*state, action), 12, 3)
    with pytest.raises(InputError, match="first round"):
        ToldHalving(4, 2, small(1).start, small(1).move, episodes=2)


def test_a_lock_is_no_harder_for_its_length_alone() -> None:
    lock = surepath.make("lock", horizon=30, actions=4, seed=0)
    learner = told("halving", lock)
    assert played(learner, lock, 0)
