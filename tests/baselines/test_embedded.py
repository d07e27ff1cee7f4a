"""Rivals that look at embeddings: exact without noise, within their counts, and charged in full."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import pytest
from scipy import stats

import surepath
from surepath.baselines.agnostic import AgnosticQ
from surepath.baselines.propagation import LinearSet, Propagation
from surepath.baselines.sampled import Sampled
from surepath.builtin_problems.base import Problem
from surepath.errors import InputError
from surepath.features import Linear, OneHot
from surepath.readings.trie import Node
from surepath.run.driver import drive
from surepath.run.runner import Runner
from surepath.system import Actions, FloatArray, Request, RewardMoments, Summary, steps_of
from surepath.theory.expansion_bounds import expansion_bound
from surepath.theory.setting import Setting

SEEDS = range(20)
CLEAR = 10**9
"""Samples with which noise is far below everything that is looked for."""
EXACT_SLACK = 1e-3

Rival: TypeAlias = Callable[..., Sampled]


def agnostic(problem: Problem, samples: int, **options: Any) -> AgnosticQ:
    features = OneHot(problem.dimension)
    return AgnosticQ(problem.horizon, problem.n_actions, features, samples, **options)


def propagation(problem: Problem, samples: int, **options: Any) -> Propagation:
    given = {"slack": EXACT_SLACK, "norm": problem.norm} | options
    features = OneHot(problem.dimension)
    return Propagation(problem.horizon, problem.n_actions, features, samples, **given)


RIVALS: dict[str, Rival] = {"agnostic": agnostic, "propagation": propagation}
both = pytest.mark.parametrize("rival", RIVALS.values(), ids=RIVALS.keys())

FAMILIES: dict[str, Callable[[int], Problem]] = {
    "tabular": lambda seed: surepath.make(
        "tabular", horizon=4, states=3, actions=2, observations=4, gap=0.1, seed=seed
    ),
    "lock": lambda seed: surepath.make("lock", horizon=4, actions=3, observations=4, seed=seed),
    "mixing": lambda seed: surepath.make("mixing", horizon=3, actions=3, seed=seed),
}
families = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())


def run(rival: Rival, problem: Problem, samples: int, seed: int = 0, **options: Any) -> Any:
    learner = rival(problem, samples, **options)
    assert drive(learner, Runner(problem, seed))
    return learner


def every_path(problem: Problem) -> list[Actions]:
    return [*product(range(problem.n_actions), repeat=problem.horizon)]


def ranks(problem: Problem) -> list[int]:
    """Dimension of the span of the mean embeddings of each level, over all prefixes."""
    laws: list[list[FloatArray]] = [[] for _ in range(problem.horizon)]
    for actions in every_path(problem):
        for step, state in enumerate(problem.path(actions)[: problem.horizon]):
            law: Any = problem.observation_law(step, state)
            laws[step].append(law.probabilities)
    return [int(np.linalg.matrix_rank(np.array(level), tol=1e-6)) for level in laws]


# ---------------------------------------------------------------- exactness


def assert_best(problem: Problem, plan: Actions) -> None:
    """By enumeration of all sequences."""
    best = max(map(problem.expected_return, every_path(problem)))
    assert problem.expected_return(plan) == pytest.approx(best, abs=1e-9)


@families
def test_without_noise_agnostic_finds_the_best_of_all_sequences(
    family: Callable[[int], Problem],
) -> None:
    for seed in SEEDS:
        problem = family(seed)
        assert_best(problem, run(agnostic, problem, CLEAR, seed).incumbent)


@families
def test_without_noise_propagation_finds_it_after_few_other_paths(
    family: Callable[[int], Problem],
) -> None:
    """At most dim_E = A * (sum over levels of the dimension of the embeddings) are not optimal."""
    for seed in SEEDS:
        problem = family(seed)
        learner = run(propagation, problem, CLEAR, seed)
        assert_best(problem, learner.incumbent)
        wrong = sum(not problem.is_optimal(actions) for actions in learner.played)
        assert wrong <= problem.n_actions * sum(ranks(problem))
        assert learner.settled
        assert len(learner.played) == learner.usage.rounds


@both
def test_realistic_samples_suffice_in_most_runs(rival: Rival) -> None:
    """Exact in at least 90 % of runs, or an event of probability 1 / 1000 happened."""
    failures = 0
    for seed in SEEDS:
        problem = FAMILIES["tabular"](seed)
        options = {"slack": 0.05} if rival is propagation else {}
        failures += not problem.is_optimal(run(rival, problem, 2000, seed, **options).incumbent)
    assert failures <= stats.binom.isf(1e-3, len(SEEDS), 0.1)


@both
def test_a_few_samples_do_not_suffice(rival: Rival) -> None:
    """The instances can tell a method that works from one that guesses."""
    exact = 0
    for seed in SEEDS:
        problem = FAMILIES["tabular"](seed)
        options = {"slack": 0.05} if rival is propagation else {"ridge": 0.1}
        exact += problem.is_optimal(run(rival, problem, 2, seed, **options).incumbent)
    assert exact < len(SEEDS) - stats.binom.isf(1e-3, len(SEEDS), 0.1)


@both
def test_real_readings_and_unbounded_rewards(rival: Rival) -> None:
    problem: Any = surepath.make("gaussian", horizon=3, states=3, noise=0.1, seed=3)
    given: dict[str, Any] = {"reward_range": problem.reward_range}
    args = problem.horizon, problem.n_actions, Linear(problem.dimension), 10**8
    if rival is propagation:
        learner: Any = Propagation(*args, slack=EXACT_SLACK, norm=problem.norm, **given)
    else:
        learner = AgnosticQ(*args, **given)
    drive(learner, Runner(problem, 0))
    assert problem.is_optimal(learner.incumbent)


@both
def test_a_single_level_and_a_single_action(rival: Rival) -> None:
    for horizon, actions in ((1, 3), (3, 1)):
        problem = surepath.make(
            "tabular", horizon=horizon, states=2, actions=actions, observations=3, seed=1
        )
        learner = run(rival, problem, CLEAR)
        assert problem.is_optimal(learner.incumbent)
        assert learner.value == pytest.approx(problem.optimum[1], abs=0.01)


# ---------------------------------------------------------------- what agnostic stores


@families
def test_agnostic_stores_no_more_than_the_potential_allows(
    family: Callable[[int], Problem],
) -> None:
    for seed, samples, threshold in product(range(5), (20, 2000, CLEAR), (0.5, 1.4)):
        problem = family(seed)
        learner = run(agnostic, problem, samples, seed, threshold=threshold)
        setting = Setting(problem.horizon, problem.n_actions, problem.dimension, 0.1, 1.0)
        bound = expansion_bound(setting, learner.ridge, threshold)
        assert max(map(max, learner.stored)) <= bound
        for expanded, stored in zip(learner.usage.expansions, learner.stored, strict=True):
            assert max(stored) <= expanded <= sum(stored)


@pytest.mark.parametrize("name", ["tabular", "lock"])
def test_agnostic_stores_every_state_at_most_once(name: str) -> None:
    """Where the ridge is far above the noise and far below the signal: 1e-14, 1e-9, 0.1."""
    for seed in SEEDS:
        problem: Any = FAMILIES[name](seed)
        learner = run(agnostic, problem, 10**14, seed, ridge=1e-9)
        assert problem.is_optimal(learner.incumbent)
        for stored, states in zip(learner.stored, problem.reachable, strict=True):
            assert max(stored) <= len(states)


# ---------------------------------------------------------------- what is asked, and what it costs


@both
def test_every_episode_is_charged_and_no_prefix_is_read_twice(rival: Rival) -> None:
    problem, samples = FAMILIES["lock"](2), 10**6
    learner = rival(problem, samples)
    asked, read = list[Request](), set[tuple[str, Actions]]()
    rng = np.random.default_rng(0)
    while requests := learner.ask():
        [request] = requests
        assert learner.ask() == requests
        assert len(request.actions) == problem.horizon
        assert request.count == samples
        news = {("seen", request.actions[:step]) for step in request.observations}
        news |= {("paid", request.actions[: step + 1]) for step in request.rewards}
        assert not news & read
        read |= news
        asked.append(request)
        learner.tell([problem.summarise(request, rng)])
    usage = learner.usage
    assert usage.episodes == samples * len(asked)
    assert usage.steps == sum(r.count * steps_of(r.actions, problem.horizon) for r in asked)
    assert usage.feature_batches == sum(kind == "seen" for kind, _ in read)
    assert usage.reward_batches == sum(kind == "paid" for kind, _ in read)
    assert usage.nodes == len({actions for _, actions in read})
    assert problem.is_optimal(learner.incumbent)


@both
def test_the_incumbent_is_full_from_the_first_answer_and_the_best_return_sampled(
    rival: Rival,
) -> None:
    problem = FAMILIES["tabular"](4)
    learner = rival(problem, CLEAR)
    assert learner.value is None
    assert not learner.done
    best, rng = -math.inf, np.random.default_rng(0)
    while requests := learner.ask():
        learner.tell([problem.summarise(requests[0], rng)])
        best = max(best, problem.expected_return(requests[0].actions))
        if not learner.done:
            assert problem.expected_return(learner.incumbent) == pytest.approx(best, abs=1e-3)
    assert learner.plan is not None
    assert learner.incumbent == tuple(decision.action for decision in learner.plan)


@both
def test_the_plan_shows_its_estimates(rival: Rival) -> None:
    problem = FAMILIES["tabular"](0)
    learner = run(rival, problem, CLEAR)
    assert learner.ask() == ()
    states = problem.path(learner.incumbent)
    for decision, state in zip(learner.plan, states, strict=True):
        truth = problem.q_values(decision.level, state)
        # Of actions that are not taken, propagation only knows that they are not better.
        assert decision.estimates[decision.action] == pytest.approx(truth.max(), abs=0.02)
        assert np.argmax(decision.estimates) == decision.action
        if rival is agnostic:
            assert decision.estimates == pytest.approx(truth, abs=0.02)
            assert (decision.coverage == 0) == (decision.source == "expansion")
        else:
            assert (np.array(decision.estimates) >= truth - 0.02).all()
        assert decision.samples == CLEAR
    assert learner.value == pytest.approx(problem.optimum[1], abs=0.02)


@both
def test_the_same_seed_gives_the_same_run(rival: Rival) -> None:
    problem = FAMILIES["mixing"](1)

    def trace(seed: int) -> tuple[list[Request], Any, float]:
        learner, asked = rival(problem, 300), list[Request]()
        drive(learner, Runner(problem, seed), watch=lambda one: asked.extend(one.ask()))
        assert learner.value is not None
        return asked, learner.plan, learner.value

    assert trace(5) == trace(5)
    assert trace(5) != trace(6)


@both
def test_single_episodes_do_as_well_as_summaries(rival: Rival) -> None:
    problem = FAMILIES["tabular"](0)
    learner = rival(problem, 3000)
    rng = np.random.default_rng(1)
    while requests := learner.ask():
        learner.tell([problem.rollout(request.actions, request.count, rng) for request in requests])
    assert problem.is_optimal(learner.incumbent)


@both
def test_a_reward_outside_the_declared_range_is_refused_and_nothing_is_recorded(
    rival: Rival,
) -> None:
    problem = FAMILIES["tabular"](0)
    learner = rival(problem, 5)
    [request] = learner.ask()
    good = problem.summarise(request, np.random.default_rng(0))
    rewards = {step: RewardMoments(5, 1.5, 0.0) for step in request.rewards}
    with pytest.raises(InputError, match="reward_range"):
        learner.tell([Summary(good.actions, good.count, good.observations, rewards)])
    assert learner.usage.episodes == learner.usage.nodes == 0
    assert learner.ask() == (request,)
    learner.tell([good])
    assert learner.usage.episodes == 5


@pytest.mark.parametrize(
    ("rival", "change", "named"),
    [
        (AgnosticQ, {"samples": 0}, "samples"),
        (AgnosticQ, {"horizon": 0}, "horizon"),
        (AgnosticQ, {"ridge": 0.0}, "ridge"),
        (AgnosticQ, {"threshold": math.nan}, "threshold"),
        (Propagation, {"samples": 2.5}, "samples"),
        (Propagation, {"slack": 0.0}, "slack"),
        (Propagation, {"slack": math.inf}, "slack"),
        (Propagation, {"norm": 0.0}, "norm"),
        (Propagation, {"most_paths": 0}, "most_paths"),
    ],
)
def test_parameters_are_checked(rival: Any, change: dict[str, Any], named: str) -> None:
    given: dict[str, Any] = {"horizon": 2, "n_actions": 2, "features": OneHot(3), "samples": 5}
    if rival is Propagation:
        given |= {"slack": 0.1, "norm": 1.0}
    with pytest.raises(InputError, match=named):
        rival(**given | change)


# ---------------------------------------------------------------- sets of functions


def at(*point: float) -> Node:
    node = Node()
    node.point = np.array(point)
    return node


def corner_range(
    norm: float, known: list[tuple[Node, tuple[float, float]]], x: FloatArray
) -> tuple[float, float]:
    """The same by enumeration: a linear function is extreme at a corner of the polygon."""
    edges = [(np.eye(2)[i], sign * norm) for i, sign in product((0, 1), (-1, 1))]
    edges += [(node.point, end) for node, interval in known for end in interval]
    values = list[float]()
    for (first, b), (second, c) in product(edges, repeat=2):
        matrix = np.array([first, second])
        if abs(np.linalg.det(matrix)) < 1e-9:
            continue
        theta = np.linalg.solve(matrix, [b, c])
        fits = all(low - 1e-9 <= n.point @ theta <= high + 1e-9 for n, (low, high) in known)
        if fits and (np.abs(theta) <= norm + 1e-9).all():
            values.append(float(theta @ x))
    return min(values), max(values)


def test_the_range_of_a_set_is_that_of_its_corners() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        theta, norm, known = rng.uniform(-2, 2, 2), 2.5, list[tuple[Node, tuple[float, float]]]()
        functions = LinearSet(norm)
        for _ in range(4):
            node, x = at(*rng.uniform(-1, 1, 2)), rng.uniform(-1, 1, 2)
            assert functions.range(x) == pytest.approx(corner_range(norm, known, x), abs=1e-6)
            value = float(node.point @ theta)
            known.append((node, (value - rng.random() / 2, value + rng.random() / 2)))
            functions.add(*known[-1])
            low, high = functions.range(x)
            assert low - 1e-6 <= x @ theta <= high + 1e-6
        assert functions.count == 4


def test_smaller_upper_ends_win() -> None:
    functions, place = LinearSet(10.0), at(1.0, 0.0)
    assert functions.add(place, (2.0, 3.0))
    assert functions.add(at(1.0, 0.0), (1.5, 2.5))
    assert functions.range(place.point) == pytest.approx((2.0, 2.5), abs=1e-6)
    assert not functions.add(at(1.0, 0.0), (4.0, 5.0))
    assert functions.range(place.point) == pytest.approx((2.0, 2.5), abs=1e-6)
    assert functions.add(at(0.0, 1.0), (0.0, 9.0))
    assert functions.add(at(1.0, 0.0), (0.5, 1.0))
    assert functions.range(place.point) == pytest.approx((0.5, 1.0), abs=1e-6)
    assert functions.count == 2  # the other direction contradicts nobody


def test_a_prefix_keeps_one_interval() -> None:
    functions, place = LinearSet(10.0), at(1.0, 0.0)
    for interval in ((0.0, 4.0), (1.0, 5.0), (-1.0, 3.0)):
        assert functions.add(place, interval)
    assert functions.count == 1
    assert functions.range(place.point) == pytest.approx((1.0, 3.0), abs=1e-6)


def test_paths_come_to_an_end() -> None:
    problem = FAMILIES["lock"](0)
    learner = run(propagation, problem, CLEAR, most_paths=2)
    assert len(learner.played) == 2
    assert not learner.settled
    assert learner.done
    assert len(learner.incumbent) == problem.horizon
    best = max(map(problem.expected_return, learner.played))
    assert problem.expected_return(learner.incumbent) >= best - 1e-3
