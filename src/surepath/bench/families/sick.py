"""Systems that break one assumption each, and some that break none: patients for the doctor."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np

from surepath.builtin_problems.tabular import Tabular, tabular
from surepath.system import Actions, Episodes, FloatArray, IntArray


def machine(seed: int = 3, horizon: int = 4) -> Tabular:
    return tabular(horizon=horizon, states=3, actions=2, observations=4, seed=seed)


def some_sizes(rng: np.random.Generator, most: int = 6) -> dict[str, int]:
    """Of a small machine with a horizon of at most so much."""
    return {
        "horizon": int(rng.integers(3, most + 1)),
        "states": int(rng.integers(2, 5)),
        "actions": int(rng.integers(2, 4)),
        "observations": int(rng.integers(4, 9)),
    }


def some_machine(rng: np.random.Generator, most: int = 6) -> Tabular:
    return tabular(seed=int(rng.integers(2**31)), **some_sizes(rng, most))


class Single:
    """The machine as a system of single episodes that says nothing else of itself."""

    def __init__(self, inner: Tabular | None = None) -> None:
        self.inner = inner or machine()
        self.horizon, self.n_actions = self.inner.horizon, self.inner.n_actions
        self.n_observations = self.inner.n_observations

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        return self.inner.rollout(actions, n, rng)


class SlipsOnce(Single):
    """One action sometimes leads to another state, and no other does."""

    def __init__(self, inner: Tabular, slip: float, at: int) -> None:
        super().__init__(inner)
        self.slip, self.at = slip, at

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        still = self.inner.rollout(actions, n, rng)
        slipped = np.flatnonzero(rng.random(n) < self.slip)
        for episode, state in zip(slipped, self._others(actions, len(slipped), rng), strict=True):
            self._walk(still, int(episode), state, rng)
        return still

    def _others(self, actions: Actions, n: int, rng: np.random.Generator) -> list[int]:
        """States of the level after the slip that the action does not lead to."""
        states, dynamics = 0, self.inner.dynamics
        for level, action in enumerate(actions[: self.at + 1]):
            states = int(dynamics.transitions[level, states, action])
        others = rng.integers(1, self.inner.n_states, size=n)
        return ((states + others) % self.inner.n_states).tolist()

    def _walk(self, read: Episodes, episode: int, state: int, rng: np.random.Generator) -> None:
        """Read and be paid from this state on, in place of what was."""
        inner = self.inner
        for level in range(self.at + 1, read.observations.shape[1]):
            law = inner.emissions[level, state]
            read.observations[episode, level] = rng.choice(len(law), p=law)
            if level < len(read.actions):
                action = read.actions[level]
                mean = inner.dynamics.rewards[level, state, action]
                read.rewards[episode, level] = float(rng.random() < mean)
                state = int(inner.dynamics.transitions[level, state, action])


class RandomStart(Single):
    """Half of the episodes start in another machine's state: they are another machine's."""

    def __init__(self, inner: Tabular | None = None, other: Tabular | None = None) -> None:
        super().__init__(inner)
        self.other = other or machine(4)

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        one, two = (each.rollout(actions, n, rng) for each in (self.inner, self.other))
        which = rng.random(n) < 0.5
        return Episodes(
            actions,
            np.where(which[:, None], one.observations, two.observations),
            np.where(which[:, None], one.rewards, two.rewards),
        )


class Fading(Single):
    """Rewards fade by a share over the first so many episodes."""

    def __init__(self, share: float, episodes: int, inner: Tabular | None = None) -> None:
        super().__init__(inner)
        self.share, self.episodes, self.played = share, episodes, 0

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        still = self.inner.rollout(actions, n, rng)
        gone = np.minimum(1.0, (self.played + np.arange(n)) / self.episodes)[:, None]
        self.played += n
        kept = rng.random(still.rewards.shape) >= self.share * gone
        return Episodes(actions, still.observations, still.rewards * kept)


class Moods(Single):
    """A share of all episodes are paid in the end as the mood is: 0 or 1, for many of them alike.

    The mood is drawn anew after `lasts` episodes on average. With 1 it is noise like any other.
    """

    def __init__(self, share: float, lasts: float, inner: Tabular | None = None) -> None:
        super().__init__(inner)
        self.share, self.lasts, self._mood = share, lasts, 0

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        told = self.inner.rollout(actions, n, rng)
        for rewards in told.rewards[:, self.horizon - 1 :]:
            if rng.random() < 1 / self.lasts:
                self._mood = int(rng.integers(2))
            if rng.random() < self.share:
                rewards[:] = self._mood
        return told


class Cart:
    """A place on a line that two actions move; it is read with noise, and paid by where it ends.

    rho: autocorrelation of the noise. heavy: share of readings that are far out. bend: by how much,
    as a root mean square, the last reward is not linear in the place. The last action is worth a
    fifth.
    """

    n_actions, dimension = 2, 1
    preferred_features = "linear"

    def __init__(
        self, rho: float = 0.0, heavy: float = 0.0, bend: float = 0.0, horizon: int = 4
    ) -> None:
        self.rho, self.heavy, self.bend, self.horizon = rho, heavy, bend, horizon
        ends = [self._places(each)[-1] for each in product((0, 1), repeat=horizon - 1)]
        self.scale = float(np.std(ends))
        squares = (np.array(ends) / self.scale) ** 2
        self.middle, self.height = float(squares.mean()), float(squares.std())

    def _places(self, actions: Actions) -> FloatArray:
        moves = np.array([0.0, *(2 * a - 1 for a in actions)])
        return np.cumsum(moves * 1.5 ** np.arange(len(moves))) / 4

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        levels = min(len(actions) + 1, self.horizon)
        places = self._places(actions[: self.horizon - 1])
        noise = rng.standard_normal((n, levels))
        for h in range(1, levels):
            noise[:, h] = self.rho * noise[:, h - 1] + (1 - self.rho**2) ** 0.5 * noise[:, h]
        far = rng.random(noise.shape) < self.heavy
        seen = places[:levels] + 0.3 * noise + far * rng.normal(size=noise.shape) * 6
        rewards = np.zeros((n, len(actions)))
        if len(actions) == self.horizon:
            place = float(places[-1]) / self.scale
            bent = self.bend * (place**2 - self.middle) / self.height
            mean = np.clip(0.4 + 0.05 * place + bent + 0.2 * actions[-1], 0.1, 0.9)
            rewards[:, -1] = mean + rng.uniform(-0.1, 0.1, size=n)
        return Episodes(actions, seen[:, :, None], rewards)


class Maze:
    """Cells of a grid, read without noise; paid at the goal. partial: only the column is read."""

    horizon, n_actions, n_observations = 5, 4, 9

    def __init__(self, partial: bool = False) -> None:
        self.partial = partial

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        del rng  # nothing is random
        x = y = 0
        seen, paid = [0], list[float]()
        for action in actions:
            dx, dy = ((1, 0), (-1, 0), (0, 1), (0, -1))[action]
            if not (x == 1 and y == 1 and dx > 0):  # a wall
                x, y = min(max(x + dx, 0), 2), min(max(y + dy, 0), 2)
            seen.append(x if self.partial else 3 * x + y)
            paid.append(float((x, y) == (2, 2)))
        levels = min(len(actions) + 1, self.horizon)
        return Episodes(
            actions, np.tile(seen[:levels], (n, 1)), np.tile(paid, (n, 1)).reshape(n, -1)
        )


class Passes:
    """Orders of four passes of a compiler, say; what is read names the program, without noise.

    338 states, of which 269 are read before the last action. sizes: states by level. noise: of what
    is paid, which is paid at the end.
    """

    horizon = 4

    def __init__(
        self,
        seed: int = 0,
        n_actions: int = 8,
        sizes: tuple[int, ...] = (1, 8, 60, 269),
        noise: float = 0.0,
    ) -> None:
        rng = np.random.default_rng(seed)
        self.n_actions, self.noise, self.n_observations = n_actions, noise, sum(sizes)
        self.first = np.cumsum([0, *sizes])
        self.moves = [_onto(rng, size, below, n_actions) for size, below in pairwise(sizes)]
        # With its noise it stays between 0 and 1.
        self.pay = noise + (1 - 2 * noise) * rng.beta(2, 4, size=(sizes[-1], n_actions))

    def path(self, actions: Actions) -> list[int]:
        states = [0]
        for moves, action in zip(self.moves, actions, strict=False):
            states.append(int(moves[states[-1], action]))
        return states

    def expected_return(self, actions: Actions) -> float:
        return float(self.pay[self.path(actions)[-1], actions[-1]])

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        seen = [int(self.first[level] + state) for level, state in enumerate(self.path(actions))]
        rewards = np.zeros((n, len(actions)))
        if len(actions) == self.horizon:
            noise = rng.uniform(-self.noise, self.noise, size=n)
            rewards[:, -1] = self.expected_return(actions) + noise
        return Episodes(actions, np.tile(seen, (n, 1)), rewards)


def _onto(rng: np.random.Generator, size: int, below: int, n_actions: int) -> IntArray:
    """Moves of a level to the next, so that every state of it is reached."""
    moves = rng.integers(below, size=size * n_actions)
    places = rng.permutation(len(moves))[:below]
    moves[places] = np.arange(below)[: len(places)]
    return moves.reshape(size, n_actions)
