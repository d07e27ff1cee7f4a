"""The recursion from outside: what it asks, what it finds, and that it is the paper's."""

from __future__ import annotations

import inspect
import math
import sys
from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from answering import ONCE, Machine, Noise, asked, finish, plan
from surepath.features import Linear
from surepath.learners.recursion import Learner
from surepath.system import Actions
from surepath.theory.expansion_bounds import expansion_bound, feature_batches, reward_batches
from surepath.theory.own_counts import Stage
from surepath.theory.schedule import Schedule
from surepath.theory.setting import Setting

# ---------------------------------------------------------------- the algorithms as printed


class Literal:
    """Algorithms 1 and 2 line by line: plain recursion, fresh samples, an explicit inverse."""

    def __init__(self, horizon: int, n_actions: int, schedule: Schedule, source: Noise) -> None:
        self.horizon, self.n_actions, self.source = horizon, n_actions, source
        self.ridge, self.threshold = schedule.ridge, schedule.threshold
        self.xs: list[list[np.ndarray]] = [[] for _ in range(horizon)]
        self.ys: list[list[list[float]]] = [[] for _ in range(horizon)]
        self.counts: Counter[str] = Counter()
        self.expansions = [0] * horizon
        self.value = math.nan

    def embed(self, prefix: Actions) -> np.ndarray:
        self.counts["features"] += 1
        return self.source.embedding(prefix)

    def reward(self, prefix: Actions) -> float:
        self.counts["rewards"] += 1
        return self.source.reward(prefix)

    def inverse(self, h: int) -> np.ndarray:
        sigma = self.ridge * np.eye(self.source.d)
        for x in self.xs[h]:
            sigma = sigma + np.outer(x, x)
        return np.linalg.inv(sigma)

    def coverage(self, h: int, x: np.ndarray) -> float:
        return math.sqrt(x @ self.inverse(h) @ x)

    def greedy(self, h: int, x: np.ndarray) -> int:
        moments = np.zeros((self.source.d, self.n_actions))
        for stored, y in zip(self.xs[h], self.ys[h], strict=True):
            moments += np.outer(stored, y)
        return int(np.argmax(x @ self.inverse(h) @ moments))

    def main(self) -> Actions:
        while True:
            self.counts["rounds"] += 1
            prefix: Actions = ()
            path: list[tuple[Actions, np.ndarray]] = []
            for h in range(self.horizon):
                x = self.embed(prefix)
                path.append((prefix, x))
                prefix = (*prefix, self.greedy(h, x))
            bad = [h for h, (_, x) in enumerate(path) if self.coverage(h, x) > self.threshold]
            if not bad:
                return prefix
            targets = self.expand(bad[0], *path[bad[0]])
            if bad[0] == 0:
                self.value = max(targets)

    def compute_v(self, h: int, prefix: Actions) -> float:
        if h == self.horizon:
            return 0.0
        if h == self.horizon - 1:
            return max(self.reward((*prefix, a)) for a in range(self.n_actions))
        x = self.embed(prefix)
        if self.coverage(h, x) <= self.threshold:
            self.counts["alpha"] += 1
            deeper = (*prefix, self.greedy(h, x))
            return self.reward(deeper) + self.compute_v(h + 1, deeper)
        return max(self.expand(h, prefix, x))

    def expand(self, h: int, prefix: Actions, x: np.ndarray) -> list[float]:
        targets = []
        for a in range(self.n_actions):
            self.counts["beta"] += 1
            deeper = (*prefix, a)
            targets.append(self.reward(deeper) + self.compute_v(h + 1, deeper))
        self.xs[h].append(x)
        self.ys[h].append(targets)
        self.expansions[h] += 1
        return targets


SIZES = [(1, 1), (1, 3), (2, 1), (2, 2), (3, 3), (4, 2), (5, 2)]


@pytest.mark.parametrize(("horizon", "n_actions"), SIZES)
@pytest.mark.parametrize(("ridge", "threshold", "spread"), [(0.1, 0.9, 0.3), (1.0, 0.5, 0.01)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_is_the_printed_algorithm(
    horizon: int, n_actions: int, ridge: float, threshold: float, spread: float, seed: int
) -> None:
    schedule = Schedule(ridge, threshold, feature_samples=7, reward_samples=5, pool=False)
    literal = Literal(horizon, n_actions, schedule, Noise(seed, 3, spread))
    expected = literal.main()
    learner = Learner(horizon, n_actions, Linear(3), schedule)
    finish(learner, Noise(seed, 3, spread).answer)
    usage, counts = learner.usage, literal.counts
    assert plan(learner) == expected
    assert usage.expansions == literal.expansions
    assert usage.rounds == counts["rounds"]
    assert usage.feature_batches == counts["features"]
    assert usage.reward_batches == counts["rewards"]
    assert (usage.alpha, usage.beta) == (counts["alpha"], counts["beta"])
    assert usage.episodes == 7 * counts["features"] + 5 * counts["rewards"]
    assert learner.value == pytest.approx(literal.value, abs=1e-9)


def test_the_comparison_reaches_every_branch() -> None:
    schedule = Schedule(0.1, 0.9, feature_samples=7, reward_samples=5, pool=False)
    literal = Literal(4, 2, schedule, Noise(0, 3, 0.3))
    literal.main()
    assert literal.counts["alpha"] > 10
    assert min(literal.expansions) > 1
    assert literal.counts["rounds"] > 2


@pytest.mark.parametrize("pool", [True, False])
@pytest.mark.parametrize(("horizon", "n_actions"), SIZES)
def test_counts_obey_the_theorem_on_pure_noise(horizon: int, n_actions: int, pool: bool) -> None:
    """The counts hold for any readings of bounded length, however wrong they are."""
    setting = Setting(horizon, n_actions, dimension=3, gap=1.0, norm=1.0)
    for seed, ridge in product(range(3), (0.01, 1.0)):
        schedule = Schedule(ridge, 0.7, feature_samples=1, reward_samples=1, pool=pool)
        learner = Learner(horizon, n_actions, Linear(3), schedule)
        usage = finish(learner, Noise(seed, 3, 10.0).answer).usage
        n = expansion_bound(setting, ridge, 0.7)
        assert max(usage.expansions) <= n
        assert usage.rounds <= horizon * n + 1
        assert usage.feature_batches <= feature_batches(setting, n)
        assert usage.reward_batches <= reward_batches(setting, n)
        assert usage.steps <= horizon * usage.episodes


# ---------------------------------------------------------------- the answer


@pytest.mark.parametrize("pool", [True, False])
def test_same_readings_same_run(pool: bool) -> None:
    schedule = Schedule(0.1, 0.8, feature_samples=4, reward_samples=3, pool=pool)
    runs = [finish(Learner(4, 2, Linear(3), schedule), Noise(7, 3, 0.3).answer) for _ in range(2)]
    assert runs[0].plan == runs[1].plan
    assert runs[0].usage == runs[1].usage
    assert runs[0].value == runs[1].value
    other = finish(Learner(4, 2, Linear(3), schedule), Noise(8, 3, 0.3).answer)
    assert other.plan != runs[0].plan


@pytest.mark.parametrize("horizon", [1, 2, 4, 6])
@pytest.mark.parametrize("seed", range(5))
def test_finds_the_optimum_without_noise(horizon: int, seed: int) -> None:
    """Pooled or not: the same plan, the best one, and exactly its value."""
    machine = Machine.random(seed, horizon)
    best, value, lead = machine.optimum()
    assert lead > 1e-3  # so that rounding and the ridge cannot matter
    for pool in (True, False):
        learner = finish(machine.learner(replace(ONCE, pool=pool)), machine.answer)
        assert plan(learner) == best
        assert learner.value == pytest.approx(value, abs=1e-9)
        assert learner.plan is not None
        assert all(d.source == "expansion" or d.coverage <= 1 for d in learner.plan)
        assert learner.plan[0].estimates[best[0]] == pytest.approx(value, abs=1e-4)


@pytest.mark.parametrize("pool", [True, False])
def test_nothing_is_collected_after_the_last_step(pool: bool) -> None:
    """Compute-V* of level H is 0: one step is a plain comparison of rewards."""
    machine = Machine([[0, 0, 0]], [[1.0]], [[0.25, 0.75, 0.5]], horizon=1)
    learner = machine.learner(replace(ONCE, pool=pool))
    requests = list(asked(learner, machine.answer))
    assert plan(learner) == (1,)
    assert learner.value == 0.75
    assert max(len(request.actions) for request in requests) == 1
    assert all(h < 1 for request in requests for h in request.observations)
    assert learner.usage.expansions == [1]
    assert learner.usage.reward_batches == 3
    assert learner.usage.steps == learner.usage.episodes
    longer = Machine(machine.moves, machine.embeddings, machine.rewards, horizon=4)
    assert finish(longer.learner(replace(ONCE, pool=pool)), longer.answer).value == 3.0


@pytest.mark.parametrize("pool", [True, False])
def test_the_estimates_of_the_last_level_are_its_rewards(pool: bool) -> None:
    machine = Machine.random(1, horizon=3)
    learner = finish(machine.learner(replace(ONCE, pool=pool)), machine.answer)
    assert learner.plan is not None
    last = machine.path(plan(learner))[-2]
    assert learner.plan[-1].estimates == pytest.approx(machine.rewards[last], abs=1e-4)


# ---------------------------------------------------------------- depth


def test_a_thousand_levels_of_covered_visits() -> None:
    """A start with two exits into silence: its zero embedding is covered from the beginning."""
    machine = Machine([[1, 1], [1, 1]], [[1.0], [0.0]], [[0.2, 0.9], [0.0, 0.0]], horizon=1000)
    learner = finish(machine.learner(), machine.answer)
    assert plan(learner) == (1, *[0] * 999)
    assert learner.value == 0.9
    assert learner.usage.expansions == [1] + [0] * 999
    assert learner.usage.alpha == 2 * 998


def test_a_thousand_levels_of_nested_expansions() -> None:
    machine = Machine([[0]], [[1.0]], [[0.5]], horizon=1000)
    learner = finish(machine.learner(), machine.answer)
    assert learner.value == 500
    assert learner.usage.expansions[:-1] == [1] * 999


def test_the_depth_does_not_need_the_stack() -> None:
    """Two states and two actions, everything expanded, with fewer frames left than levels."""
    machine = Machine([[0, 1], [0, 1]], np.eye(2), [[0.1, 0.2], [0.3, 0.9]], horizon=120)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 60)
    try:
        learner = finish(machine.learner(), machine.answer)
    finally:
        sys.setrecursionlimit(limit)
    assert plan(learner) == (1,) * 120
    assert set(learner.usage.expansions[1:-1]) == {2}


# ---------------------------------------------------------------- pooling and batches


@pytest.mark.parametrize(("m", "m_reward"), [(4, 4), (6, 2), (2, 6)])
@pytest.mark.parametrize("seed", range(3))
def test_a_pooled_prefix_is_sampled_once(m: int, m_reward: int, seed: int) -> None:
    """No prefix is asked for again once both of its tallies are full."""
    schedule = Schedule(0.1, 0.8, feature_samples=m, reward_samples=m_reward)
    learner = Learner(4, 2, Linear(3), schedule)
    held: Counter[Actions] = Counter()
    for request in asked(learner, Noise(seed, 3, 0.3).answer):
        prefix = request.actions
        assert held[prefix] < max(m, m_reward)
        held[prefix] += request.count
        assert held[prefix] in (m, m_reward)
    if m == m_reward:
        assert set(held.values()) == {m}
    assert learner.usage.nodes == len(held)
    assert learner.usage.episodes == sum(held.values())


def test_a_pooled_embedding_is_counted_once() -> None:
    machine = Machine([[0]], [[1.0]], [[0.5]], horizon=5)
    usage = finish(machine.learner(), machine.answer).usage
    assert usage.rounds > 1
    assert usage.feature_batches == 4  # the last level is tried, and needs no embedding
    assert usage.reward_batches == 5


def test_without_pooling_every_visit_is_fresh() -> None:
    machine = Machine.random(0, horizon=4)
    pooled = finish(machine.learner(), machine.answer).usage
    learner = machine.learner(replace(ONCE, pool=False))
    visits = Counter(
        (request.actions, bool(request.rewards)) for request in asked(learner, machine.answer)
    )
    assert visits[(), False] == learner.usage.rounds > 1
    assert learner.usage.episodes > pooled.episodes
    assert sum(visits.values()) == learner.usage.feature_batches + learner.usage.reward_batches


def test_what_was_tried_is_not_tried_again() -> None:
    """One point of length 1: 1 / n <= 0.3^2 needs 12 visits as printed; one will do when kept."""
    machine = Machine([[0, 0]], [[1.0]], [[0.1, 0.6]], horizon=1)
    schedule = replace(ONCE, threshold=0.3)
    for pool, visits, source in ((False, 12, "regression"), (True, 1, "expansion")):
        learner = finish(machine.learner(replace(schedule, pool=pool)), machine.answer)
        assert learner.usage.expansions == [visits]
        assert learner.plan is not None
        assert learner.plan[0].source == source
        assert learner.plan[0].estimates == pytest.approx((0.1, 0.6), abs=1e-6)


@pytest.mark.parametrize("pool", [True, False])
def test_nodes_are_distinct_prefixes(pool: bool) -> None:
    machine = Machine.random(0, horizon=4)
    learner = machine.learner(replace(ONCE, pool=pool))
    prefixes = {request.actions for request in asked(learner, machine.answer)}
    assert learner.usage.nodes == len(prefixes)


@pytest.mark.parametrize("pool", [True, False])
@pytest.mark.parametrize("largest", [1, 3, 4, 1000])
def test_requests_are_split_but_results_are_whole(pool: bool, largest: int) -> None:
    machine = Machine.random(2, horizon=3)
    schedule = replace(ONCE, feature_samples=10, reward_samples=7, pool=pool)
    whole = finish(machine.learner(schedule), machine.answer)
    split = machine.learner(schedule, largest_batch=largest)
    counts = [request.count for request in asked(split, machine.answer)]
    assert max(counts) == min(largest, 10)
    assert split.usage == whole.usage
    assert split.usage.episodes == sum(counts)
    assert plan(split) == plan(whole)
    assert split.plan is not None
    assert whole.plan is not None
    for one, other in zip(split.plan, whole.plan, strict=True):
        assert one.samples == other.samples >= (7 if one.source == "expansion" else 10)
        assert one.estimates == pytest.approx(other.estimates, abs=1e-9)


def test_steps_are_the_observations_read() -> None:
    """An episode of L actions reads L + 1 observations, but never more than H."""
    machine = Machine.random(0, horizon=3)
    learner = machine.learner(replace(ONCE, feature_samples=5, reward_samples=2, pool=False))
    requests = list(asked(learner, machine.answer))
    assert {len(request.actions) for request in requests} == {0, 1, 2, 3}
    steps = sum(request.count * min(len(request.actions) + 1, 3) for request in requests)
    assert learner.usage.steps == steps


# ---------------------------------------------------------------- stages


def test_a_stage_that_is_too_small_begins_again_with_fresh_readings() -> None:
    """Counts are those of the last stage, the cost that of all; what was read before is gone."""
    machine = Machine.random(seed=3, horizon=3)
    small = Schedule(1e-6, 1.0, 7, 7)
    large = replace(small, feature_samples=11, reward_samples=11)
    alone = machine.learner(large)
    finish(alone, machine.answer)
    assert max(alone.usage.expansions) > 1
    staged = machine.learner(small, most=1, later=[Stage(large, None, 0.1)])
    sizes = list[int]()
    while requests := staged.ask():
        sizes += [request.count for request in requests]
        staged.tell([machine.answer(request) for request in requests])
    assert sizes == sorted(sizes)
    assert set(sizes) == {7, 11}
    assert staged.schedule == large
    assert staged.usage.starts == 2
    assert staged.incumbent == alone.incumbent
    assert staged.usage.expansions == alone.usage.expansions
    assert staged.usage.feature_batches == alone.usage.feature_batches
    assert staged.usage.episodes - alone.usage.episodes == sum(n for n in sizes if n == 7)
