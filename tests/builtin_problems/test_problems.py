"""The built-in problems: their oracle against enumeration, their promises, and what they refuse."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import cache
from inspect import signature
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import surepath
from surepath.builtin_problems import factory
from surepath.builtin_problems.hard.leaking import Sighting
from surepath.builtin_problems.hard.lift import QueryReading
from surepath.builtin_problems.laws import Categorical, Gaussian
from surepath.builtin_problems.mixing import Mixture

SETTINGS = settings(max_examples=40)

FINITE = [
    ("tabular", {"horizon": 4, "states": 3, "actions": 3, "observations": 4}),
    ("tabular", {"horizon": 5, "states": 5, "actions": 2, "observations": 5, "gap": 0.01}),
    ("tabular", {"horizon": 1, "states": 2, "actions": 3, "observations": 3}),
    ("tabular", {"horizon": 3, "states": 2, "actions": 1, "observations": 3}),
    ("gaussian", {"horizon": 4, "states": 3, "actions": 3, "dimension": 4}),
    ("gaussian", {"horizon": 5, "states": 4, "actions": 2, "reward_noise": 0.3}),
    ("lock", {"horizon": 5, "actions": 3}),
    ("lock", {"horizon": 3, "actions": 4, "bait": 0.0}),
    ("lock", {"horizon": 1, "actions": 2}),
]
MIXING = [
    ("mixing", {"horizon": 4, "actions": 3}),
    ("mixing", {"horizon": 3, "actions": 2, "modes": 3, "components": 3}),
    ("mixing", {"horizon": 1, "actions": 3, "modes": 1}),
    ("mixing", {"horizon": 3, "actions": 1}),
    ("mixing", {"horizon": 4, "actions": 3, "stirs": 2}),
]
OTHERS = [
    ("overcomplete", {"horizon": 4}),
    ("touch", {"horizon": 5}),
    ("continuous", {"horizon": 3, "actions": 3, "gap": 0.05}),
]
TREES = [
    ("exit_lane", {"horizon": 4, "actions": 4}),
    ("exit_lane", {"horizon": 1, "actions": 3}),
    ("few_actions", {"bits": 4}),
    ("tunable_gap", {"horizon": 5}),
    ("tunable_gap", {"horizon": 1, "eps": 1.0}),
]
BELIEFS = [  # a hidden state that moves at random: its gap is over states, not over beliefs
    ("leaking", {"horizon": 4, "actions": 4}),
    ("leaking", {"horizon": 3, "actions": 3, "leak": False}),
    ("leaking", {"horizon": 1, "actions": 5}),
]
EVERY = FINITE + MIXING + OTHERS + TREES + BELIEFS


def instances(kinds: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    return [
        pytest.param(name, parameters | {"seed": seed}, id=f"{name}{i}-{seed}")
        for i, (name, parameters) in enumerate(kinds)
        for seed in range(4)
    ]


def sequences(problem: surepath.Problem, length: int) -> Iterator[tuple[int, ...]]:
    return itertools.product(range(problem.n_actions), repeat=length)


class Enumeration:
    """Everything about a problem that trying all of its action sequences tells."""

    def __init__(self, problem: surepath.Problem) -> None:
        self.problem = problem
        self.returns = {s: problem.expected_return(s) for s in sequences(problem, problem.horizon)}
        self.best: dict[tuple[int, ...], float] = {}
        for sequence, value in self.returns.items():
            for length in range(problem.horizon + 1):
                prefix = sequence[:length]
                self.best[prefix] = max(value, self.best.get(prefix, -np.inf))
        inner = [prefix for prefix in self.best if len(prefix) < problem.horizon]
        self.states = {prefix: problem.path(prefix)[-1] for prefix in inner}

    def leads(self, prefix: tuple[int, ...]) -> np.ndarray:
        """V* - Q* of every action: what the prefix earned itself cancels."""
        best = [self.best[(*prefix, action)] for action in range(self.problem.n_actions)]
        return self.best[prefix] - np.array(best)

    def gap(self) -> float:
        leads = np.concatenate([self.leads(prefix) for prefix in self.states])
        return float(min(leads[leads > 1e-9], default=np.inf))

    def level(self, h: int) -> list[Any]:
        return [state for prefix, state in self.states.items() if len(prefix) == h]


@cache
def _enumerated(name: str, parameters: tuple[tuple[str, Any], ...]) -> Enumeration:
    return Enumeration(surepath.make(name, **dict(parameters)))


def enumerated(name: str, parameters: dict[str, Any]) -> Enumeration:
    return _enumerated(name, tuple(parameters.items()))


def embedding(problem: surepath.Problem, h: int, state: Any) -> np.ndarray:
    """Mean feature of the observation in a state, from its law."""
    law = problem.observation_law(h, state)
    assert isinstance(law, Categorical | Gaussian | QueryReading | Sighting)
    return law.probabilities if isinstance(law, Categorical) else law.mean


def short(name: str, **parameters: Any) -> surepath.Problem:
    """A small problem of the name, with 3 levels where it can be told so."""
    told = "horizon" in signature(factory(name)).parameters
    return surepath.make(name, **({"horizon": 3} if told else {}), **parameters)


def least_norm(problem: surepath.Problem, h: int, states: list[Any]) -> np.ndarray:
    """theta [d, A] of least norm with <theta_a, x(s)> = Q*(s, a) in all the states."""
    x = np.array([embedding(problem, h, state) for state in states])
    q = np.array([problem.q_values(h, state) for state in states])
    return np.linalg.lstsq(x, q, rcond=1e-10)[0]


def vertices(problem: Any) -> list[Mixture]:
    pure = np.eye(problem.n_components)
    return [Mixture(mode, c) for mode in range(problem.n_modes) for c in pure]


# ---- the oracle against enumeration


@pytest.mark.parametrize(("name", "parameters"), instances(EVERY))
def test_the_optimum_is_the_best_of_all_sequences(name: str, parameters: dict[str, Any]) -> None:
    truth = enumerated(name, parameters)
    problem = truth.problem
    actions, value = problem.optimum
    assert value == pytest.approx(max(truth.returns.values()), abs=1e-12)
    assert truth.returns[actions] == pytest.approx(value, abs=1e-12)
    for sequence, total in truth.returns.items():
        assert problem.is_optimal(sequence) == (total > value - 1e-9)


@pytest.mark.parametrize(("name", "parameters"), instances(EVERY))
def test_q_values_obey_bellman_and_enumeration(name: str, parameters: dict[str, Any]) -> None:
    truth = enumerated(name, parameters)
    problem = truth.problem
    for prefix, state in truth.states.items():
        h = len(prefix)
        q = problem.q_values(h, state)
        assert q.shape == (problem.n_actions,)
        for action in range(problem.n_actions):
            expected = problem.reward_law(h, state, action).mean
            if h + 1 < problem.horizon:
                expected += problem.q_values(h + 1, problem.move(h, state, action)).max()
            assert q[action] == pytest.approx(expected, abs=1e-12)
        np.testing.assert_allclose(q.max() - q, truth.leads(prefix), atol=1e-12)


@pytest.mark.parametrize(("name", "parameters"), instances(EVERY))
def test_unique_means_one_best_action_in_every_reachable_state(
    name: str, parameters: dict[str, Any]
) -> None:
    truth = enumerated(name, parameters)
    n_best = {int((truth.leads(prefix) < 1e-9).sum()) for prefix in truth.states}
    assert truth.problem.oracle.unique == (n_best == {1})


@pytest.mark.parametrize(("name", "parameters"), instances(FINITE + OTHERS + TREES))
def test_the_gap_is_the_smallest_lead_in_a_reachable_state(
    name: str, parameters: dict[str, Any]
) -> None:
    truth = enumerated(name, parameters)
    assert truth.problem.gap == pytest.approx(truth.gap(), abs=1e-12)


@pytest.mark.parametrize(("name", "parameters"), instances(FINITE))
def test_norm_and_radius_are_those_of_the_reachable_states(
    name: str, parameters: dict[str, Any]
) -> None:
    truth = enumerated(name, parameters)
    problem = truth.problem
    norms, radii = [], []
    for h in range(problem.horizon):
        states = sorted(set(truth.level(h)))
        theta = least_norm(problem, h, states)
        for state in truth.level(h):
            x = embedding(problem, h, state)
            np.testing.assert_allclose(theta.T @ x, problem.q_values(h, state), atol=1e-10)
            radii.append(np.linalg.norm(x))
        norms.extend(np.linalg.norm(theta, axis=0))
    assert problem.norm == pytest.approx(max(norms), rel=1e-9)
    assert problem.radius == pytest.approx(max(radii), rel=1e-12)


@pytest.mark.parametrize(("name", "parameters"), instances(MIXING))
def test_constants_of_mixing_are_those_of_the_whole_simplex(
    name: str, parameters: dict[str, Any]
) -> None:
    truth = enumerated(name, parameters)
    problem, rng = truth.problem, np.random.default_rng(0)
    assert truth.gap() >= problem.gap - 1e-12
    leads, norms, radii = [], [], []
    for h in range(problem.horizon):
        pure = vertices(problem)
        theta = least_norm(problem, h, pure)
        norms.extend(np.linalg.norm(theta, axis=0))
        for state in pure:
            q = np.sort(problem.q_values(h, state))
            leads.extend(q[-1] - q[:-1])
            radii.append(np.linalg.norm(embedding(problem, h, state)))
        for mode in range(problem.n_modes):
            mixed = Mixture(mode, rng.dirichlet(np.ones(problem.n_components)))
            x = embedding(problem, h, mixed)
            np.testing.assert_allclose(theta.T @ x, problem.q_values(h, mixed), atol=1e-10)
            assert np.linalg.norm(x) <= problem.radius + 1e-12
    assert problem.gap == pytest.approx(min(leads, default=np.inf), abs=1e-12)
    assert problem.norm == pytest.approx(max(norms), rel=1e-9)
    assert problem.radius == pytest.approx(max(radii), rel=1e-12)


def test_dead_ends_make_the_best_action_not_unique() -> None:
    """Both answers of `unique` occur among the problems above."""
    assert surepath.make("tabular").oracle.unique
    assert not surepath.make("lock").oracle.unique


def test_unreachable_states_do_not_matter() -> None:
    """State 2 looks like state 1 and has a tiny gap, but nothing leads there."""
    machine = surepath.Tabular.from_arrays(
        transitions=[[0, 1], [1, 0], [2, 2]],
        emissions=[[0.8, 0.2], [0.3, 0.7], [0.3, 0.7]],
        rewards=[[[0.1, 0.6], [0.9, 0.2], [0.5, 0.501]]] * 3,
    )
    assert machine.optimum == ((1, 0, 0), pytest.approx(2.4))
    assert machine.gap == pytest.approx(Enumeration(machine).gap())
    assert machine.gap > 0.1
    assert np.isfinite(machine.norm)
    assert machine.oracle.unique


# ---- what the generators promise


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


# ---- what is refused, and how


def refusal(call: Callable[[], object]) -> surepath.InputError:
    """The error of a refused call; it says what is wrong, what was found and what to do."""
    with pytest.raises(surepath.InputError) as caught:
        call()
    error = caught.value
    for part in (error.what, str(error.got), error.remedy):
        assert part.strip()
        assert part in str(error)
    return error


H, S, A = 3, 2, 2
NEXT = np.zeros((H, S, A), dtype=int)
MASSES = np.eye(S)[NEXT]
LAWS = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
MEANS = np.full((H, S, A), 0.5)
ROW = slice(None)


def altered(array: np.ndarray, where: tuple[Any, ...], value: object) -> np.ndarray:
    copy = array.copy()
    copy[where] = value
    return copy


WRONG_ARRAYS: dict[str, tuple[str, Any, str]] = {
    "sum not one": ("emissions", altered(LAWS, (1, 2), 0.6), "emissions[0, 1]"),
    "one nan": (
        "emissions",
        altered(np.stack([LAWS] * H), (2, 0, 0), np.nan),
        "emissions[2, 0]",
    ),
    "negative": ("emissions", altered(LAWS, (0, ROW), (-0.1, 0.9, 0.2)), "emissions[0, 0]"),
    "infinite": ("emissions", altered(LAWS, (1, ROW), (np.inf, -np.inf, 1)), "emissions[0, 1]"),
    "laws of one state": ("emissions", LAWS[:1], "1 states"),
    "laws of one axis": ("emissions", LAWS[0], "(3,)"),
    "laws of two levels": ("emissions", np.stack([LAWS] * 2), "(2, 2, 3)"),
    "reward above 1": ("rewards", altered(MEANS, (1, 0, 1), 1.5), "rewards[1, 0, 1] = 1.5"),
    "reward below 0": ("rewards", altered(MEANS, (2, 1, 0), -0.1), "rewards[2, 1, 0] = -0.1"),
    "reward nan": ("rewards", altered(MEANS, (0, 0, 0), np.nan), "rewards[0, 0, 0] = nan"),
    "rewards of two axes": ("rewards", MEANS[0], "(2, 2)"),
    "rewards of no level": ("rewards", MEANS[:0], "(0, 2, 2)"),
    "ragged rewards": ("rewards", [[[0.5, 0.5], [0.5]]], "rewards"),
    "no such state": ("transitions", altered(NEXT, (1, 1, 0), 2), "transitions[1, 1, 0] = 2"),
    "state below 0": ("transitions", altered(NEXT, (0, 0, 1), -1), "transitions[0, 0, 1] = -1"),
    "moves of one action": ("transitions", NEXT[:, :, :1], "(3, 2, 1)"),
    "moves of one axis": ("transitions", NEXT[0, 0], "(2,)"),
    "moves of two levels": ("transitions", NEXT[:2], "(2, 2, 2)"),
    "words for moves": ("transitions", [["left", "right"]] * S, "transitions"),
    "moves to nowhere": ("transitions", [[0, None]] * S, "transitions"),
    "ragged moves": ("transitions", [[0, 1], [0]], "transitions"),
    "stochastic": ("transitions", altered(MASSES, (2, 1, 0), 0.5), "level 2, state 1, action 0"),
    "mass lost": ("transitions", altered(MASSES, (1, 0, 1, 0), 0.9), "transitions[1, 0, 1]"),
    "mass nan": ("transitions", altered(MASSES, (0, 1, 1, 0), np.nan), "transitions[0, 1, 1]"),
    "mass negative": ("transitions", altered(MASSES, (0, 1, 1), (-1, 2)), "transitions[0, 1, 1]"),
    "masses on three states": ("transitions", np.eye(S + 1)[NEXT], "(3, 2, 2, 3)"),
    "masses on one state": ("transitions", MASSES[..., :1], "(3, 2, 2, 1)"),
}


@pytest.mark.parametrize(("argument", "wrong", "mentions"), WRONG_ARRAYS.values(), ids=WRONG_ARRAYS)
def test_arrays_that_are_no_machine_are_refused(argument: str, wrong: Any, mentions: str) -> None:
    arrays = {"transitions": NEXT, "emissions": LAWS, "rewards": MEANS}
    assert surepath.Tabular.from_arrays(**arrays).horizon == H
    error = refusal(lambda: surepath.Tabular.from_arrays(**arrays | {argument: wrong}))
    assert mentions in str(error)


@pytest.mark.parametrize("transitions", [NEXT, NEXT[0], MASSES, MASSES[0], MASSES.astype(int)])
@pytest.mark.parametrize("emissions", [LAWS, np.stack([LAWS] * H), LAWS.tolist()])
def test_every_documented_form_of_a_machine_is_the_same_machine(
    transitions: np.ndarray, emissions: Any
) -> None:
    rewards = np.linspace(0, 1, MEANS.size).reshape(MEANS.shape)
    machine = surepath.Tabular.from_arrays(transitions, emissions, rewards)
    assert (machine.horizon, machine.n_actions, machine.n_observations) == (H, A, 3)
    assert machine.optimum == ((1, 1, 1), pytest.approx(rewards[:, 0, 1].sum()))
    for h, state in itertools.product(range(H), range(S)):
        np.testing.assert_allclose(embedding(machine, h, state), LAWS[state])


@pytest.mark.parametrize(
    "read", [lambda m: m.norm, lambda m: m.norm_of(1)], ids=["norm", "norm of a future"]
)
def test_emissions_that_hide_a_state_are_refused_by_level(read: Callable[[Any], object]) -> None:
    alike = np.stack([LAWS, LAWS, LAWS[[0, 0]]])
    machine = surepath.Tabular.from_arrays([[0, 1], [1, 0]], alike, MEANS)
    error = refusal(lambda: read(machine))
    assert "level 2" in str(error)
    assert "singular value" in str(error.got)


def test_more_states_than_observations_hide_a_state() -> None:
    machine = surepath.Tabular.from_arrays([[0, 1], [1, 0]], np.ones((S, 1)), MEANS)
    assert "level 1" in str(refusal(lambda: machine.norm))


@pytest.mark.parametrize(
    ("name", "parameters", "mentions"),
    [
        ("lok", {}, "'lock'"),
        ("tabula", {}, "'tabular'"),
        ("xyzzy", {}, "lock, mixing"),
        ("lock", {"horizn": 3}, "'horizon'"),
        ("gaussian", {"dimensions": 3}, "'dimension'"),
        ("tabular", {"states": 5, "observations": 4}, "observations=4"),
        ("gaussian", {"states": 5, "dimension": 4}, "dimension=4"),
        ("mixing", {"modes": 2, "components": 3, "observations": 5}, "at least 6"),
        ("lock", {"observations": 2}, "observations"),
        ("lock", {"actions": 1}, "actions"),
        ("lock", {"prize": 0.3, "bait": 0.3}, "bait=0.3"),
        ("lock", {"prize": 1.1}, "prize"),
        ("lock", {"bait": -0.1}, "bait"),
        ("mixing", {"components": 1}, "components"),
        ("mixing", {"modes": 0}, "modes"),
        ("mixing", {"stirs": 0}, "stirs"),
        ("mixing", {"stirs": 4, "actions": 3}, "stirs"),
        ("mixing", {"gap": 0.5}, "gap"),
        ("tabular", {"gap": 0.0}, "gap"),
        ("tabular", {"gap": 0.999, "actions": 6}, "gap=0.999"),
        ("tabular", {"singular_value": 1.1}, "singular_value"),
        ("gaussian", {"singular_value": float("nan")}, "singular_value"),
        ("gaussian", {"noise": 0.0}, "noise"),
        ("gaussian", {"noise": float("inf")}, "noise"),
        ("gaussian", {"reward_noise": -1.0}, "reward_noise"),
        *((name, {"horizon": bad}, "horizon") for name in surepath.problems() for bad in (0, -1)),
        *(
            (name, {"horizon": bad}, "horizon")
            for name in surepath.problems()
            for bad in (2.5, "3")
        ),
        *((name, {"seed": -1}, "seed") for name in surepath.problems()),
        *((name, {"actions": True}, "actions") for name in surepath.problems()),
    ],
)
def test_parameters_that_make_no_problem_are_refused(
    name: str, parameters: dict[str, Any], mentions: str
) -> None:
    assert mentions in str(refusal(lambda: surepath.make(name, **parameters)))


@pytest.mark.parametrize("name", surepath.problems())
@pytest.mark.parametrize("step", [0, 1, 2])
@pytest.mark.parametrize("action", [-1, 99, 0.5])
def test_unknown_actions_are_refused_at_every_step(name: str, step: int, action: Any) -> None:
    problem = short(name)
    plan = tuple(action if h == step else 0 for h in range(problem.horizon))
    rng = np.random.default_rng(0)
    for call in (
        lambda: problem.path(plan),
        lambda: problem.expected_return(plan),
        lambda: problem.rollout(plan, 2, rng),
    ):
        assert f"action {action} at step {step}" in str(refusal(call).got)


@pytest.mark.parametrize("name", surepath.problems())
@pytest.mark.parametrize("missing", [3, 1, -1])
def test_the_return_of_a_sequence_of_another_length_is_refused(name: str, missing: int) -> None:
    problem = short(name)
    refusal(lambda: problem.expected_return((0,) * (problem.horizon - missing)))
