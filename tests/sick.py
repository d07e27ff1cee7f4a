"""Systems that break one assumption each, for the tests of the doctor."""

from __future__ import annotations

import numpy as np

import surepath
from surepath.bench.suites.broken import Slippery
from surepath.builtin_problems.tabular import Tabular, tabular


def machine(seed: int = 3, horizon: int = 4) -> Tabular:
    return tabular(horizon=horizon, states=3, actions=2, observations=4, seed=seed)


class Single:
    """The machine as a system of single episodes that says nothing else of itself."""

    def __init__(self, inner: Tabular | None = None) -> None:
        self.inner = inner or machine()
        self.horizon, self.n_actions = self.inner.horizon, self.inner.n_actions
        self.n_observations = self.inner.n_observations

    def rollout(
        self, actions: tuple[int, ...], n: int, rng: np.random.Generator
    ) -> surepath.Episodes:
        return self.inner.rollout(actions, n, rng)


class SlipsOnce(Slippery):
    """One action slips, and no other."""

    def __init__(self, inner: Tabular, slip: float, at: int) -> None:
        super().__init__(inner, slip)
        self.at, self._now = at, 0

    def rollout(
        self, actions: tuple[int, ...], n: int, rng: np.random.Generator
    ) -> surepath.Episodes:
        self._now = 0
        return super().rollout(actions, n, rng)

    def _moved(self, meant: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        self._now += 1
        return super()._moved(meant, rng) if self._now - 1 == self.at else meant


class RandomStart(Single):
    """Half of the episodes start in another machine's state: they are another machine's."""

    def __init__(self) -> None:
        super().__init__()
        self.other = machine(4)

    def rollout(
        self, actions: tuple[int, ...], n: int, rng: np.random.Generator
    ) -> surepath.Episodes:
        one, two = (each.rollout(actions, n, rng) for each in (self.inner, self.other))
        which = rng.random(n) < 0.5
        return surepath.Episodes(
            actions,
            np.where(which[:, None], one.observations, two.observations),
            np.where(which[:, None], one.rewards, two.rewards),
        )


class Fading(Single):
    """Rewards fade by a share over the first so many episodes."""

    def __init__(self, share: float, episodes: int) -> None:
        super().__init__()
        self.share, self.episodes, self.played = share, episodes, 0

    def rollout(
        self, actions: tuple[int, ...], n: int, rng: np.random.Generator
    ) -> surepath.Episodes:
        still = self.inner.rollout(actions, n, rng)
        gone = np.minimum(1.0, (self.played + np.arange(n)) / self.episodes)[:, None]
        self.played += n
        kept = rng.random(still.rewards.shape) >= self.share * gone
        return surepath.Episodes(actions, still.observations, still.rewards * kept)


class Cart:
    """A place on a line that two actions move; it is read with noise, and paid by where it ends.

    rho: autocorrelation of the noise. heavy: share of readings that are far out. bend: by how much
    the last reward is not linear in the place.
    """

    horizon, n_actions, dimension = 4, 2, 1
    preferred_features = "linear"

    def __init__(self, rho: float = 0.0, heavy: float = 0.0, bend: float = 0.0) -> None:
        self.rho, self.heavy, self.bend = rho, heavy, bend

    def rollout(
        self, actions: tuple[int, ...], n: int, rng: np.random.Generator
    ) -> surepath.Episodes:
        moves = np.array([0.0, *(2 * a - 1 for a in actions)]) * (
            1.7 ** np.arange(len(actions) + 1)
        )
        places = np.cumsum(moves) / 4
        levels = min(len(actions) + 1, self.horizon)
        noise = rng.standard_normal((n, levels))
        for h in range(1, levels):
            noise[:, h] = self.rho * noise[:, h - 1] + (1 - self.rho**2) ** 0.5 * noise[:, h]
        far = rng.random(noise.shape) < self.heavy
        seen = places[:levels] + 0.3 * noise + far * rng.normal(size=noise.shape) * 6
        rewards = np.zeros((n, len(actions)))
        if len(actions) == self.horizon:
            scaled = places[self.horizon - 1] / 1.9
            mean = 0.5 + 0.15 * scaled + self.bend * (scaled**2 - 0.5) + 0.1 * actions[-1]
            rewards[:, -1] = rng.random(n) < np.clip(mean, 0, 1)
        return surepath.Episodes(actions, seen[:, :, None], rewards)


class Maze:
    """Cells of a grid, read without noise; paid at the goal. partial: only the column is read."""

    horizon, n_actions, n_observations = 5, 4, 9

    def __init__(self, partial: bool = False) -> None:
        self.partial = partial

    def rollout(
        self, actions: tuple[int, ...], n: int, rng: np.random.Generator
    ) -> surepath.Episodes:
        x = y = 0
        seen, paid = [0], list[float]()
        for action in actions:
            dx, dy = ((1, 0), (-1, 0), (0, 1), (0, -1))[action]
            if not (x == 1 and y == 1 and dx > 0):  # a wall
                x, y = min(max(x + dx, 0), 2), min(max(y + dy, 0), 2)
            seen.append(x if self.partial else 3 * x + y)
            paid.append(float((x, y) == (2, 2)))
        levels = min(len(actions) + 1, self.horizon)
        return surepath.Episodes(
            actions, np.tile(seen[:levels], (n, 1)), np.tile(paid, (n, 1)).reshape(n, -1)
        )
