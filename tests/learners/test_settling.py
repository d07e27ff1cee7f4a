"""What is needed at several levels is read by the same episodes."""

from __future__ import annotations

import numpy as np
import pytest

from cases import SIZES
from machines import follow, random_machine
from surepath.inference.states import Automaton, Edge
from surepath.learners.settling import Need, together
from surepath.readings.trie import Node
from surepath.system import Actions


def needs_of(machine: Automaton, rng: np.random.Generator, share: float = 0.6) -> list[Need]:
    """Of some edges of all levels but the last, so many readings more."""
    return [
        Need(level, edge, (), int(rng.integers(1, 20)))
        for level, layer in enumerate(machine.layers[:-1])
        for edge in layer.edges
        if rng.random() < share
    ]


def read(machine: Automaton, wanted: list[tuple[Actions, int]]) -> dict[tuple[int, Edge], int]:
    counts = dict[tuple[int, Edge], int]()
    for actions, count in wanted:
        for place in enumerate(follow(machine, actions)):
            counts[place] = counts.get(place, 0) + count
    return counts


@pytest.mark.parametrize("sizes", SIZES)
def test_every_need_is_served(sizes: tuple[int, int, int]) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        machine = random_machine(rng, *sizes, (3, 20))
        needs = needs_of(machine, rng)
        wanted = together(machine, Node(), needs, ())
        found = read(machine, wanted)
        for need in needs:
            assert found[need.level, need.edge] >= need.count
        assert bool(wanted) == bool(needs)


def test_needs_of_several_levels_share_episodes() -> None:
    """One edge at a time would take as many episodes as all needs together."""
    machine = random_machine(np.random.default_rng(1), 8, 3, 2, counts=(9,))
    needs = needs_of(machine, np.random.default_rng(2), share=1.0)
    episodes = sum(count for _, count in together(machine, Node(), needs, ()))
    levels = [sum(n.count for n in needs if n.level == level) for level in range(7)]
    assert max(levels) <= episodes < sum(levels) / 2


def test_what_is_run_anyway_serves_needs() -> None:
    machine = random_machine(np.random.default_rng(3), 5, 2, 2, counts=(9,))
    wanted = together(machine, Node(), needs_of(machine, np.random.default_rng(4)), ())
    needs = needs_of(machine, np.random.default_rng(4))
    assert together(machine, Node(), needs, wanted) == []


def test_a_need_behind_a_window_is_served_along_it_only() -> None:
    machine = random_machine(np.random.default_rng(5), 4, 2, 2, counts=(9,))
    need = Need(0, (0, 1), (1,), 6)
    ((actions, count),) = together(machine, Node(), [need], [((1, 0, 0, 0), 6)])
    assert actions[:2] == (1, 1)
    assert count == 6
    assert together(machine, Node(), [need], [((1, 1), 6)]) == []
