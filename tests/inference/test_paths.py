"""Paths through random machines, against a list of all of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import surepath.inference.paths
from machines import follow, paths_from, random_machine
from surepath.inference.paths import (
    Challenger,
    Path,
    best_path,
    challengers,
    cover,
    missing,
    reach,
    sharpen,
    shortage,
)
from surepath.inference.states import UNKNOWN, Automaton, Edge
from surepath.inference.values import LEAST_POINTS, Values, estimate
from surepath.readings.trie import Node

GAP, RESOLUTION = 0.05, 0.3
Rule = Callable[[np.ndarray, np.ndarray], np.ndarray]
Width = Callable[[np.ndarray], np.ndarray]
WIDTHS: list[Width] = [np.sqrt, lambda spread: spread]  # errors add in squares, or as they are


def with_gap(margin: np.ndarray, width: np.ndarray) -> np.ndarray:
    return width - margin - GAP


def strictly(margin: np.ndarray, width: np.ndarray) -> np.ndarray:
    return width - margin


def within_resolution(margin: np.ndarray, width: np.ndarray) -> np.ndarray:
    return width - np.maximum(margin, RESOLUTION - np.abs(margin))


class Case:
    """A random machine with spreads, its plan, and what could beat it."""

    def __init__(self, seed: int, width: Width, rule: Rule, sizes: tuple[int, int, int]) -> None:
        rng = np.random.default_rng(seed)
        self.machine = random_machine(rng, *sizes)
        # A few edges are far wider than the others.
        self.spreads = [0.3 * rng.random(layer.mean.shape) ** 4 for layer in self.machine.layers]
        self.values = estimate(self.machine, 1.0, 1.0)
        self.plan = best_path(self.machine, self.values)
        self.width, self.rule = width, rule
        guesses = [np.zeros(len(layer.members)) for layer in self.machine.layers]
        self.found = challengers(
            self.machine, self.plan, self.values, self.spreads, guesses, width, rule
        )

    def rivals(self, level: int, action: int) -> list[tuple[float, float, float]]:
        """Margin, width and excess of every path that leaves the plan there."""
        state = self.plan.edges[level][0]
        ours = set(enumerate(self.plan.edges[level:], start=level))
        following = int(self.machine.layers[level].target[state, action])
        rests = paths_from(self.machine, level + 1, following)
        return [self._compare(ours, level, ((state, action), *rest)) for rest in rests]

    def of(self, rival: Challenger) -> tuple[float, float, float]:
        ours = set(enumerate(self.plan.edges[rival.level :], start=rival.level))
        return self._compare(ours, rival.level, tuple(rival.path.edges))

    def _compare(
        self, ours: set[tuple[int, Edge]], level: int, edges: tuple[Edge, ...]
    ) -> tuple[float, float, float]:
        theirs = set(enumerate(edges, start=level))
        layers = self.machine.layers
        margin = sum(layers[h].mean[e] for h, e in ours) - sum(layers[h].mean[e] for h, e in theirs)
        spread = sum(float(self.spreads[h][e]) for h, e in ours ^ theirs)
        width = self.width(np.array(spread))
        return float(margin), float(width), float(self.rule(np.array(margin), width))


SIZES = [(1, 3, 1), (2, 2, 2), (4, 3, 3), (5, 2, 4), (6, 2, 2)]


# ---------------------------------------------------------------- the best path


@pytest.mark.parametrize("sizes", SIZES)
def test_the_best_path_is_the_best_of_all(sizes: tuple[int, int, int]) -> None:
    for seed in range(20):
        machine = random_machine(np.random.default_rng(seed), *sizes)
        values = estimate(machine, 1.0, 1.0)
        means = {
            path: sum(machine.layers[h].mean[edge] for h, edge in enumerate(path))
            for path in paths_from(machine, 0, 0)
        }
        plan = best_path(machine, values)
        assert means[tuple(plan.edges)] == pytest.approx(max(means.values()))
        assert values.best(0)[0] == pytest.approx(max(means.values()))
        assert plan.actions == tuple(action for _, action in plan.edges)
        assert follow(machine, plan.actions) == plan.edges


def test_the_best_path_ends_where_nothing_was_tried() -> None:
    machine = random_machine(np.random.default_rng(0), 3, 2, 2)
    machine.layers[1].count[:, 1] = 0
    plan = best_path(machine, estimate(machine, 1.0, 1.0))
    assert len(plan.edges) == 1
    assert plan.end == machine.layers[0].target[plan.edges[0]]


# ---------------------------------------------------------------- what could beat it


def test_every_way_to_leave_the_plan_has_its_rival() -> None:
    for seed in range(10):
        case = Case(seed, np.sqrt, with_gap, (4, 3, 3))
        ways = [
            (level, action)
            for level, (_, chosen) in enumerate(case.plan.edges)
            for action in range(3)
            if action != chosen
        ]
        assert sorted((rival.level, rival.action) for rival in case.found) == ways
        for rival in case.found:
            assert rival.path.edges[0] == (case.plan.edges[rival.level][0], rival.action)
            whole = case.plan.actions[: rival.level] + rival.path.actions
            assert follow(case.machine, whole)[rival.level :] == rival.path.edges
            assert rival.guessed == 0.0


@pytest.mark.parametrize("rule", [strictly, with_gap])
@pytest.mark.parametrize("width", WIDTHS, ids=["root", "sum"])
@pytest.mark.parametrize("sizes", SIZES)
def test_the_rival_is_the_hardest_to_rule_out_of_all(
    sizes: tuple[int, int, int], width: Width, rule: Rule
) -> None:
    for seed in range(20):
        case = Case(seed, width, rule, sizes)
        for rival in case.found:
            everyone = case.rivals(rival.level, rival.action)
            assert rival.excess == pytest.approx(max(e for *_, e in everyone), abs=1e-9)
            assert rival.loss == pytest.approx(max(w - m for m, w, _ in everyone), abs=1e-9)
            said = (rival.margin, rival.width, rival.excess)
            assert said == pytest.approx(case.of(rival), abs=1e-9)


def test_a_wide_rival_is_not_hidden_by_a_good_one() -> None:
    """Off the plan, one action is worth a little more and known well, the other is hardly known."""
    machine = random_machine(np.random.default_rng(0), 2, 2, 2)
    machine.layers[0].target[:] = [[0, 1]]
    machine.layers[0].mean[:] = 0.0
    machine.layers[1] = random_machine(np.random.default_rng(0), 1, 2, 1).layers[0]
    layer = machine.layers[1]
    machine.layers[1] = replace(
        layer,
        members=[[Node()], [Node()]],
        prefixes=[(0,), (1,)],
        count=np.full((2, 2), 9.0),
        mean=np.array([[0.8, 0.1], [0.6, 0.5]]),
        scatter=np.ones((2, 2)),
        target=np.full((2, 2), UNKNOWN),
    )
    spreads = [np.zeros((1, 2)), np.array([[0.0, 0.0], [0.01, 0.36]])]
    values = estimate(machine, 1.0, 1.0)
    plan = best_path(machine, values)
    found = challengers(
        machine, plan, values, spreads, [np.zeros(1), np.zeros(2)], np.sqrt, strictly
    )
    assert plan.actions == (0, 0)
    assert found[0].path.actions == (1, 1)
    assert (found[0].margin, found[0].width) == pytest.approx((0.3, 0.6))


@pytest.mark.parametrize("width", WIDTHS, ids=["root", "sum"])
def test_what_is_settled_within_the_resolution_loses_less(width: Width) -> None:
    """That rule prefers a clear tie to an unclear lead: so it is the loss that has to be bounded.

    Where a way to leave the plan counts as settled, no path that takes it can be better by the
    resolution.
    """
    settled = 0
    for seed in range(60):
        case = Case(seed, width, within_resolution, (4, 3, 3))
        for rival in case.found:
            said = (rival.margin, rival.width, rival.excess)
            assert said == pytest.approx(case.of(rival), abs=1e-9)
            loss = max(w - m for m, w, _ in case.rivals(rival.level, rival.action))
            assert rival.loss == pytest.approx(loss, abs=1e-9)
            if rival.excess < 0:
                settled += 1
                assert loss < RESOLUTION
    assert settled > 50


@pytest.mark.parametrize("labels", [2, 3, 5])
@pytest.mark.parametrize("width", WIDTHS, ids=["root", "sum"])
def test_thinning_only_widens(monkeypatch: pytest.MonkeyPatch, labels: int, width: Width) -> None:
    monkeypatch.setattr(surepath.inference.paths, "MOST_LABELS", labels)
    wider = 0
    for seed in range(60):
        case = Case(seed, width, with_gap, (5, 3, 3))
        for rival in case.found:
            exact = max(each for *_, each in case.rivals(rival.level, rival.action))
            assert rival.excess >= exact - 1e-9
            assert rival.loss >= exact + GAP - 1e-9
            wider += rival.excess > exact + 1e-9
    assert wider or labels > 2  # with two labels something has to be given up


def test_a_state_that_was_only_predicted_ends_the_rival_there() -> None:
    machine = random_machine(np.random.default_rng(3), 3, 2, 2)
    layer = machine.layers[1]
    plan_state = int(machine.layers[0].target[0, 0])
    other = len(layer.members)
    machine.layers[1] = replace(
        layer,
        members=[*layer.members, [Node()]],
        prefixes=[*layer.prefixes, (1,)],
        count=np.vstack([layer.count, [0.0, 0.0]]),
        mean=np.vstack([layer.mean, [0.0, 0.0]]),
        scatter=np.vstack([layer.scatter, [0.0, 0.0]]),
        target=np.vstack([layer.target, [UNKNOWN, UNKNOWN]]),
    )
    machine.layers[0].target[0, 1] = other
    machine.layers[0].mean[:] = [[0.9, 0.1]]
    values = estimate(machine, 1.0, 1.0)
    values.q[1][other] = [0.2, 0.5]
    plan = Path([(0, 0), *best_from(machine, values, 1, plan_state)], UNKNOWN)
    spreads = [np.full(part.mean.shape, 0.01) for part in machine.layers]
    guesses = [np.zeros(len(part.members)) for part in machine.layers]
    guesses[1][other] = 0.09
    rival = challengers(machine, plan, values, spreads, guesses, np.sqrt, strictly)[0]
    assert (rival.level, rival.action) == (0, 1)
    assert rival.path == Path([(0, 1)], end=other)
    value = sum(float(machine.layers[h].mean[e]) for h, e in enumerate(plan.edges))
    assert rival.margin == pytest.approx(value - 0.1 - 0.5)
    assert rival.width == pytest.approx(math.sqrt(3 * 0.01 + 0.01 + 0.09))
    assert rival.guessed == pytest.approx(0.09 / 0.13)


def best_from(machine: Automaton, values: Values, level: int, state: int) -> list[Edge]:
    edges = list[Edge]()
    for h in range(level, machine.horizon):
        edges.append((state, int(values.q[h][state].argmax())))
        state = int(machine.layers[h].target[edges[-1]])
    return edges


# ---------------------------------------------------------------- reading every edge


def charged(machine: Automaton, wanted: list[tuple[tuple[int, ...], int]]) -> list[np.ndarray]:
    counts = [layer.count.copy() for layer in machine.layers]
    for actions, count in wanted:
        for level, edge in enumerate(follow(machine, actions)):
            counts[level][edge] += count
    return counts


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("counts", [(0, 3, 20), (0,), (1, 9), (8,)])
def test_cover_gives_every_known_edge_its_readings(
    sizes: tuple[int, int, int], counts: tuple[int, ...]
) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        machine = random_machine(rng, *sizes, counts)
        wanted = cover(machine, 8, rng)
        for actions, count in wanted:
            assert 1 <= len(actions) <= machine.horizon
            assert set(actions) <= set(range(machine.n_actions))
            assert count >= 1
        after = charged(machine, wanted)
        assert min(part.min() for part in after if part.size) >= 8
        assert bool(wanted) == missing(machine, 8)
        # Nothing is asked for that all its edges have already.
        for actions, _ in wanted:
            edges = enumerate(follow(machine, actions))
            assert any(machine.layers[level].count[edge] < 8 for level, edge in edges)


def test_cover_reads_several_edges_at_a_time() -> None:
    """A sequence goes on past the edge it is for, along what is short of readings as well."""
    for seed in range(10):
        machine = random_machine(np.random.default_rng(seed), 8, 2, 3, counts=(1,))
        wanted = cover(machine, 5, np.random.default_rng(0))
        assert {count for _, count in wanted} == {4}
        # Every level is left by at least as many sequences as it has edges; no need of many more.
        assert len(wanted) <= 2 * max(layer.count.size for layer in machine.layers)


def test_where_many_states_are_known_some_are_enough() -> None:
    """Those already tried, and otherwise so many of those read most that the rest is predicted."""
    for tried in (0, 3, 15):
        machine = random_machine(np.random.default_rng(2), 2, 3, 20)
        states = 20
        count = np.zeros((states, 3))
        count[:tried] = 2
        count[tried:, 0] = np.arange(states - tried) + 1
        layer = replace(
            machine.layers[1],
            members=[[Node()] for _ in range(states)],
            prefixes=[(0,)] * states,
            count=count,
            mean=np.zeros((states, 3)),
            scatter=np.zeros((states, 3)),
            target=np.full((states, 3), UNKNOWN),
            points=np.zeros((states, 2)),
        )
        machine.layers[1] = layer
        short = shortage(machine, 8)[1]
        asked = np.flatnonzero(short.any(axis=1))
        assert len(asked) == max(tried, LEAST_POINTS)
        assert set(range(tried)) <= set(asked.tolist())
        rest = [state for state in asked if state >= tried]
        assert rest == [*range(states - len(rest), states)]
        layer.points = None
        assert (shortage(machine, 8)[1] == np.maximum(8 - count, 0)).all()


# ---------------------------------------------------------------- telling two paths apart


def differences(plan: Path, rival: Challenger) -> set[tuple[int, Edge]]:
    ours = set(enumerate(plan.edges[rival.level :], start=rival.level))
    return ours ^ set(enumerate(rival.path.edges, start=rival.level))


def test_sharpening_reads_where_the_paths_differ() -> None:
    for seed in range(30):
        case = Case(seed, np.sqrt, strictly, (5, 2, 3))
        for rival in case.found:
            apart = differences(case.plan, rival)
            ((actions, count),) = sharpen(case.machine, case.plan, rival, case.spreads, pools=True)
            passed = list(enumerate(follow(case.machine, actions)))
            assert passed[-1] in apart  # and no longer than needed
            own = case.plan.actions[: len(actions)]
            theirs = (case.plan.actions[: rival.level] + rival.path.actions)[: len(actions)]
            assert actions in (own, theirs)
            read = [case.machine.layers[h].count[e] for h, e in passed if (h, e) in apart]
            assert count == min(read)


def test_sharpening_prefers_what_narrows_most() -> None:
    """The same number of steps and readings: whichever of the two is wider."""
    machine = random_machine(np.random.default_rng(0), 1, 2, 1)
    machine.layers[0].mean[:] = [[0.9, 0.1]]
    values = estimate(machine, 1.0, 1.0)
    plan = best_path(machine, values)
    for wide in (0, 1):
        spreads = [np.array([[0.01, 0.01]])]
        spreads[0][0, wide] = 0.04
        (rival,) = challengers(machine, plan, values, spreads, [np.zeros(1)], np.sqrt, strictly)
        assert sharpen(machine, plan, rival, spreads, pools=True) == [((wide,), 5)]


def test_sharpening_without_pooling_reads_the_widest_edge_at_its_own_node() -> None:
    for seed in range(30):
        case = Case(seed, lambda spread: spread, strictly, (4, 2, 3))
        for rival in case.found:
            apart = differences(case.plan, rival)
            readings = sharpen(case.machine, case.plan, rival, case.spreads, pools=False)
            actions, count = readings[0]
            level, edge = max(apart, key=lambda place: float(case.spreads[place[0]][place[1]]))
            assert actions == (*case.machine.layers[level].prefixes[edge[0]], edge[1])
            assert count == case.machine.layers[level].count[edge]
            if len(readings) > 1:
                state = int(case.machine.layers[level].target[edge])
                assert readings[1][0] == case.machine.layers[level + 1].prefixes[state]


# ---------------------------------------------------------------- what was collected on the way


@pytest.mark.parametrize("sizes", SIZES)
def test_reach_is_the_most_on_any_way(sizes: tuple[int, int, int]) -> None:
    for seed in range(20):
        machine = random_machine(np.random.default_rng(seed), *sizes, counts=(0, 4, 4))
        found = reach(machine)
        for level in range(machine.horizon):
            best = np.full(len(machine.layers[level].members), -np.inf)
            for actions in product(range(machine.n_actions), repeat=level):
                edges = follow(machine, actions)
                ends = [machine.layers[h].target[e] for h, e in enumerate(edges)]
                if len(edges) == level and UNKNOWN not in ends:
                    state = ends[-1] if level else 0
                    got = sum(float(machine.layers[h].mean[e]) for h, e in enumerate(edges))
                    best[state] = max(best[state], got)
            assert found[level] == pytest.approx(best)
