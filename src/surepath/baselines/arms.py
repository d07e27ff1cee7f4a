"""Best-arm identification with one arm for every action sequence.

There are n = A^H of them, which is the point of the comparison. The return of a sequence is a sum
of H independent rewards in [0, 1], so its mean over T episodes is off by more than b with
probability at most exp(-2 T b^2 / H) to either side.

Sequential halving: Karnin, Koren and Somekh, "Almost Optimal Exploration in Multi-Armed Bandits"
(ICML 2013). LUCB: Kalyanakrishnan, Tewari, Auer and Stone, "PAC Subset Selection in Stochastic
Multi-armed Bandits" (ICML 2012).
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from surepath.baselines.openloop import OpenLoop
from surepath.errors import InputError
from surepath.learners.base import Answer
from surepath.results.certificate import Level
from surepath.system import Actions, FloatArray, IntArray
from surepath.validate import between, whole

MOST_ARMS = 2**20
"""Sequences that can be listed."""

MOST_REQUESTS = 1024
"""Sequences that are asked for at once."""


class Arms(OpenLoop):
    """Methods that list all sequences: arm i plays the H digits of i to the base A.

    In a plan, the estimate of an action is the mean return of the best sequence that follows the
    plan up to there and goes on with that action: rewards before it are included.
    """

    def __init__(
        self,
        horizon: int,
        n_actions: int,
        *,
        batch: int = 1,
        seed: int = 0,
        reward_range: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        super().__init__(horizon, n_actions, batch=batch, seed=seed, reward_range=reward_range)
        self.n_arms = n_actions**horizon
        if self.n_arms > MOST_ARMS:
            raise InputError(
                f"a method that lists all action sequences takes at most {MOST_ARMS} of them",
                got=f"{n_actions}^{horizon} sequences",
                remedy="Shorten the horizon, or use a method that makes no list (olop, uct).",
            )
        self._counts = np.zeros(self.n_arms, dtype=np.int64)
        self._means = np.full(self.n_arms, -np.inf)  # of rescaled returns

    def sequence(self, arm: int) -> Actions:
        """The actions of an arm."""
        actions = list[int]()
        for _ in self._levels:
            arm, action = divmod(arm, self.n_actions)
            actions.append(action)
        return tuple(reversed(actions))

    def _play(self, arms: Iterable[int], count: int) -> None:
        self._played = tuple(arms)
        self._pending = tuple(self._request(self.sequence(arm), count) for arm in self._played)

    def _settle(self, order: IntArray) -> None:
        """Plan the last arm of the order, and judge every action by the last arm that takes it."""
        ranks = np.empty_like(order)
        ranks[order] = np.arange(self.n_arms)
        arm = int(order[-1])
        self.incumbent = self.sequence(arm)
        self.value = self._unscaled(float(self._means[arm]))
        decisions = list[Level]()
        for level, action in enumerate(self.incumbent):
            # Arms with the same first actions are neighbours.
            arms = self.n_actions ** (self.horizon - level)
            block = slice(arm // arms * arms, arm // arms * arms + arms)
            last = ranks[block].reshape(self.n_actions, -1).argmax(axis=1)
            means = self._means[block].reshape(self.n_actions, -1)
            estimates = means[np.arange(self.n_actions), last].tolist()
            decisions.append(
                Level.decided(
                    level,
                    action,
                    tuple(self._unscaled(estimate) for estimate in estimates),
                    0.0,
                    int(self._counts[arm]),
                    "expansion",
                )
            )
        self.plan = tuple(decisions)


class SequentialHalving(Arms):
    """In every round all arms left are played equally often, anew; then the worse half goes.

    `episodes` T is shared out evenly over the ceil(log2 n) rounds. The chance that the plan is not
    the best sequence is at most 3 log2(n) exp(-T / (8 H H_2 log2(n))), with H_2 the largest
    i / Delta_i^2 over the i-th best sequences and what they lose (rewards in [0, 1]).
    """

    def __init__(
        self,
        horizon: int,
        n_actions: int,
        episodes: int,
        *,
        batch: int = 1,
        seed: int = 0,
        reward_range: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        super().__init__(horizon, n_actions, batch=batch, seed=seed, reward_range=reward_range)
        self.episodes = whole("episodes", episodes, least=1)
        self.rounds = (self.n_arms - 1).bit_length()  # ceil(log2 n)
        if self._share(self.n_arms) == 0:
            raise InputError(
                "every sequence must be played in every round that it reaches",
                got=f"{episodes} episodes for {self.n_arms} sequences in {self.rounds} rounds, "
                f"{batch} at a time",
                remedy=f"Give at least {self.n_arms * self.rounds * batch} episodes, or use a "
                "method that makes no list (olop, uct).",
            )
        # In random order: where means tie, the first half is as good as the other.
        self._left: IntArray = self._rng.permutation(self.n_arms)
        self._gone: list[IntArray] = []  # by round, the worst first
        self._place = 0  # how many of those left were played in this round
        self._advance(None)

    def status(self) -> dict[str, str]:
        return super().status() | {"left": str(len(self._left))}

    def _share(self, arms: int) -> int:
        """How often each of so many arms is played in a round: whole batches."""
        return self.episodes // (arms * self.rounds * self.batch) * self.batch

    def _advance(self, answers: list[Answer] | None) -> None:
        if answers is not None:
            self._take(answers)
        if len(self._left) == 1:
            self._settle(np.concatenate([*self._gone, self._left]))
        else:
            arms: list[int] = self._left[self._place : self._place + MOST_REQUESTS].tolist()
            self._play(arms, self._share(len(self._left)))

    def _take(self, answers: list[Answer]) -> None:
        played = np.array(self._played)
        self._means[played] = [self._return(answer) for answer in answers]
        self._counts[played] = [answer.raw.count for answer in answers]
        self._place += len(played)
        ended = self._place == len(self._left)
        if ended:
            order = self._left[np.argsort(-self._means[self._left], kind="stable")]
            half = (len(order) + 1) // 2
            self._left, self._place = order[:half], 0
            self._gone.append(order[: half - 1 : -1])
        # In the first round the best so far; later the best of the last round that was ended.
        if ended or len(self._left) == self.n_arms:
            best = self._left[0] if ended else self._means.argmax()
            self.incumbent = self.sequence(int(best))


class Lucb(Arms):
    """Plays the arm that looks best and the one that could be better, until no other could be.

    Round t bounds arm i by its mean +- sqrt(H / (2 T_i) ln(1.25 n t^4 / delta)). The plan is then
    the best sequence with probability at least 1 - delta. At a tie it does not end.
    """

    needs_range = True

    def __init__(
        self,
        horizon: int,
        n_actions: int,
        delta: float = 0.05,
        *,
        batch: int = 1,
        seed: int = 0,
        reward_range: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        super().__init__(horizon, n_actions, batch=batch, seed=seed, reward_range=reward_range)
        self.delta = between("delta", delta, 0, 1)
        self.rounds = 0  # after every arm was played once
        self._totals: FloatArray = np.zeros(self.n_arms)  # of rescaled returns
        self._spreads: FloatArray = np.zeros(self.n_arms)  # sqrt(H / (2 T_i))
        self._play(range(min(self.n_arms, MOST_REQUESTS)), self.batch)

    def _advance(self, answers: list[Answer] | None) -> None:
        for arm, answer in zip(self._played, answers or (), strict=True):
            self._pool(arm, self._return(answer), answer.raw.count)
        best = int(self._means.argmax())
        self.incumbent = self.sequence(best)
        self.value = self._unscaled(float(self._means[best]))
        following = self._played[-1] + 1
        if not self.rounds and following < self.n_arms:
            self._play(range(following, min(self.n_arms, following + MOST_REQUESTS)), self.batch)
        else:
            self._compare(best)

    def _pool(self, arm: int, value: float, count: int) -> None:
        self._counts[arm] += count
        self._totals[arm] += count * value
        self._means[arm] = self._totals[arm] / self._counts[arm]
        self._spreads[arm] = math.sqrt(self.horizon / (2 * self._counts[arm]))

    def _compare(self, best: int) -> None:
        self.rounds += 1
        width = math.sqrt(math.log(1.25 * self.n_arms * self.rounds**4 / self.delta))
        uppers = self._means + width * self._spreads
        lower = float(self._means[best] - width * self._spreads[best])
        uppers[best] = -np.inf
        challenger = int(uppers.argmax())
        if lower > uppers[challenger]:
            self._settle(np.argsort(self._means, kind="stable"))
        else:
            self._play((best, challenger), self.batch)
