"""One regression in two forms, and windows as products: the laws that make them interchangeable."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import surepath
from surepath.errors import InputError, NumericalError
from surepath.features import Linear, OneHot
from surepath.learners.recursion import Learner
from surepath.prepare.call import Call
from surepath.prepare.start import start
from surepath.readings import embedding as embeddings
from surepath.readings.embedding import (
    COVARIANCE_LIMIT,
    Average,
    CloudEmbedding,
    JointEmbedding,
    KernelEmbedding,
    KernelMap,
    VectorEmbedding,
    Window,
    embed,
    flatten,
    window_gram,
)
from surepath.readings.ridge import DualRidge, Ridge
from surepath.readings.trie import Node
from surepath.run.driver import drive
from surepath.run.runner import Runner
from surepath.system import Counts, Episodes, Request
from surepath.theory.schedule import Schedule

THOROUGH = settings(max_examples=60)


def inner_products(x: Any, others: Any) -> Any:
    return np.array(others) @ x


def linear_kernel() -> KernelMap:
    class Dot:
        def __call__(self, x: Any, y: Any) -> Any:
            return x @ y.T

        def diag(self, x: Any) -> Any:
            return (x**2).sum(axis=1)

    return KernelMap(Dot(), lambda x: np.asarray(x, dtype=float).reshape(len(x), -1))


# ---------------------------------------------------------------- primal and dual


@THOROUGH
@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 8),
    n=st.integers(0, 20),
    log_ridge=st.floats(-6, 3),
)
def test_primal_equals_dual_for_any_ridge(seed: int, d: int, n: int, log_ridge: float) -> None:
    rng = np.random.default_rng(seed)
    ridge = 10.0**log_ridge
    primal = Ridge(d, 3, ridge)
    dual = DualRidge(inner_products, 3, ridge)
    for _ in range(n):
        x, y = rng.standard_normal(d) / np.sqrt(d), rng.random(3)
        primal.add(x, y)
        dual.add(x, y)
    for _ in range(5):
        x = rng.standard_normal(d) / np.sqrt(d)
        scale = max(1.0, primal.coverage(x))
        assert abs(primal.coverage(x) - dual.coverage(x)) <= 1e-9 * scale
        assert np.abs(primal.predict(x) - dual.predict(x)).max() <= 1e-9


@THOROUGH
@given(seed=st.integers(0, 10**6), log_ridge=st.floats(-4, 1))
def test_kernel_form_equals_finite_form_with_the_linear_kernel(seed: int, log_ridge: float) -> None:
    """On bags of observations: the whole chain from readings to coverage and prediction."""
    rng = np.random.default_rng(seed)
    finite = VectorEmbedding(Linear(3), 2)
    kernel = KernelEmbedding(linear_kernel(), 2)
    levels = [e.regression(10.0**log_ridge) for e in (finite, kernel)]
    for _ in range(6):
        sample, y = rng.standard_normal((7, 3)), rng.random(2)
        points = []
        for e in (finite, kernel):
            node = Node()
            node.absorb(e.digest(sample[:4]))
            node.absorb(e.digest(sample[4:]))
            points.append(e.point(node))
        coverages = [level.coverage(x) for level, x in zip(levels, points, strict=True)]
        predictions = [level.predict(x) for level, x in zip(levels, points, strict=True)]
        assert coverages[0] == pytest.approx(coverages[1], rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(predictions[0], predictions[1], rtol=1e-9, atol=1e-9)
        for level, x in zip(levels, points, strict=True):
            level.add(x, y)


def test_the_width_needs_the_ridge() -> None:
    """Without the factor 1 / lambda the dual coverage would not be the primal one."""
    primal, dual = Ridge(2, 1, 0.01), DualRidge(inner_products, 1, 0.01)
    x = np.array([0.6, 0.0])
    assert dual.coverage(x) == pytest.approx(primal.coverage(x)) == pytest.approx(6.0)


def test_a_gram_matrix_that_is_not_positive_is_refused() -> None:
    dual = DualRidge(lambda x, others: np.array([float(o - x) for o in others]) - 1.0, 1, 0.1)
    with pytest.raises(NumericalError, match="not positive definite"):
        dual.add(1.0, np.ones(1))


# ---------------------------------------------------------------- windows


def random_window(rng: np.random.Generator, d: int, n_actions: int, length: int) -> Window:
    children = range(n_actions) if length > 1 else ()
    return Window(
        Average.of(10, rng.random(d)),
        tuple(random_window(rng, d, n_actions, length - 1) for _ in children),
    )


@THOROUGH
@given(seed=st.integers(0, 10**6), d=st.integers(1, 4), a=st.integers(1, 3), k=st.integers(1, 3))
def test_the_product_rule_is_the_inner_product_of_stacked_tensors(
    seed: int, d: int, a: int, k: int
) -> None:
    rng = np.random.default_rng(seed)
    first, second = (random_window(rng, d, a, k) for _ in range(2))
    gram = window_gram(lambda x, others: np.array([o.value @ x.value for o in others]))
    assert flatten(first).shape == (d**k * a ** (k - 1),)
    direct = flatten(first) @ flatten(second)
    np.testing.assert_allclose(gram(first, [second]), [direct], rtol=1e-10)


def test_stacked_tensors_are_exact_window_embeddings() -> None:
    """Node means without noise give the embedding the oracle's norm is stated for."""
    problem = surepath.make("overcomplete", horizon=4, seed=1)
    embedding = VectorEmbedding(OneHot(3), 2, future=3)
    node = Node()
    for layer in node.window(2, 2):
        for member in layer:
            state = problem.path(member.prefix)[-1]
            mean = problem.emissions[member.level, state]
            member.absorb(Average.of(5, mean))
    exact = problem.window_embeddings(0, np.array([0]), 3)[0]
    np.testing.assert_allclose(np.sort(embedding.point(node)), np.sort(exact), atol=1e-12)
    np.testing.assert_allclose(embedding.point(node), exact, atol=1e-12)


def test_long_windows_go_through_the_gram_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same run, whichever form the regression takes."""
    problem = surepath.make("overcomplete", seed=2)
    primal = surepath.learn(problem, future=2, schedule="tight")
    monkeypatch.setattr(embeddings, "PRIMAL_LIMIT", 1)
    dual = surepath.learn(problem, future=2, schedule="tight")
    assert primal.actions == dual.actions
    assert primal.usage == dual.usage


def test_joint_windows_average_the_tensor_product() -> None:
    rng = np.random.default_rng(0)
    observations = rng.integers(3, size=(50, 4))
    episodes = Episodes((0, 1, 1), observations, np.zeros((50, 3)))
    embedding = JointEmbedding(OneHot(3), 2, future=3)
    (digest,) = embedding.read(episodes, embedding.steps(3)).values()
    rows = [reduce(np.kron, (np.eye(3)[o] for o in window[1:])) for window in observations]
    np.testing.assert_allclose(digest.value, np.mean(rows, axis=0))
    assert embedding.read(episodes, range(0, 2)) == {}


def test_joint_windows_need_single_episodes_and_finite_features() -> None:
    problem = surepath.make("overcomplete")
    request = Request((0,), 3, range(0, 2), range(0))
    summary = problem.summarise(request, np.random.default_rng(0))
    with pytest.raises(InputError, match="single episodes"):
        JointEmbedding(OneHot(3), 2, 2).read(summary, range(0, 2))
    with pytest.raises(InputError, match="products of mean embeddings"):
        embed(linear_kernel(), 2, 2, "joint")


# ---------------------------------------------------------------- one recursion


def run(problem: surepath.Problem, schedule: Schedule, **choices: Any) -> Any:
    learner = start(Call.of(problem, schedule=schedule, **choices)).learner
    drive(learner, Runner(problem, 4))
    return learner


@pytest.mark.parametrize("pool", [True, False])
@pytest.mark.parametrize("windows", ["product", "joint"])
def test_a_future_of_one_is_the_base_algorithm_sample_for_sample(pool: bool, windows: Any) -> None:
    problem = surepath.make("tabular", seed=3)
    schedule = Schedule(1e-3, 1.0, 4000, 4000, pool=pool)
    base = run(problem, schedule)
    window = run(problem, Schedule(1e-3, 1.0, 4000, 4000, pool=pool, windows=windows), future=1)
    assert base.plan == window.plan
    assert base.usage == window.usage
    assert base.value == window.value


@pytest.mark.parametrize("pool", [True, False])
def test_the_linear_kernel_is_the_finite_algorithm_sample_for_sample(pool: bool) -> None:
    """The same readings, the same decisions: only the embedding differs."""
    problem = surepath.make("gaussian", horizon=3, states=2, dimension=2, noise=0.3, seed=1)
    schedule = Schedule(1e-2, 1.0, 300, 300, pool=pool)

    class Raw:
        horizon, n_actions = problem.horizon, problem.n_actions
        rollout = staticmethod(problem.rollout)

    learners = []
    for features in (Linear(2), linear_kernel()):
        learner = surepath.Learner(3, 2, features, schedule)
        drive(learner, Runner(Raw(), 0))
        learners.append(learner)
    finite, kernel = learners
    assert finite.incumbent == kernel.incumbent
    assert finite.usage == kernel.usage
    assert finite.value == pytest.approx(kernel.value, rel=1e-12)


@pytest.mark.parametrize("future", [2, 3])
@pytest.mark.parametrize("windows", ["product", "joint"])
def test_longer_futures_on_single_episodes(future: int, windows: Any) -> None:
    problem = surepath.make("overcomplete", horizon=4, gap=0.25, seed=5)
    schedule = Schedule(1e-4, 1.0, 20_000, 20_000, windows=windows)

    class Raw:
        horizon, n_actions, n_observations = problem.horizon, problem.n_actions, 3
        rollout = staticmethod(problem.rollout)

    result = surepath.learn(Raw(), schedule=schedule, future=future)
    assert problem.is_optimal(result.actions)


def test_no_continuation_is_run_twice() -> None:
    """Products share node means: a prefix is asked for once, however many windows it is in."""
    problem = surepath.make("overcomplete", seed=0)
    learner = start(Call.of(problem, future=3, schedule="tight")).learner
    seen: list[tuple[int, ...]] = []
    while requests := learner.ask():
        seen += [request.actions for request in requests if request.count > 1]
        rng = np.random.default_rng(len(seen))
        learner.tell([problem.summarise(request, rng) for request in requests])
    most = {prefix: seen.count(prefix) for prefix in set(seen)}
    assert max(most.values()) <= 2  # its readings, topped up once for its rewards


@pytest.mark.parametrize(("future", "pool"), [(2, True), (3, True), (3, False)])
def test_a_window_is_read_by_its_own_episodes(future: int, pool: bool) -> None:
    """Each inner node has a reading for every continuation through it: what Jensen's pairing needs.

    With fewer, the noise of a product of node means can exceed that of joint windows.
    """
    problem = surepath.make("overcomplete", horizon=5, seed=2)
    schedule = Schedule(1e-3, 1.25, 50, 20, pool=pool)
    learner = Learner(5, 2, OneHot(3), schedule, future=future)
    seen = list[list[int]]()

    def point(node: Node) -> Any:
        layers = node.window(future - 1, 2)
        seen.append([min(member.count for member in layer) for layer in layers])
        return VectorEmbedding.point(learner.embedding, node)  # pyright: ignore[reportArgumentType]

    learner.embedding.point = point
    drive(learner, Runner(problem, 0))
    assert len(seen) > 5
    assert {tuple(counts) for counts in seen} == {
        tuple(50 * 2 ** (future - 1 - depth) for depth in range(future))
    }


def test_products_of_node_means_are_no_noisier_than_joint_windows() -> None:
    """Variance along the worst direction of either, from the same episodes; frozen nodes are."""
    rng = np.random.default_rng(0)
    p, q = np.array([0.5, 0.5]), np.array([[0.5, 0.5], [0.5, 0.5]])  # a node, and its two children
    runs, m = 20_000, 8
    own = rng.multinomial(m, p, size=(runs, 2)) / m  # readings of the node, by continuation
    below = np.stack([rng.multinomial(m, q[a], size=runs) / m for a in range(2)], axis=1)

    def noise(inner: np.ndarray) -> float:
        windows = np.einsum("nai,naj->naij", inner, below).reshape(runs, -1)
        return float(np.linalg.eigvalsh(np.cov(windows.T))[-1])

    pooled = noise(np.repeat(own.mean(axis=1, keepdims=True), 2, axis=1))
    frozen = noise(np.repeat(own[:, :1], 2, axis=1))
    pairs = np.array([np.outer(p, q[a]).ravel() for a in range(2)])
    joint = max(np.linalg.eigvalsh(np.diag(law) - np.outer(law, law))[-1] for law in pairs) / m
    assert pooled <= joint * 1.05
    assert frozen > joint * 1.2


def test_a_future_beyond_the_horizon_tries_everything() -> None:
    problem = surepath.make("overcomplete", horizon=3, seed=0)
    result = surepath.learn(problem, future=4, schedule="tight")
    assert result.certified
    assert problem.is_optimal(result.actions)
    assert {level.source for level in result.certificate.levels} == {"expansion"}
    assert result.interval[0] <= problem.optimum[1] <= result.interval[1]


def test_symbols_keep_no_squares_but_have_them() -> None:
    embedding = CloudEmbedding(OneHot(3), n_actions=2)
    read = embedding.digest(np.array([0, 2, 2]))
    told = embedding.digest(Counts(np.array([1, 0, 2])))
    for cloud in (read, told):
        assert cloud.products is None
        assert cloud.total.tolist() == [1, 0, 2]
        assert cloud.squares.tolist() == np.diag([1, 0, 2]).tolist()
    both = read.merge(told)
    assert both.products is None
    assert both.squares.tolist() == np.diag([2, 0, 4]).tolist()
    wide = CloudEmbedding(OneHot(COVARIANCE_LIMIT + 1), n_actions=2).digest(np.array([5]))
    assert wide.squares.tolist() == wide.total.tolist()


def test_many_real_features_keep_variances_and_too_many_are_refused() -> None:
    rows = np.random.default_rng(0).standard_normal((5, COVARIANCE_LIMIT + 1))
    cloud = CloudEmbedding(Linear(COVARIANCE_LIMIT + 1), n_actions=2).digest(rows)
    assert cloud.squares == pytest.approx((rows**2).sum(axis=0))
    with pytest.raises(InputError, match="rbf"):
        CloudEmbedding(Linear(210 * 160 * 3), n_actions=2)
