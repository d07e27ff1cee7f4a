"""The recursion from outside: what it asks, how it takes answers, and that it is the paper's."""

from __future__ import annotations

import inspect
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from surepath.errors import InputError
from surepath.features import Linear, OneHot
from surepath.learners.recursion import Learner
from surepath.system import Actions, Episodes, Moments, Readings, Request, RewardMoments, Summary
from surepath.theory.counts import expansion_bound, feature_batches, reward_batches
from surepath.theory.schedule import Schedule
from surepath.theory.setting import Setting

ONCE = Schedule(ridge=1e-8, threshold=1.0, feature_samples=1, reward_samples=1)
Answer = Callable[[Request], Readings]


# ---------------------------------------------------------------- what answers the learner


class Machine:
    """A hidden automaton; `answer` reads it without noise, as a summary of exact means."""

    def __init__(self, moves: Any, embeddings: Any, rewards: Any, horizon: int) -> None:
        self.moves = np.asarray(moves)  # [states, actions] -> state
        self.embeddings = np.asarray(embeddings, dtype=float)  # [states, d]
        self.rewards = np.asarray(rewards, dtype=float)  # [states, actions]
        self.horizon = horizon
        self.n_actions = self.moves.shape[1]
        self.features = Linear(self.embeddings.shape[1])

    @classmethod
    def random(cls, seed: int, horizon: int, n_actions: int = 2, states: int = 3) -> Machine:
        rng = np.random.default_rng(seed)
        moves = rng.integers(states, size=(states, n_actions))
        rewards = rng.uniform(size=(states, n_actions))
        return cls(moves, rng.dirichlet(np.ones(states + 1), size=states), rewards, horizon)

    def path(self, actions: Actions) -> list[int]:
        states = [0]
        for action in actions:
            states.append(int(self.moves[states[-1], action]))
        return states

    def answer(self, request: Request) -> Summary:
        states, d = self.path(request.actions), self.features.dimension
        n = request.count
        return Summary(
            request.actions,
            n,
            {
                h: Moments(n, self.embeddings[states[h]], np.zeros((d, d)))
                for h in request.observations
            },
            {
                h: RewardMoments(n, float(self.rewards[states[h], request.actions[h]]), 0.0)
                for h in request.rewards
            },
        )

    def returns(self, actions: Actions) -> float:
        return float(self.rewards[self.path(actions)[:-1], list(actions)].sum())

    def optimum(self) -> tuple[Actions, float, float]:
        """Best sequence, its return, and its lead, by trying every one."""
        ranked = sorted(product(range(self.n_actions), repeat=self.horizon), key=self.returns)
        best = self.returns(ranked[-1])
        lead = best - self.returns(ranked[-2]) if len(ranked) > 1 else math.inf
        return ranked[-1], best, lead

    def learner(self, schedule: Schedule = ONCE, **options: Any) -> Learner:
        return Learner(self.horizon, self.n_actions, self.features, schedule, **options)


class Noise:
    """Readings that depend only on the kind, the prefix, and how often it was read before."""

    def __init__(self, seed: int, d: int, spread: float) -> None:
        self.seed, self.d, self.spread = seed, d, spread
        self.seen: Counter[tuple[str, Actions]] = Counter()

    def _rng(self, kind: str, prefix: Actions) -> np.random.Generator:
        visit = self.seen[kind, prefix]
        self.seen[kind, prefix] += 1
        return np.random.default_rng([self.seed, kind == "reward", visit, len(prefix), *prefix])

    def embedding(self, prefix: Actions) -> np.ndarray:
        """One of three hidden points, hit imprecisely; at most of length 1."""
        base = np.random.default_rng([self.seed, sum((3, *prefix)) % 3]).normal(size=self.d)
        x = base + self.spread * self._rng("feature", prefix).normal(size=self.d)
        return x / max(1.0, float(np.linalg.norm(x)))

    def reward(self, prefix: Actions) -> float:
        return float(self._rng("reward", prefix).uniform())

    def answer(self, request: Request) -> Summary:
        n, d = request.count, self.d
        return Summary(
            request.actions,
            n,
            {
                h: Moments(n, self.embedding(request.actions[:h]), np.zeros((d, d)))
                for h in request.observations
            },
            {
                h: RewardMoments(n, self.reward(request.actions[: h + 1]), 0.0)
                for h in request.rewards
            },
        )


def asked(learner: Learner, answer: Answer) -> Iterator[Request]:
    """Run to the end, giving every request that was answered."""
    while not learner.done:
        requests = learner.ask()
        learner.tell([answer(request) for request in requests])
        yield from requests


def finish(learner: Learner, answer: Answer) -> Learner:
    for _ in asked(learner, answer):
        pass
    return learner


def plan(learner: Learner) -> Actions:
    assert learner.plan is not None
    return tuple(decision.action for decision in learner.plan)


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


# ---------------------------------------------------------------- ask and tell


def test_asking_twice_asks_for_the_same() -> None:
    machine = Machine.random(0, horizon=3)
    learner = machine.learner()
    while not learner.done:
        requests = learner.ask()
        assert requests
        assert learner.ask() == requests
        learner.tell([machine.answer(request) for request in requests])
    assert learner.ask() == ()


def test_telling_when_done_is_refused() -> None:
    machine = Machine.random(0, horizon=2)
    request = machine.learner().ask()[0]
    learner = finish(machine.learner(), machine.answer)
    before = replace(learner.usage)
    with pytest.raises(InputError, match="1 answers to 0 requests"):
        learner.tell([machine.answer(request)])
    assert learner.usage == before


def bad_reward(value: float) -> Callable[[Summary], Summary]:
    def spoil(good: Summary) -> Summary:
        return replace(good, rewards={h: RewardMoments(1, value, 0.0) for h in good.rewards})

    return spoil


def bad_embedding(mean: list[float]) -> Callable[[Summary], Summary]:
    def spoil(good: Summary) -> Summary:
        moments = Moments(good.count, np.array(mean), np.zeros((4, 4)))
        return replace(good, observations=dict.fromkeys(good.observations, moments))

    return spoil


def fewer_rewards(good: Summary) -> Summary:
    rewards = {h: replace(r, count=r.count - 1) for h, r in good.rewards.items()}
    return replace(good, rewards=rewards)


def fewer_observations(good: Summary) -> Summary:
    moments = Moments(good.count - 1, np.ones(4) / 4, np.zeros((4, 4)))
    return replace(good, observations=dict.fromkeys(good.observations, moments))


SPOILED: dict[str, Callable[[Summary], Summary]] = {
    "other actions": lambda good: replace(good, actions=(*good.actions, 0)),
    "fewer episodes": lambda good: replace(good, count=good.count - 1),
    "more episodes": lambda good: replace(good, count=good.count + 1),
    "reward too large": bad_reward(1.1),
    "reward too small": bad_reward(-0.1),
    "reward not a number": bad_reward(math.nan),
    "reward infinite": bad_reward(math.inf),
    "no rewards": lambda good: replace(good, rewards={}),
    "no observations": lambda good: replace(good, observations={}),
    "fewer rewards than episodes": fewer_rewards,
    "fewer observations than episodes": fewer_observations,
    "observation not a number": bad_embedding([math.nan] * 4),
    "observation infinite": bad_embedding([math.inf, 0.0, 0.0, 0.0]),
    "observation too short": bad_embedding([0.5, 0.5]),
}


@pytest.mark.parametrize("name", SPOILED)
def test_a_bad_answer_is_refused_and_nothing_is_lost(name: str) -> None:
    """It is refused at any place of the ask, and the run goes on as if it had not been told."""
    machine = Machine.random(3, horizon=3)
    schedule = replace(ONCE, feature_samples=2, reward_samples=3)
    clean = finish(machine.learner(schedule), machine.answer)
    learner = machine.learner(schedule)
    learner.tell([machine.answer(request) for request in learner.ask()])
    requests = learner.ask()
    assert len(requests) == 2  # of the first step, where both kinds are read
    assert all(request.rewards and request.observations for request in requests)
    before = replace(learner.usage)
    good = [machine.answer(request) for request in requests]
    for place in range(2):
        readings = list(good)
        readings[place] = SPOILED[name](good[place])
        with pytest.raises(InputError):
            learner.tell(readings)
        assert learner.ask() == requests
        assert learner.usage == before
    finish(learner, machine.answer)
    assert learner.plan == clean.plan
    assert learner.usage == clean.usage


@pytest.mark.parametrize("change", [-1, 1])
def test_a_wrong_number_of_answers_is_refused(change: int) -> None:
    machine = Machine.random(3, horizon=3)
    clean = finish(machine.learner(), machine.answer)
    learner = machine.learner()
    learner.tell([machine.answer(request) for request in learner.ask()])
    requests = learner.ask()
    readings = [machine.answer(request) for request in (*requests, requests[0])]
    with pytest.raises(InputError, match=f"{2 + change} answers to 2 requests"):
        learner.tell(readings[: 2 + change])
    assert learner.ask() == requests
    finish(learner, machine.answer)
    assert (learner.plan, learner.usage) == (clean.plan, clean.usage)


def test_a_refused_reward_is_named() -> None:
    machine = Machine([[0]], [[1.0]], [[1.5]], horizon=3)
    with pytest.raises(InputError, match=r"1\.5 at step 0 of \(0,\)"):
        finish(machine.learner(), machine.answer)
    assert finish(machine.learner(reward_range=(0.0, 2.0)), machine.answer).done


def raw_episodes(request: Request, symbols: list[int], rewards: list[float]) -> Episodes:
    """Single episodes that read and receive the same at every step."""
    steps = len(request.actions)
    return Episodes(
        request.actions,
        np.repeat(np.array(symbols)[:, None], steps + 1, axis=1),
        np.repeat(np.array(rewards)[:, None], steps, axis=1),
    )


def coin(**options: Any) -> Learner:
    """One step, one action, two observations, three episodes a batch."""
    schedule = Schedule(ridge=1.0, threshold=0.5, feature_samples=3, reward_samples=3)
    return Learner(1, 1, OneHot(2), schedule, **options)


def test_single_episodes_are_averaged() -> None:
    learner = finish(coin(), lambda r: raw_episodes(r, [0, 1, 1], [0.0, 0.25, 0.5]))
    assert learner.value == pytest.approx(0.25)
    assert learner.plan is not None
    assert learner.plan[0].samples == 3


@pytest.mark.parametrize("rewards", [[-1.0, 0.5, 2.0], [0.0, 0.0, 1.5]])
def test_every_single_reward_must_lie_in_the_range(rewards: list[float]) -> None:
    """A mean inside the range does not make up for a reward outside: the bounds assume it."""
    learner = coin()
    learner.tell([raw_episodes(request, [0, 0, 1], [0.5] * 3) for request in learner.ask()])
    with pytest.raises(InputError, match="rewards must lie in"):
        learner.tell([raw_episodes(request, [0, 0, 1], rewards) for request in learner.ask()])


def test_rounding_of_a_mean_is_no_reason_to_refuse() -> None:
    """0.1 + 0.1 + 0.1 exceeds 0.3; three rewards at the end of the range are in it."""
    learner = coin(reward_range=(0.0, 0.1))
    finish(learner, lambda request: raw_episodes(request, [0, 0, 1], [0.1] * 3))
    assert learner.value == pytest.approx(0.1)


@pytest.mark.parametrize("symbols", [[0, 1, 2], [0, 1, -1]])
def test_an_unknown_symbol_is_refused_and_nothing_is_lost(symbols: list[int]) -> None:
    learner = coin()
    requests = learner.ask()
    with pytest.raises(InputError, match=r"0 \.\. 1"):
        learner.tell([raw_episodes(request, symbols, [0.5] * 3) for request in requests])
    assert learner.ask() == requests
    finish(learner, lambda request: raw_episodes(request, [0, 0, 1], [0.5] * 3))
    assert learner.done


@pytest.mark.parametrize(
    ("name", "value"),
    [("horizon", 0), ("horizon", 2.5), ("n_actions", 0), ("largest_batch", 0)],
)
def test_bad_arguments_are_refused(name: str, value: Any) -> None:
    sizes: dict[str, Any] = {"horizon": 1, "n_actions": 1, "largest_batch": None} | {name: value}
    with pytest.raises(InputError, match=name):
        Learner(features=OneHot(2), schedule=ONCE, **sizes)


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
