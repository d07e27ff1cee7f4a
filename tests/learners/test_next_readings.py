"""Which sequences to run: every edge gets its readings, and open questions the useful ones."""

from __future__ import annotations

import math
from collections.abc import Container

import numpy as np
import pytest

from cases import SIZES, Case, strictly
from machines import follow, random_machine
from surepath.inference.coverage import missing
from surepath.inference.paths import Challenger, Path, best_path, challengers
from surepath.inference.states import Automaton, Edge
from surepath.inference.values import estimate
from surepath.learners import next_readings
from surepath.learners.next_readings import cover, sharpen

# ---------------------------------------------------------------- reading every edge


def unbounded(level: int) -> float:
    """What can be earned from a level on where a reward has no limit."""
    del level
    return math.inf


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
        wanted = cover(machine, [8] * machine.horizon, unbounded, rng, merges=False)
        for actions, count in wanted:
            assert 1 <= len(actions) <= machine.horizon
            assert set(actions) <= set(range(machine.n_actions))
            assert count >= 1
        after = charged(machine, wanted)
        assert min(part.min() for part in after if part.size) >= 8
        assert bool(wanted) == missing(machine, [8] * machine.horizon, unbounded)
        # Nothing is asked for that all its edges have already.
        for actions, _ in wanted:
            edges = enumerate(follow(machine, actions))
            assert any(machine.layers[level].count[edge] < 8 for level, edge in edges)


def test_cover_reads_several_edges_at_a_time() -> None:
    """A sequence goes on past the edge it is for, along what is short of readings as well."""
    for seed in range(10):
        machine = random_machine(np.random.default_rng(seed), 8, 2, 3, counts=(1,))
        wanted = cover(machine, [5] * 8, unbounded, np.random.default_rng(0))
        assert {count for _, count in wanted} == {4}
        # Every level is left by at least as many sequences as it has edges; no need of many more.
        assert len(wanted) <= 2 * max(layer.count.size for layer in machine.layers)


def test_what_is_probably_passed_is_not_asked_for_twice() -> None:
    """Where new edges most likely lead to known states, cover waits for what it comes to."""
    fewer = 0
    for seed in range(10):
        machine = random_machine(np.random.default_rng(seed), 8, 3, 3, counts=(0, 1))
        wanted = [
            cover(machine, [5] * 8, unbounded, np.random.default_rng(0), merges=merges)
            for merges in (True, False)
        ]
        asked = [sum(count for _, count in each) for each in wanted]
        assert asked[0] <= asked[1]
        fewer += asked[0] < asked[1]
    assert fewer == 10


@pytest.mark.parametrize("counts", [(0, 3, 20), (0,), (1, 9)])
def test_what_cover_keeps_up_is_what_it_would_compute(
    monkeypatch: pytest.MonkeyPatch, counts: tuple[int, ...]
) -> None:
    class Anew(next_readings.Gains):
        def renew(self, changed: Container[int], down_to: int) -> None:
            del changed, down_to
            super().renew(range(self._machine.horizon), -1)

    for seed in range(20):
        machine = random_machine(np.random.default_rng(seed), 6, 4, 3, counts)
        kept_up = cover(machine, [8] * 6, unbounded, np.random.default_rng(seed))
        with monkeypatch.context() as patched:
            patched.setattr(next_readings, "Gains", Anew)
            assert cover(machine, [8] * 6, unbounded, np.random.default_rng(seed)) == kept_up


# ---------------------------------------------------------------- telling two paths apart


def differences(plan: Path, challenger: Challenger) -> set[tuple[int, Edge]]:
    ours = set(enumerate(plan.edges[challenger.level :], start=challenger.level))
    return ours ^ set(enumerate(challenger.path.edges, start=challenger.level))


def test_sharpening_reads_where_the_paths_differ() -> None:
    for seed in range(30):
        case = Case(seed, np.sqrt, strictly, (5, 2, 3))
        for challenger in case.found:
            apart = differences(case.plan, challenger)
            ((actions, count),) = sharpen(case.machine, case.plan, challenger, case.spreads)
            passed = list(enumerate(follow(case.machine, actions)))
            assert passed[-1] in apart  # and no longer than needed
            own = case.plan.actions[: len(actions)]
            theirs = (case.plan.actions[: challenger.level] + challenger.path.actions)[
                : len(actions)
            ]
            assert actions in (own, theirs[: len(actions)])
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
        (challenger,) = challengers(
            machine, plan, values, spreads, [np.zeros(1)], np.sqrt, strictly
        )
        assert sharpen(machine, plan, challenger, spreads) == [((wide,), 5)]
