"""Evidence for merges: the formulas of the page, and how often two states pass for one."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from proposals import (
    BOUNDED,
    NOISY,
    SYMBOLS,
    meeting,
    most,
    normed,
    random_proposal,
    separated,
)
from surepath.inference.fresh_block import Told, windows_by_edge
from surepath.inference.merge_evidence import BET, MergeEvidence, Window, Windows
from surepath.inference.proposal import Observed, Rules
from surepath.system import FloatArray

Blocks = list[tuple[list[list[Any]], list[list[Any]]]]
"""Block by block: the windows of the merge and those of the edge that founds its state."""


def taken_in(evidence: MergeEvidence, blocks: Blocks, way: tuple[int, ...] = ()) -> None:
    observed = evidence.proposal.rules.observed
    assert observed is not None
    for mine, theirs in blocks:
        windows = Windows()
        for edge, each in ((1, mine), (0, theirs)):
            if each:
                rows = np.array(each)  # [n, K] or [n, K, d]
                if observed.type == "symbols":
                    rows = np.eye(observed.size)[rows]
                windows[edge, way] = Window(len(rows), rows.sum(axis=0))
        evidence.add(windows)


def by_hand(said: Rules, blocks: Blocks, size: float) -> float:
    """The largest evidence after any block, reading by reading."""
    observed, steps = said.observed, said.future
    assert observed is not None
    scale = {"symbols": 1 / 4, "bounded": observed.scale**2 / 4, "noisy": observed.scale**2}
    c = scale[observed.type] * steps
    bet, weight, best = 0.65 * size / c, 0.0, 0.0
    apart = [[0.0] * observed.size for _ in range(steps)]
    for mine, theirs in blocks:
        if mine and theirs:
            h = len(mine) * len(theirs) / (len(mine) + len(theirs))
            weight += h
            for step, i in product(range(steps), range(observed.size)):
                means = [
                    sum(
                        float(w[step] == i if observed.type == "symbols" else w[step][i])
                        for w in each
                    )
                    / len(each)
                    for each in (mine, theirs)
                ]
                apart[step][i] += h * (means[0] - means[1])
        if weight:
            d = 0.0
            for row in apart:
                if observed.type == "symbols":
                    d += sum(abs(x / weight) for x in row) / 2
                else:
                    d += math.sqrt(sum((x / weight) ** 2 for x in row))
            best = max(best, bet * weight * (size - d) - bet**2 * c * weight / 2)
    return best


@pytest.mark.parametrize(("future", "shared"), [(1, False), (2, False), (3, False), (1, True)])
@pytest.mark.parametrize("observed", [SYMBOLS, BOUNDED, NOISY], ids=lambda each: each.type)
def test_the_evidence_is_what_the_page_says(observed: Observed, future: int, shared: bool) -> None:
    said = separated(observed=observed, future=future, shared=shared, separation=0.5)
    assert BET == 0.65
    rng = np.random.default_rng(future)
    for _ in range(8):
        evidence = MergeEvidence(meeting(said))
        blocks: Blocks = []
        for _ in range(int(rng.integers(1, 5))):
            sides = list[list[list[Any]]]()
            for _ in range(2):
                n = int(rng.integers(0, 30))
                if observed.type == "symbols":
                    seen = rng.choice(3, p=[0.8, 0.1, 0.1], size=(n, future))
                else:
                    seen = rng.normal(scale=0.1, size=(n, future, 2))
                sides.append(seen.tolist())
            blocks.append((sides[0], sides[1]))
        ways = list(product(range(2), repeat=future - 1))
        for way in ways[:-1]:
            taken_in(evidence, blocks, way)
        if len(ways) > 1:
            assert evidence.least == 0  # one continuation was not read
        taken_in(evidence, blocks, ways[-1])
        assert evidence.least == pytest.approx(by_hand(said, blocks, 0.5))


def test_on_the_route_of_a_norm_the_radius_is_excluded() -> None:
    proposal = meeting(normed())
    proposal.radius[1] = 0.3
    evidence = MergeEvidence(proposal)
    rng = np.random.default_rng(1)
    blocks: Blocks = [
        (rng.uniform(0, 0.1, (20, 1, 2)).tolist(), rng.uniform(0, 0.1, (30, 1, 2)).tolist())
        for _ in range(3)
    ]
    taken_in(evidence, blocks)
    assert evidence.least == pytest.approx(by_hand(proposal.rules, blocks, 0.3))


def test_what_has_passed_stays_passed_and_the_worst_merge_counts() -> None:
    evidence = MergeEvidence(meeting(separated(separation=0.6), 3))
    alike, other = np.array([[50.0, 0.0, 0.0]]), np.array([[0.0, 50.0, 0.0]])
    evidence.add({(0, ()): Window(50, alike), (1, ()): Window(50, alike)})
    best = evidence.tests[1, ()].best
    assert best >= evidence.proposal.rules.level
    assert evidence.least == 0  # the second merge was not read
    evidence.add(
        {(0, ()): Window(50, alike), (1, ()): Window(50, other), (2, ()): Window(50, alike)}
    )
    assert evidence.tests[1, ()].best == evidence.least == best
    assert evidence.last(1, evidence.tests[1, ()]) < 0


def test_the_separation_that_is_excluded() -> None:
    """With the bet of the declared one: declared so, it would just have been excluded."""
    said = separated(separation=0.5)
    evidence = MergeEvidence(meeting(said))
    assert evidence.excluded is None
    evidence.add(
        {
            (0, ()): Window(60, np.array([[40.0, 10.0, 10.0]])),
            (1, ()): Window(30, np.array([[21.0, 5.0, 4.0]])),
        }
    )
    bet, weight, d = 0.65 * 0.5 * 4, 20.0, 0.7 - 2 / 3
    assert evidence.excluded == pytest.approx(d + said.level / (bet * weight) + bet / 8)


def test_exact_readings_are_one_state_as_long_as_they_are_equal() -> None:
    evidence = MergeEvidence(meeting(separated(separation=math.inf)))
    assert evidence.least == 0
    first, second = np.array([[3.0, 0.0, 0.0]]), np.array([[2.0, 1.0, 0.0]])
    evidence.add({(0, ()): Window(3, first)})
    assert evidence.least == 0
    evidence.add({(0, ()): Window(3, first), (1, ()): Window(3, first)})
    assert evidence.least == evidence.proposal.rules.level
    evidence.add({(0, ()): Window(3, first), (1, ()): Window(3, second)})
    assert evidence.least == 0
    assert evidence.excluded is None


# ---------------------------------------------------------------- which edge a window belongs to


def naive_windows(proposal: Any, told: list[Told]) -> dict[Any, tuple[int, FloatArray]]:
    """Walk action by action, and look from every edge as far ahead as the window is long."""
    found = dict[Any, tuple[int, FloatArray]]()
    depth = proposal.rules.future
    for each in told:
        state: int | None = 0
        for level, action in enumerate(each.actions):
            if state is None:
                break
            edge = proposal.edge(level, state, action)
            way = each.actions[level + 1 : level + depth]
            assert each.observed is not None
            if len(way) == depth - 1 and level + depth <= len(each.observed):
                before = found.get((edge, way), (0, np.zeros((depth, 3))))
                rows = np.array([each.observed[level + step] for step in range(depth)])
                found[edge, way] = before[0] + each.count, before[1] + rows
            merged = proposal.role[edge] == "merges" and proposal.rules.norm is not None
            target = int(proposal.target[edge])
            state = None if merged or target < 0 else target
    return found


@pytest.mark.parametrize(
    "said",
    [separated(), separated(future=2), separated(future=3), normed(observed=SYMBOLS)],
    ids=["one step", "two steps", "three steps", "norm"],
)
def test_windows_are_pooled_by_the_edge_that_was_walked(said: Rules) -> None:
    """By every prefix that walks there, and never by the state where they lead."""
    for seed in range(30):
        rng = np.random.default_rng([5, seed])
        proposal = random_proposal(rng, said)
        told = list[Told]()
        for _ in range(12):
            length = int(rng.integers(1, proposal.horizon + 1))
            actions = tuple(int(a) for a in rng.integers(proposal.n_actions, size=length))
            steps = min(length, proposal.horizon - 1)
            n = int(rng.integers(1, 9))
            seen = [rng.multinomial(n, [0.5, 0.3, 0.2]).astype(float) for _ in range(steps)]
            told.append(Told(actions, n, [(0.0, 0.0)] * length, seen))
        found, expected = windows_by_edge(proposal, told), naive_windows(proposal, told)
        assert found.keys() == expected.keys()
        for key, (count, totals) in expected.items():
            assert found[key].count == count
            assert (found[key].totals == totals).all()


# ---------------------------------------------------------------- two states taken for one

E = 0.4
RUNS, BLOCKS = 200, 20
Draw = Callable[[np.random.Generator, int, bool], FloatArray]
"""[K, d], what n windows of the merge (True) or of the other edge add up to."""


def symbols(mine: list[list[float]], theirs: list[list[float]]) -> Draw:
    """Laws of the symbols at each step; steps are independent."""

    def draw(rng: np.random.Generator, n: int, own: bool) -> FloatArray:
        return np.array([rng.multinomial(n, law) for law in (mine if own else theirs)], dtype=float)

    return draw


def extremes(rng: np.random.Generator, n: int, own: bool) -> FloatArray:
    """At one of two ends, the diameter apart: means are E apart, as noisy as it may be."""
    ups = rng.binomial(n, 0.5 + (1 if own else -1) * E / 2 / BOUNDED.scale)
    return np.array([[BOUNDED.scale * ups, 0.0]])


def gaussian(rng: np.random.Generator, n: int, own: bool) -> FloatArray:
    mean = np.array([E if own else 0.0, 0.0])
    return (n * mean + NOISY.scale * math.sqrt(n) * rng.normal(size=2))[None]


ALMOST = [[0.5 + E / 2, 0.5 - E / 2, 0.0], [0.5 - E / 2, 0.5 + E / 2, 0.0]]
HALF = [[0.5 + E / 4, 0.5 - E / 4, 0.0], [0.5 - E / 4, 0.5 + E / 4, 0.0]]
FALSE: dict[str, tuple[Rules, Draw]] = {
    "symbols": (separated(), symbols(ALMOST[:1], ALMOST[1:])),
    "many symbols": (
        separated(observed=Observed("symbols", 10, 0.0, "")),
        symbols([[0.14] * 5 + [0.06] * 5], [[0.06] * 5 + [0.14] * 5]),
    ),
    "bounded": (separated(observed=BOUNDED), extremes),
    "noisy": (separated(observed=NOISY), gaussian),
    "norm": (normed(), extremes),
    "second step": (
        separated(future=2),
        symbols([[0.5, 0.5, 0.0], ALMOST[0]], [[0.5, 0.5, 0.0], ALMOST[1]]),
    ),
    "both steps": (separated(future=2), symbols(HALF[:1] * 2, HALF[1:] * 2)),
}


def ever_passes(said: Rules, draw: Draw, rng: np.random.Generator) -> bool:
    """Whether two states at exactly the separation pass for one after any block."""
    proposal = meeting(said)
    proposal.radius[1] = E
    evidence = MergeEvidence(proposal)
    way = (0,) * (said.future - 1)
    test = evidence.tests[1, way]
    for _ in range(BLOCKS):
        counts = (rng.integers(4, 25, size=2) * (2 if test.best > 0.5 else 1)).tolist()
        evidence.add(
            {
                (edge, way): Window(n, draw(rng, n, edge == 1))
                for edge, n in zip((0, 1), counts, strict=True)
            }
        )
        if test.best >= said.level:
            return True
    return False


@pytest.mark.parametrize(("said", "draw"), FALSE.values(), ids=list(FALSE))
def test_two_states_seldom_pass_for_one(said: Rules, draw: Draw) -> None:
    false = sum(ever_passes(said, draw, np.random.default_rng([6, i])) for i in range(RUNS))
    assert false <= most(said.share, RUNS), false / RUNS


@pytest.mark.parametrize("name", ["symbols", "bounded", "noisy", "second step"])
def test_one_state_passes_soon(name: str) -> None:
    said, draw = FALSE[name]
    passed = 0
    for i in range(20):
        rng = np.random.default_rng([7, i])
        passed += ever_passes(said, lambda rng, n, own: draw(rng, n, False), rng)
    assert passed >= 19
