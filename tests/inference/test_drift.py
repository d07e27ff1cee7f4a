"""A system that changes during a run is noticed; one that does not is left alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from scipy import stats

import surepath
from machines import Raw
from surepath.features import Linear, OneHot
from surepath.inference.drift import Drift
from surepath.inference.time_slopes import History
from surepath.inference.tuning import TUNING
from surepath.readings.digests import Cloud
from surepath.readings.embedding import CloudEmbedding
from surepath.readings.trie import Node
from surepath.results.verify import verify
from surepath.system import Actions, Episodes, FloatArray, RewardMoments

SURE = 1e-6  # probability with which a statistical threshold may be missed by a sound system
HORIZON = 3

Draw = Callable[[Actions, FloatArray, np.random.Generator], Episodes]
"""Episodes of some actions, one for each of these times between 0 and 1."""

Asked = list[tuple[Actions, int]]


def told(features: Any, draw: Draw, asked: Asked, seed: int) -> Drift:
    """What is known of drift after these requests, in this order."""
    root, drift = Node(), Drift((0.0, 1.0))
    embedding, rng = CloudEmbedding(features, 2), np.random.default_rng([3, seed])
    episodes, whole = 0, sum(count for _, count in asked)
    for actions, count in asked:
        drawn = draw(actions, (episodes + np.arange(count)) / whole, rng)
        digests = embedding.read(drawn, range(min(len(actions) + 1, HORIZON)))
        rewards = {step: drawn.reward(step) for step in range(len(actions))}
        node = root
        node.absorb(digests[0])
        for level, action in enumerate(actions):
            node = node.child(action)
            node.rewards.add(rewards[level])
            if level + 1 < HORIZON:
                node.absorb(digests[level + 1])
        drift.add(root, actions, digests, rewards)
        episodes += count
    return drift


# ---------------------------------------------------------------- what is asked for


def sequences() -> Iterator[Actions]:
    while True:
        for number in range(2**HORIZON):
            yield tuple(number >> level & 1 for level in range(HORIZON))


EVEN: Asked = [(actions, 8) for actions, _ in zip(sequences(), range(80), strict=False)]
GROWING: Asked = [
    (actions, 4 + place**2 // 60) for place, actions in zip(range(60), sequences(), strict=False)
]
UNEVEN: Asked = [
    ((0, 0, 0), 40) if place % 8 else (actions, 2) for place, (actions, _) in enumerate(EVEN)
]


# ---------------------------------------------------------------- what is read


def reading(
    *,
    pays: float = 0.5,
    paid: Callable[[FloatArray, Actions], FloatArray] = lambda times, _: 0 * times,
    law: tuple[float, ...] = (0.7, 0.1, 0.1, 0.1),
    seen: Callable[[FloatArray, Actions], FloatArray] = lambda times, _: 0 * times,
) -> Draw:
    """Symbols and 0 or 1 paid; `paid` is added to what is paid, `seen` is moved between symbols."""

    def draw(actions: Actions, times: FloatArray, rng: np.random.Generator) -> Episodes:
        steps = range(min(len(actions) + 1, HORIZON))
        symbols = rng.choice(len(law), size=(len(times), len(steps)), p=law)
        for step in steps:
            moved = rng.random(len(times)) < seen(times, actions[:step])
            shift = 1 + sum(actions[:step])  # another direction at other prefixes
            symbols[moved, step] = (symbols[moved, step] + shift) % len(law)
        means = np.stack([pays + paid(times, actions[: step + 1]) for step in range(len(actions))])
        return Episodes(actions, symbols, (rng.random(means.T.shape) < means.T).astype(float))

    return draw


def vectors(seen: Callable[[FloatArray], FloatArray], scale: float = 1.0) -> Draw:
    """Numbers, two of which are the same; the first of them moves."""

    def draw(actions: Actions, times: FloatArray, rng: np.random.Generator) -> Episodes:
        steps = min(len(actions) + 1, HORIZON)
        rows = rng.normal(size=(len(times), steps, 3)) + 4
        rows[:, :, 0] += seen(times)[:, None]
        rows = np.concatenate([rows, rows[:, :, :1], np.ones((len(times), steps, 1))], axis=2)
        rewards = rng.normal(0.5, 0.1, (len(times), len(actions))).clip(0, 1)
        return Episodes(actions, scale * rows, rewards)

    return draw


def still(times: FloatArray) -> FloatArray:
    return 0 * times


# ---------------------------------------------------------------- nothing changes

STATIONARY = {
    "symbols": (OneHot(4), reading()),
    "uneven symbols": (OneHot(5), reading(law=(0.9, 0.04, 0.03, 0.02, 0.01))),
    "rare rewards": (OneHot(4), reading(pays=0.01)),
    "sure rewards": (OneHot(4), reading(pays=1.0)),
    "vectors": (Linear(5), vectors(still)),
    "long vectors": (Linear(5), vectors(still, scale=1e4)),
    "vectors whose variances underflow when multiplied": (Linear(5), vectors(still, scale=1e-90)),
}


@pytest.mark.parametrize("asked", [EVEN, GROWING, UNEVEN], ids=["even", "growing", "uneven"])
@pytest.mark.parametrize("name", STATIONARY)
def test_what_stays_the_same_raises_no_alarm(name: str, asked: Asked) -> None:
    runs = 40
    found = [told(*STATIONARY[name], asked, seed) for seed in range(runs)]
    assert sum(bool(each.doubt()) for each in found) <= stats.binom.isf(SURE, runs, 1e-3)
    assert sum(bool(each.warning()) for each in found) <= stats.binom.isf(SURE, runs, 1e-2)


def test_scores_are_those_of_a_gaussian_number() -> None:
    """Of every test, as far as so many runs can tell (Kolmogorov and Smirnov)."""
    scores = np.array(
        [list(told(OneHot(4), reading(), EVEN, seed).scores().values()) for seed in range(120)]
    )
    for test in scores.reshape(len(scores), -1).T:
        assert stats.kstest(test, "norm").pvalue > SURE


def test_little_and_constants_say_nothing() -> None:
    empty = Drift((0.0, 1.0))
    assert (empty.doubt(), empty.warning()) == ("", "")
    once = told(OneHot(4), reading(), [((0, 1, 0), 500)], 0)  # one batch has nothing to compare
    assert once.scores() == {}
    constant = told(OneHot(2), reading(pays=1.0, law=(1.0, 0.0)), EVEN, 0)
    assert constant.scores() == {}


def test_rewards_that_rounding_leaves_at_the_end_of_their_range_say_nothing() -> None:
    """So small that their mean is 0, and their squares are not."""
    root, drift = Node(), Drift((0.0, 1.0))
    child, seen = root.child(0), Cloud(8, np.zeros(1), np.zeros(1))
    for _ in range(4):
        root.absorb(seen)
        moments = RewardMoments(8, 0.0, 1e-300)
        child.rewards.add(moments)
        drift.add(root, (0,), {0: seen}, {0: moments})
    assert (drift.doubt(), drift.warning()) == ("", "")


def test_reading_other_prefixes_later_is_no_drift() -> None:
    """The prefixes differ in what they pay and show, and are read one after the other."""

    def paid(times: FloatArray, prefix: Actions) -> FloatArray:
        return 0 * times + (0.3 if prefix[0] else -0.3)

    def seen(times: FloatArray, prefix: Actions) -> FloatArray:
        return 0 * times + (0.8 if prefix and prefix[0] else 0.0)

    asked = [((0, 0, 0), 8)] * 30 + [((1, 0, 0), 8)] * 30
    runs = 50
    alarms = sum(
        bool(told(OneHot(4), reading(paid=paid, seen=seen), asked, seed).doubt())
        for seed in range(runs)
    )
    assert alarms <= stats.binom.isf(SURE, runs, 1e-3)


# ---------------------------------------------------------------- something changes


def read_on_where_much_was_paid(seed: int, fade: float, prefixes: int = 300) -> Drift:
    """Coins that are all alike, read more often as long as one may be the best of them."""
    rng, root, drift, played = np.random.default_rng([5, seed]), Node(), Drift((0.0, 1.0)), 0

    def read(action: int, count: int) -> None:
        nonlocal played
        chance = 0.4 * (1 - fade * min(1.0, played / (30 * prefixes)))
        won = float(rng.binomial(count, chance))
        played += count
        rewards = RewardMoments(count, won / count, won - won**2 / count)
        seen = Cloud(count, np.array([float(count)]), np.array([[float(count)]]))
        root.absorb(seen)
        root.child(action).rewards.add(rewards)
        drift.add(root, (action,), {0: seen}, {0: rewards})

    for action in range(prefixes):
        read(action, 8)
    for _ in range(20):
        tallies = [root.child(action).rewards for action in range(prefixes)]
        best = max(tally.mean for tally in tallies)
        for action, tally in enumerate(tallies):
            if tally.mean + tally.count**-0.5 >= best:
                read(action, max(4, int(0.4 * tally.count)))
    return drift


def test_prefixes_that_were_lucky_at_first_are_no_drift() -> None:
    """They are read on because of it, and then pay less. What fades besides is still found."""
    runs = 20
    alarms = sum(bool(read_on_where_much_was_paid(seed, 0.0).doubt()) for seed in range(runs))
    assert alarms <= stats.binom.isf(SURE, runs, TUNING.drift_warning)
    found = sum(bool(read_on_where_much_was_paid(seed, 0.3).doubt()) for seed in range(5))
    assert found >= 3


def ramp(times: FloatArray) -> FloatArray:
    return 0.3 * times


def jump(times: FloatArray) -> FloatArray:
    return 0.3 * (times > 0.6)


LONG: Asked = [(actions, 32) for actions, _ in EVEN] * 2
DRIFTING = {
    "rewards, slowly": (OneHot(4), reading(paid=lambda t, _: -ramp(t)), "rewards"),
    "rewards, at once": (OneHot(4), reading(paid=lambda t, _: -jump(t)), "rewards"),
    "rewards here and there": (
        OneHot(4),
        reading(paid=lambda t, prefix: ramp(t) * (-1) ** sum(prefix)),
        "rewards",
    ),
    "sure rewards": (OneHot(4), reading(pays=1.0, paid=lambda t, _: -jump(t)), "rewards"),
    "symbols, slowly": (OneHot(4), reading(seen=lambda t, _: ramp(t)), "observations"),
    "symbols, at once": (OneHot(4), reading(seen=lambda t, _: jump(t)), "observations"),
    "a number": (Linear(5), vectors(ramp, scale=100.0), "observations"),
    "a tiny number": (Linear(5), vectors(ramp, scale=1e-90), "observations"),
}


@pytest.mark.parametrize("name", DRIFTING)
def test_what_changes_is_refused_with_what_moved(name: str) -> None:
    """Over 5120 episodes; the evidence is far beyond the alarm, so that every run shows it."""
    features, draw, what = DRIFTING[name]
    for seed in range(5):
        drift = told(features, draw, LONG, seed)
        assert drift.doubt().startswith(f"{what} changed while the run went on")
        assert drift.warning() == ""


@pytest.mark.parametrize("start", [0.3, 0.6, 0.8])
def test_the_beginning_of_a_jump_is_found(start: float) -> None:
    """To within a tenth of the run, the grid included, and with what it was before and after."""

    def later(times: FloatArray, _: Actions) -> FloatArray:
        return -0.4 * (times > start)

    for seed in range(5):
        said = told(OneHot(4), reading(pays=0.8, paid=later), LONG, seed).doubt()
        episode = int(said.split("about episode ")[1].split()[0])
        assert abs(episode / 5120 - start) < 0.1
        before, after = (float(said.split(word)[1].split()[0]) for word in ("averaged ", "then "))
        assert before == pytest.approx(0.8, abs=0.2)
        assert after == pytest.approx(0.4, abs=0.2)


def test_evidence_grows_with_the_readings() -> None:
    scores = [
        max(
            map(
                max,
                told(OneHot(4), reading(paid=lambda t, _: -ramp(t)), EVEN * n, 1).scores().values(),
            )
        )
        for n in (1, 4, 16)
    ]
    assert scores[0] < scores[1] < scores[2]
    assert 1.5 < scores[2] / scores[1] < 3  # with the root of their number


def test_a_weak_change_is_a_warning() -> None:
    """Somewhere between nothing and the alarm there is a remark, and it is the same text."""
    found = [
        told(OneHot(4), reading(paid=lambda t, _: -ramp(t) / 2), EVEN, seed) for seed in range(40)
    ]
    warned = [drift for drift in found if drift.warning()]
    assert warned
    for drift in warned:
        assert drift.doubt() == ""
        assert "rewards changed while the run went on" in drift.warning()


# ---------------------------------------------------------------- the history of a prefix


def test_a_history_is_short_and_adds_up() -> None:
    history, rng = History(), np.random.default_rng(0)
    counts = rng.integers(1, 9, size=1000)
    values = rng.random((1000, 2))
    for time, (count, value) in enumerate(zip(counts.tolist(), values, strict=True)):
        history.add(count, float(time), value)
    parts, times, totals = history.parts(1000)
    assert len(parts) <= TUNING.drift_parts
    assert parts.sum() == counts.sum()
    assert totals.sum(axis=0) == pytest.approx(values.sum(axis=0))
    assert (times @ parts) * 1000 == pytest.approx(np.arange(1000) @ counts)
    assert (np.diff(times) > 0).all()


# ---------------------------------------------------------------- runs


class Wearing(Raw):
    """A problem that pays a share less, the more episodes it has run."""

    def __init__(self, problem: Any, episodes: int, share: float) -> None:
        super().__init__(problem)
        self.run, self.episodes, self.share = 0, episodes, share

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        sound = super().rollout(actions, n, rng)
        times = np.minimum((self.run + np.arange(n)) / self.episodes, 1.0)
        self.run += n
        kept = rng.random(sound.rewards.shape) >= self.share * times[:, None]
        return Episodes(actions, sound.observations, sound.rewards * kept)


def machine(seed: int) -> Any:
    return surepath.make("tabular", horizon=4, states=3, observations=4, gap=0.1, seed=seed)


def test_a_run_on_a_system_that_wears_out_is_not_certified(tmp_path: Any) -> None:
    """It pays seven tenths less after 500 episodes: no run of this length can miss that."""
    for seed in range(4):
        path = tmp_path / f"{seed}.json"
        worn = Wearing(machine(seed), 500, 0.7)
        result = surepath.learn(worn, seed=seed, delta=1e-3, gap=0.02, budget=3000)
        assert not result.certified
        assert "rewards changed while the run went on" in result.certificate.reason
        assert result.interval == (0.0, 4.0)
        result.save(path)
        assert verify(path).agrees


def test_runs_on_systems_that_stay_the_same_are_certified() -> None:
    runs = 40
    doubted = sum(
        any("changed while" in doubt for doubt in surepath.learn(each, seed=5).certificate.doubts)
        for seed in range(runs // 2)
        for each in (machine(seed), Raw(machine(seed)))
    )
    assert doubted <= stats.binom.isf(SURE, runs, 1e-3)
