"""What the generators of the built-in problems promise."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import surepath
from enumeration import (
    Enumeration,
    embedding,
    short,
    vertices,
)
from surepath.builtin_problems import factory

SETTINGS = settings(max_examples=40)


def check_promises(problem: surepath.Problem, gap: float, singular: float) -> None:
    """Gap over reachable states, valid laws, rewards in [0, 1], emissions with full rank."""
    assert problem.gap >= gap - 1e-12
    truth = Enumeration(problem)
    for prefix, state in truth.states.items():
        h = len(prefix)
        for action in range(problem.n_actions):
            assert 0 <= problem.reward_law(h, state, action).mean <= 1
        if problem.n_observations is not None:
            law = embedding(problem, h, state)
            assert law.min() >= 0
            assert law.sum() == pytest.approx(1, abs=1e-12)
    states = vertices(problem) if hasattr(problem, "n_modes") else range(problem.n_states)
    for h in range(problem.horizon):
        matrix = np.array([embedding(problem, h, state) for state in states])
        assert matrix.shape == (len(states), problem.dimension)
        assert np.linalg.svd(matrix, compute_uv=False)[-1] >= singular - 1e-12


SIZES = {
    "horizon": st.integers(1, 4),
    "actions": st.integers(1, 4),
    "singular": st.floats(0.01, 1.0),
    "seed": st.integers(0, 10**6),
}


@SETTINGS
@given(states=st.integers(1, 5), extra=st.integers(0, 3), gap=st.floats(1e-3, 0.3), **SIZES)
@pytest.mark.parametrize(("name", "size"), [("tabular", "observations"), ("gaussian", "dimension")])
def test_random_machines_keep_their_promises(
    name: str,
    size: str,
    states: int,
    extra: int,
    gap: float,
    horizon: int,
    actions: int,
    singular: float,
    seed: int,
) -> None:
    parameters = {size: states + extra, "gap": gap, "singular_value": singular, "seed": seed}
    problem = surepath.make(name, horizon=horizon, states=states, actions=actions, **parameters)
    assert (problem.horizon, problem.n_actions, problem.dimension) == (
        horizon,
        actions,
        states + extra,
    )
    check_promises(problem, gap, singular)
    for h, s in itertools.product(range(horizon), range(states)):  # reachable or not
        q = np.sort(problem.q_values(h, s))
        assert (q[-1] - q[:-1] >= gap - 1e-12).all()


@SETTINGS
@given(modes=st.integers(1, 3), components=st.integers(2, 3), gap=st.floats(1e-3, 0.4), **SIZES)
def test_random_reactors_keep_their_promises(
    modes: int,
    components: int,
    gap: float,
    horizon: int,
    actions: int,
    singular: float,
    seed: int,
) -> None:
    problem = surepath.make(
        "mixing",
        horizon=horizon,
        actions=actions,
        modes=modes,
        components=components,
        gap=gap,
        singular_value=singular,
        seed=seed,
    )
    check_promises(problem, gap, singular)
    for h, state in itertools.product(range(horizon), vertices(problem)):
        for action in range(actions):
            assert 0 <= problem.reward_law(h, state, action).mean <= 1
            moved = problem.move(h, state, action).composition
            assert moved.min() >= 0
            assert moved.sum() == pytest.approx(1, abs=1e-12)


@SETTINGS
@given(
    prize=st.floats(0.2, 1.0),
    share=st.floats(0.0, 0.95),
    horizon=st.integers(1, 5),
    actions=st.integers(2, 3),
    seed=st.integers(0, 10**6),
)
def test_a_lock_has_one_combination(
    prize: float, share: float, horizon: int, actions: int, seed: int
) -> None:
    bait = share * prize
    problem = surepath.make(
        "lock", horizon=horizon, actions=actions, prize=prize, bait=bait, seed=seed
    )
    returns = sorted(Enumeration(problem).returns.values())
    assert problem.optimum[1] == pytest.approx(prize)
    assert returns[-1] == pytest.approx(prize)
    assert returns[-1] - returns[-2] == pytest.approx(prize - bait)
    check_promises(problem, prize - bait, 0.4)


@pytest.mark.parametrize("horizon", [1, 2, 10, 50, 200])
def test_the_gap_of_a_lock_does_not_depend_on_its_length(horizon: int) -> None:
    problem = surepath.make("lock", horizon=horizon, prize=0.8, bait=0.3, seed=horizon)
    assert problem.gap == pytest.approx(0.5, abs=1e-12)
    actions, value = problem.optimum
    assert value == pytest.approx(0.8)
    for h, state in enumerate(problem.path(actions)):  # so no other sequence is optimal
        q = problem.q_values(h, state)
        assert q[actions[h]] == pytest.approx(0.8)
        np.testing.assert_allclose(np.delete(q, actions[h]), 0.3)


def test_following_the_bait_leads_astray() -> None:
    problem = surepath.make("lock", horizon=8, seed=1)
    for h, state in enumerate(problem.path(problem.optimum[0])[:-1]):
        rewards = [problem.reward_law(h, state, a).mean for a in range(problem.n_actions)]
        assert int(np.argmax(rewards)) != problem.optimum[0][h]


@pytest.mark.parametrize("components", [2, 3])
def test_every_sequence_leaves_its_own_mixture_behind(components: int) -> None:
    problem = surepath.make("mixing", horizon=8, actions=4, components=components, seed=2)
    level = [problem.start]
    for h in range(8):
        rounded = {(s.mode, *np.round(s.composition, 11)) for s in level}
        assert len(rounded) == 4**h
        level = [problem.move(h, state, a) for state in level for a in range(4)]


@pytest.mark.parametrize("stirs", [1, 2, 3])
def test_shared_stirring_leaves_fewer_mixtures_behind(stirs: int) -> None:
    """One composition for each sequence of matrices, in at most as many modes as there are."""
    problem = surepath.make("mixing", horizon=6, actions=3, stirs=stirs, seed=2)
    level = [problem.start]
    for h in range(6):
        assert len({tuple(np.round(s.composition, 11)) for s in level}) == stirs**h
        rounded = {(s.mode, *np.round(s.composition, 11)): s for s in level}
        assert len(rounded) <= 2 * stirs**h
        level = [problem.move(h, state, a) for state in rounded.values() for a in range(3)]


def test_the_best_action_differs_between_modes() -> None:
    """In most instances some level has reachable states with different best actions."""
    n_differ = 0
    for seed in range(40):
        truth = Enumeration(surepath.make("mixing", horizon=4, actions=3, seed=seed))
        best = [
            {int(truth.leads(p).argmin()) for p in truth.states if len(p) == h} for h in range(4)
        ]
        n_differ += any(len(actions) > 1 for actions in best)
    assert n_differ >= 30


@pytest.mark.parametrize("name", surepath.problems())
def test_a_seed_is_an_instance(name: str) -> None:
    def instance(seed: int) -> list[float]:
        problem = short(name, seed=seed)
        return [*Enumeration(problem).returns.values(), *embedding(problem, 0, problem.start)]

    assert instance(5) == instance(5)
    assert instance(5) != instance(6)


def test_every_problem_is_listed_with_a_line() -> None:
    listed = surepath.problems()
    assert {"tabular", "gaussian", "lock", "mixing"} <= set(listed)
    for name, line in listed.items():
        assert line.endswith(".")
        assert isinstance(surepath.make(name), surepath.Problem)
        assert callable(factory(name))
