"""Judgements: when a question is settled, and that nothing is overlooked."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

import surepath
from machines import coins, paths_from, read_trie, shape_of, symbols, written_trie
from surepath.builtin_problems import Problem
from surepath.inference.guarantee_widths import Calibrated
from surepath.inference.judgement import Judgement, judge
from surepath.inference.states import Shape
from surepath.inference.terms import Terms
from surepath.readings.digests import Cloud
from surepath.readings.trie import Node
from surepath.system import Actions, RewardMoments

MANY = 10**6
TWO_LEVELS = Shape(2, 2, 2, symbols=True)
HEADS, TAILS = symbols(9 * MANY, MANY), symbols(MANY, 9 * MANY)
Entries = dict[Actions, tuple[Cloud | None, RewardMoments | None]]


def terms_of(shape: Shape = TWO_LEVELS, **options: Any) -> Terms:
    fields = {
        "guarantee": "calibrated",
        "delta": 0.05,
        "gap": None,
        "tolerance": 0.1,
        "reward_range": (0.0, 1.0),
    }
    return Terms(shape, **{**fields, **options})


def terms_for(problem: Problem, **options: Any) -> Terms:
    return terms_of(shape_of(problem), **options)


def terms_under(guarantee: str, problem: Problem, **options: Any) -> Terms:
    """Those under which readings are judged: of a proof, when it is proposed."""
    if guarantee == "calibrated":
        return terms_for(problem, **options)
    return terms_for(problem, guarantee=guarantee, separation=None, **options).proposing()


def judged(root: Node, terms: Terms) -> Judgement:
    found = judge(root, terms)
    assert found.complete
    return found


def two_levels(leaves: dict[Actions, RewardMoments]) -> Node:
    """Two hidden states that are told apart for certain; only the last rewards differ."""
    entries: Entries = {
        (): (HEADS, None),
        (0,): (HEADS, coins(MANY, 0.5)),
        (1,): (TAILS, coins(MANY, 0.5)),
    }
    return written_trie({**entries, **{prefix: (None, r) for prefix, r in leaves.items()}})


def losses(found: Judgement, terms: Terms) -> list[tuple[float, float]]:
    """Margin and width of every path that is not the plan."""
    ours = set(enumerate(found.plan.edges))
    layers = found.machine.layers
    pairs = []
    for path in paths_from(found.machine, 0, 0):
        theirs = set(enumerate(path))
        if theirs != ours:
            margin = sum(layers[h].mean[e] for h, e in ours)
            margin -= sum(layers[h].mean[e] for h, e in theirs)
            spread = sum(found.shortfalls[h][e] for h, e in ours - theirs)
            spread += sum(found.spreads[h][e] for h, e in theirs - ours)
            pairs.append((float(margin), float(Calibrated.under(terms).width(np.array(spread)))))
    return pairs


# ---------------------------------------------------------------- what is judged


def test_while_an_edge_is_not_read_there_is_only_a_machine() -> None:
    leaves = {(0, 0): coins(9, 0.5), (0, 1): coins(9, 0.5), (1, 0): coins(9, 0.5)}
    for root in (two_levels(leaves), Node()):
        found = judge(root, terms_of())
        assert not found.complete
        assert not found.settled
        assert len(found.machine.layers) == 2
    assert judge(two_levels({**leaves, (1, 1): coins(1, 1.0)}), terms_of()).complete


@pytest.mark.parametrize("guarantee", ["calibrated", "proved"])
def test_exact_readings_settle_everything(guarantee: str) -> None:
    for seed in range(5):
        problem = surepath.make("tabular", horizon=3, states=3, observations=4, seed=seed)
        root = read_trie(problem, 10**9, np.random.default_rng(seed))
        found = judged(root, terms_under(guarantee, problem))
        assert found.settled
        assert found.plan.actions == problem.optimum[0]
        assert found.value == pytest.approx(problem.optimum[1], abs=1e-3)
        assert found.width < 0.01
        assert found.loss < 0
        assert found.weakest in found.challengers
        assert found.weakest is not None
        assert found.weakest.excess == max(each.excess for each in found.challengers)


def test_few_readings_settle_nothing() -> None:
    for seed in range(5):
        problem = surepath.make("tabular", horizon=3, states=3, observations=4, seed=seed)
        found = judge(read_trie(problem, 3, np.random.default_rng(seed)), terms_for(problem))
        assert found.complete
        assert not found.settled
        assert found.open
        assert all(each.excess >= 0 for each in found.open)
        assert found.loss > 0


@pytest.mark.parametrize("guarantee", ["calibrated", "proved"])
def test_the_loss_covers_every_other_path(guarantee: str) -> None:
    """Whatever the plan is compared with, it can fall short by no more than what is said."""
    for seed, count in product(range(8), (3, 10, 30, 100)):
        problem = surepath.make("tabular", horizon=3, states=3, observations=4, seed=seed)
        terms = terms_under(guarantee, problem, gap=0.1)
        found = judged(read_trie(problem, count, np.random.default_rng(seed)), terms)
        assert max(width - margin for margin, width in losses(found, terms)) <= found.loss + 1e-9


def narrow(mean: float, width: float, terms: Terms) -> RewardMoments:
    """Rewards whose mean alone has this half-width."""
    widths = Calibrated.under(terms)
    layer = judged(two_levels(dict.fromkeys(product(range(2), repeat=2), coins(9, 0.5))), terms)
    for scatter in np.geomspace(1e-3, 1e6, 4000):
        layer.machine.layers[1].count[:] = 300.0
        layer.machine.layers[1].scatter[:] = scatter
        if widths.width(widths.spreads(layer.machine)[1])[0, 0] >= width:
            return RewardMoments(300, mean, float(scatter))
    raise AssertionError(width)


@pytest.mark.parametrize(
    ("tie", "lead"),
    [
        pytest.param((0.001, 0.05), (0.05, 0.045), id="wider"),
        pytest.param((0.001, 0.04), (0.05, 0.0455), id="narrower"),
    ],
)
def test_a_tie_is_not_hidden_by_a_lead_beside_it(
    tie: tuple[float, float], lead: tuple[float, float]
) -> None:
    """Two paths that leave the plan alike: one is equal to it, the other is worse for certain.

    Both are settled, the second by less; the plan can still lose to the first.
    """
    terms = terms_of()
    found = judged(
        two_levels(
            {
                (0, 0): coins(10**9, 0.8),
                (0, 1): coins(10**9, 0.1),
                (1, 0): narrow(0.8 - tie[0], tie[1], terms),
                (1, 1): narrow(0.8 - lead[0], lead[1], terms),
            }
        ),
        terms,
    )
    assert found.plan.actions == (0, 0)
    assert found.settled
    assert found.loss >= max(width - margin for margin, width in losses(found, terms)) - 1e-9


@pytest.mark.parametrize("count", [3, 8, 30])
def test_a_judgement_is_a_function_of_readings_and_terms(count: int) -> None:
    """Whoever judges again, or judges the same readings in another trie, finds the same."""
    for seed in range(8):
        problem = surepath.make("tabular", horizon=3, states=3, observations=4, seed=seed)
        roots = [read_trie(problem, count, np.random.default_rng(seed)) for _ in range(2)]
        plain = judged(roots[0], terms_for(problem))
        for root in roots:
            again = judged(root, terms_for(problem))
            assert again.plan.actions == plain.plan.actions
            assert again.value == plain.value
            assert again.loss == plain.loss
            assert again.unsure_ends == plain.unsure_ends


# ---------------------------------------------------------------- what is not sure


def three_ends(seen: Cloud, pays: RewardMoments, low: float = 0.0) -> tuple[Node, Terms]:
    """Action 0 and 2 lead to one state for certain; what action 1 leads to was `seen`."""
    leaves = {
        prefix: (None, coins(MANY, 0.9 if prefix[1] else 0.1))
        for prefix in product(range(3), repeat=2)
    }
    root = written_trie(
        {
            (): (HEADS, None),
            (0,): (HEADS, coins(MANY, 0.9)),
            (1,): (seen, pays),
            (2,): (HEADS, coins(MANY, 0.1)),
            **leaves,
        }
    )
    return root, terms_of(Shape(2, 3, 2, symbols=True), reward_range=(low, 1.0))


def test_the_chance_of_an_end_says_how_odd_it_looks() -> None:
    """If it is the state that it is taken for; the fewer heads it shows, the smaller."""
    pays = coins(MANY, 0.85)
    found = [judged(*three_ends(symbols(*seen), pays)) for seen in ((4, 0), (3, 1))]
    usual, odd = (each.unsure_ends[0].chance for each in found)
    # A share of 0.75 of four is one standard deviation from 0.9.
    assert odd == pytest.approx(2 * stats.norm.sf(1), abs=1e-4)
    assert odd < usual < 1


def test_an_end_is_unsure_while_it_may_be_another_state() -> None:
    """Three readings do not tell whether it is the same; where it could matter, that is asked."""
    found = judged(*three_ends(symbols(2, 1), coins(MANY, 0.85)))
    assert [(end.level, end.edge) for end in found.unsure_ends] == [(0, (0, 1))]
    assert found.unsure_ends[0].read == (0, 1)  # it is read least
    assert found.unsure_ends[0].count == 3
    assert not found.settled
    assert not judged(*three_ends(HEADS, coins(MANY, 0.85))).unsure_ends


def test_an_end_that_cannot_matter_is_not_asked_about() -> None:
    """Even with all that can be earned from there on it would not beat the plan."""
    poor = RewardMoments(MANY, -1.0, float(MANY))
    assert not judged(*three_ends(symbols(2, 1), poor, low=-5.0)).unsure_ends


@pytest.mark.parametrize(("pays", "matters"), [(0.9, True), (0.0, False)])
def test_what_was_collected_on_the_way_decides_whether_it_matters(
    pays: float, matters: bool
) -> None:
    """The same end, hardly seen, after a first action that pays well or nothing."""
    leaves = {
        prefix: (None, coins(MANY, 0.9 if prefix[2] else 0.1))
        for prefix in product(range(2), repeat=3)
    }
    root = written_trie(
        {
            (): (HEADS, None),
            (0,): (HEADS, coins(MANY, 0.9)),
            (1,): (TAILS, coins(MANY, pays)),
            (0, 0): (HEADS, coins(MANY, 0.9)),
            (0, 1): (HEADS, coins(MANY, 0.1)),
            (1, 0): (HEADS, coins(MANY, 0.1)),
            (1, 1): (symbols(2, 1), coins(MANY, 0.85)),
            **leaves,
        }
    )
    found = judged(root, terms_of(Shape(3, 2, 2, symbols=True)))
    assert found.plan.actions == (0, 0, 1)
    assert [end.level for end in found.unsure_ends] == [1] * matters
